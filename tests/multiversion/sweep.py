"""`python -m tests.multiversion.sweep`: the whole standard library through decode and encode, with counts."""

import sys
import sysconfig
import time
import warnings
from pathlib import Path

from supple.capture.bytecode import decode
from tests.multiversion.round_trip import check, nested


def main() -> int:
    """Check every code object, print one line of figures, return how many failed."""
    warnings.simplefilter("ignore")
    modules = codes = instructions = failed = 0
    seconds = 0.0
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py")):
        if "site-packages" in path.parts:
            continue
        try:
            code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            continue
        modules += 1
        for each in nested(code):
            start = time.process_time()
            decode(each)
            seconds += time.process_time() - start
            codes += 1
            try:
                instructions += check(each)
            except Exception as error:
                failed += 1
                print(f"{path}:{each.co_firstlineno} {each.co_qualname}: {error!r:.200}", file=sys.stderr)
    version = ".".join(map(str, sys.version_info[:3]))
    print(
        f"CPython {version}: {modules} modules, {codes} code objects, {instructions} instructions,"
        f" {failed} failures, decode {seconds / instructions * 1e6:.1f} us an instruction"
    )
    return failed


if __name__ == "__main__":
    sys.exit(bool(main()))

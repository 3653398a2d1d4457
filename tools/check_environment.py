"""Fails when the installed torch is outside the range that pyproject.toml allows."""

import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

from packaging.requirements import Requirement


def main() -> int:
    """Return 0 when the installed torch satisfies the requirement, else 1, with the reason printed."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    requirements = [Requirement(text) for text in project["dependencies"]]
    wanted = next(r for r in requirements if r.name == "torch")
    found = version("torch")
    if wanted.specifier.contains(found.split("+")[0]):
        print(f"torch {found} satisfies {wanted}")
        return 0
    print(f"torch {found} is installed, but supple needs {wanted}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())

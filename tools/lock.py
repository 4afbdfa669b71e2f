"""Write requirements-lock.txt: one exact version of everything, for every system.

`make lock` runs this. It resolves the ranges of pyproject.toml, every optional group included, with
uv's universal resolver, and takes out what PyTorch's own wheels bring for CUDA: which of those a
machine needs is decided by the torch wheel it installs, so that a CPU-only wheel stays CPU-only.

torch stays at the version that the lock holds, also when everything else is upgraded: recorded
figures depend on it. `make lock TORCH=2.14.0` moves it.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements-lock.txt"
TORCH_LINE = re.compile(r"^torch==([\w.]+)", re.MULTILINE)
CUDA_PACKAGE = re.compile(r"(nvidia-|cuda-|triton\b)")
HEADER = """\
# Exact versions for Python 3.11 and later on Linux, macOS and Windows, all optional groups.
# Written by `make lock` from the ranges in pyproject.toml; not edited by hand.
# torch brings its own CUDA packages where its wheel needs them; none are listed here.
"""


def locked_torch(lock: str) -> str:
    """The version of torch in the text of a lock. Exits with a sentence if there is none."""
    found = TORCH_LINE.search(lock)
    if found is None:
        sys.exit(f"{LOCK.name} holds no torch to keep: say which, as in `make lock TORCH=2.14.0`.")
    return found[1]


def resolve(torch: str, upgrade: bool) -> list[str]:
    """Resolve every group of pyproject.toml for every system; one `name==version ; marker` a line.

    uv keeps the versions that it finds in the lock it writes to, unless told to upgrade.
    """
    command = [sys.executable, "-m", "uv", "pip", "compile", "pyproject.toml", "--all-extras"]
    command += ["--universal", "--python-version", "3.11", "--fork-strategy", "fewest"]
    command += ["--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links"]
    command += ["--constraints", "-", "--output-file", str(LOCK), "--quiet"]
    command += ["--upgrade"] if upgrade else []
    result = subprocess.run(
        command, cwd=ROOT, input=f"torch=={torch}\n", text=True, capture_output=True, check=False
    )
    if result.returncode:
        sys.exit(f"uv could not resolve the dependencies of pyproject.toml:\n{result.stderr}")
    return LOCK.read_text().splitlines()


def portable(line: str) -> bool:
    """Whether a line of the resolution belongs in the lock: not CUDA's, not the browser's."""
    only_in_a_browser = "sys_platform == 'emscripten'" in line
    return not (only_in_a_browser or CUDA_PACKAGE.match(line) or line.startswith("#"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions of all")
    parser.add_argument("--torch", metavar="VERSION", help="move torch to this version")
    arguments = parser.parse_args()
    torch = arguments.torch or locked_torch(LOCK.read_text() if LOCK.exists() else "")
    lines = [line for line in resolve(torch, arguments.upgrade) if portable(line)]
    LOCK.write_text(HEADER + "\n".join(lines) + "\n")
    print(f"{LOCK.name}: {len(lines)} packages, torch=={torch}")


if __name__ == "__main__":
    main()

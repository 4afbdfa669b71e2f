"""Write requirements-lock.txt: one exact version of everything, for every system.

`make lock` runs this. It resolves the ranges of pyproject.toml, every optional group included, with
uv's universal resolver, and takes out what PyTorch's own wheels bring for CUDA: which of those a
machine needs is decided by the torch wheel it installs, so that a CPU-only wheel stays CPU-only.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements-lock.txt"
TORCH = "2.13.0"
CUDA_PACKAGE = re.compile(r"(nvidia-|cuda-|triton\b)")
HEADER = """\
# Exact versions for Python 3.11 and later on Linux, macOS and Windows, all optional groups.
# Written by `make lock` from the ranges in pyproject.toml; not edited by hand.
# torch brings its own CUDA packages where its wheel needs them; none are listed here.
"""


def resolve(upgrade: bool) -> list[str]:
    """Resolve every group of pyproject.toml for every system; one `name==version ; marker` a line.

    uv keeps the versions that it finds in the lock it writes to, unless told to upgrade.
    """
    command = [sys.executable, "-m", "uv", "pip", "compile", "pyproject.toml", "--all-extras"]
    command += ["--universal", "--python-version", "3.11", "--fork-strategy", "fewest"]
    command += ["--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links"]
    command += ["--constraints", "-", "--output-file", str(LOCK), "--quiet"]
    command += ["--upgrade"] if upgrade else []
    result = subprocess.run(
        command, cwd=ROOT, input=f"torch=={TORCH}\n", text=True, capture_output=True, check=False
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
    upgrade = parser.parse_args().upgrade
    lines = [line for line in resolve(upgrade) if portable(line)]
    LOCK.write_text(HEADER + "\n".join(lines) + "\n")
    print(f"{LOCK.name}: {len(lines)} packages, torch=={TORCH}")


if __name__ == "__main__":
    main()

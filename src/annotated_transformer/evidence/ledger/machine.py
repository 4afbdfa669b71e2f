"""What a record says of the machine and the code: hardware, versions, commit."""

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from annotated_transformer.errors import CallError
from annotated_transformer.training.devices import processor_name

PACKAGE = Path(__file__).resolve().parents[2]
# By these a model is trained: they may not change while it is. The first stands for section 3's
# modules and the configuration; of Table 3 a preset takes its label smoothing.
ROOMS_THAT_TRAIN = ("after", "data", "decoding", "evaluation", "fast", "training")
WHAT_TRAINS = (":(glob)*.py", *ROOMS_THAT_TRAIN, "evidence/table3.py")
PACKAGES = ("annotated-transformer", "torch", "numpy", "tokenizers", "sacrebleu", "sacremoses")


def hardware() -> dict[str, Any]:
    """The machine, as far as it tells."""
    values: dict[str, Any] = {
        "processor": processor_name(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
    }
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
        values["memory_gib"] = round(pages * size / 2**30, 1)
    if torch.cuda.is_available():
        values["gpus"] = [
            torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())
        ]
    return values


def software() -> dict[str, str]:
    """Versions of Python and of the packages that can change a figure."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return versions


def code_version(stated: str = "") -> dict[str, Any]:
    """The commit of this package's repository, and whether what trains was changed on top of it.

    `last_change` is the last commit in which what trains was another: runs that agree in it were
    trained by the same code. The commit is "" where the package does not lie in a repository.

    Args:
        stated: a commit to record instead of the one checked out; marked as stated.

    Raises:
        CallError: if the repository has no such commit.
    """
    if stated:
        commit = _git("rev-parse", "--verify", "--quiet", f"{stated}^{{commit}}")
        if not commit:
            raise CallError(f"--commit {stated}: the repository has no such commit.")
        return {"commit": commit, "changed": None, "stated": True}
    if not _git("ls-files", "errors.py"):  # installed; a repository around it is another's
        return {"commit": "", "changed": False, "last_change": ""}
    return {
        "commit": _git("rev-parse", "HEAD"),
        "changed": bool(_git("status", "--porcelain", "--", *WHAT_TRAINS)),
        "last_change": _git("log", "-1", "--format=%H", "--", *WHAT_TRAINS),
    }


def _git(*arguments: str) -> str:
    """What git prints in the package's folder, or "" where it fails."""
    try:
        finished = subprocess.run(
            ["git", "-C", str(PACKAGE), *arguments],
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return finished.stdout.strip()

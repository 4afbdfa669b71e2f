"""What is measured once and kept beside the module that measures it, as `record.json`."""

import json
import re
from pathlib import Path
from typing import Any

import torch

from annotated_transformer.training.checkpoints import write_atomically
from annotated_transformer.training.devices import processor_name


def read_record(module_file: str) -> dict[str, Any]:
    """The record beside a module, given its `__file__`."""
    record: dict[str, Any] = json.loads(_beside(module_file).read_text(encoding="utf-8"))
    return record


def write_record(module_file: str, values: dict[str, Any]) -> None:
    """Write it, with the command that makes it anew and the machine that made it."""
    path = _beside(module_file)
    record = {
        "command": f"python -m annotated_transformer.experiments.{path.parent.name}",
        "processor": processor_name(),
        "torch": torch.__version__,
        **values,
    }
    write_so_far(path, record)


def write_so_far(path: Path, record: dict[str, Any], whole: bool = True) -> None:
    """Write a record to its path. What is not whole yet lies beside it, and leaves it as it was."""
    begun = path.with_suffix(".begun.json")
    write_atomically(begun, lambda file: file.write_text(_as_text(record), encoding="utf-8"))
    if whole:
        begun.replace(path)


def _as_text(record: dict[str, Any]) -> str:
    """JSON to be read: indented, a list of numbers on one line, letters as they are."""
    numbers = re.compile(r"\[\s+([-\d.,e\s]+?)\s+\]")
    text = json.dumps(record, indent=1, ensure_ascii=False)
    return numbers.sub(lambda found: f"[{' '.join(found[1].split())}]", text) + "\n"


def _beside(module_file: str) -> Path:
    return Path(module_file).resolve().parent / "record.json"

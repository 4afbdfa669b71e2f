"""Checkpoints: everything a run needs to go on, in one safetensors file, written atomically.

A file appears under its name only when it is whole: it is written beside it, flushed to the disk
and renamed. Nothing is ever unpickled.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from annotated_transformer.errors import WorkError
from annotated_transformer.training.run_files import checked, damaged, parse_json

FORMAT = "annotated-transformer checkpoint 1"
METADATA_KEY = "annotated_transformer"
NAME = re.compile(r"step-(\d{8})\.safetensors")
ADVICE = "Delete it to go on from the one before."


@dataclass(frozen=True)
class Checkpoint:
    """The state of a run after a step.

    Args:
        tensors: by name; "model/..." weights, "optimizer/..." moments, "random/..." generators.
        state: plain data, the trainer's `RunState`.
    """

    tensors: dict[str, Tensor]
    state: dict[str, Any]


def checkpoint_path(folder: Path, step: int) -> Path:
    """The file of one step."""
    return folder / f"step-{step:08d}.safetensors"


def list_checkpoints(folder: Path) -> list[tuple[int, Path]]:
    """(step, file) of each finished checkpoint, the oldest first."""
    found = []
    for path in folder.glob("step-*.safetensors") if folder.is_dir() else ():
        if match := NAME.fullmatch(path.name):
            found.append((int(match[1]), path))
    return sorted(found)


def stop_path(folder: Path) -> Path:
    """The file of a run that was asked to stop: for resuming, never averaged, not one of `keep`."""
    return folder / "stopped.safetensors"


def latest_checkpoint(folder: Path) -> Path | None:
    """The file to resume from: that of the stop, unless a later checkpoint has been written."""
    found = list_checkpoints(folder)
    last_step, last = found[-1] if found else (-1, None)
    stop = stop_path(folder)
    if stop.exists() and load_checkpoint(stop).state["step"] > last_step:
        return stop
    return last


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a file beside `path`, then put it in place in one move.

    Raises:
        WorkError: if the disk is full or cannot be written. What stood at `path` is untouched.
    """
    unfinished = path.with_name(path.name + ".unfinished")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(unfinished)
        with open(unfinished, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except (OSError, SafetensorError) as error:
        unfinished.unlink(missing_ok=True)
        raise WorkError(
            f"{path} could not be written: {error}. What was saved before is intact; make room "
            "or mend the disk, then go on with --resume."
        ) from error


def save_tensors(path: Path, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
    """Write one safetensors file atomically. `about` is plain data that says what it holds.

    It goes into one metadata entry: of several, the order in the file would be random, and equal
    weights would not give equal files.
    """
    metadata = {METADATA_KEY: json.dumps(about)}
    on_cpu = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_atomically(path, lambda target: save_file(on_cpu, target, metadata))


def load_tensors(
    path: Path, expected_format: str, advice: str
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of a file, and what it says about itself.

    Args:
        advice: a sentence that says what to do if it cannot be read.

    Raises:
        WorkError: if the file is missing, damaged, or was not written by us for this purpose.
    """
    with _opened(path, expected_format, advice) as (file, about):
        # Cloned: the tensors would otherwise keep the file mapped, and a system that locks mapped
        # files could not replace or delete it.
        return {name: file.get_tensor(name).clone() for name in list(file.keys())}, about


def load_about(path: Path, expected_format: str, advice: str) -> dict[str, Any]:
    """What a file says about itself, without its tensors. See `load_tensors`."""
    with _opened(path, expected_format, advice) as (_, about):
        return about


@contextmanager
def _opened(path: Path, expected_format: str, advice: str) -> Iterator[tuple[Any, dict[str, Any]]]:
    """A file to read tensors from, and what it says about itself. See `load_tensors`."""
    try:
        with safe_open(path, framework="pt") as file:
            text = (file.metadata() or {}).get(METADATA_KEY, "{}")
            about = checked(parse_json(text, path, advice), {}, path, advice)
            if about.get("format") != expected_format:
                raise WorkError(
                    f"{path} is not a file of ours: its format is "
                    f"{about.get('format', 'not named')!r}, expected {expected_format!r}."
                )
            yield file, about
    except (OSError, ValueError, SafetensorError) as error:
        raise WorkError(
            f"{path} cannot be read ({error}): it is truncated, damaged or not a safetensors "
            f"file. {advice}"
        ) from error


def save_checkpoint(folder: Path, checkpoint: Checkpoint, keep: int) -> Path:
    """Write the checkpoint of `state["step"]`, then remove all but the last `keep`.

    That of an earlier stop goes too: there is a later one now.
    """
    path = checkpoint_path(folder, checkpoint.state["step"])
    save_tensors(path, checkpoint.tensors, {"format": FORMAT, "state": checkpoint.state})
    for _, old in list_checkpoints(folder)[:-keep]:
        old.unlink(missing_ok=True)
    stop_path(folder).unlink(missing_ok=True)
    return path


def save_stop(folder: Path, checkpoint: Checkpoint) -> None:
    """Write the checkpoint of a stop, unless the step has one of its own already."""
    if not checkpoint_path(folder, checkpoint.state["step"]).exists():
        about = {"format": FORMAT, "state": checkpoint.state}
        save_tensors(stop_path(folder), checkpoint.tensors, about)


def load_checkpoint(path: Path) -> Checkpoint:
    """Read what `save_checkpoint` wrote. Raises WorkError as `load_tensors` does."""
    tensors, about = load_tensors(path, FORMAT, ADVICE)
    state = checked(about.get("state"), {"step": int}, f"the state in {path}", ADVICE)
    return Checkpoint(tensors, state)


def average_weights(paths: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of the model's weights over checkpoints (section 6.1).

    Raises:
        WorkError: if a checkpoint is damaged, or has other weights than the first.
    """
    shapes: dict[str, torch.Size] = {}

    def weights(path: Path) -> dict[str, Tensor]:
        tensors = load_checkpoint(path).tensors
        found = {
            name.removeprefix("model/"): tensor
            for name, tensor in tensors.items()
            if name.startswith("model/")
        }
        theirs = {name: tensor.shape for name, tensor in found.items()}
        shapes.update(shapes or theirs)
        if theirs != shapes:
            raise damaged(path, f"its weights are not those of {paths[0]}", ADVICE)
        return found

    return average_states(map(weights, paths))


def average_states(states: Iterable[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of weights of the same names, each in its own dtype, summed in float64."""
    total: dict[str, Tensor] = {}
    dtypes: dict[str, torch.dtype] = {}
    count = 0
    for state in states:
        count += 1
        for name, tensor in state.items():
            dtypes[name] = tensor.dtype
            total[name] = total[name] + tensor.double() if name in total else tensor.double()
    return {name: (tensor / count).to(dtypes[name]) for name, tensor in total.items()}

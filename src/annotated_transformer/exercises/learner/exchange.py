"""Taking one's progress along: `save_progress` writes a copy, `load_progress` merges one.

A Colab machine is thrown away with all its files. There the copy goes to the reader's own machine
by the browser's download, and comes back by its upload; anywhere else it is a file with a path.
"""

import importlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from annotated_transformer.errors import CallError, WorkError
from annotated_transformer.exercises.learner.records import (
    NewerVersionError,
    Record,
    as_bytes,
    change_records,
    merge_records,
    parse,
    progress_path,
    replace_file,
)

FILE_NAME = "annotated-transformer-progress.json"


def save_progress(path: str | os.PathLike[str] | None = None, *, overwrite: bool = False) -> None:
    """Write a copy of your progress to `path`; on Colab without a path, download it.

    Elsewhere the path is annotated-transformer-progress.json in the present folder if none is
    given. A file that is there is left alone unless `overwrite` is True.
    """
    files = _colab_files() if path is None else None
    if files is None:
        print(export_to(Path(path or FILE_NAME), overwrite, "overwrite=True"))
        return
    copy = Path(tempfile.mkdtemp()) / FILE_NAME
    export_to(copy, True, "")
    files.download(str(copy))
    print(f"Your browser downloads {FILE_NAME}. load_progress() takes it back on another machine.")


def load_progress(path: str | os.PathLike[str] | None = None) -> None:
    """Merge the progress saved in `path` with the present one; on Colab without a path, upload it.

    Nothing is lost: of each exercise the earliest day of solving, the most attempts and the
    furthest review count. Elsewhere the path is as for `save_progress` if none is given.
    """
    files = _colab_files() if path is None else None
    if files is None:
        print(import_from(Path(path or FILE_NAME)))
        return
    uploaded: Mapping[str, bytes] = files.upload()
    if not uploaded:
        print("No file was chosen; your progress is as it was.")
    for name, data in uploaded.items():
        print(merge_in(name, data))


def export_to(path: Path, overwrite: bool, how: str) -> str:
    """Write the records to `path` and say so. `how`: the way to overwrite, for the refusal."""
    try:
        records = parse(progress_path().read_bytes())
    except FileNotFoundError:
        records = {}
    except (OSError, ValueError) as error:
        raise WorkError(f"{progress_path()} cannot be read: {error}") from None
    write_new(path, as_bytes(records), overwrite, how)
    return f"{_counted(records)} in {path}"


def import_from(path: Path) -> str:
    """Merge the file at `path` into the learner's own and say what came of it."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise CallError(f"there is no file {path}; name one that was saved before") from None
    except OSError as error:
        raise CallError(f"{path} cannot be read: {error.strerror or error}") from None
    return merge_in(str(path), data)


def merge_in(name: str, data: bytes) -> str:
    """Merge a file's bytes into the learner's own records and say what came of it."""
    try:
        theirs = parse(data)
    except ValueError as error:
        raise WorkError(f"{name} is no progress file: {error}; nothing was changed") from None
    changed: list[str] = []

    def merge(mine: dict[str, Record]) -> dict[str, Record]:
        merged = merge_records(mine, theirs)
        changed.extend(key for key in merged if merged[key] != mine.get(key))
        return merged

    try:
        remark = change_records(merge)
    except OSError as error:
        raise WorkError(f"progress cannot be stored: {error.strerror or error}") from None
    except NewerVersionError as error:
        raise WorkError(f"{progress_path()} is left as it is: {error}") from None
    says = f"{_counted(theirs)} in {name}: {len(changed)} added or moved on, the rest as it was."
    return f"{says} {remark}" if remark else says


def write_new(path: Path, data: bytes, overwrite: bool, how: str) -> None:
    """Write a file whole or not at all; one that is there only if `overwrite`."""
    if path.exists() and not overwrite:
        raise CallError(f"{path} is there already; give another name, or {how} to replace it")
    try:
        replace_file(path, data)
    except OSError as error:
        raise WorkError(f"{path} cannot be written: {error.strerror or error}") from None


def _counted(records: dict[str, Record]) -> str:
    solved = sum(record.solved is not None for record in records.values())
    return f"{len(records)} exercises, {solved} solved,"


def _colab_files() -> Any:
    """Colab's module for download and upload; None anywhere else."""
    try:
        return importlib.import_module("google.colab.files")
    except ImportError:
        return None

"""What a learner has done, in one JSON file: attempts, solved, hints seen, when to review.

The file lies in the user's data folder; the variable ANNOTATED_TRANSFORMER_PROGRESS may name
another place (tests and automatic builds do so). It is written atomically under a lock, so that two
kernels may record at once; a damaged file is kept aside and a new one begun.
"""

import contextlib
import datetime
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import platformdirs

VERSION = 1
REVIEW_DAYS = (1, 3, 7, 21, 60)  # days until the next review, longer after each success


@dataclass
class Record:
    """Of one exercise. Dates are ISO days in UTC. level: how many reviews in a row went well."""

    attempts: int = 0
    solved: str | None = None
    last: str | None = None
    hints: int = 0
    solution_seen: bool = False
    level: int = 0
    due: str | None = None

    def update(self, passed: bool, today: datetime.date) -> None:
        """Count one attempt and set the day of the next review.

        Solving again before that day changes nothing: running all cells of a notebook twice is no
        review. A failure after success brings the exercise back tomorrow.
        """
        self.attempts += 1
        self.last = today.isoformat()
        if passed and self.due is not None and self.due > today.isoformat() and self.solved:
            return
        if passed:
            days = REVIEW_DAYS[min(self.level, len(REVIEW_DAYS) - 1)]
            self.solved = self.solved or today.isoformat()
            self.level += 1
            self.due = (today + datetime.timedelta(days=days)).isoformat()
        elif self.solved:
            self.level = 0
            self.due = (today + datetime.timedelta(days=1)).isoformat()


def progress_path() -> Path:
    """Where the file lies."""
    named = os.environ.get("ANNOTATED_TRANSFORMER_PROGRESS")
    if named:
        return Path(named).expanduser()
    return Path(platformdirs.user_data_dir("annotated-transformer", appauthor=False)) / (
        "progress.json"
    )


def today() -> datetime.date:
    """The day in UTC."""
    return datetime.datetime.now(datetime.UTC).date()


def read_records(path: Path | None = None) -> dict[str, Record]:
    """All records; none where there is no file or one that cannot be read."""
    try:
        return _parse((path or progress_path()).read_bytes())
    except (OSError, ValueError):
        return {}


def change_record(
    exercise_id: str, change: Callable[[Record], None], path: Path | None = None
) -> str | None:
    """Apply `change` to one record and store it. Returns a sentence where that went not smoothly.

    A folder that cannot be written is no reason to stop a learner: the sentence says so.
    """
    path = path or progress_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path):
            records, remark = _read_or_set_aside(path)
            change(records.setdefault(exercise_id, Record()))
            _write(path, records)
        return remark
    except OSError as error:
        return f"Your progress could not be stored in {path}: {error.strerror or error}."


def _parse(data: bytes) -> dict[str, Record]:
    tree = json.loads(data)
    if not isinstance(tree, dict) or not isinstance(tree.get("exercises"), dict):
        raise ValueError("no progress file")
    if tree.get("version") != VERSION:
        raise ValueError("a progress file of another version")
    return {str(name): _record(entry) for name, entry in tree["exercises"].items()}


def _record(entry: Any) -> Record:
    if not isinstance(entry, dict):
        raise ValueError("no record")
    record = Record()
    for part in fields(Record):
        value = entry.get(part.name, getattr(record, part.name))
        kinds = {"attempts": int, "hints": int, "level": int, "solution_seen": bool}
        allowed = kinds.get(part.name, (str, type(None)))
        if not isinstance(value, allowed):  # type: ignore[arg-type]
            raise ValueError(f"{part.name} is {value!r}")
        setattr(record, part.name, value)
    return record


def _read_or_set_aside(path: Path) -> tuple[dict[str, Record], str | None]:
    try:
        return _parse(path.read_bytes()), None
    except FileNotFoundError:
        return {}, None
    except ValueError:
        number = 1
        while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
            number += 1
        os.replace(path, aside)
        return {}, f"The progress file could not be read. It is kept as {aside}; a new one begins."


def _write(path: Path, records: dict[str, Record]) -> None:
    """Replace the file in one step: whoever reads sees the old one or the new one, never a half."""
    tree = {"version": VERSION, "exercises": {name: asdict(r) for name, r in records.items()}}
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".new")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(tree, file, indent=1, sort_keys=True)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One writer at a time, by the system's lock on a file beside; it ends with the process."""
    with open(path.with_name(path.name + ".lock"), "a+") as file:
        try:
            import fcntl
        except ImportError:  # Windows
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined]
            try:
                yield
            finally:
                file.seek(0)
                msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined]
        else:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

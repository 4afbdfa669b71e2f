"""What a learner has done, in one JSON file: attempts, solved, hints seen, when to review.

The file lies in the user's data folder; the variable ANNOTATED_TRANSFORMER_PROGRESS may name
another place (tests and automatic builds do so). It is written atomically under a lock, so that two
kernels may record at once; a damaged file is kept aside and a new one begun. Files of version 1,
whose reviews came after 1, 3, 7, 21 and 60 days, are read and written anew as version 2.
"""

import contextlib
import datetime
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import platformdirs

from annotated_transformer.exercises.learner.schedule import REVIEW_DAYS, review_after

VERSION = 2
READABLE = (1, 2)


@dataclass
class Record:
    """Of one exercise. Dates are ISO days in UTC.

    solved: the day it was first solved. last: the day of the last attempt. level: how many of the
    REVIEW_DAYS are done, the day of solving being the first. due: the day of the next review; None
    before the exercise is solved and after the last review. mistakes: the named ones that were
    made.
    """

    attempts: int = 0
    solved: str | None = None
    last: str | None = None
    hints: int = 0
    solution_seen: bool = False
    level: int = 0
    due: str | None = None
    mistakes: list[str] = field(default_factory=list)

    @property
    def done(self) -> bool:
        """Whether the last review is behind the learner."""
        return self.solved is not None and self.due is None

    def update(self, passed: bool, today: datetime.date, mistakes: Sequence[str] = ()) -> None:
        """Count one attempt and set the day of the next review.

        Before that day an attempt is practice, right or wrong, and moves nothing: running all cells
        of a notebook twice is no review. A review that fails starts the ladder again.
        """
        day = today.isoformat()
        self.attempts += 1
        self.last = max(self.last or day, day)
        self.mistakes = sorted({*self.mistakes, *mistakes})
        if self.solved is None:
            if not passed:
                return
            self.solved = day
        elif self.due is None or day < self.due:
            return
        self.level = self.level + 1 if passed else 0
        following = review_after(self.level, today)
        self.due = following.isoformat() if following else None


class NewerVersionError(ValueError):
    """The file was written by a newer version of this package."""


def merge_records(one: dict[str, Record], other: dict[str, Record]) -> dict[str, Record]:
    """The union of two files. Which comes first, and how often they are merged, is all the same."""
    merged = {}
    for name in sorted({*one, *other}):
        a, b = one.get(name, Record()), other.get(name, Record())
        furthest = max(a, b, key=lambda record: (record.level, record.due or ""))
        merged[name] = Record(
            attempts=max(a.attempts, b.attempts),
            solved=min((day for day in (a.solved, b.solved) if day), default=None),
            last=max((day for day in (a.last, b.last) if day), default=None),
            hints=max(a.hints, b.hints),
            solution_seen=a.solution_seen or b.solution_seen,
            level=furthest.level,
            due=furthest.due,
            mistakes=sorted({*a.mistakes, *b.mistakes}),
        )
    return merged


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
        return parse((path or progress_path()).read_bytes())
    except (OSError, ValueError):
        return {}


def change_record(
    exercise_id: str, change: Callable[[Record], None], path: Path | None = None
) -> str | None:
    """Apply `change` to one record and store it. Returns a sentence where that went not smoothly.

    A folder that cannot be written is no reason to stop a learner: the sentence says so.
    """
    path = path or progress_path()

    def change_one(records: dict[str, Record]) -> dict[str, Record]:
        change(records.setdefault(exercise_id, Record()))
        return records

    try:
        return change_records(change_one, path)
    except NewerVersionError as error:
        return f"Your progress was not stored in {short(path)}, which stays as it is: {error}."
    except OSError as error:
        reason = error.strerror or error
        return f"Your progress could not be stored in {short(path)}: {reason}."


def change_records(
    change: Callable[[dict[str, Record]], dict[str, Record]], path: Path | None = None
) -> str | None:
    """Store what `change` makes of all records; returns a sentence if the old file was damaged.

    Raises OSError where the file cannot be written, NewerVersionError where it must not be.
    """
    path = path or progress_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path):
        records, remark = _read_or_set_aside(path)
        _write(path, change(records))
    return remark


def remark_on_file(path: Path | None = None) -> str | None:
    """What a learner should know of the file: it cannot be read, or an earlier one could not."""
    path = path or progress_path()
    try:
        parse(path.read_bytes())
    except FileNotFoundError:
        pass
    except NewerVersionError as error:
        return f"{short(path)} is left as it is, nothing is stored: {error}."
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        return f"{short(path)} cannot be read ({reason}). The next check keeps it aside."
    aside = sorted(path.parent.glob(f"{path.name}.damaged-*"))
    return f"A file that could not be read is kept as {short(aside[-1])}." if aside else None


def short(path: Path) -> str:
    """The path without the reader's name, for a page that may be saved."""
    return str(path).replace(str(Path.home()), "~")


def parse(data: bytes) -> dict[str, Record]:
    """The records in the bytes of a file. Raises ValueError, saying why, where it is none."""
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        raise ValueError("it is no JSON") from None
    if not isinstance(tree, dict) or not isinstance(tree.get("exercises"), dict):
        raise ValueError("it holds no exercises")
    version = tree.get("version")
    if type(version) is int and version > VERSION:
        raise NewerVersionError(
            f"it is of version {version}, written by a newer annotated-transformer; this one knows "
            f"{VERSION}: upgrade it"
        )
    if type(version) is not int or version not in READABLE:
        raise ValueError(f"it is of version {version!r}, known are 1 and 2")
    return {str(name): _record(name, entry) for name, entry in tree["exercises"].items()}


def as_bytes(records: dict[str, Record]) -> bytes:
    """The records as the bytes of a file."""
    tree = {"version": VERSION, "exercises": {name: asdict(r) for name, r in records.items()}}
    return (json.dumps(tree, indent=1, sort_keys=True) + "\n").encode()


def _record(name: str, entry: Any) -> Record:
    if not isinstance(entry, dict):
        raise ValueError(f"the entry {name!r} is no record")
    record = Record()
    for part in fields(Record):
        if part.name in entry:
            try:
                setattr(record, part.name, _value(part.name, entry[part.name]))
            except (ValueError, TypeError):
                raise ValueError(f"{part.name} of {name!r} is {entry[part.name]!r}") from None
    return _in_order(record)


def _value(name: str, value: Any) -> Any:
    if name in ("attempts", "hints", "level"):
        if type(value) is not int or value < 0:
            raise ValueError
        return value
    if name == "solution_seen":
        if type(value) is not bool:
            raise ValueError
        return value
    if name == "mistakes":
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ValueError
        return sorted(set(value))
    return None if value is None else datetime.date.fromisoformat(value).isoformat()


def _in_order(record: Record) -> Record:
    """Level and day of review as they go together; those of version 1 keep the day they promised.

    The fifth review of version 1 lay 32 days or more after the first: such an exercise is done.
    """
    if record.solved is None:
        record.level, record.due = 0, None
    elif record.level >= len(REVIEW_DAYS):
        record.level, record.due = len(REVIEW_DAYS), None
    elif record.due is None:
        record.due = record.last or record.solved
    return record


def _read_or_set_aside(path: Path) -> tuple[dict[str, Record], str | None]:
    try:
        return parse(path.read_bytes()), None
    except FileNotFoundError:
        return {}, None
    except NewerVersionError:
        raise  # it is sound, and what this package does not know would be lost
    except ValueError:
        number = 1
        while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
            number += 1
        os.replace(path, aside)
        return {}, f"The progress file could not be read. It is kept as {aside}; a new one begins."


def _write(path: Path, records: dict[str, Record]) -> None:
    replace_file(path, as_bytes(records))


def replace_file(path: Path, data: bytes) -> None:
    """Write in one step: whoever reads sees the old file or the new one, never a half."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".new")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
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

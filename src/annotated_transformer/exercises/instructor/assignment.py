"""What counts: which exercises, how many points each, until when, and what lateness costs."""

import csv
import os
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from annotated_transformer.errors import CallError
from annotated_transformer.exercises.catalogue import catalogue

EXAMPLE = """title = "Week 3: attention"
due = 2026-11-30T23:59:00Z          # optional
grace_minutes = 15                  # after it, still in time
late_percent_per_day = 10           # of the points, for each day that has begun
refused_after_days = 5              # later than this counts nothing
any_seed = false                    # true: what a cell says, `check(..., seed=7)`, is taken

[points]
"attention.softmax" = 2
"attention.predict_shapes" = 3

[seeds]                             # whose letters and sizes are drawn; 0 where none is given
"attention.predict_shapes" = 7
"""
_KEYS = {
    "title": str,
    "due": datetime,
    "grace_minutes": (int, float),
    "late_percent_per_day": (int, float),
    "refused_after_days": (int, float),
    "any_seed": bool,
    "points": dict,
    "seeds": dict,
}


@dataclass(frozen=True)
class Assignment:
    """points: of each exercise that counts, by id. due: None where there is no end.

    seeds: of exercises whose letters and sizes are drawn, 0 where none is given; with `any_seed`
    what the cell says counts instead. A submission that comes at most `grace` after `due` is in
    time; each day that has begun after it costs `percent_per_day` of the points, and after
    `refused_after` there are none.
    """

    points: Mapping[str, float]
    title: str = ""
    due: datetime | None = None
    grace: timedelta = timedelta(0)
    percent_per_day: float = 0.0
    refused_after: timedelta | None = None
    seeds: Mapping[str, int] = field(default_factory=dict)
    any_seed: bool = False

    def seed(self, exercise_id: str, named: int) -> int:
        """The seed to grade an exercise with, where the notebook's cell names this one."""
        return named if self.any_seed else self.seeds.get(exercise_id, 0)

    def share(self, submitted: datetime | None) -> float:
        """The share of the points that a submission of this time keeps, 1 to 0."""
        if self.due is None or submitted is None or submitted <= self.due + self.grace:
            return 1.0
        late = submitted - self.due
        if self.refused_after is not None and late > self.refused_after:
            return 0.0
        days = -(-late // timedelta(days=1))
        return max(0.0, 1.0 - self.percent_per_day / 100 * days)


def of_exercises(exercise_ids: list[str]) -> Assignment:
    """All these exercises, each for as many points as it is difficult. Raises CallError."""
    return Assignment({name: _points(name, None) for name in exercise_ids})


def read_assignment(path: Path) -> Assignment:
    """Read a TOML file of the form of `EXAMPLE`. Raises CallError, which says what is wrong."""
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CallError(f"{path} cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CallError(f"{path} is not a TOML file: {error}") from None
    for key, value in tree.items():
        if key not in _KEYS:
            raise CallError(f"{path}: {key!r} is not known; known are {', '.join(_KEYS)}")
        is_right = isinstance(value, _KEYS[key])  # type: ignore[arg-type]
        if not is_right or (isinstance(value, bool) and _KEYS[key] is not bool):
            raise CallError(f"{path}: {key} is {value!r}, which is of the wrong kind:\n{EXAMPLE}")
    if not tree.get("points"):
        raise CallError(f"{path}: no exercise is named; it needs a table [points]:\n{EXAMPLE}")
    due = tree.get("due")
    refused = tree.get("refused_after_days")
    return Assignment(
        points={name: _points(name, value) for name, value in tree["points"].items()},
        title=tree.get("title", ""),
        due=_with_zone(due) if due is not None else None,
        grace=timedelta(minutes=tree.get("grace_minutes", 0)),
        percent_per_day=float(tree.get("late_percent_per_day", 0)),
        refused_after=timedelta(days=refused) if refused is not None else None,
        seeds={name: _seed(name, value) for name, value in tree.get("seeds", {}).items()},
        any_seed=tree.get("any_seed", False),
    )


def read_times(path: Path) -> dict[str, datetime]:
    """When each notebook was handed in: a CSV file with the columns `notebook` and `submitted`.

    notebook: see `times_of`. submitted: ISO 8601; without a zone UTC.
    """
    try:
        with open(path, newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CallError(f"{path} cannot be read: {error}") from None
    times: dict[str, datetime] = {}
    for number, row in enumerate(rows, 2):
        try:
            name = row["notebook"]
            time = _with_zone(datetime.fromisoformat(row["submitted"]))
            if times.setdefault(name, time) != time:
                raise CallError(f"{path}, line {number}: {name!r} has two times")
        except (KeyError, TypeError, ValueError):
            raise CallError(
                f"{path}, line {number}: expected the columns notebook,submitted with a time such "
                f"as 2026-11-30T18:05:00Z, got {row}"
            ) from None
    return times


def times_of(
    notebooks: Sequence[tuple[Path, str]], times: Mapping[str, datetime]
) -> list[datetime]:
    """When each of the notebooks was handed in. Raises CallError where that is not plain.

    notebooks: the path, and the path within the folder that was given. A row of the table names
    one of the two, or the file's name alone where no other notebook has it.
    """
    frequency = Counter(path.name for path, _ in notebooks)
    rows = {os.path.normpath(row): time for row, time in times.items()}
    found: list[datetime] = []
    used: set[str] = set()
    without: list[str] = []
    for path, within in notebooks:
        names = {os.path.normpath(path), os.path.normpath(within)}
        names |= {path.name} if frequency[path.name] == 1 else set()
        matching = [name for name in sorted(names) if name in rows]
        used.update(matching)
        if len({rows[name] for name in matching}) > 1:
            raise CallError(f"the table gives {path} more than one time: {', '.join(matching)}")
        found += [rows[matching[0]]] if matching else []
        without += [] if matching else [str(path)]
    unused = [row for row in times if os.path.normpath(row) not in used]
    if without or unused:
        raise CallError(
            "the times of submission and the notebooks do not match, so nothing was graded.\n"
            f"Notebooks without a time: {_list(without)}\nRows without a notebook: {_list(unused)}"
        )
    return found


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return (", ".join(map(repr, names[:20])) + more) or "none"


def _seed(name: str, value: Any) -> int:
    _points(name, None)
    if isinstance(value, bool) or not isinstance(value, int):
        raise CallError(f"the seed of {name} is {value!r}; expected a whole number")
    return value


def _points(name: str, value: Any) -> float:
    exercise = catalogue().get(name)
    if exercise is None:
        raise CallError(
            f"there is no exercise {name!r}; `annotated-transformer progress` lists all"
        )
    if value is None:
        return float(exercise.difficulty)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e6:
        raise CallError(f"the points of {name} are {value!r}; expected a number from 0 on")
    return float(value)


def _with_zone(time: datetime) -> datetime:
    return time if time.tzinfo else time.replace(tzinfo=UTC)

"""A plan: which runs will be made and what each is expected to show, written before the first."""

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from annotated_transformer.errors import CallError
from annotated_transformer.scoring import PROTOCOLS
from annotated_transformer.table3 import TABLE_3

PLANS = Path(__file__).resolve().parent / "plans"
BASE = "base"  # the row that changes nothing
PROGRAM = "annotated-transformer"
NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")

Options = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """What is changed together.

    Attributes:
        name: short, of small letters, digits, dots and hyphens; it names folders.
        says: the change in words, for the table.
        change: options of `train` that differ from the plan's; None takes one away.
        expect: what the row is expected to show, written before it was run.
        seeds: how many runs, with the seeds 0, 1, ...
        table3: the row of the paper's Table 3 that it mirrors, such as "A1"; "" if none.
    """

    name: str
    says: str
    change: Options
    expect: str
    seeds: int = 1
    table3: str = ""


@dataclass(frozen=True)
class Plan:
    """The rows of a study and what they have in common.

    Attributes:
        name: the plan file's name.
        title: for a reader.
        question: what the study asks, in sentences.
        data: the corpus.
        split: where the runs are scored. Not a test set: settings may be chosen by these scores.
        beam: of the search by whose score the rows are compared.
        options: options of `train` that all rows share.
        rows: the base first.
        protocol: the score by which the rows are compared.
        more_beams: further searches that are scored.
        chosen: how sizes and settings were chosen, in sentences.
    """

    name: str
    title: str
    question: str
    data: str
    split: str
    beam: int
    options: Options
    rows: tuple[Row, ...]
    protocol: str = "lower-tokenised"
    more_beams: tuple[int, ...] = ()
    chosen: str = ""

    def row(self, name: str) -> Row:
        """The row of this name. Raises CallError if there is none."""
        for row in self.rows:
            if row.name == name:
                return row
        raise CallError(
            f"the plan {self.name} has no row {name!r}; its rows are "
            f"{', '.join(row.name for row in self.rows)}."
        )

    def choose(self, names: Collection[str] | None, seeds: int | None) -> list["Task"]:
        """The runs of some rows (default all), of each the first so many seeds (default all)."""
        chosen = self.rows if names is None else [self.row(name) for name in names]
        return [
            Task(self, row, seed)
            for row in chosen
            for seed in range(row.seeds if seeds is None else min(seeds, row.seeds))
        ]


@dataclass(frozen=True)
class Task:
    """One run of a plan: a row with a seed."""

    plan: Plan
    row: Row
    seed: int

    @property
    def name(self) -> str:
        """Names its folders."""
        return f"{self.row.name}_s{self.seed}"

    @property
    def beams(self) -> tuple[int, ...]:
        """Of the searches that are scored."""
        return self.plan.beam, *self.plan.more_beams

    @property
    def keeps_translations(self) -> bool:
        """Whether the translations of the compared search go into the record, for paired tests.

        One seed a row is enough to compare two rows sentence by sentence. The base keeps all of
        its own: how far two trainings of one model lie apart is the measure of such a comparison.
        """
        return self.seed == 0 or self.row.name == BASE

    @property
    def run_dir(self) -> str:
        """Where the recorded command trains; the runner may train elsewhere."""
        return f"runs/{self.plan.name}/{self.name}"

    def train_words(self, run_dir: str) -> list[str]:
        """The words of the training's command, without the program's name."""
        changed = {**self.plan.options, **self.row.change}
        options = {name: value for name, value in changed.items() if value is not None}
        return [
            *("train", "--data", self.plan.data, "--run-dir", run_dir),
            *words_of(options),
            *("--seed", str(self.seed)),
        ]

    def evaluate_words(self, run_dir: str, beam: int) -> list[str]:
        """The words of the command that scores one search."""
        options: Options = {"split": self.plan.split, "beam": beam}
        if "threads" in self.plan.options:
            options["threads"] = self.plan.options["threads"]
        if self.keeps_translations and beam == self.plan.beam:
            options["output"] = self.translations(run_dir)
        return ["evaluate", "--run-dir", run_dir, *words_of(options)]

    def translations(self, run_dir: str) -> str:
        """The file of the translations that are kept."""
        return f"{run_dir}.{self.plan.split}.txt"

    def commands(self) -> list[str]:
        """Training and each scoring as they are recorded and as anybody can type them."""
        words = [self.train_words(self.run_dir)]
        words += [self.evaluate_words(self.run_dir, beam) for beam in self.beams]
        return [" ".join([PROGRAM, *one]) for one in words]


def words_of(options: Options) -> list[str]:
    """Options as they are typed.

    {"max_tokens": 2048, "byte_dropout": True, "residual": False} to
    ["--max-tokens", "2048", "--byte-dropout", "--no-residual"].
    """
    words = []
    for name, value in options.items():
        words.append(("--no-" if value is False else "--") + name.replace("_", "-"))
        if not isinstance(value, bool):
            words.append(str(value))
    return words


def plan_names() -> list[str]:
    """The plans that come with the package."""
    return sorted(path.stem for path in PLANS.glob("*.json"))


def load_plan(name: str) -> Plan:
    """Read one plan.

    Raises:
        CallError: if there is none of this name, or it is not sound.
    """
    path = PLANS / f"{name}.json"
    if not path.is_file():
        raise CallError(f"there is no plan {name!r}; choose from {', '.join(plan_names())}.")
    return read_plan(name, json.loads(path.read_text("utf-8")))


def read_plan(name: str, values: dict[str, Any]) -> Plan:
    """A plan from the contents of its file.

    Raises:
        CallError: if a field is missing or unknown, a name stands twice, or the base changes
            something.
    """
    try:
        rows = tuple(Row(**row) for row in values["rows"])
        more_beams = tuple(values.get("more_beams", ()))
        plan = Plan(name=name, **{**values, "rows": rows, "more_beams": more_beams})
    except (TypeError, KeyError) as error:
        raise CallError(
            f"the plan {name} is not sound: {error}. A plan has "
            f"{', '.join(field.name for field in fields(Plan) if field.name != 'name')}, a row "
            f"{', '.join(field.name for field in fields(Row))}."
        ) from error
    if problems := problems_of_rows(plan.rows) + problems_of_scoring(plan):
        raise CallError(f"the plan {name} is not sound: {' '.join(problems)}")
    return plan


def problems_of_scoring(plan: Plan) -> list[str]:
    """What is wrong with the way the runs are scored, a sentence each."""
    problems = []
    if plan.protocol not in PROTOCOLS:
        problems.append(f"The protocol {plan.protocol!r} is none of {', '.join(PROTOCOLS)}.")
    if plan.beam in plan.more_beams or len(set(plan.more_beams)) < len(plan.more_beams):
        problems.append("A beam stands twice.")
    mirrored = {row.table3 for row in plan.rows if row.table3}
    if unknown := sorted(mirrored - {row.preset for row in TABLE_3}):
        problems.append(f"Table 3 has no row {', '.join(unknown)}.")
    return problems


def problems_of_rows(rows: Sequence[Row]) -> list[str]:
    """What is wrong with the rows, a sentence each."""
    names = [row.name for row in rows]
    problems = [
        f"The row {name} stands twice." for name in sorted(set(names)) if names.count(name) > 1
    ]
    if not rows or rows[0].name != BASE or rows[0].change:
        problems.append(f"Its first row must be {BASE!r} and change nothing.")
    problems += [
        f"The name {name!r} is not of small letters, digits, dots and hyphens."
        for name in names
        if not NAME.fullmatch(name)
    ]
    problems += [f"The row {row.name} changes nothing." for row in rows[1:] if not row.change]
    problems += [f"The row {row.name} expects nothing." for row in rows if not row.expect]
    problems += [f"The row {row.name} has {row.seeds} seeds." for row in rows if row.seeds < 1]
    return problems

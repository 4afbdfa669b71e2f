"""A plan: which runs will be made and what each is expected to show, written before the first."""

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from annotated_transformer.errors import CallError
from annotated_transformer.evaluation.scoring import PROTOCOLS
from annotated_transformer.evidence.table3 import TABLE_3

PLANS = Path(__file__).resolve().parent / "plans"
BASE = "base"  # the row that changes nothing
PROGRAM = "annotated-transformer"
NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")
# Of a run, as a Range names it.
FIGURE = re.compile(r"score|perplexity|(?P<gain>gain of )?beam (?P<beam>[1-9][0-9]*)")

Options = dict[str, Any]


KINDS_OF_PLAN = {"rows": list, "beam": int, "options": dict, "more_beams": list, "split": str}
KINDS_OF_ROW = {"name": str, "says": str, "change": dict, "expect": str, "seeds": int}
KINDS_OF_ROW |= {"ranges": list, "keep": list, "table3": str}
ADVICE = "Write it as the plans that come with the package."


@dataclass(frozen=True)
class Range:
    """One statement of an expectation as borders, so that figures alone can judge it.

    Attributes:
        low: the least that is expected; None where nothing is too little.
        high: the most; None where nothing is too much.
        figure: of a run: "score" (by which the plan compares), "perplexity", "beam 4" (the score of
            that search), or "gain of beam 4" (over the score by which the plan compares).
        against: a row whose mean is subtracted first; "" where the figure itself is meant.
        of: the row's "mean" over seeds, or its "lowest" or "highest", which stand for themselves.
    """

    low: float | None = None
    high: float | None = None
    figure: str = "score"
    against: str = BASE
    of: Literal["mean", "lowest", "highest"] = "mean"


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
        ranges: what `expect` says in figures, once more as borders. Ranks ("the worst of the four")
            and proportions ("a third higher") stay words.
        keep: beams whose translations of every seed go into the record, besides those of every
            plan (`Task.keeps`).
    """

    name: str
    says: str
    change: Options
    expect: str
    seeds: int = 1
    table3: str = ""
    ranges: tuple[Range, ...] = ()
    keep: tuple[int, ...] = ()


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

    def rows_of(self, name: str) -> list[Row]:
        """The rows that a name means: the plan's own, or the paper's ("A1", or "A" for A1 to A4).

        Raises CallError if it means none.
        """
        of_the_paper = [
            row
            for row in self.rows
            if row.table3 and name in (row.table3, row.table3.rstrip("0123456789"))
        ]
        return of_the_paper or [self.row(name)]

    def choose(self, names: Collection[str] | None, seeds: int | None) -> list["Task"]:
        """The runs of some rows (default all), of each the first so many seeds (default all)."""
        named = {row.name: row for name in names or () for row in self.rows_of(name)}
        chosen = self.rows if names is None else named.values()
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

    def keeps(self, beam: int) -> bool:
        """Whether the translations of a search go into the record.

        Those of the compared search are for paired tests. One seed a row is enough to compare two
        rows sentence by sentence. The base keeps all of its own: how far two trainings of one model
        lie apart is the measure of such a comparison. What else is kept, a row says.
        """
        paired = beam == self.plan.beam and (self.seed == 0 or self.row.name == BASE)
        return paired or beam in self.row.keep

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
        if self.keeps(beam):
            options["output"] = self.translations(run_dir, beam)
        return ["evaluate", "--run-dir", run_dir, *words_of(options)]

    def translations(self, run_dir: str, beam: int) -> str:
        """The file of a search's translations, if they are kept."""
        return f"{run_dir}.{self.kept_as(beam)}.txt"

    def kept_as(self, beam: int) -> str:
        """What files of translations are called after: "valid", or "valid.beam4" beside it."""
        return self.plan.split + ("" if beam == self.plan.beam else f".beam{beam}")

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
    """Read one plan: of the package by its name, or a file of one's own by a path ending in .json.

    Raises:
        CallError: if there is none of this name, or it is not sound.
    """
    path = Path(name) if name.endswith(".json") else PLANS / f"{name}.json"
    if not path.is_file():
        raise CallError(
            f"there is no plan {name!r}; choose from {', '.join(plan_names())}, or give the path "
            "of a plan of your own, which ends in .json."
        )
    try:
        values = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise CallError(f"{path} is not JSON: {error}.") from error
    return read_plan(path.stem, values)


def read_plan(name: str, values: dict[str, Any]) -> Plan:
    """A plan from the contents of its file.

    Raises:
        CallError: if a field is missing or unknown, a name stands twice, the base changes
            something, or a range cannot be judged.
        WorkError: if a field is of another kind than what is asked of it.
    """
    from annotated_transformer.training.run_files import checked  # PyTorch: not for --help

    checked(values, KINDS_OF_PLAN, f"the plan {name}", ADVICE, may_lack=KINDS_OF_PLAN)
    for row in values.get("rows", ()):
        checked(row, KINDS_OF_ROW, f"a row of the plan {name}", ADVICE, may_lack=KINDS_OF_ROW)
    try:
        rows = tuple(read_row(row) for row in values["rows"])
        more_beams = tuple(values.get("more_beams", ()))
        plan = Plan(name=name, **{**values, "rows": rows, "more_beams": more_beams})
    except (TypeError, KeyError) as error:
        raise CallError(
            f"the plan {name} is not sound: {error}. A plan has "
            f"{names_of(Plan).removeprefix('name, ')}, a row {names_of(Row)}, a range "
            f"{names_of(Range)}."
        ) from error
    problems = problems_of_rows(plan.rows) + problems_of_scoring(plan) + problems_of_ranges(plan)
    if problems:
        raise CallError(f"the plan {name} is not sound: {' '.join(problems)}")
    return plan


def read_row(values: dict[str, Any]) -> Row:
    """A row from its part of a plan's file. Raises TypeError for a field that is unknown."""
    ranges = tuple(Range(**one) for one in values.get("ranges", ()))
    return Row(**{**values, "ranges": ranges, "keep": tuple(values.get("keep", ()))})


def names_of(kind: type) -> str:
    """The fields, for a message."""
    return ", ".join(field.name for field in fields(kind))


def problems_of_scoring(plan: Plan) -> list[str]:
    """What is wrong with the way the runs are scored, a sentence each."""
    problems = []
    if plan.protocol not in PROTOCOLS:
        problems.append(f"The protocol {plan.protocol!r} is none of {', '.join(PROTOCOLS)}.")
    if missing := sorted(
        {b for row in plan.rows for b in row.keep} - {plan.beam, *plan.more_beams}
    ):
        problems.append(f"No search has the beam {', '.join(map(str, missing))} that a row keeps.")
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


def problems_of_ranges(plan: Plan) -> list[str]:
    """Ranges that nothing could judge, or that nothing could fail, a sentence each."""
    return [
        f"A range of the row {row.name} {problem}"
        for row in plan.rows
        for one in row.ranges
        for problem in problems_of_range(one, row, plan)
    ]


def problems_of_range(one: Range, row: Row, plan: Plan) -> list[str]:
    """What is wrong with a range of a row, the ends of sentences."""
    borders = [border for border in (one.low, one.high) if border is not None]
    problems = []
    if not borders:
        problems.append("has no border.")
    if not all(isinstance(border, int | float) for border in borders):
        problems.append(f"has a border that is no number: {one.low!r}, {one.high!r}.")
    elif borders != sorted(borders):
        problems.append(f"begins at {one.low} and ends at {one.high}.")
    if one.against and one.against not in (other.name for other in plan.rows):
        problems.append(f"is against {one.against!r}, which is no row of the plan.")
    if one.against == row.name:
        problems.append("is against the row itself.")
    if one.of not in ("mean", "lowest", "highest"):
        problems.append(f"is of the {one.of!r}, not the mean, the lowest or the highest.")
    if one.of != "mean" and one.against:
        problems.append(f"is of the {one.of} and against a row: only means are subtracted.")
    if not (figure := FIGURE.fullmatch(one.figure)):
        problems.append(f"is of {one.figure!r}, not of score, perplexity or a beam.")
    elif figure["beam"] and int(figure["beam"]) not in (plan.beam, *plan.more_beams):
        problems.append(f"is of beam {figure['beam']}, by which nothing is scored.")
    elif figure["gain"] and int(figure["beam"]) == plan.beam:
        problems.append("is of the gain of a search over itself.")
    return problems

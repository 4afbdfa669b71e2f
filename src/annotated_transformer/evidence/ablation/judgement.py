"""Were the expectations right? The ranges of a plan held against what its runs gave."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Literal

from annotated_transformer.evidence.ablation.intervals import welch_margin
from annotated_transformer.evidence.ablation.plan import BASE, FIGURE, Plan, Range, Row
from annotated_transformer.evidence.ablation.study import Figure, Study

Judgement = Literal["held", "open", "wrong"]
STATISTICS: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": mean,
    "lowest": min,
    "highest": max,
}


@dataclass(frozen=True)
class Judged:
    """One range of a row's expectation, and what was found.

    Attributes:
        row: whose.
        expected: the range.
        found: the figure; with `expected.against`, its difference to that row's.
        margin: half the 95 % interval of the difference; 0 for a figure itself, which is in or out,
            and where no row of the study has two runs.
        missing: how many of the row's runs failed; `found` is of the others.
    """

    row: Row
    expected: Range
    found: float
    margin: float
    missing: int = 0

    @property
    def judgement(self) -> Judgement:
        """ "held" if what was found lies in the range, "open" if a part of its interval does."""
        low, high = self.borders
        if low <= self.found <= high:
            return "held"
        lowest, highest = self.found - self.margin, self.found + self.margin
        return "wrong" if highest < low or high < lowest else "open"

    @property
    def whole(self) -> bool:
        """Whether the whole interval lies in the range, not the mean alone."""
        low, high = self.borders
        return low <= self.found - self.margin and self.found + self.margin <= high

    @property
    def borders(self) -> tuple[float, float]:
        """Of the range, infinite where it has none."""
        low, high = self.expected.low, self.expected.high
        return (-math.inf if low is None else low, math.inf if high is None else high)


def judge(study: Study) -> list[Judged]:
    """Every range of the plan whose row has been run, in the plan's order."""
    return [
        judged
        for row in study.plan.rows
        for expected in row.ranges
        if (judged := judge_range(study, row, expected)) is not None
    ]


def judge_range(study: Study, row: Row, expected: Range) -> Judged | None:
    """One of them; None if the row, or the one that it is held against, lacks the figure.

    Also None where a row of one run is held against another than the base: nothing would tell how
    much seeds differ.
    """
    figure = figure_of(study.plan, expected.figure)
    values = study.values(figure)
    own, others = (values.get(name, []) for name in (row.name, expected.against))
    if not own or (expected.against and not others):
        return None
    failed = sum(not outcome.finished for outcome in study.of_row(row.name))
    if not expected.against:
        return Judged(row, expected, STATISTICS[expected.of](own), 0, failed)
    if expected.against == BASE:
        effect = study.effects_in(figure)[row.name]
        return Judged(row, expected, effect.difference, effect.margin or 0, failed)
    if min(len(own), len(others)) < 2:
        return None
    return Judged(row, expected, mean(own) - mean(others), welch_margin(own, others), failed)


def figure_of(plan: Plan, name: str) -> Figure:
    """The figure that a range names (`Range.figure`)."""
    if name == "score":
        return lambda outcome: outcome.scores.get(plan.beam)
    if name == "perplexity":
        return lambda outcome: outcome.perplexity
    match = FIGURE.fullmatch(name)
    assert match is not None, name  # plans with other figures are refused
    beam = int(match["beam"])
    if match["gain"] is None:
        return lambda outcome: outcome.scores.get(beam)
    return lambda outcome: (
        outcome.scores[beam] - outcome.scores[plan.beam] if beam in outcome.scores else None
    )


def name_of(one: Range) -> str:
    """What is judged, "" for the usual: the score's mean against the base."""
    of = "" if one.of == "mean" else f"{one.of} "
    against = {"": " itself", BASE: ""}.get(one.against, f" against {one.against}")
    return "" if one == Range(one.low, one.high) else f"{of}{one.figure}{against}"


def failures_of(one: Judged) -> str:
    """How many of the runs are missing from what was found, "" if none."""
    return f"{one.missing} of {one.row.seeds} runs failed" if one.missing else ""


def range_in_words(one: Range) -> str:
    """The borders, for a table: "-2 to -0.3", "-5 or less"; signed where it is a difference."""
    sign = "+" if one.against else ""
    low, high = (
        None if border is None else f"{border:{sign if border else ''}g}"
        for border in (one.low, one.high)
    )
    if low is None or high is None:
        return f"{high} or less" if low is None else f"{low} or more"
    return f"{low} to {high}"

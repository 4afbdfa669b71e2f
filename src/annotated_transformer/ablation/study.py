"""The runs of a plan beside each other: what each gave, and every row against the base.

`results/` is not part of the installed package, so `outcomes/PLAN.json` repeats the figures by
which runs are compared. `annotated-transformer ledger build` makes these files from the records,
`ledger check` holds the two together.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean

from annotated_transformer.ablation.differences import Found, differences
from annotated_transformer.ablation.plan import Plan, load_plan

OUTCOMES = Path(__file__).resolve().parent / "outcomes"


@dataclass(frozen=True)
class Outcome:
    """What one run gave.

    Attributes:
        row: the row's name in the plan.
        seed: of the training.
        finished: whether it came to its end; if not, it has no scores.
        scores: beam -> the score by which the plan compares its rows.
        loss: the last validation loss, nats per token, of the last weights (not of their mean);
            None if it never got there.
        perplexity: of the split that is scored, per piece; None if it was not taken.
        minutes: of processor time.
        commit: the code that trained it.
        changed: whether files of the package differed from that commit.
        processor: on what, as the system names it.
        right: of the translations that are kept, a sentence each: 1 where it is the reference,
            letter for letter, else 0; "" if none are kept or the plan compares by another score.
    """

    row: str
    seed: int
    finished: bool
    scores: Mapping[int, float]
    loss: float | None
    perplexity: float | None
    minutes: float
    commit: str
    changed: bool
    processor: str
    right: str = ""


@dataclass(frozen=True)
class Study:
    """A plan and what its runs gave so far.

    Attributes:
        plan: what was planned.
        outcomes: of the runs that have a record, in the plan's order.
        signatures: of the scores, sacreBLEU's or how they are counted.
    """

    plan: Plan
    outcomes: tuple[Outcome, ...]
    signatures: tuple[str, ...] = ()

    def of_row(self, name: str) -> list[Outcome]:
        """What the runs of one row gave."""
        return [outcome for outcome in self.outcomes if outcome.row == name]

    def scores(self, beam: int) -> dict[str, list[float]]:
        """The scores of each row by one search, those that failed left out."""
        scores: dict[str, list[float]] = {}
        for outcome in self.outcomes:
            if beam in outcome.scores:
                scores.setdefault(outcome.row, []).append(outcome.scores[beam])
        return scores

    def found(self, beam: int | None = None) -> dict[str, Found]:
        """Each row compared with the base, by the plan's search or another."""
        scores = self.scores(self.plan.beam if beam is None else beam)
        return {one.row.name: one for one in differences(self.plan, scores)}

    def loss(self, name: str) -> float | None:
        """The mean over a row's seeds; None if it has none."""
        return _mean([outcome.loss for outcome in self.of_row(name)])

    def perplexity(self, name: str) -> float | None:
        """The mean over a row's seeds; None if it has none."""
        return _mean([outcome.perplexity for outcome in self.of_row(name)])

    def as_json(self) -> str:
        """The text of the plan's file in `outcomes/`."""
        runs = [asdict(outcome) for outcome in self.outcomes]
        return json.dumps({"signatures": self.signatures, "runs": runs}, indent=1) + "\n"


def load_study(name: str) -> Study:
    """A plan of this package and what its recorded runs gave.

    Raises:
        CallError: if there is no plan of this name.
    """
    plan = load_plan(name)
    values = json.loads((OUTCOMES / f"{name}.json").read_text("utf-8"))
    outcomes = [
        Outcome(**{**run, "scores": {int(beam): score for beam, score in run["scores"].items()}})
        for run in values["runs"]
    ]
    return Study(plan, tuple(outcomes), tuple(values["signatures"]))


def _mean(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return mean(there) if there else None

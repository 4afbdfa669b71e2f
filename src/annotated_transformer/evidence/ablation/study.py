"""The runs of a plan beside each other: what each gave, and every row against the base.

`results/` is not part of the installed package, so `outcomes/PLAN.json` repeats the figures by
which runs are compared. `annotated-transformer ledger build` makes these files from the records,
`ledger check` holds the two together.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import mean

from annotated_transformer.evidence.ablation.differences import Effect, differences
from annotated_transformer.evidence.ablation.plan import Plan, load_plan

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
        bleu: beam -> sacreBLEU's default ("cased", 13a).
        curve: (step, validation loss in nats per token), in the order of the training.
        right: of the translations that are kept, a sentence each: 1 where it is the reference,
            letter for letter, else 0; "" if none are kept or the plan compares by another score.
        different: how many different translations there are among them.
        begun_right: how many begin with the reference's first word.
        empty: beam -> how many translations have no word, of the searches whose output is kept.
        loops: beam -> how many go round in circles: three words in a row stand there three times.
        filled: the compared score of a beam's output in which greedy translations stand in place of
            those without a word (`ledger/filled.py`); None where the record has none.
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
    bleu: Mapping[int, float] = field(default_factory=dict)
    curve: Sequence[tuple[int, float]] = ()
    different: int = 0
    begun_right: int = 0
    empty: Mapping[int, int] = field(default_factory=dict)
    loops: Mapping[int, int] = field(default_factory=dict)
    filled: float | None = None


Figure = Callable[[Outcome], float | None]  # of a run; None where it has none


@dataclass(frozen=True)
class Study:
    """A plan and what its runs gave so far.

    Attributes:
        plan: what was planned.
        outcomes: of the runs that have a record, in the plan's order.
        signatures: of the scores, sacreBLEU's or how they are counted.
        bleu_signatures: of `Outcome.bleu`.
    """

    plan: Plan
    outcomes: tuple[Outcome, ...]
    signatures: tuple[str, ...] = ()
    bleu_signatures: tuple[str, ...] = ()

    def of_row(self, name: str) -> list[Outcome]:
        """What the runs of one row gave."""
        return [outcome for outcome in self.outcomes if outcome.row == name]

    def scores(self, beam: int) -> dict[str, list[float]]:
        """The scores of each row by one search, those that failed left out."""
        return self.values(lambda outcome: outcome.scores.get(beam))

    def values(self, figure: Figure) -> dict[str, list[float]]:
        """A figure of each row, one a seed; runs that lack it are left out."""
        values: dict[str, list[float]] = {}
        for outcome in self.outcomes:
            if (value := figure(outcome)) is not None:
                values.setdefault(outcome.row, []).append(value)
        return values

    def effects(self, beam: int | None = None) -> dict[str, Effect]:
        """Each row compared with the base, by the plan's search or another."""
        searched = self.plan.beam if beam is None else beam
        return self.effects_in(lambda outcome: outcome.scores.get(searched))

    def effects_in(self, figure: Figure) -> dict[str, Effect]:
        """Each row compared with the base in a figure."""
        return {one.row.name: one for one in differences(self.plan, self.values(figure))}

    def loss(self, name: str) -> float | None:
        """The mean over a row's seeds; None if it has none."""
        return _mean(self.values(lambda outcome: outcome.loss).get(name))

    def perplexity(self, name: str) -> float | None:
        """The mean over a row's seeds; None if it has none."""
        return _mean(self.values(lambda outcome: outcome.perplexity).get(name))

    def as_json(self) -> str:
        """The text of the plan's file in `outcomes/`, a run a line."""
        runs = ",\n".join("  " + json.dumps(asdict(outcome)) for outcome in self.outcomes)
        signatures, bleu = map(json.dumps, (self.signatures, self.bleu_signatures))
        return (
            f'{{\n "signatures": {signatures},\n "bleu_signatures": {bleu},\n "runs": [\n{runs}\n'
            " ]\n}\n"
        )


def load_study(name: str) -> Study:
    """A plan of this package and what its recorded runs gave; without outcomes while none is made.

    Raises:
        CallError: if there is no plan of this name, or it is not sound.
    """
    plan = load_plan(name)
    path = OUTCOMES / f"{name}.json"
    if not path.is_file():
        return Study(plan, ())
    values = json.loads(path.read_text("utf-8"))
    outcomes = []
    for run in values["runs"]:
        by_beam = {
            name: {int(beam): value for beam, value in run[name].items()}
            for name in ("scores", "bleu", "empty", "loops")
        }
        curve = tuple((step, loss) for step, loss in run["curve"])
        outcomes.append(Outcome(**{**run, **by_beam, "curve": curve}))
    signatures = (tuple(values[name]) for name in ("signatures", "bleu_signatures"))
    return Study(plan, tuple(outcomes), *signatures)


def _mean(values: Sequence[float] | None) -> float | None:
    return mean(values) if values else None

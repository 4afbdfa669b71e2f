"""What a row of the ledger is: one or more facts of the paper, and what we did about them."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum


class Treatment(Enum):
    """What we did about a fact. The value is the word that the page shows."""

    EXACT = "exact"
    RECOMPUTED = "recomputed"
    MEASURED = "measured"
    NOT_DONE = "not done"


class Reason(Enum):
    """Why a fact is not settled here. The value is what the page says."""

    GPU = "WMT 2014 and a GPU for as long as the paper trained: money, not knowledge"
    OTHERS = "results of other systems, which the paper quotes and we do not train again"
    NOT_FREE = "the Penn Treebank, which is not free"
    PRIORITY = "a claim to be the first, which no measurement settles"
    NO_CLAIM = "about the text or the protocol itself, so that there is nothing to test"


EXPLANATIONS = {
    Treatment.EXACT: "our code does this by default, and the figure is read from the code",
    Treatment.RECOMPUTED: "the figure follows from other figures of the paper, or from counting; "
    "nothing was trained",
    Treatment.MEASURED: "an experiment of ours, smaller than the paper's where the paper has one",
    Treatment.NOT_DONE: "each says what it would take. What is in the way is, for",
}


@dataclass(frozen=True)
class Finding:
    """Our side of a row, as a function computed it.

    Attributes:
        text: our figure, with its spread where there is one.
        agrees: whether it agrees with what the paper says.
    """

    text: str
    agrees: bool = True


@dataclass(frozen=True)
class Row:
    """One line of the ledger.

    Attributes:
        facts: ids of the facts it settles; at least one.
        treatment: what we did.
        ours: computes our figure. A row that is not "not done" needs it, or `chapter`.
        chapter: the notebook, such as "02_attention", in which a cell's metadata names one of the
            facts; where there is no `ours`, what that cell prints is shown.
        because: why ours differs, where it does.
        missing: what is not done, and its cost.
        reason: why a row is "not done"; each of them has one, and no other row.
        test: "tests/test_x.py::test_y", the test that holds it.
        nearest_runs: show our recorded runs beside it, although they are on other data.
    """

    facts: tuple[str, ...]
    treatment: Treatment
    ours: Callable[[], Finding] | None = None
    chapter: str = ""
    because: str = ""
    missing: str = ""
    reason: Reason | None = None
    test: str = ""
    nearest_runs: bool = False


def facts_by_treatment(rows: Iterable[Row]) -> Counter[Treatment]:
    """How many facts each treatment has."""
    counts: Counter[Treatment] = Counter()
    for row in rows:
        counts[row.treatment] += len(row.facts)
    return counts


def facts_by_reason(rows: Iterable[Row]) -> Counter[Reason]:
    """How many facts are not settled, for each reason."""
    counts: Counter[Reason] = Counter()
    for row in rows:
        if row.reason is not None:
            counts[row.reason] += len(row.facts)
    return counts


@dataclass(frozen=True)
class Consequence:
    """A number that follows from the paper and is not printed in it."""

    name: str
    ours: Callable[[], Finding]
    test: str = ""

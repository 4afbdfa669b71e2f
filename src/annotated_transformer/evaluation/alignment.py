"""The alignment error rate (Och and Ney, 2003): links between words against known ones."""

from collections.abc import Sequence, Set
from dataclasses import dataclass

from annotated_transformer.errors import CallError

Link = tuple[int, int]  # (word of the source, word of the target)


@dataclass(frozen=True)
class AlignmentScore:
    """How good guessed links are, over all sentences together.

    Attributes:
        precision: share of the guessed links that are possible.
        recall: share of the sure links that were guessed.
        error_rate: AER, 1 - (guessed and sure + guessed and possible) / (guessed + sure).
    """

    precision: float
    recall: float
    error_rate: float


def alignment_error_rate(
    guessed: Sequence[Set[Link]],
    sure: Sequence[Set[Link]],
    possible: Sequence[Set[Link]] | None = None,
) -> AlignmentScore:
    """Score links, a set for each sentence.

    Args:
        guessed: links (i, j): word i of the source and word j of the target.
        sure: the links that have to be there.
        possible: those that may be; every sure link is possible too. None: the sure ones alone,
            and then the error rate is 1 - F1.

    Raises:
        CallError: the lists have not the same length, or there is no sure and no guessed link.
    """
    may = sure if possible is None else possible
    if not len(guessed) == len(sure) == len(may):
        raise CallError(
            f"links of {len(guessed)} sentences were given, sure ones of {len(sure)} and possible "
            f"ones of {len(may)}; each sentence needs all three"
        )
    said = sum(len(links) for links in guessed)
    wanted = sum(len(links) for links in sure)
    if not said + wanted:
        raise CallError("no link was guessed and none is known: there is nothing to score")
    in_sure = sum(len(a & s) for a, s in zip(guessed, sure, strict=True))
    in_possible = sum(len(a & (p | s)) for a, s, p in zip(guessed, sure, may, strict=True))
    return AlignmentScore(
        precision=in_possible / said if said else 0.0,
        recall=in_sure / wanted if wanted else 1.0,
        error_rate=1 - (in_sure + in_possible) / (said + wanted),
    )

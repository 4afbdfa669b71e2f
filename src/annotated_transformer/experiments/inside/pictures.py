"""The strongest picture: what one finds when one may choose the head and the sentence."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch

from annotated_transformer.data.grammar.relations import Relation
from annotated_transformer.experiments.inside.looks import Looks


@dataclass(frozen=True)
class Picture:
    """A word that looks at another: the largest weight on a link among all heads and sentences.

    Attributes:
        weight: that weight.
        attention, head: whose it is.
        sentence: where, by its number in the split.
        link: the word that looks, the word it looks at.
        mean: the mean weight of the same head on all links asked about.
        tried: from how many weights this one was chosen.
    """

    weight: float
    attention: str
    head: int
    sentence: int
    link: Relation
    mean: float
    tried: int


def strongest(
    looks: Iterable[Looks], links: Mapping[int, Sequence[Relation]], side: str = "encoder"
) -> Picture:
    """The best picture of a relation.

    Args:
        looks: of sentences.
        links: sentence -> the pairs of words that count: the one that looks, the one looked at.
        side: "encoder", "decoder" or "cross".
    """
    best: tuple[float, str, int, int, Relation] | None = None
    sums: dict[tuple[str, int], float] = {}
    tried = asked = 0
    for of in looks:
        for link in links.get(of.sentence, ()):
            asked += 1
            for attention, weights in getattr(of, side).items():
                there = weights[:, link[0], link[1] + (side == "decoder")]  # (heads,)
                for head, weight in enumerate(there.tolist()):
                    tried += 1
                    sums[attention, head] = sums.get((attention, head), 0.0) + weight
                    if best is None or weight > best[0]:
                        best = weight, attention, head, of.sentence, link
    if best is None:
        raise ValueError("no sentence has such a pair of words")
    return Picture(*best, mean=sums[best[1], best[2]] / asked, tried=tried)


def drawn_pairs(words: int, pairs: int, draw: torch.Generator, apart: int) -> list[Relation]:
    """Pairs of places at least `apart` words apart, drawn without looking at the grammar."""
    every = [(i, j) for i in range(words) for j in range(words) if abs(i - j) >= apart]
    order = torch.randperm(len(every), generator=draw)[:pairs].tolist()
    return [every[n] for n in order]

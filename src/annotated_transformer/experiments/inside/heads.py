"""What each head looks at, counted: places, and words that belong together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.data.corpus import Alignment
from annotated_transformer.data.grammar.relations import RELATIONS, Related, Relation
from annotated_transformer.experiments.inside.looks import Looks

PLACES = ("previous word", "own word", "next word", "start or end sign")
OFFSETS = range(-6, 7)  # among these the best fixed distance is sought
AT_LEAST = 0.5  # of the weight on a place, or of the words that are hit: then a head has a name
AHEAD = 0.1  # by so much a head has to beat the best fixed distance to be called by a relation


@dataclass(frozen=True)
class Hits:
    """How often heads look most at a word that belongs to the one that looks.

    Attributes:
        words: how many words looked that have such a word.
        shares: share of them whose largest weight lies on one, for each head, (heads,).
        fixed: share that the best fixed distance hits: "two words back", whatever stands there.
        offset: that distance.
    """

    words: int
    shares: Tensor
    fixed: float
    offset: int

    def names_head(self, head: int) -> bool:
        """Whether a head may be called by this relation."""
        share = float(self.shares[head])
        return share >= AT_LEAST and share >= self.fixed + AHEAD


@dataclass(frozen=True)
class Described:
    """The heads of one attention.

    Attributes:
        places: a name of PLACES -> mean weight on it over all words that look, (heads,). A word
            that has no such place counts as none: the first has no previous word. Empty for
            cross-attention, whose queries have no place among the keys.
        relations: "subject" -> hits of dependents that look at their heads, "subject, back" -> the
            other way round; for cross-attention "translation" alone.
        width: at how many words a head looks: 2 to the power of the entropy of its weights in bits,
            mean over the words that look, (heads,).
    """

    places: dict[str, Tensor]
    relations: dict[str, Hits]
    width: Tensor

    def names(self, head: int) -> list[str]:
        """What a head may be called: places with half of its weight, relations that it hits.

        A relation has to be hit in half of the cases, and by a tenth more often than the best
        fixed distance hits it.
        """
        places = [name for name, of in self.places.items() if float(of[head]) >= AT_LEAST]
        return places + [name for name, hits in self.relations.items() if hits.names_head(head)]

    def job(self, name: str, head: int) -> "Job | None":
        """How much a head does of a job; None where it cannot have it.

        Of a relation the direction is taken in which the head is further ahead of the rival.
        """
        if name in self.places:
            share = float(self.places[name][head])
            return Job(share, share >= AT_LEAST, back=False)
        ways = [
            Job(float(hits.shares[head]), hits.names_head(head), way != name, hits.fixed)
            for way in (name, f"{name}, back")
            if (hits := self.relations.get(way))
        ]
        return max(ways, key=lambda job: job.share - job.fixed, default=None)


@dataclass(frozen=True)
class Job:
    """What one head does of one job.

    Attributes:
        share: of its weight, or of the words that look.
        named: whether the head may be called by it.
        back: whether it looks from the head of a relation to what depends on it.
        fixed: what the best fixed distance hits, of a relation.
    """

    share: float
    named: bool
    back: bool
    fixed: float = 0.0


JOBS = (*PLACES, *RELATIONS, "translation")


@dataclass
class _Sums:
    """What is added up over the sentences for one attention."""

    places: dict[str, Tensor] = field(default_factory=dict)
    hits: dict[str, Tensor] = field(default_factory=dict)
    fixed: dict[str, Tensor] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    widths: list[Tensor] = field(default_factory=list)
    words: int = 0

    def add_width(self, weights: Tensor) -> None:
        entropy = -(weights * weights.clamp(min=1e-12).log2()).sum(-1)  # (heads, rows), in bits
        self.widths.append((2**entropy).sum(-1))
        self.words += weights.size(1)

    def add_places(self, weights: Tensor, first: int) -> None:
        """`first`: the column of word 0, behind the start sign if there is one."""
        rows = torch.arange(weights.size(1))
        sign = 0 if first else weights.size(2) - 1
        shifts = {"previous word": -1, "own word": 0, "next word": 1}
        if first:  # the decoder sees no next word
            del shifts["next word"]
        for name, shift in shifts.items():
            real = (rows + shift >= 0) & (rows + shift < len(rows))
            there = weights[:, rows[real], rows[real] + shift + first].sum(-1)
            self.places[name] = self.places.get(name, 0.0) + there
        on_sign = weights[:, :, sign].sum(-1)
        self.places[PLACES[3]] = self.places.get(PLACES[3], 0.0) + on_sign

    def add_links(self, name: str, tops: Tensor, links: Iterable[Relation]) -> None:
        """Hits of `tops`, (heads, rows): the word that each looks at most.

        Args:
            links: a word that looks, and one that belongs to it; a word may have several.
        """
        belongs: dict[int, list[int]] = {}
        for row, column in links:
            belongs.setdefault(row, []).append(column)
        for row, wanted in belongs.items():
            hit = torch.isin(tops[:, row], torch.tensor(wanted)).double()
            self.hits[name] = self.hits.get(name, 0.0) + hit
            self.asked[name] = self.asked.get(name, 0) + 1
            fixed = torch.tensor([float(row + offset in wanted) for offset in OFFSETS])
            self.fixed[name] = self.fixed.get(name, 0.0) + fixed

    def add_related(self, weights: Tensor, first: int, related: Related) -> None:
        """Both directions of every relation; the decoder is asked for no word to come."""
        tops = weights.argmax(-1) - first
        for relation, links in related.items():
            for way, some in (("", links), (", back", [(j, i) for i, j in links])):
                seen = [(row, column) for row, column in some if not first or column <= row]
                self.add_links(f"{relation}{way}", tops, seen)

    def described(self) -> Described:
        relations = {}
        for name, hits in self.hits.items():
            fixed = self.fixed[name] / self.asked[name]
            best = int(fixed.argmax())
            relations[name] = Hits(
                self.asked[name], hits / self.asked[name], float(fixed[best]), OFFSETS[best]
            )
        return Described(
            {name: weights / self.words for name, weights in self.places.items()},
            relations,
            torch.stack(self.widths).sum(0) / self.words,
        )


def describe(
    looks: Iterable[Looks],
    alignments: Sequence[Alignment] | None = None,
    source_related: Sequence[Related] | None = None,
    target_related: Sequence[Related] | None = None,
) -> dict[str, Described]:
    """Every attention described.

    Args:
        looks: of sentences, see `looks.look`.
        alignments: of each sentence by its number; None where they are not known.
        source_related, target_related: likewise, the related words of both sides.

    Returns:
        attention -> what its heads look at.
    """
    sums: dict[str, _Sums] = {}
    for of in looks:
        for name, weights in of.every.items():
            into = sums.setdefault(name, _Sums())
            into.add_width(weights)
            if name in of.cross:
                if alignments is not None:
                    written = [(j, i) for i, j in alignments[of.sentence]]
                    into.add_links("translation", weights.argmax(-1), written)
                continue
            first = 1 if name in of.decoder else 0
            into.add_places(weights, first)
            related = target_related if first else source_related
            if related is not None:
                into.add_related(weights, first, related[of.sentence])
    return {name: of.described() for name, of in sums.items()}


def label(attention: str, head: int | None = None) -> str:
    """A short name: "encoder 1, head 2", "decoder 2, cross, head 1"; layers and heads from 1."""
    side, _, layer, kind = attention.split(".")
    parts = [f"{side} {int(layer) + 1}"]
    if side == "decoder":
        parts.append(kind.removesuffix("_attention"))
    if head is not None:
        parts.append(f"head {head + 1}")
    return ", ".join(parts)


def as_record(described: dict[str, Described]) -> dict[str, Any]:
    """What the heads of each attention may be called, and at how many words they look."""
    return {
        name: {
            "names": [of.names(head) for head in range(len(of.width))],
            "width": [round(width, 2) for width in of.width.tolist()],
        }
        for name, of in described.items()
    }

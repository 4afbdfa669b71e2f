"""What each head looks at, as numbers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.data.corpus import Alignment
from annotated_transformer.data.grammar.relations import Link
from annotated_transformer.experiments.inside.looks import Looks

PLACES = ("previous word", "own word", "next word", "start or end sign")
OFFSETS = range(-6, 7)  # among these the best fixed distance is sought
AT_LEAST = 0.5  # of the weight on a place, or of the words that are hit: then a head has a name


@dataclass(frozen=True)
class Hits:
    """How often heads look most at a word that belongs to the one that looks.

    Attributes:
        links: how many pairs of words were asked about.
        shares: share of them that each head hits, (heads,).
        fixed: share that the best fixed distance hits: "two words back", whatever stands there.
        offset: that distance.
    """

    links: int
    shares: Tensor
    fixed: float
    offset: int


@dataclass(frozen=True)
class Described:
    """The heads of one attention.

    Attributes:
        places: a name of PLACES -> mean weight on it, (heads,); empty for cross-attention, whose
            queries have no place among the keys.
        relations: "subject" -> hits of dependents that look at their heads, "subject, back" -> the
            other way round; for cross-attention "translation" alone.
        width: how many words a head looks at: 2 to the power of the entropy of its weights, mean
            over the words that look, (heads,).
        even: the same for weights that are all equal.
    """

    places: dict[str, Tensor]
    relations: dict[str, Hits]
    width: Tensor
    even: float

    def names(self, head: int) -> list[str]:
        """What a head may be called: nothing that it does less than AT_LEAST, or by place alone.

        A relation counts only where the head hits more often than the best fixed distance does.
        """
        found = [name for name, weights in self.places.items() if float(weights[head]) >= AT_LEAST]
        for name, hits in self.relations.items():
            share = float(hits.shares[head])
            if share >= AT_LEAST and share > hits.fixed:
                found.append(name)
        return found


@dataclass
class _Sums:
    """What is added up over the sentences for one attention."""

    places: dict[str, Tensor] = field(default_factory=dict)
    hits: dict[str, Tensor] = field(default_factory=dict)
    fixed: dict[str, Tensor] = field(default_factory=dict)
    links: dict[str, int] = field(default_factory=dict)
    entropy: Tensor | float = 0.0
    even: float = 0.0
    words: int = 0

    def add_width(self, weights: Tensor, allowed: Tensor) -> None:
        """`allowed`: how many columns each row may look at, (rows,)."""
        entropy = -(weights * weights.clamp(min=1e-12).log2()).sum(-1)  # (heads, rows), in bits
        self.entropy = self.entropy + (2**entropy).sum(-1)
        self.even += float(allowed.sum())
        self.words += weights.size(1)

    def add_places(self, weights: Tensor, first: int) -> None:
        """`first`: the column of word 0."""
        rows = torch.arange(weights.size(1))
        sign = 0 if first else weights.size(2) - 1
        for name, shift in zip(PLACES[:3], (-1, 0, 1), strict=True):
            real = (rows + shift >= 0) & (rows + shift < len(rows))
            there = weights[:, rows[real], rows[real] + shift + first].sum(-1)
            self.places[name] = self.places.get(name, 0.0) + there
        self.places[PLACES[3]] = self.places.get(PLACES[3], 0.0) + weights[:, :, sign].sum(-1)

    def add_links(self, name: str, tops: Tensor, links: Iterable[Link]) -> None:
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
            self.links[name] = self.links.get(name, 0) + 1
            fixed = torch.tensor([float(row + offset in wanted) for offset in OFFSETS])
            self.fixed[name] = self.fixed.get(name, 0.0) + fixed


def describe(
    looks: Iterable[Looks],
    alignments: Sequence[Alignment],
    source_relations: Sequence[Mapping[str, Sequence[Link]]] = (),
    target_relations: Sequence[Mapping[str, Sequence[Link]]] = (),
) -> dict[str, Described]:
    """Every attention described.

    Args:
        looks: of sentences, see `looks.look`.
        alignments: of each sentence by its number; empty lists where they are not known.
        source_relations, target_relations: likewise, the related words of both sides; may be left
            out.

    Returns:
        attention -> what its heads look at.
    """
    sums: dict[str, _Sums] = {}
    for of in looks:
        written = [(j, i) for i, j in alignments[of.sentence]]
        for name, weights in of.every.items():
            into = sums.setdefault(name, _Sums())
            tops = weights.argmax(-1)
            rows, columns = weights.shape[1:]
            if name in of.cross:
                into.add_width(weights, torch.full((rows,), columns))
                into.add_links("translation", tops, written)
                continue
            first = 1 if name in of.decoder else 0
            allowed = torch.arange(rows) + 2 if first else torch.full((rows,), columns)
            into.add_width(weights, allowed)
            into.add_places(weights, first)
            known = target_relations if first else source_relations
            for relation, links in known[of.sentence].items() if known else ():
                for way, some in (("", links), (", back", [(j, i) for i, j in links])):
                    # The decoder sees no word that is still to come: it is not asked for one.
                    seen = [(row, column) for row, column in some if not first or column <= row]
                    into.add_links(f"{relation}{way}", tops - first, seen)
    return {name: _mean(of) for name, of in sums.items()}


def _mean(sums: _Sums) -> Described:
    relations = {}
    for name, hits in sums.hits.items():
        fixed = sums.fixed[name] / sums.links[name]
        relations[name] = Hits(
            sums.links[name],
            hits / sums.links[name],
            float(fixed.max()),
            OFFSETS[int(fixed.argmax())],
        )
    assert isinstance(sums.entropy, Tensor)
    return Described(
        {name: weights / sums.words for name, weights in sums.places.items()},
        relations,
        sums.entropy / sums.words,
        sums.even / sums.words,
    )


def label(attention: str, head: int | None = None) -> str:
    """A short name: "encoder 1, head 2", "decoder 2, cross, head 1"; layers and heads from 1."""
    side, _, layer, kind = attention.split(".")
    parts = [f"{side} {int(layer) + 1}"]
    if side == "decoder":
        parts.append(kind.removesuffix("_attention"))
    if head is not None:
        parts.append(f"head {head + 1}")
    return ", ".join(parts)


def as_record(described: Mapping[str, Described]) -> dict[str, Any]:
    """The numbers, rounded, as they are kept.

    Of a relation: its links, the share that the best fixed distance hits, that distance, and the
    share that each head hits.
    """

    def rounded(values: Tensor) -> list[float]:
        return [round(value, 3) for value in values.tolist()]

    return {
        name: {
            "places": {place: rounded(weights) for place, weights in of.places.items()},
            "relations": {
                relation: [hits.links, round(hits.fixed, 3), hits.offset, *rounded(hits.shares)]
                for relation, hits in of.relations.items()
            },
            "width": rounded(of.width),
            "even": round(of.even, 2),
            "names": [of.names(head) for head in range(len(of.width))],
        }
        for name, of in described.items()
    }

"""Attention read as an alignment: which source word a layer points at."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from annotated_transformer.evaluation.alignment import alignment_error_rate
from annotated_transformer.experiments.inside.looks import Looks

Links = set[tuple[int, int]]  # (word of the source, word of the target)


def links_of(weights: Tensor) -> Links:
    """Each target word with the source word of its largest weight; the end sign is no word.

    Args:
        weights: of one head, or the mean of several: (target words, source words + 1).
    """
    end = weights.size(1) - 1
    return {(int(i), j) for j, i in enumerate(weights.argmax(-1)) if i != end}


def by_layer(looks: Iterable[Looks]) -> dict[str, list[Links]]:
    """The links of each sentence by each layer's mean over its heads, and by each head.

    Returns:
        "decoder.layers.0.cross_attention" -> the links of its mean; with " 0", " 1", ... behind the
        name, of each of its heads; "all" -> of the mean over all of them.
    """
    found: dict[str, list[Links]] = {}
    for of in looks:
        means = []
        for name, weights in of.cross.items():
            means.append(weights.mean(0))
            found.setdefault(name, []).append(links_of(means[-1]))
            for head, alone in enumerate(weights):
                found.setdefault(f"{name} {head}", []).append(links_of(alone))
        found.setdefault("all", []).append(links_of(sum(means[1:], means[0])))
    return found


def same_place(source: int, target: int) -> Links:
    """Each target word with the source word at the same place, or the last: a blind guess."""
    return {(min(j, source - 1), j) for j in range(target)}


class IBMModel1:
    """Which source word a target word goes with, by counting alone (Brown et al., 1993).

    It knows no order and no context: p(target word | source word), by expectation maximisation
    over pairs of sentences. It is what an alignment costs without any network.

    Args:
        pairs: the words of both sides of each pair.
        rounds: of expectation and maximisation.
        null: whether each source has a word more, which stands for no word at all.
    """

    def __init__(
        self,
        pairs: Sequence[tuple[Sequence[str], Sequence[str]]],
        rounds: int = 5,
        null: bool = True,
    ) -> None:
        self.source = {word: n for n, word in enumerate(sorted({w for s, _ in pairs for w in s}))}
        self.target = {word: n for n, word in enumerate(sorted({w for _, t in pairs for w in t}))}
        self.null = [len(self.source)] if null else []  # its row in the table
        coded = [
            (
                np.array([*(self.source[w] for w in s), *self.null]),
                np.array([self.target[w] for w in t]),
            )
            for s, t in pairs
        ]
        # p(target word | source word), all alike at first.
        self.table: NDArray[np.float64] = np.full(
            (len(self.source) + null, len(self.target)), 1 / len(self.target)
        )
        for _ in range(rounds):
            counts = np.zeros_like(self.table)
            for s, t in coded:
                share = self.table[np.ix_(s, t)]  # (source words, target words)
                np.add.at(counts, np.ix_(s, t), share / share.sum(0))
            self.table = counts / counts.sum(1, keepdims=True)

    def links(self, source: Sequence[str], target: Sequence[str], tension: float = 0.0) -> Links:
        """Each target word with its likeliest source word; those never seen are left out.

        Args:
            tension: how much nearby places are preferred: a probability is multiplied by e to the
                power of minus tension times the distance of the two relative places. 0 knows no
                places, as the model itself; 4 is what fast_align (Dyer et al., 2013) begins with.
        """
        known = [(i, self.source[w]) for i, w in enumerate(source) if w in self.source]
        known += [(len(source), row) for row in self.null]

        def share(i: int, row: int, j: int) -> float:
            """How much speaks for word i of the source; for no word, i is the source's length."""
            apart = abs(i / len(source) - j / len(target)) if i < len(source) else 0.0
            probability: float = self.table[row, self.target[target[j]]]
            return probability * math.exp(-tension * apart)

        best = {
            j: max(known, key=lambda word: share(word[0], word[1], j))[0]
            for j, word in enumerate(target)
            if word in self.target and known
        }
        return {(i, j) for j, i in best.items() if i < len(source)}


def scored(
    guesses: Mapping[str, Sequence[Links]], known: Sequence[Sequence[tuple[int, int]]]
) -> Iterator[tuple[str, float]]:
    """The alignment error rate of each way of guessing, in the order given."""
    for name, links in guesses.items():
        yield name, alignment_error_rate(links, [set(of) for of in known]).error_rate

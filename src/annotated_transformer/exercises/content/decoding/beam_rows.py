"""Mistakes of `decoding.beam_search` in which prefixes stay where they are, in full beams too."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from annotated_transformer.exercises.content.decoding.beam_steps import Beam, search_of
from annotated_transformer.exercises.exercise import Candidate, Mistake

_IN_PLACE = (
    "The new tokens are put behind the wrong prefixes: the i-th token goes behind the i-th prefix "
    "of the old beam, whichever hypothesis it extends. After `topk` over the flattened (k, V), the "
    "parent is index // V and the token index % V; take the prefixes in the parents' order, then "
    "append the tokens."
)


def _last_prefix_repeated(kept: Beam, live: Beam) -> Beam:
    """The i-th token behind the i-th old prefix, or the last where there are fewer."""
    return [
        replace(found, tokens=(*live[min(place, len(live) - 1)].tokens, found.tokens[-1]))
        for place, found in enumerate(kept)
    ]


def _rows_of_a_full_beam(
    next_log_probs: Candidate,
    beam_size: int,
    max_len: int,
    alpha: float = 0.6,
    bos: int = 1,
    eos: int = 2,
) -> Any:
    """A beam of fixed size whose empty places have the total -inf; `live[parents]` is missing."""
    rows = [[bos] for _ in range(beam_size)]
    totals = [0.0] + [float("-inf")] * (beam_size - 1)
    pool: list[tuple[float, list[int]]] = []
    for length in range(1, max_len + 1):
        log_probs = next_log_probs(torch.tensor(rows)).double()
        extended = torch.tensor(totals, dtype=torch.float64)[:, None] + log_probs
        best = extended.flatten().topk(beam_size)
        tokens = (best.indices % log_probs.size(1)).tolist()
        totals = best.values.tolist()
        rows = [[*row, token] for row, token in zip(rows, tokens, strict=True)]
        for place, token in enumerate(tokens):
            if totals[place] > float("-inf") and (token == eos or length == max_len):
                score = totals[place] / ((5 + length) / 6) ** alpha
                pool.append((score, rows[place]))
            if token == eos:
                totals[place] = float("-inf")
        if max(totals) == float("-inf"):
            break
    return max(pool)[1]


_FLAT_PLACE = (
    "Row and column of the flat place are mixed up. After `topk` over the flattened (k, V) totals, "
    "the parent is index // V and the token is index % V, with V the width of one row, not the "
    "number of hypotheses."
)


def _flat_places(by_beam: bool) -> Callable[[Beam, Beam], Beam]:
    """Parents and tokens from the places in the flattened (k, V), by the wrong divisor or order."""

    def link(kept: Beam, live: Beam) -> Beam:
        width = kept[0].vocab_size
        places = torch.tensor([found.parent * width + found.tokens[-1] for found in kept])
        parents, tokens = places % width, places // width
        if by_beam:
            parents, tokens = places // len(kept), places % len(kept)
        prefixes = torch.tensor([found.tokens for found in live])[parents]
        return [
            replace(found, tokens=(*prefix, token))
            for found, prefix, token in zip(kept, prefixes.tolist(), tokens.tolist(), strict=True)
        ]

    return link


ROW_MISTAKES = (
    # Divided by the number of the live, it ends in the same accidents as exchanged.
    Mistake("row-and-column-exchanged", search_of(link=_flat_places(by_beam=False)), _FLAT_PLACE),
    Mistake(
        "flat-place-divided-by-the-beam",
        search_of(link=_flat_places(by_beam=True)),
        _FLAT_PLACE,
    ),
    Mistake("last-row-repeated", search_of(link=_last_prefix_repeated), _IN_PLACE),
    Mistake("rows-of-a-full-beam-left-in-place", _rows_of_a_full_beam, _IN_PLACE),
)

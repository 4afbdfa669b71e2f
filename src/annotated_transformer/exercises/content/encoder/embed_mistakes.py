"""The named mistakes of `encoder.embed`: wrong words, scales and positions, alone or together."""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.content.encoder.embed_parts import (
    SCALES,
    WORDS,
    Part,
    no_scale,
    positions_of,
    scale_of,
    words_of,
)
from annotated_transformer.exercises.exercise import Candidate, Mistake


def _embedding(
    words: Part = words_of, scale: Part = scale_of, positions: Part = positions_of
) -> Candidate:
    """The embedding with some of its parts replaced."""

    def implementation(tokens: Tensor, table: Tensor, pe: Tensor) -> Tensor:
        given = (tokens, table, pe)
        result: Tensor = scale(*given) * words(*given) + positions(*given)
        return result

    return implementation


_right = _embedding()


def _scale_on_the_sum(tokens: Tensor, table: Tensor, pe: Tensor) -> Tensor:
    return scale_of(tokens, table, pe) * (table[tokens] + positions_of(tokens, table, pe))


def _real_only(tokens: Tensor, table: Tensor, pe: Tensor) -> Tensor:
    result: Tensor = _right(tokens, table, pe)
    return result * (tokens != 0).unsqueeze(-1)


def _table_in_place(tokens: Tensor, table: Tensor, pe: Tensor) -> Tensor:
    table *= table.size(1) ** 0.5
    return table[tokens] + pe[: tokens.size(1)]


def _normalised(tokens: Tensor, table: Tensor, pe: Tensor) -> Tensor:
    return F.layer_norm(_right(tokens, table, pe), (table.size(1),), eps=1e-6)


def _positions_of_real_tokens(tokens: Tensor, table: Tensor, pe: Tensor) -> Tensor:
    return pe[((tokens != 0).cumsum(1) - 1).clamp(min=0)]


_POSITIONS: dict[str, tuple[str, Part]] = {
    "no-positions": (
        "The positions are missing: without them the encoder cannot tell the order of the words. "
        "Add pe[:n]. ",
        lambda tokens, table, pe: 0.0,
    ),
    "positions-not-cut": (
        "All n_max rows of pe are added. A sentence of n words needs the first n: `pe[:n]`. ",
        lambda tokens, table, pe: pe,
    ),
    "positions-from-one": (
        "The positions start at 1, `pe[1:n + 1]`. The first word stands at position 0. ",
        lambda tokens, table, pe: pe[1 : tokens.size(1) + 1],
    ),
    "positions-from-the-end": (
        "The last n rows of pe are taken, `pe[-n:]`. A sentence starts at position 0. ",
        lambda tokens, table, pe: pe[-tokens.size(1) :],
    ),
    "positions-after-the-sentence": (
        "The rows of pe from n on are taken, `pe[n:]`. Those of this sentence are the first n, "
        "`pe[:n]`. ",
        lambda tokens, table, pe: pe[tokens.size(1) :],
    ),
    "one-position-for-all": (
        "Every word gets the same position, a single row of pe. Word i gets row i: `pe[:n]`. ",
        lambda tokens, table, pe: pe[0],
    ),
    "position-of-the-length": (
        "Every word gets the row of pe at n, `pe[n]`: the colon is missing. Word i gets row i: "
        "`pe[:n]`. ",
        lambda tokens, table, pe: pe[tokens.size(1)],
    ),
    "last-position-for-all": (
        "Every word gets the position of the last one, `pe[n - 1]`. Word i gets row i: `pe[:n]`. ",
        lambda tokens, table, pe: pe[tokens.size(1) - 1],
    ),
    "position-of-the-token": (
        "The positions are looked up with the token's number, `pe[tokens]`, so a word's position "
        "is its place in the vocabulary. It is its place in the sentence: `pe[:n]`. ",
        lambda tokens, table, pe: pe[tokens],
    ),
    "position-of-the-sentence": (
        "The rows of pe are dealt out along the batch: every word of sentence b gets row b. They "
        "belong to the words: `pe[:n]`, which broadcasts over the sentences. ",
        lambda tokens, table, pe: pe[: tokens.size(0)].unsqueeze(1),
    ),
    "cut-to-the-batch": (
        "pe is cut to B rows, the number of sentences (`len(tokens)` or `tokens.size(0)`). A "
        "sentence has n = `tokens.size(1)` words. ",
        lambda tokens, table, pe: pe[: tokens.size(0)],
    ),
    "columns-cut": (
        "The columns of pe are cut, `pe[:, :n]`, not its rows. Positions are rows: `pe[:n]`. ",
        lambda tokens, table, pe: pe[:, : tokens.size(1)],
    ),
    "cut-to-the-vocabulary": (
        "pe is cut to as many rows as the table has. A sentence of n words needs n: `pe[:n]`. ",
        lambda tokens, table, pe: pe[: table.size(0)],
    ),
    "one-row-short": (
        "pe is cut to n - 1 rows. The slice `pe[:n]` holds rows 0 to n - 1, which are n. ",
        lambda tokens, table, pe: pe[: tokens.size(1) - 1],
    ),
    "one-row-long": (
        "pe is cut to n + 1 rows. The slice `pe[:n]` holds rows 0 to n - 1, which are n. ",
        lambda tokens, table, pe: pe[: tokens.size(1) + 1],
    ),
    "positions-reversed": (
        "The positions run backwards: the last word stands at position 0. Word i gets row i. ",
        lambda tokens, table, pe: pe[: tokens.size(1)].flip(0),
    ),
    "positions-go-on": (
        "The positions go on from one sentence to the next. Every sentence starts at 0. ",
        lambda tokens, table, pe: pe[
            torch.arange(tokens.numel()).reshape(tokens.shape) % pe.size(0)
        ],
    ),
    "padding-not-counted": (
        "Padding is not counted as a position, as in fairseq. Here position i is column i of "
        "tokens, whatever stands there: `pe[:n]`. ",
        _positions_of_real_tokens,
    ),
    "padding-not-counted-from-one": (
        "Only real tokens are counted, from 1, as in fairseq. Here position i is column i of "
        "tokens, whatever stands there, counted from 0: `pe[:n]`. ",
        lambda tokens, table, pe: pe[(tokens != 0).cumsum(1) * (tokens != 0)],
    ),
    "axis-between": (
        "pe has an axis between positions and features, (n, 1, d), as for a batch in second "
        "place. Here the batch comes first: `pe[:n]` broadcasts as it is. ",
        lambda tokens, table, pe: pe[: tokens.size(1)].unsqueeze(1),
    ),
    "positions-subtracted": (
        "The positions are subtracted. They are added: sqrt(d) * table[tokens] + pe[:n]. ",
        lambda tokens, table, pe: -pe[: tokens.size(1)],
    ),
    "positions-scaled-too": (
        "The factor sqrt(d) stands on the sum, so the positions are enlarged as well. It belongs "
        "to the embedding alone: sqrt(d) * table[tokens] + pe[:n]. ",
        lambda tokens, table, pe: table.size(1) ** 0.5 * pe[: tokens.size(1)],
    ),
    "positions-twice": (
        "The positions are added twice. Once is right: sqrt(d) * table[tokens] + pe[:n]. ",
        lambda tokens, table, pe: 2 * pe[: tokens.size(1)],
    ),
    "positions-times-d": (
        "The positions are multiplied by d. They are added as they are. ",
        lambda tokens, table, pe: table.size(1) * pe[: tokens.size(1)],
    ),
    "positions-divided": (
        "The positions are divided by sqrt(d). They are added as they are; the embedding is what "
        "is scaled. ",
        lambda tokens, table, pe: pe[: tokens.size(1)] / table.size(1) ** 0.5,
    ),
    "positions-not-for-padding": (
        "The padding gets no position. Here it is embedded as any other token; the masks keep it "
        "out of attention. ",
        lambda tokens, table, pe: pe[: tokens.size(1)] * (tokens != 0).unsqueeze(-1),
    ),
}

# Two mistakes together which have a name of their own.
_SCALE_ON_POSITIONS = (
    "The factor sqrt(d) stands on the positions, not on the embedding. It is the words that are "
    "scaled: sqrt(d) * table[tokens] + pe[:n]."
)


def _pair(scale: str, positions: str) -> Mistake:
    (one, factor), (other, rows) = SCALES[scale], _POSITIONS[positions]
    text = (one + other).strip()
    if (scale, positions) == ("no-scale", "positions-scaled-too"):
        text = _SCALE_ON_POSITIONS
    return Mistake(f"{scale}+{positions}", _embedding(scale=factor, positions=rows), text)


def _multiplied(tokens: Tensor, table: Tensor, pe: Tensor) -> Tensor:
    return scale_of(tokens, table, pe) * table[tokens] * pe[: tokens.size(1)]


def _concatenated(tokens: Tensor, table: Tensor, pe: Tensor) -> Tensor:
    words = scale_of(tokens, table, pe) * table[tokens]
    return torch.cat([words, pe[: tokens.size(1)].expand_as(words)], dim=-1)


def _own_sinusoids(tokens: Tensor, table: Tensor, pe: Tensor) -> Tensor:
    n, d = tokens.size(1), table.size(1)
    places = torch.arange(n, dtype=torch.float64)[:, None]
    feature = torch.arange(d)
    angles = places / 10000 ** ((feature // 2 * 2) / d)
    rows = torch.where(feature % 2 == 0, angles.sin(), angles.cos()).to(table.dtype)
    return scale_of(tokens, table, pe) * table[tokens] + rows


EMBED_MISTAKES = (
    *(Mistake(n, _embedding(words=part), text.strip()) for n, (text, part) in WORDS.items()),
    *(Mistake(n, _embedding(scale=part), text.strip()) for n, (text, part) in SCALES.items()),
    *(
        Mistake(name, _embedding(positions=part), text.strip())
        for name, (text, part) in _POSITIONS.items()
    ),
    *(_pair("no-scale", positions) for positions in _POSITIONS),
    *(
        _pair(scale, positions)
        for scale in ("times-d", "divided-by-root", "root-of-the-vocabulary")
        for positions in ("no-positions", "positions-from-one")
    ),
    _pair("times-d", "positions-times-d"),
    _pair("divided-by-root", "positions-divided"),
    Mistake(
        "no-scale+padding-zero",
        _embedding(words=WORDS["padding-zero"][1], scale=no_scale),
        SCALES["no-scale"][0] + WORDS["padding-zero"][0].strip(),
    ),
    Mistake(
        "whole-row-zero-at-padding",
        _real_only,
        "The whole vector is set to 0 where the token is padding. Here padding is embedded as "
        "any other token; the masks keep it out of attention.",
    ),
    Mistake(
        "positions-multiplied",
        _multiplied,
        "The positions are multiplied with the embedding instead of added to it.",
    ),
    Mistake(
        "concatenated",
        _concatenated,
        "The positions are concatenated, (B, n, 2d). They are added, which is why both have the "
        "width d.",
    ),
    Mistake(
        "table-changed",
        _table_in_place,
        "`table *= sqrt(d)` changes the caller's table: the next call would scale it again. "
        "Multiply the looked-up vectors instead.",
    ),
    Mistake(
        "normalised",
        _normalised,
        "The sum is normalised. BERT does so; the paper's encoder gets the sum as it is.",
    ),
    Mistake(
        "dropout",
        lambda tokens, table, pe: F.dropout(_right(tokens, table, pe), 0.1),
        "Dropout is applied to the sum. None is asked for here.",
    ),
    Mistake(
        "positions-first",
        lambda tokens, table, pe: _right(tokens, table, pe).transpose(0, 1),
        "The positions stand before the batch, (n, B, d), as in torch's older modules. Here the "
        "batch comes first: (B, n, d).",
    ),
    Mistake(
        "words-and-positions-apart",
        lambda tokens, table, pe: (
            scale_of(tokens, table, pe) * table[tokens],
            pe[: tokens.size(1)],
        ),
        "The embedding and the positions are returned separately. Return their sum.",
    ),
    Mistake(
        "embedding-and-sum-scaled",
        lambda tokens, table, pe: scale_of(tokens, table, pe) * _right(tokens, table, pe),
        "The factor sqrt(d) is applied twice, to the embedding and to the sum. Once is right, to "
        "the embedding alone.",
    ),
    Mistake(
        "own-sinusoids",
        _own_sinusoids,
        "pe is not used: sinusoids are computed afresh in its place. The encoding may be any, a "
        "learned one too: add the rows that were given, `pe[:n]`.",
    ),
    Mistake(
        "axes-of-length-one-lost",
        lambda tokens, table, pe: _right(tokens, table, pe).squeeze(),
        "`squeeze` takes away every axis of length 1: a batch of one sentence loses its batch. "
        "Asked for is (B, n, d), whatever B and n are.",
    ),
    Mistake(
        "batch-of-one-lost",
        lambda tokens, table, pe: _right(tokens, table, pe).squeeze(0),
        "`squeeze` takes away every axis of length 1: a batch of one sentence loses its batch. "
        "Asked for is (B, n, d), whatever B and n are.",
    ),
    Mistake(
        "flattened",
        lambda tokens, table, pe: _right(tokens, table, pe).flatten(0, 1),
        "Batch and positions are flattened into one axis. Asked for is (B, n, d).",
    ),
)

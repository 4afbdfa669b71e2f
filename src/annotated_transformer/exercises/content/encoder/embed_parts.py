"""The parts of `encoder.embed`, and the wrong words and scales that learners put in their place."""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

Part = Callable[[Tensor, Tensor, Tensor], Any]  # of tokens, table, pe


def words_of(tokens: Tensor, table: Tensor, pe: Tensor) -> Tensor:
    return table[tokens]


def scale_of(tokens: Tensor, table: Tensor, pe: Tensor) -> float:
    return math.sqrt(table.size(1))


def positions_of(tokens: Tensor, table: Tensor, pe: Tensor) -> Tensor:
    return pe[: tokens.size(1)]


def no_scale(tokens: Tensor, table: Tensor, pe: Tensor) -> float:
    return 1.0


WORDS: dict[str, tuple[str, Part]] = {
    "padding-zero": (
        "The padding token is embedded as zeros, as by `padding_idx=0`. Here the padding has a "
        "row like any other token; the masks keep it out of attention. ",
        lambda tokens, table, pe: table[tokens] * (tokens != 0).unsqueeze(-1),
    ),
    "tokens-counted-from-one": (
        "The row before the token's is taken (`tokens - 1`). Tokens count from 0, as rows do. ",
        lambda tokens, table, pe: table[tokens - 1],
    ),
    "one-row-too-far": (
        "The row after the token's is taken (`tokens + 1`). Tokens count from 0, as rows do. ",
        lambda tokens, table, pe: table[(tokens + 1) % table.size(0)],
    ),
    "first-tokens-of-the-vocabulary": (
        "The first n rows of the table are taken, `table[:n]`, whatever the tokens are. Index "
        "with the tokens themselves: `table[tokens]`. ",
        lambda tokens, table, pe: table[: tokens.size(1)].expand(tokens.size(0), -1, -1),
    ),
    "words-shifted": (
        "The tokens are shifted by one position. That is the decoder's input, and another "
        "function's work. ",
        lambda tokens, table, pe: table[tokens.roll(1, dims=1)],
    ),
    "no-words": (
        "Only the positions are left: the embedding of the tokens is missing. ",
        lambda tokens, table, pe: torch.zeros(*tokens.shape, table.size(1), dtype=table.dtype),
    ),
    "table-columns": (
        "The tokens pick columns of the table, `table[:, tokens]`. Every token has a row: "
        "`table[tokens]`. ",
        lambda tokens, table, pe: table[:, tokens].permute(1, 2, 0),
    ),
    "one-sentence": (
        "Every sentence gets the words of the first one. Index with the whole batch: "
        "`table[tokens]`. ",
        lambda tokens, table, pe: table[tokens[:1]].expand(tokens.size(0), -1, -1),
    ),
    "words-summed": (
        "The words of a sentence are added up (a bag of words). Each keeps a vector of its own: "
        "(B, n, d). ",
        lambda tokens, table, pe: table[tokens].sum(1, keepdim=True).expand(-1, tokens.size(1), -1),
    ),
    "dropout-on-the-words": (
        "Dropout is applied to the embedding. None is asked for here. ",
        lambda tokens, table, pe: F.dropout(table[tokens], 0.1),
    ),
}

SCALES: dict[str, tuple[str, Part]] = {
    "no-scale": (
        "The factor sqrt(d) is missing. A word's numbers are about 1 / sqrt(d) in size, so "
        "without it the positions, of size 1, drown the words: sqrt(d) * table[tokens]. ",
        no_scale,
    ),
    "times-d": (
        "The embedding is multiplied by d itself. The factor is its root, sqrt(d). ",
        lambda tokens, table, pe: table.size(1),
    ),
    "divided-by-root": (
        "The embedding is divided by sqrt(d), as attention's scores are. Here it is multiplied. ",
        lambda tokens, table, pe: table.size(1) ** -0.5,
    ),
    "divided-by-d": (
        "The embedding is divided by d. It is multiplied by sqrt(d). ",
        lambda tokens, table, pe: 1 / table.size(1),
    ),
    "scaled-twice": (
        "The embedding is multiplied by d * sqrt(d): the scale is applied three times over. Once "
        "is right: sqrt(d). ",
        lambda tokens, table, pe: table.size(1) ** 1.5,
    ),
    "root-of-the-vocabulary": (
        "The factor is the root of the vocabulary's size, `table.size(0)` or `len(table)`. It is "
        "the root of the width d, `table.size(1)`. ",
        lambda tokens, table, pe: table.size(0) ** 0.5,
    ),
    "root-of-the-length": (
        "The factor is the root of the sentence's length n. It is the root of the width d, "
        "`table.size(1)`. ",
        lambda tokens, table, pe: tokens.size(1) ** 0.5,
    ),
    "root-of-the-positions": (
        "The factor is the root of n_max, `pe.size(0)`. It is the root of the width d, "
        "`table.size(1)`. ",
        lambda tokens, table, pe: pe.size(0) ** 0.5,
    ),
    "root-of-the-batch": (
        "The factor is the root of the batch's size. It is the root of the width d, "
        "`table.size(1)`. ",
        lambda tokens, table, pe: tokens.size(0) ** 0.5,
    ),
    "root-of-512": (
        "The width is fixed at 512, that of the base model. Read it off: `table.size(1)`. ",
        lambda tokens, table, pe: 512**0.5,
    ),
    "whole-root": (
        "The root is rounded to a whole number (`int(...)`, `//`, `isqrt`). It is `math.sqrt(d)`. ",
        lambda tokens, table, pe: math.isqrt(table.size(1)),
    ),
    "fourth-root": (
        "The root is taken twice. The factor is sqrt(d). ",
        lambda tokens, table, pe: table.size(1) ** 0.25,
    ),
}

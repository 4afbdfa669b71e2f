"""Mistakes of `attention.scaled_dot_product` that hide each other: both are in every result."""

from typing import Any

from torch import Tensor

from annotated_transformer.exercises.content.attention.scaled_dot_product_masks import MASK_MISTAKES
from annotated_transformer.exercises.content.attention.scaled_dot_product_results import (
    RETURN_MISTAKES,
)
from annotated_transformer.exercises.content.attention.scaled_dot_product_scores import (
    SCALE_MISTAKES,
)
from annotated_transformer.exercises.content.attention.scaled_dot_product_softmax import (
    SOFTMAX_MISTAKES,
    softmax_over,
)
from annotated_transformer.exercises.content.attention.scaled_dot_product_steps import attention_of
from annotated_transformer.exercises.exercise import Candidate, Mistake

_ALL = {
    mistake.name: mistake
    for mistake in (*SCALE_MISTAKES, *SOFTMAX_MISTAKES, *MASK_MISTAKES, *RETURN_MISTAKES)
}
_OFTEN_SWAPPED = (
    "no-scale",
    "scale-by-d_k",
    "softmax-over-queries",
    "mask-ignored",
    "mask-inverted",
    "mask-fills-zero",
)


def _swapped(candidate: Candidate) -> Candidate:
    def implementation(*arguments: Any) -> tuple[Tensor, Tensor]:
        output, weights = candidate(*arguments)
        return weights, output

    return implementation


def _both(one: str, other: str, candidate: Candidate) -> Mistake:
    sentence = f"{_ALL[one].sentence} Besides: {_ALL[other].sentence}"
    return Mistake(f"{one}+{other}", candidate, sentence)


HIDDEN_PAIRS = (
    *(
        _both("returns-swapped", name, _swapped(_ALL[name].implementation))
        for name in _OFTEN_SWAPPED
    ),
    _both(
        "no-scale",
        "softmax-over-queries",
        attention_of(scores=lambda q, k, v: q @ k.mT, weights=softmax_over(-2)),
    ),
    _both(
        "scale-by-d_k",
        "softmax-over-queries",
        attention_of(scores=lambda q, k, v: q @ k.mT / q.size(-1), weights=softmax_over(-2)),
    ),
)

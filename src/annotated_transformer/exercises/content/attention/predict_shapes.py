"""`attention.predict_shapes`: which axis is which (section 3.2.1), without running anything."""

import random
from dataclasses import replace

from annotated_transformer.exercises.content.attention.predict_shapes_mistakes import (
    Shape,
    Sizes,
    mistakes_for,
    returns,
    right_shapes,
)
from annotated_transformer.exercises.exercise import Exercise


def answer() -> dict[str, Shape]:
    return {
        "scores": (2, 8, 5, 7),  # every query meets every key
        "weights": (2, 8, 5, 7),  # the softmax changes no shape
        "output": (2, 8, 5, 32),  # one vector a query, as wide as a value
        "key_padding_mask": (2, 1, 1, 7),  # a row of keys for each sentence
    }


def _statement(sizes: Sizes) -> str:
    return (
        f"No code: q has the shape {sizes.q}, k {sizes.k}, v {sizes.v}. Return a dictionary with "
        "the shapes, as tuples, of 'scores', 'weights', 'output' and 'key_padding_mask': the "
        "smallest four-dimensional mask that hides padded keys, one row for each sentence."
    )


def _by_running_it() -> dict[str, Shape]:
    import torch

    q, k, v = torch.zeros(Sizes().q), torch.zeros(Sizes().k), torch.zeros(Sizes().v)
    scores = q @ k.mT
    weights = scores.softmax(-1)
    return {
        "scores": tuple(scores.shape),
        "weights": tuple(weights.shape),
        "output": tuple((weights @ v).shape),
        "key_padding_mask": (q.size(0), 1, 1, k.size(-2)),
    }


def _as_lists() -> dict[str, list[int]]:
    return {key: list(shape) for key, shape in right_shapes(Sizes()).items()}  # type: ignore[misc]


def vary(seed: int) -> Exercise:
    """The exercise with sizes drawn for this learner; seed 0 is the one in the book."""
    if seed == 0:
        return PREDICT_SHAPES
    draw = random.Random(seed)
    n_q, n_k = draw.sample((5, 6, 7, 9, 10, 11), 2)
    d_k, d_v = draw.sample((16, 24, 32, 48, 64), 2)
    sizes = Sizes(draw.choice((2, 3, 4)), draw.choice((8, 12)), n_q, n_k, d_k, d_v)
    return replace(
        PREDICT_SHAPES,
        statement=_statement(sizes),
        reference=returns(right_shapes(sizes)),
        mistakes=mistakes_for(sizes),
        alternatives=(),
    )


PREDICT_SHAPES = Exercise(
    id="attention.predict_shapes",
    title="Predict the shapes",
    kind="shape",
    difficulty=1,
    minutes=5,
    signature="answer() -> dict of four tuples",
    statement=_statement(Sizes()),
    objective="Read the shape of every intermediate result off the formula.",
    prerequisite="Section 3.2.1 of the paper, equation (1)",
    hints=(
        "In q k^T, which axis is summed over and disappears, and which two remain?",
        "Leading axes go along untouched. A softmax changes no shape. A product of (n_q, n_k) "
        "with (n_k, d_v) sums over the keys.",
        "Scores and weights end in (n_q, n_k), the output in (n_q, d_v). A padded key is hidden "
        "from every head and every query: those axes of the mask are 1.",
    ),
    reference=answer,
    explanation=(
        "The dot product sums over d_k and leaves one number for each query and key. The softmax "
        "divides and keeps the shape. The product with v sums over the keys and leaves one vector "
        "of d_v numbers for each query. Only the axes that a mask depends on need a length other "
        "than 1: the sentence and the key."
    ),
    mistakes=mistakes_for(Sizes()),
    alternatives=(_by_running_it, _as_lists),
    starter=(
        "def answer():\n"
        "    return {\n"
        '        "scores": ...,\n'
        '        "weights": ...,\n'
        '        "output": ...,\n'
        '        "key_padding_mask": ...,\n'
        "    }"
    ),
    vary=vary,
)

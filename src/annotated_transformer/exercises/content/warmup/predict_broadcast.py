"""`warmup.predict_broadcast`: shapes are aligned on the right (the rule of NumPy and PyTorch)."""

import math
import random
from dataclasses import replace

from annotated_transformer.exercises.content.warmup.predict_broadcast_shapes import (
    ERROR,
    WRONG,
    Shape,
    Sizes,
)
from annotated_transformer.exercises.exercise import Candidate, Exercise, Mistake


def answer() -> dict[str, Shape]:
    return {
        "sum": (4, 5),  # (5,) is (1, 5) on the right of (4, 1)
        "kept": (2, 4, 5),  # (2, 1, 5) with (4, 1)
        "dropped": "error",  # (2, 4) stands below (4, 5): 4 meets 5
        "pairs": (2, 4, 3, 5),  # (2, 4, 1, 5) with (2, 1, 3, 5)
    }


def _right(s: Sizes) -> dict[str, Shape]:
    return {
        "sum": (s.n, s.d),
        "kept": (s.batch, s.n, s.d),
        "dropped": ERROR,
        "pairs": (s.batch, s.n, s.m, s.d),
    }


def _returns(shapes: dict[str, Shape]) -> Candidate:
    return lambda: dict(shapes)


_NO_SHAPE = (
    "this is {}. A shape is a tuple with the length of every axis, from the first to the last."
)


def _mistakes(sizes: Sizes) -> tuple[Mistake, ...]:
    shapes = [
        Mistake(f"{key}-{name}", _returns({key: shape(sizes)}), f"`{key}`: {sentence}")
        for key, name, shape, sentence in WRONG
    ]
    counts = [
        Mistake(f"{key}-{name}", _returns({key: count}), f"`{key}`: " + _NO_SHAPE.format(what))
        for key, shape in _right(sizes).items()
        if isinstance(shape, tuple)
        for name, count, what in (
            ("count", math.prod(shape), "how many numbers the result holds"),
            ("axes", len(shape), "how many axes the result has"),
        )
    ]
    return (*shapes, *counts)


def _statement(s: Sizes) -> str:
    return f"""\
No code: which shape has each of these four results?

a has the shape {(s.d,)}, b {(s.n, 1)}, x {(s.batch, s.n, s.d)}, y {(s.batch, s.m, s.d)}.

sum: a + b
kept: x.sum(dim=1, keepdim=True) * b
dropped: x - x.mean(dim=-1)
pairs: x[:, :, None] * y[:, None]

Return a dictionary with the keys 'sum', 'kept', 'dropped' and 'pairs' and the shapes as tuples; \
for an expression that raises, the word 'error'. In the messages the sizes are called batch = \
{s.batch}, n = {s.n}, m = {s.m}, d = {s.d}."""


def _by_running_it() -> dict[str, Shape]:
    import torch

    tensors = {
        name: torch.zeros(shape)
        for name, shape in (("a", (5,)), ("b", (4, 1)), ("x", (2, 4, 5)), ("y", (2, 3, 5)))
    }
    results: dict[str, Shape] = {}
    for key, expression in (
        ("sum", "a + b"),
        ("kept", "x.sum(dim=1, keepdim=True) * b"),
        ("dropped", "x - x.mean(dim=-1)"),
        ("pairs", "x[:, :, None] * y[:, None]"),
    ):
        try:
            results[key] = tuple(eval(expression, {}, tensors).shape)
        except RuntimeError:
            results[key] = "Error"
    return results


def _as_lists() -> dict[str, Shape | list[int]]:
    return {key: ERROR if shape == ERROR else list(shape) for key, shape in answer().items()}  # type: ignore[arg-type]


def vary(seed: int) -> Exercise:
    """The exercise with sizes drawn for this learner; seed 0 is the one in the book."""
    if seed == 0:
        return PREDICT_BROADCAST
    sizes = Sizes(*random.Random(seed).sample(range(2, 10), 4))
    return replace(
        PREDICT_BROADCAST,
        statement=_statement(sizes),
        reference=_returns(_right(sizes)),
        mistakes=_mistakes(sizes),
        alternatives=(),
    )


PREDICT_BROADCAST = Exercise(
    id="warmup.predict_broadcast",
    title="What shape comes out?",
    kind="shape",
    difficulty=1,
    minutes=6,
    signature="answer() -> dict of four shapes",
    statement=_statement(Sizes()),
    objective="Predict a broadcast before running it, and see where a forgotten keepdim breaks it.",
    prerequisite="chapter 0, broadcasting",
    hints=(
        "Write the two shapes one below the other, aligned on the right. Where one of them ends, "
        "think a 1.",
        "Two lengths go together when they are equal or one of them is 1; the 1 is stretched. "
        "Anything else is an error. A reduction removes its axis unless keepdim=True.",
        "sum: (1, d) with (n, 1). kept: (batch, 1, d) with (n, 1). dropped: (batch, n, d) with "
        "(batch, n). pairs: (batch, n, 1, d) with (batch, 1, m, d).",
    ),
    reference=answer,
    explanation=(
        "Shapes are aligned on the right, missing axes count as 1, and a 1 is stretched to the "
        "other length; any other difference is an error. `dropped` is the usual slip: the mean "
        "has lost its axis, so its last axis meets another one. Where n = d it would even run, "
        "and subtract the wrong means without a word. `keepdim=True` is the cure."
    ),
    mistakes=_mistakes(Sizes()),
    alternatives=(_by_running_it, _as_lists),
    starter=('def answer():\n    return {"sum": ..., "kept": ..., "dropped": ..., "pairs": ...}'),
    vary=vary,
)

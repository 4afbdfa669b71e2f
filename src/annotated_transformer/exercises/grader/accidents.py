"""Exceptions that many first attempts end in, and what they mean, whatever the exercise."""

import re

from annotated_transformer.exercises.grader.outcomes import Failure

_MEANING: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"return_types\.(max|min)\b"),
        "`{0}` along an axis returns two things, the values and their places: use `a{0}`, or take "
        "`.values`.",
    ),
    (
        re.compile(r"return_types\.(sort|topk|median|mode|cummax|cummin|kthvalue)\b"),
        "`{0}` returns two things, the values and their places: take `.values`.",
    ),
    (
        re.compile(r"Boolean value of Tensor with (?:more than one|no) values? "),
        "`if`, `and`, `or` and `not` ask for one truth value, and a tensor has many. To ask "
        "whether there is a mask, write `if mask is not None`; to join conditions entry by entry, "
        "`&`, `|` and `~`.",
    ),
    (
        re.compile(r"bad operand type for unary ~: 'NoneType'"),
        "`~` was given None. An optional mask is None where it is left out: ask "
        "`if mask is not None` first.",
    ),
)


def remark_on(failure: Failure) -> str | None:
    """What Python's or PyTorch's wording means and what to write instead, for the usual ones."""
    for wording, meaning in _MEANING:
        if found := wording.search(failure.message):
            return meaning.format(*found.groups())
    return None

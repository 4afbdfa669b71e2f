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
    (
        re.compile(r"Subtraction, the `-` operator, with (?:a|two) bool tensors? "),
        "A comparison such as `i == j` gives True and False, which PyTorch does not subtract. Make "
        "numbers of them first: `float(i == j)`, and `.to(x.dtype)` for a tensor. What turns a "
        "mask around is `~mask`.",
    ),
    (
        re.compile(r"The shape of the mask .* does not match the shape of the indexed tensor"),
        "`x[mask]` takes a mask as it is, without broadcasting, so both need the same axes. "
        "`x.masked_fill(mask, value)` and `torch.where(mask, x, value)` broadcast the mask.",
    ),
    (
        re.compile(
            r"must be tuple of ints,\s?but (?:got|found).* float"
            r"|'float' object cannot be interpreted as an integer"
        ),
        "A length is a whole number, and `/` gives a float even where nothing is left over. "
        "Divide with `//`.",
    ),
    (
        re.compile(r"view size is not compatible with input tensor's size and stride"),
        "A `transpose` moves no number in memory, and `view` needs them in their order: use "
        "`reshape`, which copies where it has to.",
    ),
)


def remark_on(failure: Failure) -> str | None:
    """What Python's or PyTorch's wording means and what to write instead, for the usual ones."""
    for wording, meaning in _MEANING:
        if found := wording.search(failure.message):
            return meaning.format(*found.groups())
    return None

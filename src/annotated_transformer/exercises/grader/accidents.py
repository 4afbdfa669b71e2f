"""Exceptions that many first attempts end in, and what they mean, whatever the exercise."""

import re

from annotated_transformer.exercises.exercise import Exercise
from annotated_transformer.exercises.grader.outcomes import Failure

ONE_NUMBER = re.compile(r"only one element tensors can be converted to Python scalars")
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
        "`if`, `and`, `or` and `not` ask for one truth value, and a tensor has many.{mask} To join "
        "conditions entry by entry, write `&`, `|` and `~`.",
    ),
    (
        re.compile(r"unsupported operand type\(s\) for \^:|bitwise_xor"),
        "`^` is no power in Python, it combines bits: write `**`.",
    ),
    (
        re.compile(
            r"^(max|min|maximum|minimum)\(\)(?:: argument '\w+' .*must be Tensor, not (?:int|float)"
            r"| received an invalid combination of arguments - got \((?:int|float), Tensor)"
        ),
        "`torch.{0}` does not compare a number with a tensor. For every entry: `x.clamp(min=0)`, "
        "or `torch.relu(x)`, is the larger of it and 0, `x.clamp(max=1)` the smaller of it and 1.",
    ),
    (
        re.compile(
            r"^((?!tensor|stack|cat\b)\w+)\(\): argument '\w+' .*must be Tensor, not (int|float)"
        ),
        "`torch.{0}` takes tensors. For a plain number there are `math.{0}`, `**` and Python's own "
        "functions; `torch.tensor(number)` makes a tensor of one.",
    ),
    (
        re.compile(r"expected Tensor as element \d+ in argument \d+, but got (int|float)"),
        "`torch.stack` and `torch.cat` join tensors. A list of numbers becomes one tensor by "
        "`torch.tensor(numbers)`.",
    ),
    (
        re.compile(
            r"The size of tensor a \(\d+\) must match the size of tensor b \(\d+\)"
            r"|operands could not be broadcast together with shapes"
        ),
        "Two tensors (or arrays) are lined up from their last axes, where the lengths must be "
        "equal or 1. If one of them is a mean, a sum or a maximum along an axis: `keepdim=True` "
        "(NumPy: `keepdims=True`) keeps that axis, with length 1.",
    ),
    (
        re.compile(r"Expected target size \[|Expected input batch_size \(\d+\) to match target"),
        "`F.cross_entropy` wants the classes on axis 1, right after the batch. For logits "
        "(B, n, V) flatten both: `logits.reshape(-1, V)` and `target.reshape(-1)`.",
    ),
    (
        re.compile(r"Tensors must have same number of dimensions"),
        "`torch.cat` joins tensors with equally many axes. One that lacks an axis gets it by "
        "`x[:, None]` or `unsqueeze`: (B,) becomes (B, 1).",
    ),
    (
        re.compile(r"cannot unpack non-iterable NoneType|'NoneType' object is not subscriptable"),
        "A value is None here. If an argument may be None, ask `if it is None` before taking it "
        "apart.",
    ),
    (
        re.compile(r"Sizes of tensors must match except in dimension"),
        "`torch.cat` joins along one axis, and all other axes must agree. Name the axis that "
        "differs as `dim`; lengths that differ elsewhere have to be padded or flattened first.",
    ),
    (
        re.compile(r"stack expects each tensor to be equal size"),
        "`torch.stack` lays tensors of one shape along a new axis; what differs in length is "
        "joined by `torch.cat` or has to be padded first.",
    ),
    (
        re.compile(r"(?:self_attn|cross_attn|attend)\(\) missing \d+ required positional argument"),
        "An attention is called with a query, a key, a value and a mask. For self-attention all "
        "three are the same: `self_attn(x, x, x, mask)`.",
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


_TRUTH = re.compile(r"Boolean value of Tensor")
_PYTHONS_OWN = re.compile(r"(?<![\w.])(max|min|sorted)\(")
_COMPARISON = re.compile(r"[<>=!]=|[<>]")
_JOINED = re.compile(r"[&|]")
_ASKS_FOR_TRUTH = re.compile(r"\b(?:if|while|and|or|not|assert)\b")
_ABOUT_BRACKETS = (
    "`&` and `|` bind more tightly than `<=` and the other comparisons, so what stands between two "
    "comparisons is joined first. Put each comparison in brackets: `(a <= b) & (c < d)`."
)
_ABOUT_THE_MASK = " To ask whether there is a mask, write `if mask is not None`."
_TAKES_ONE_NUMBER = re.compile(
    r"\bmath\.\w|(?<![\w.])(?:float|int|sqrt|exp|log|sin|cos|tanh|pow|floor|ceil)\("
)
_ABOUT_ONE_NUMBER = (
    "The functions of `math`, `float()` and `int()` take one number. For every entry of a "
    "tensor there are `torch.sin`, `torch.sqrt`, `torch.exp`, ..."
)
_ABOUT_LISTS_OF_TENSORS = (
    "`torch.tensor` takes nested lists of numbers, and here tensors with several numbers stand in "
    "the list. `torch.stack` joins tensors of one shape."
)
_OF_ITS_OWN = re.compile(
    r"takes (?:\d+|from \d+ to \d+) positional|missing \d+ required positional"
)


def remark_on(failure: Failure, exercise: Exercise | None = None) -> str | None:
    """What Python's or PyTorch's wording means and what to write instead, for the usual ones."""
    own = _PYTHONS_OWN.search(failure.source or "")
    if own and _TRUTH.search(failure.message):
        return (
            f"Python's own `{own[1]}` compares its arguments as wholes. For every entry of a "
            "tensor: `torch.relu` or `x.clamp(min=0)` for a maximum with 0, `torch.maximum` for "
            "one of two tensors, `x.max()` and `x.sort()` for all entries of one."
        )
    if _TRUTH.search(failure.message) and _lacks_brackets(failure.source or ""):
        return _ABOUT_BRACKETS
    if exercise and failure.line is None and _OF_ITS_OWN.search(failure.message):
        return f"The function is called as the statement says: `{exercise.signature}`."
    if ONE_NUMBER.search(failure.message):
        return _about_one_number(failure.source or "")
    masked = exercise is None or re.search(r"\bmask\b", exercise.signature)
    for wording, meaning in _MEANING:
        if found := wording.search(failure.message):
            return meaning.format(*found.groups(), mask=_ABOUT_THE_MASK if masked else "")
    return None


def _lacks_brackets(source: str) -> bool:
    """Comparisons joined by & or | on a line without a word that asks for one truth value."""
    return all(sign.search(source) for sign in (_COMPARISON, _JOINED)) and not (
        _ASKS_FOR_TRUTH.search(source)
    )


def _about_one_number(source: str) -> str | None:
    """What took several numbers for one can only be told from the line."""
    if _TAKES_ONE_NUMBER.search(source):
        return _ABOUT_ONE_NUMBER
    return _ABOUT_LISTS_OF_TENSORS if re.search(r"tensor\(", source) else None

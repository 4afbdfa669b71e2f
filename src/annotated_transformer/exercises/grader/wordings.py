"""When two exceptions tell of the same accident, and when they are the same to the last number."""

import re

from annotated_transformer.exercises.grader.accidents import ONE_NUMBER, remark_on
from annotated_transformer.exercises.grader.outcomes import Failure

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
# One accident in the words of the different functions in which it may happen.
_ACCIDENTS = tuple(
    re.compile(wordings)
    for wordings in (
        r"must match the (?:size|existing size)|could not be broadcast|expanded size|broadcastable",
        r"cannot be multiplied|Expected size for first two dim|size mismatch|einsum\(\)|"
        r"inconsistent tensor size|subscript|must have (?:the )?same (?:reduction|batch)|"
        r"must be a (?:3D tensor|matrix)|1D tensors expected",
        r"Dimension out of range|Dimension specified as",
        r"out of range|out of bounds",
        r"Sizes of tensors must match except|stack expects each tensor",
        r"scalar type|dtype|Double|Float\b",
        r"is invalid for input of size|view size is not compatible",
        r"positional arguments?\b|unexpected keyword argument|multiple values for argument",
        r"(?:min|max)\(\) (?:iterable|arg)|empty sequence|no identity|non-zero size",
    )
)


def same_accident(one: Failure, other: Failure) -> bool:
    """Exceptions of one class that say the same, whatever the numbers and the function's words."""
    return one.class_name == other.class_name and _accident(one) == _accident(other)


def same_to_the_number(one: Failure, other: Failure) -> bool:
    """Also the numbers are the same; `a + b` and `b + a` exchange those that must match."""
    numbers = [_NUMBER.findall(failure.message) for failure in (one, other)]
    wordings = [_NUMBER.sub("#", failure.message) for failure in (one, other)]
    if "must match the size" in wordings[0]:
        numbers = [sorted(found) for found in numbers]
    return one.class_name == other.class_name and (wordings[0], numbers[0]) == (
        wordings[1],
        numbers[1],
    )


def _accident(failure: Failure) -> object:
    if failure.class_name == "KeyError":
        return "KeyError"  # its message is the key
    if ONE_NUMBER.search(failure.message):
        return "one number"  # what is remarked on depends on the line
    if remark := remark_on(failure):
        return remark
    for number, wordings in enumerate(_ACCIDENTS):
        if wordings.search(failure.message):
            return number
    return _NUMBER.sub("#", failure.message)

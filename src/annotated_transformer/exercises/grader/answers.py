"""Named answers: which are wrong, and what to say of each."""

from collections.abc import Callable
from typing import Any

from annotated_transformer.exercises.exercise import Exercise, Mistake
from annotated_transformer.exercises.grader.compare import (
    as_number,
    close_numbers,
    is_number,
    kind_of,
    same,
)
from annotated_transformer.exercises.grader.ladder import ANSWER_TOLERANCE
from annotated_transformer.exercises.grader.values import Array, to_plain


def wrong_answers(expected: dict[object, object], got: dict[object, object]) -> list[object]:
    """The keys of an answer that are wrong or missing, in the order of the reference."""
    return [key for key in expected if key not in got or not same_answer(expected[key], got[key])]


def same_answer(expected: Any, got: Any) -> bool:
    """Numbers within 1 %, whole ones too; shapes exactly; words whatever their case and spaces.

    A tensor or an array answers as the list of its numbers.
    """
    got = _as_lists(got)
    if is_number(expected) and is_number(got):
        return close_numbers(expected, got, ANSWER_TOLERANCE)
    return same(_plain_words(expected), _plain_words(got), ANSWER_TOLERANCE)


def _as_lists(answer: Any) -> Any:
    """Tensors and arrays as the numbers or lists that they hold."""
    if isinstance(answer, Array) and answer.array is not None:
        return answer.array.tolist()
    if isinstance(answer, (list, tuple)):
        return type(answer)(map(_as_lists, answer))
    return answer


def _plain_words(answer: Any) -> Any:
    if isinstance(answer, str):
        return " ".join(answer.split()).casefold()
    if isinstance(answer, (list, tuple)):
        return [_plain_words(item) for item in answer]
    return answer


def diagnose_answer(exercise: Exercise, key: object, got: object) -> Mistake | None:
    """The bank entry that gives this wrong value for this key, of several the nearest."""
    found: list[tuple[float, int]] = []
    for number, mistake in enumerate(exercise.mistakes):
        wrong = to_plain(mistake.implementation())
        if key in wrong and same_answer(wrong[key], got):
            near = _as_lists(got)
            plain = is_number(wrong[key]) and is_number(near)
            found.append((abs(wrong[key] - near) if plain else 0.0, number))
    return exercise.mistakes[min(found)[1]] if found else None


def about_kind(exercise: Exercise, key: object, expected: Any, got: Any) -> str:
    """What to say to a wrong value that the bank does not know: its kind, where that is wrong."""
    got = as_number(got)
    letters = _letters(exercise, key, expected)
    plain = _as_lists(got)
    if len(letters) > 2 and _plain_words(got) not in map(_plain_words, letters):
        return f"Asked for is one of the letters {', '.join(letters)}, alone."
    sizes = isinstance(expected, (tuple, list)) and isinstance(plain, (tuple, list))
    if sizes and len(expected) != len(plain):
        axes = ", one an axis" if exercise.kind == "shape" else ""
        return f"This has {len(plain)} parts; the answer has {len(expected)}{axes}."
    for name, belongs in _KINDS:
        if belongs(expected) and not belongs(plain):
            quoted = ", without quotes" if isinstance(got, str) else ""
            return f"This is {kind_of(got)}; asked for is {name}{quoted}."
    return "This is not the value."


def _letters(exercise: Exercise, key: object, expected: Any) -> list[str]:
    """The letters that may be answered, from the answer and the bank.

    Empty where the answer is no single letter, or where several together are an answer too.
    """
    known = [to_plain(mistake.implementation()).get(key) for mistake in exercise.mistakes]
    if not isinstance(expected, str):
        return []
    words = {value for value in [expected, *known] if isinstance(value, str)}
    letters = {word for word in words if len(word) == 1}
    several = any(len(word) > 1 and letters.issuperset(word) for word in words)
    return [] if expected not in letters or several else sorted(letters)


_KINDS: tuple[tuple[str, Callable[[Any], bool]], ...] = (
    ("a number", is_number),
    ("a string", lambda value: isinstance(value, str)),
    ("a tuple or a list", lambda value: isinstance(value, (tuple, list))),
    ("True or False", lambda value: isinstance(value, bool)),
)

"""Many forms of one thing: `make test` takes one in so many, `make test-all` takes all."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

SLOW = pytest.mark.slow


def one_in(every: int, forms: Iterable[Any], name: Callable[[Any], str] | None = None) -> list[Any]:
    """The forms as parameters of a test; all but one in so many carry the mark `slow`.

    Args:
        every: how many there are for each that `make test` takes; the first is always one.
        forms: a tuple is several arguments.
        name: what a form is called; a form that is no tuple of plain values needs it.
    """
    return [
        pytest.param(
            *(form if isinstance(form, tuple) else (form,)),
            id=name(form) if name else None,
            marks=[SLOW] if number % every else [],
        )
        for number, form in enumerate(forms)
    ]

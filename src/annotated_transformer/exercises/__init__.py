"""Exercises that are checked: `check` in a notebook, `grade` for programs, `hint`, `solution`.

`progress` shows what was done; `save_progress` and `load_progress` take it to another machine.
`own_parts` collects the functions that were written, `assemble` makes a Transformer of them.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from annotated_transformer.exercises.grader.grading import grade
    from annotated_transformer.exercises.learner.assembly import assemble
    from annotated_transformer.exercises.learner.exchange import load_progress, save_progress
    from annotated_transformer.exercises.learner.lessons import check, hint, solution
    from annotated_transformer.exercises.learner.own_parts import own_parts
    from annotated_transformer.exercises.learner.progress import progress

__all__ = [
    "assemble",
    "check",
    "grade",
    "hint",
    "load_progress",
    "own_parts",
    "progress",
    "save_progress",
    "solution",
]

_HOME = {
    "assemble": "learner.assembly",
    "check": "learner.lessons",
    "grade": "grader.grading",
    "hint": "learner.lessons",
    "load_progress": "learner.exchange",
    "own_parts": "learner.own_parts",
    "progress": "learner.progress",
    "save_progress": "learner.exchange",
    "solution": "learner.lessons",
}


def __getattr__(name: str) -> Any:
    """Each is imported when it is asked for: a page, which only grades, has no learner's files."""
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

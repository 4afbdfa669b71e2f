"""Exercises that are checked: `check` in a notebook, `grade` for programs, `hint`, `solution`.

`progress` shows what was done; `save_progress` and `load_progress` take it to another machine.
`own_parts` collects the functions that were written, `assemble` makes a Transformer of them.
"""

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

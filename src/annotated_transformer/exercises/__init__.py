"""Exercises that are checked: `check` in a notebook, `grade` for programs, `hint`, `solution`."""

from annotated_transformer.exercises.grading import grade
from annotated_transformer.exercises.learning import check, hint, progress, solution

__all__ = ["check", "grade", "hint", "progress", "solution"]

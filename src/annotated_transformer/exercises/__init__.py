"""Exercises that are checked: `check` in a notebook, `grade` for programs, `hint`, `solution`."""

from annotated_transformer.exercises.grader.grading import grade
from annotated_transformer.exercises.learner.lessons import check, hint, solution
from annotated_transformer.exercises.learner.progress import progress

__all__ = ["check", "grade", "hint", "progress", "solution"]

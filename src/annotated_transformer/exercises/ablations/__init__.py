"""Exercises on reading experiments (section 6.2) and counting operations (section 4)."""

from annotated_transformer.exercises.exercise import Exercise

EXERCISES: tuple[Exercise, ...] = ()

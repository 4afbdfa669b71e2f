"""Exercises on positional encoding (section 3.5)."""

from annotated_transformer.exercises.exercise import Exercise

EXERCISES: tuple[Exercise, ...] = ()

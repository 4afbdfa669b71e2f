"""Exercises on the decoder layer and what it may see (section 3.1)."""

from annotated_transformer.exercises.exercise import Exercise

EXERCISES: tuple[Exercise, ...] = ()

"""Exercises on the whole model: tied output weights, parameters (sections 3.4 and 3)."""

from annotated_transformer.exercises.exercise import Exercise

EXERCISES: tuple[Exercise, ...] = ()

"""Exercises on shapes and broadcasting, before the first chapter."""

from annotated_transformer.exercises.exercise import Exercise

EXERCISES: tuple[Exercise, ...] = ()

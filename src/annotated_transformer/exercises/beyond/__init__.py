"""Exercises on what came after the paper."""

from annotated_transformer.exercises.exercise import Exercise

EXERCISES: tuple[Exercise, ...] = ()

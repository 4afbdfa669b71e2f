"""Exercises on byte-pair encoding and batches (section 5.1)."""

from annotated_transformer.exercises.exercise import Exercise

EXERCISES: tuple[Exercise, ...] = ()

"""Exercises on targets, loss, optimizer and schedule (sections 5.3 and 5.4)."""

from annotated_transformer.exercises.exercise import Exercise

EXERCISES: tuple[Exercise, ...] = ()

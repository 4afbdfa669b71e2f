"""Exercises on scaled dot-product attention (section 3.2.1)."""

from annotated_transformer.exercises.attention.softmax import SOFTMAX
from annotated_transformer.exercises.exercise import Exercise

EXERCISES: tuple[Exercise, ...] = (SOFTMAX,)

"""Exercises on what a trained model does inside (Figures 3 to 5)."""

from annotated_transformer.exercises.content.inside.alignment_error_rate import (
    ALIGNMENT_ERROR_RATE,
)
from annotated_transformer.exercises.content.inside.without_heads import WITHOUT_HEADS
from annotated_transformer.exercises.exercise import Exercise

EXERCISES: tuple[Exercise, ...] = (ALIGNMENT_ERROR_RATE, WITHOUT_HEADS)

"""Exercises on parsing (section 6.3)."""

from annotated_transformer.exercises.content.parsing.bracket_f1 import BRACKET_F1
from annotated_transformer.exercises.content.parsing.next_signs import NEXT_SIGNS
from annotated_transformer.exercises.exercise import Exercise

EXERCISES: tuple[Exercise, ...] = (BRACKET_F1, NEXT_SIGNS)

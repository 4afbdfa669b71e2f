"""Exercises on masks (sections 3.1 and 3.2.3): boolean, True = may attend."""

from annotated_transformer.exercises.content.masks.causal import CAUSAL
from annotated_transformer.exercises.content.masks.causal_test import CAUSAL_TEST
from annotated_transformer.exercises.content.masks.find_bug import FIND_BUG
from annotated_transformer.exercises.content.masks.padding import PADDING
from annotated_transformer.exercises.content.masks.padding_test import PADDING_TEST
from annotated_transformer.exercises.content.masks.target import TARGET
from annotated_transformer.exercises.exercise import Exercise

EXERCISES: tuple[Exercise, ...] = (
    CAUSAL,
    PADDING,
    TARGET,
    FIND_BUG,
    CAUSAL_TEST,
    PADDING_TEST,
)

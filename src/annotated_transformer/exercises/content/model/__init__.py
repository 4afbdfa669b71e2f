"""Exercises on the whole model: tied output weights, parameters (sections 3.4 and 3)."""

from annotated_transformer.exercises.content.model.parameter_count import PARAMETER_COUNT
from annotated_transformer.exercises.content.model.tied_logits import TIED_LOGITS
from annotated_transformer.exercises.exercise import Exercise

EXERCISES: tuple[Exercise, ...] = (TIED_LOGITS, PARAMETER_COUNT)

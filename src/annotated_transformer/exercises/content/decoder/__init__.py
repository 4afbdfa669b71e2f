"""Exercises on the decoder layer and what it may see (section 3.1)."""

from annotated_transformer.exercises.content.decoder.layer import DECODER_LAYER
from annotated_transformer.exercises.content.decoder.leaks_future import LEAKS_FUTURE
from annotated_transformer.exercises.exercise import Exercise

EXERCISES: tuple[Exercise, ...] = (DECODER_LAYER, LEAKS_FUTURE)

"""Exercises on shapes and broadcasting, before the first chapter."""

from annotated_transformer.exercises.content.warmup.pairwise_dot import PAIRWISE_DOT
from annotated_transformer.exercises.content.warmup.predict_broadcast import PREDICT_BROADCAST
from annotated_transformer.exercises.content.warmup.view_or_transpose import VIEW_OR_TRANSPOSE
from annotated_transformer.exercises.exercise import Exercise

EXERCISES: tuple[Exercise, ...] = (PAIRWISE_DOT, PREDICT_BROADCAST, VIEW_OR_TRANSPOSE)

"""Exercises on shapes and broadcasting, before the first chapter."""

from annotated_transformer.exercises.exercise import Exercise
from annotated_transformer.exercises.warmup.pairwise_dot import PAIRWISE_DOT
from annotated_transformer.exercises.warmup.predict_broadcast import PREDICT_BROADCAST
from annotated_transformer.exercises.warmup.view_or_transpose import VIEW_OR_TRANSPOSE

EXERCISES: tuple[Exercise, ...] = (PAIRWISE_DOT, PREDICT_BROADCAST, VIEW_OR_TRANSPOSE)

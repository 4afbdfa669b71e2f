"""Exercises on reading experiments (section 6.2) and counting operations (section 4)."""

from annotated_transformer.exercises.content.ablations.attention_flops import ATTENTION_FLOPS
from annotated_transformer.exercises.content.ablations.read_table3 import READ_TABLE3
from annotated_transformer.exercises.content.ablations.seed_noise import SEED_NOISE
from annotated_transformer.exercises.exercise import Exercise

EXERCISES: tuple[Exercise, ...] = (READ_TABLE3, ATTENTION_FLOPS, SEED_NOISE)

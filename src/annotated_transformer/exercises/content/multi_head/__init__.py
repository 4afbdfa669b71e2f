"""Exercises on multi-head attention (section 3.2.2)."""

from annotated_transformer.exercises.content.multi_head.attention import MULTI_HEAD_ATTENTION
from annotated_transformer.exercises.content.multi_head.equivariance import EQUIVARIANCE
from annotated_transformer.exercises.content.multi_head.merge_heads import MERGE_HEADS
from annotated_transformer.exercises.content.multi_head.split_heads import SPLIT_HEADS
from annotated_transformer.exercises.content.multi_head.split_heads_test import SPLIT_HEADS_TEST
from annotated_transformer.exercises.exercise import Exercise

EXERCISES: tuple[Exercise, ...] = (
    SPLIT_HEADS,
    MERGE_HEADS,
    MULTI_HEAD_ATTENTION,
    EQUIVARIANCE,
    SPLIT_HEADS_TEST,
)

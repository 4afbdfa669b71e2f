"""Exercises on what came after the paper."""

from annotated_transformer.exercises.content.beyond.alibi_bias import ALIBI_BIAS
from annotated_transformer.exercises.content.beyond.grouped_query_attention import (
    GROUPED_QUERY_ATTENTION,
)
from annotated_transformer.exercises.content.beyond.linear_attention import LINEAR_ATTENTION
from annotated_transformer.exercises.content.beyond.linearise_tree import LINEARISE_TREE
from annotated_transformer.exercises.content.beyond.rms_norm import RMS_NORM
from annotated_transformer.exercises.content.beyond.rope import ROPE
from annotated_transformer.exercises.content.beyond.sliding_window_mask import SLIDING_WINDOW_MASK
from annotated_transformer.exercises.content.beyond.swiglu import SWIGLU
from annotated_transformer.exercises.content.beyond.tiled_attention import TILED_ATTENTION
from annotated_transformer.exercises.exercise import Exercise

EXERCISES: tuple[Exercise, ...] = (
    ROPE,
    ALIBI_BIAS,
    GROUPED_QUERY_ATTENTION,
    RMS_NORM,
    SWIGLU,
    SLIDING_WINDOW_MASK,
    TILED_ATTENTION,
    LINEAR_ATTENTION,
    LINEARISE_TREE,
)

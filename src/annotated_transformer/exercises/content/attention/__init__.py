"""Exercises on scaled dot-product attention (section 3.2.1)."""

from annotated_transformer.exercises.content.attention.find_bug import FIND_BUG
from annotated_transformer.exercises.content.attention.predict_shapes import PREDICT_SHAPES
from annotated_transformer.exercises.content.attention.scaled_dot_product import SCALED_DOT_PRODUCT
from annotated_transformer.exercises.content.attention.scaled_dot_product_test import (
    SCALED_DOT_PRODUCT_TEST,
)
from annotated_transformer.exercises.content.attention.score_variance import SCORE_VARIANCE
from annotated_transformer.exercises.content.attention.softmax import SOFTMAX
from annotated_transformer.exercises.content.attention.softmax_jacobian import SOFTMAX_JACOBIAN
from annotated_transformer.exercises.content.attention.softmax_test import SOFTMAX_TEST
from annotated_transformer.exercises.exercise import Exercise

EXERCISES: tuple[Exercise, ...] = (
    SOFTMAX,
    PREDICT_SHAPES,
    SCALED_DOT_PRODUCT,
    SCORE_VARIANCE,
    SOFTMAX_JACOBIAN,
    FIND_BUG,
    SOFTMAX_TEST,
    SCALED_DOT_PRODUCT_TEST,
)

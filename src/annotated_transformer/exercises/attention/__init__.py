"""Exercises on scaled dot-product attention (section 3.2.1)."""

from annotated_transformer.exercises.attention.find_bug import FIND_BUG
from annotated_transformer.exercises.attention.predict_shapes import PREDICT_SHAPES
from annotated_transformer.exercises.attention.scaled_dot_product import SCALED_DOT_PRODUCT
from annotated_transformer.exercises.attention.score_variance import SCORE_VARIANCE
from annotated_transformer.exercises.attention.softmax import SOFTMAX
from annotated_transformer.exercises.attention.softmax_jacobian import SOFTMAX_JACOBIAN
from annotated_transformer.exercises.exercise import Exercise

EXERCISES: tuple[Exercise, ...] = (
    SOFTMAX,
    PREDICT_SHAPES,
    SCALED_DOT_PRODUCT,
    SCORE_VARIANCE,
    SOFTMAX_JACOBIAN,
    FIND_BUG,
)

"""Exercises on the encoder: its sub-layers, norms and embeddings (sections 3.1, 3.3, 3.4)."""

from annotated_transformer.exercises.content.encoder.embed import EMBED
from annotated_transformer.exercises.content.encoder.feed_forward import FEED_FORWARD
from annotated_transformer.exercises.content.encoder.layer import ENCODER_LAYER
from annotated_transformer.exercises.content.encoder.layer_norm import LAYER_NORM
from annotated_transformer.exercises.content.encoder.layer_norm_backward import LAYER_NORM_BACKWARD
from annotated_transformer.exercises.content.encoder.layer_norm_test import LAYER_NORM_TEST
from annotated_transformer.exercises.content.encoder.padding_leak import PADDING_LEAK
from annotated_transformer.exercises.content.encoder.sublayer_connection import SUBLAYER_CONNECTION
from annotated_transformer.exercises.exercise import Exercise

EXERCISES: tuple[Exercise, ...] = (
    LAYER_NORM,
    LAYER_NORM_BACKWARD,
    FEED_FORWARD,
    EMBED,
    SUBLAYER_CONNECTION,
    ENCODER_LAYER,
    PADDING_LEAK,
    LAYER_NORM_TEST,
)

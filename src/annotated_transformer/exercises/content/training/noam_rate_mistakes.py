"""Named mistakes of `training.noam_rate`, all kinds together."""

from annotated_transformer.exercises.content.training.noam_rate_arguments import ARGUMENTS
from annotated_transformer.exercises.content.training.noam_rate_shapes import SHAPES

MISTAKES = (*SHAPES, *ARGUMENTS)

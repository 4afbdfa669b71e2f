"""Named mistakes of `training.label_smoothing_loss`, all kinds together."""

from annotated_transformer.exercises.content.training.label_smoothing_logs import LOGS
from annotated_transformer.exercises.content.training.label_smoothing_means import MEANS
from annotated_transformer.exercises.content.training.label_smoothing_targets import TARGETS

MISTAKES = (*TARGETS, *MEANS, *LOGS)

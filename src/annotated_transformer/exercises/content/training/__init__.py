"""Exercises on targets, loss, optimizer and schedule (sections 5.3 and 5.4)."""

from annotated_transformer.exercises.content.training.accumulated_loss import ACCUMULATED_LOSS
from annotated_transformer.exercises.content.training.accumulated_loss_test import (
    ACCUMULATED_LOSS_TEST,
)
from annotated_transformer.exercises.content.training.adam_step import ADAM_STEP
from annotated_transformer.exercises.content.training.find_bug import FIND_BUG
from annotated_transformer.exercises.content.training.label_smoothing_loss import (
    LABEL_SMOOTHING_LOSS,
)
from annotated_transformer.exercises.content.training.noam_rate import NOAM_RATE
from annotated_transformer.exercises.content.training.noam_rate_test import NOAM_RATE_TEST
from annotated_transformer.exercises.content.training.shift_targets import SHIFT_TARGETS
from annotated_transformer.exercises.content.training.shift_targets_test import SHIFT_TARGETS_TEST
from annotated_transformer.exercises.content.training.smoothing_floor import SMOOTHING_FLOOR
from annotated_transformer.exercises.exercise import Exercise

EXERCISES: tuple[Exercise, ...] = (
    SHIFT_TARGETS,
    LABEL_SMOOTHING_LOSS,
    SMOOTHING_FLOOR,
    NOAM_RATE,
    ADAM_STEP,
    ACCUMULATED_LOSS,
    FIND_BUG,
    SHIFT_TARGETS_TEST,
    ACCUMULATED_LOSS_TEST,
    NOAM_RATE_TEST,
)

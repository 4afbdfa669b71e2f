"""Training (section 5): the recipe, the loop, and runs that survive being killed."""

from annotated_transformer.training.label_smoothing import (
    label_smoothing_loss,
    projected_label_smoothing_loss,
)
from annotated_transformer.training.run_directory import (
    RunConfig,
    RunDirectory,
    average_checkpoints,
    load_run,
)
from annotated_transformer.training.schedule import LearningRateSchedule, noam_rate
from annotated_transformer.training.settings import TrainingConfig
from annotated_transformer.training.trainer import Trainer

__all__ = [
    "LearningRateSchedule",
    "RunConfig",
    "RunDirectory",
    "Trainer",
    "TrainingConfig",
    "average_checkpoints",
    "label_smoothing_loss",
    "load_run",
    "noam_rate",
    "projected_label_smoothing_loss",
]

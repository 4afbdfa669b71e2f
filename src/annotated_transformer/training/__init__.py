"""Training (section 5): the recipe, the loop, and runs that survive being killed.

Where the paper's sections are:

    5.1  batches by length and tokens   data/batching.py; `step` for a batch in several parts
    5.3  learning rate; Adam            `schedule`; `settings` (betas, epsilon), `trainer`
    5.4  label smoothing; dropout       `label_smoothing`; residual.py and embeddings.py
    6.1  mean of checkpoints            `checkpoints` (average_weights)

`r_drop` and `initial_gain` are departures by a named option. All other modules are the engine:
checkpoints, resuming, several processes, devices, the journal.
"""

from annotated_transformer.training.label_smoothing import label_smoothing_loss
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
]

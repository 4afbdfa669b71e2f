"""Named mistakes of `training.accumulated_loss`, all kinds together."""

from annotated_transformer.exercises.content.training.accumulated_loss_means import MEANS
from annotated_transformer.exercises.content.training.accumulated_loss_results import RESULTS

MISTAKES = (*MEANS, *RESULTS)

"""Named mistakes of `training.shift_targets`, all kinds together."""

from annotated_transformer.exercises.content.training.shift_targets_cuts import CUTS
from annotated_transformer.exercises.content.training.shift_targets_results import RESULTS

MISTAKES = (*CUTS, *RESULTS)

"""Named mistakes of `training.adam_step`, all kinds together."""

from annotated_transformer.exercises.content.training.adam_step_corrections import CORRECTIONS
from annotated_transformer.exercises.content.training.adam_step_directions import DIRECTIONS
from annotated_transformer.exercises.content.training.adam_step_moments import MOMENTS
from annotated_transformer.exercises.content.training.adam_step_results import RESULTS

MISTAKES = (*CORRECTIONS, *MOMENTS, *RESULTS, *DIRECTIONS)

"""Named mistakes of `tokenization.pad_batch`, all kinds together."""

from annotated_transformer.exercises.content.tokenization.pad_batch_lengths import LENGTHS
from annotated_transformer.exercises.content.tokenization.pad_batch_results import RESULTS

MISTAKES = (*LENGTHS, *RESULTS)

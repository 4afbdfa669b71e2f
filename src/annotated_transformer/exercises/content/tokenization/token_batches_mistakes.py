"""Named mistakes of `tokenization.token_batches`, all kinds together."""

from annotated_transformer.exercises.content.tokenization.token_batches_results import RESULTS
from annotated_transformer.exercises.content.tokenization.token_batches_sizes import SIZES

MISTAKES = (*SIZES, *RESULTS)

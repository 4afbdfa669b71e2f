"""Named mistakes of `tokenization.bpe_train`, all kinds together."""

from annotated_transformer.exercises.content.tokenization.bpe_train_choices import CHOICES
from annotated_transformer.exercises.content.tokenization.bpe_train_counts import COUNTS
from annotated_transformer.exercises.content.tokenization.bpe_train_results import RESULTS

MISTAKES = (*COUNTS, *CHOICES, *RESULTS)

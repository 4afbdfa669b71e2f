"""Named mistakes of `tokenization.bpe_encode`, all kinds together."""

from annotated_transformer.exercises.content.tokenization.bpe_encode_merges import MERGES
from annotated_transformer.exercises.content.tokenization.bpe_encode_orders import ORDERS
from annotated_transformer.exercises.content.tokenization.bpe_encode_results import RESULTS

MISTAKES = (*ORDERS, *MERGES, *RESULTS)

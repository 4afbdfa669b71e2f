"""Section 6.1: from a trained model to a sentence.

Its modules, those that are called first before those that they call:

    decode        greedy search and beam search over a batch of sentences
    sampling      sentences drawn at random
    beam          the beam: what stays in it, what is finished, and how it is scored
    beam_steps    a search, step by step, for those who watch it
    incremental   the decoder that computes no position twice, and the slow one that does
"""

from annotated_transformer.decoding.beam import (
    Hypothesis,
    Pool,
    length_penalty,
    search,
)
from annotated_transformer.decoding.decode import (
    NO_NUMBER,
    beam_search,
    greedy_decode,
    incremental_decoder,
    one_by_one,
)

__all__ = [
    "NO_NUMBER",
    "Hypothesis",
    "Pool",
    "beam_search",
    "greedy_decode",
    "incremental_decoder",
    "length_penalty",
    "one_by_one",
    "search",
]

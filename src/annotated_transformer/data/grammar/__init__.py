"""The embedded corpus: English to German, generated from a hand-written grammar.

Nothing is downloaded. Every German form stands in a table here; the alignments are known, because
both languages are said from one structure; English determines the German, so that exact match is a
fair score. Where German allows several orders, one is always chosen (see `german.middle`).
"""

from annotated_transformer.data.grammar.corpus import (
    TRAVELLING_SENTENCE,
    GrammarPair,
    generate_corpus,
    tokens,
)
from annotated_transformer.data.grammar.phenomena import PHENOMENA

__all__ = [
    "PHENOMENA",
    "TRAVELLING_SENTENCE",
    "GrammarPair",
    "generate_corpus",
    "tokens",
]

"""Section 5.1: corpora, the shared byte-pair vocabulary, and batches by tokens."""

from annotated_transformer.data.batching import (
    Batch,
    PaddingWaste,
    batches_of,
    collate,
    make_batch,
    padding_waste,
    token_batches,
)
from annotated_transformer.data.copy_task import copy_corpus
from annotated_transformer.data.corpus import Alignment, ParallelCorpus, Split
from annotated_transformer.data.encoding import EncodedSplit, encode_split
from annotated_transformer.data.folder import read_folder
from annotated_transformer.data.grammar import TRAVELLING_SENTENCE, generate_corpus
from annotated_transformer.data.registry import CORPORA, load_corpus
from annotated_transformer.data.vocabulary import Vocabulary

__all__ = [
    "CORPORA",
    "TRAVELLING_SENTENCE",
    "Alignment",
    "Batch",
    "EncodedSplit",
    "PaddingWaste",
    "ParallelCorpus",
    "Split",
    "Vocabulary",
    "batches_of",
    "collate",
    "copy_corpus",
    "encode_split",
    "generate_corpus",
    "load_corpus",
    "make_batch",
    "padding_waste",
    "read_folder",
    "token_batches",
]

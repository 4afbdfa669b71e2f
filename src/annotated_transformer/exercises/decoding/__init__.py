"""Exercises on search, caching, averaging and BLEU (section 6.1)."""

from annotated_transformer.exercises.decoding.average_checkpoints import AVERAGE_CHECKPOINTS
from annotated_transformer.exercises.decoding.beam_search import BEAM_SEARCH
from annotated_transformer.exercises.decoding.cache_bytes import CACHE_BYTES
from annotated_transformer.exercises.decoding.cached_step import CACHED_STEP
from annotated_transformer.exercises.decoding.corpus_bleu import CORPUS_BLEU
from annotated_transformer.exercises.decoding.greedy import GREEDY
from annotated_transformer.exercises.exercise import Exercise

EXERCISES: tuple[Exercise, ...] = (
    GREEDY,
    BEAM_SEARCH,
    CACHED_STEP,
    CACHE_BYTES,
    AVERAGE_CHECKPOINTS,
    CORPUS_BLEU,
)

"""Exercises on search, caching, averaging and BLEU (section 6.1).

Beside the module of each exercise stands the page of its mistakes, `greedy.md` beside `greedy.py`.
The small models that greedy and beam_search are asked about are in language_models.py.
"""

from annotated_transformer.exercises.content.decoding.average_checkpoints import AVERAGE_CHECKPOINTS
from annotated_transformer.exercises.content.decoding.average_checkpoints_test import (
    AVERAGE_CHECKPOINTS_TEST,
)
from annotated_transformer.exercises.content.decoding.beam_search import BEAM_SEARCH
from annotated_transformer.exercises.content.decoding.cache_bytes import CACHE_BYTES
from annotated_transformer.exercises.content.decoding.cached_step import CACHED_STEP
from annotated_transformer.exercises.content.decoding.corpus_bleu import CORPUS_BLEU
from annotated_transformer.exercises.content.decoding.greedy import GREEDY
from annotated_transformer.exercises.exercise import Exercise

EXERCISES: tuple[Exercise, ...] = (
    GREEDY,
    BEAM_SEARCH,
    CACHED_STEP,
    CACHE_BYTES,
    AVERAGE_CHECKPOINTS,
    CORPUS_BLEU,
    AVERAGE_CHECKPOINTS_TEST,
)

"""Exercises on search, caching, averaging and BLEU (section 6.1).

Beside the file of each exercise (its text, signature and reference) stand its cases and mistakes:
greedy: greedy_*.py; beam_search: beam_*.py; cached_step and cache_bytes: cached_*.py;
average_checkpoints: average_*.py; corpus_bleu: bleu_*.py. The small models that greedy and
beam_search are asked about are in language_models.py.
"""

from annotated_transformer.exercises.content.decoding.average_checkpoints import AVERAGE_CHECKPOINTS
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
)

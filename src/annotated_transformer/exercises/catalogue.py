"""All exercises, by id, collected from the content modules in the order of the book."""

import difflib
import functools
import importlib

from annotated_transformer.exercises import content
from annotated_transformer.exercises.exercise import Exercise
from annotated_transformer.exercises.grader.pristine import random_states_kept

CHAPTER_OF = {  # the topic, the first part of an id, and the notebook that its exercises belong to
    "warmup": "00_start_here",
    "attention": "02_attention",
    "masks": "02_attention",
    "multihead": "03_multi_head",
    "positional": "04_positional_encoding",
    "encoder": "05_encoder",
    "decoder": "06_decoder",
    "model": "06_decoder",
    "tokenization": "07_data",
    "training": "08_training",
    "decoding": "09_decoding",
    "inside": "11_inside_the_model",
    "ablations": "12_ablations",
    "parsing": "14_parsing",
    "beyond": "15_after_the_paper",
}
_CHAPTER_OF_ONE = {  # exercises that stand in another chapter than the rest of their topic
    "ablations.attention_flops": "13_complexity",
    "beyond.linearise_tree": "14_parsing",
    "beyond.sliding_window_mask": "13_complexity",
    "beyond.tiled_attention": "13_complexity",
}
_PACKAGE_OF = {"multihead": "multi_head"}  # where the package is not called as the topic


def chapter_of(exercise_id: str) -> str:
    """The notebook an exercise belongs to: "02_attention" for "masks.causal"."""
    if exercise_id.endswith("_test"):  # another one turned round
        return "16_bug_museum"
    return _CHAPTER_OF_ONE.get(exercise_id) or CHAPTER_OF[exercise_id.split(".")[0]]


def package_of(topic: str) -> str:
    """The folder of a topic: "multi_head" for "multihead"."""
    return _PACKAGE_OF.get(topic, topic)


@functools.cache
def of_topic(topic: str) -> dict[str, Exercise]:
    """The exercises of one topic by their ids. Raises ValueError where two have one id.

    Only the first call imports them, and no other topic's: a check waits for its own alone. Some
    topics try their mistakes on inputs then: whatever these draw, a notebook's own numbers after
    its first check are those it had without.
    """
    with random_states_kept():
        module = importlib.import_module(f"{content.__name__}.{package_of(topic)}")
    found = {exercise.id: exercise for exercise in module.EXERCISES}
    if len(found) < len(module.EXERCISES):
        raise ValueError(f"two exercises of the topic {topic!r} have one id: rename one of them")
    if others := [name for name in found if name.split(".")[0] != topic]:
        raise ValueError(f"{others[0]!r} is none of the topic {topic!r}: an id begins with it")
    return found


@functools.cache
def catalogue() -> dict[str, Exercise]:
    """Every exercise by its id; the first call imports them all."""
    return {name: exercise for topic in CHAPTER_OF for name, exercise in of_topic(topic).items()}


def minutes_of_exercises() -> dict[str, int]:
    """How long each exercise takes, by its id."""
    return {exercise.id: exercise.minutes for exercise in catalogue().values()}


def ids() -> list[str]:
    """The ids of all exercises in the order of the book."""
    return list(catalogue())


def nearest(name: str) -> str:
    """A question after a name that is neither exercise nor topic, with the nearest ones; or ""."""
    known = [*ids(), *CHAPTER_OF]
    close = difflib.get_close_matches(name, known, n=2, cutoff=0.6)
    return f" Did you mean {' or '.join(close)}?" if close else ""


def find(exercise_id: object, seed: int = 0) -> Exercise | None:
    """The exercise of this id as the learner with this seed gets it, or None."""
    name = exercise_id.strip() if isinstance(exercise_id, str) else ""
    topic = name.partition(".")[0]
    exercise = of_topic(topic).get(name) if topic in CHAPTER_OF else None
    if exercise is None or exercise.vary is None or seed == 0:
        return exercise
    return exercise.vary(seed)

"""All exercises, by id, collected from the content modules in the order of the book."""

import functools
import importlib

from annotated_transformer.exercises.exercise import Exercise

TOPICS = ("attention", "masks", "multi_head")


@functools.cache
def catalogue() -> dict[str, Exercise]:
    """Every exercise by its id. Raises ValueError where two have one id or a hint is missing."""
    found: dict[str, Exercise] = {}
    for topic in TOPICS:
        module = importlib.import_module(f"annotated_transformer.exercises.{topic}")
        for exercise in module.EXERCISES:
            if exercise.id in found:
                raise ValueError(f"two exercises are called {exercise.id!r}: rename one of them")
            found[exercise.id] = exercise
    return found


def ids() -> list[str]:
    """The ids of all exercises in the order of the book."""
    return list(catalogue())


def find(exercise_id: object, seed: int = 0) -> Exercise | None:
    """The exercise of this id as the learner with this seed gets it, or None."""
    exercise = catalogue().get(exercise_id) if isinstance(exercise_id, str) else None
    if exercise is None or exercise.vary is None or seed == 0:
        return exercise
    return exercise.vary(seed)

"""Banks of mistakes built from single faults: one computation whose steps can be done wrongly.

An exercise writes its computation once, with every step that can go wrong as a keyword option, and
names each wrong option as a `Fault`. Two faults at once are two options at once, and what to say to
them is what is said to each.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

from annotated_transformer.exercises.exercise import Candidate, Mistake


@dataclass(frozen=True)
class Fault:
    """One wrong step: options of the computation, and what to say to it."""

    name: str
    options: Mapping[str, Any]
    sentence: str


def single(computation: Candidate, faults: Iterable[Fault]) -> list[Mistake]:
    """A mistake for each fault alone."""
    return [Mistake(f.name, partial(computation, **f.options), f.sentence) for f in faults]


def combined(computation: Candidate, faults: Iterable[Fault], number: int) -> list[Mistake]:
    """A mistake for every `number` faults that are about different steps."""
    mistakes = []
    for chosen in combinations(faults, number):
        options = [option for fault in chosen for option in fault.options.items()]
        if len(dict(options)) == len(options):
            name = "+".join(fault.name for fault in chosen)
            sentence = " ".join(fault.sentence for fault in chosen)
            mistakes.append(Mistake(name, partial(computation, **dict(options)), sentence))
    return mistakes


def told_apart(
    mistakes: Iterable[Mistake], reference: Candidate, probes: Sequence[tuple[Any, ...]]
) -> tuple[Mistake, ...]:
    """The mistakes without those that do what the reference or an earlier one does on the probes.

    Two faults may cancel each other, or do together what a third does alone: its own sentence,
    which comes first, says it better.
    """
    seen = {_results(reference, probes)}
    kept = []
    for mistake in mistakes:
        results = _results(mistake.implementation, probes)
        if results not in seen:
            seen.add(results)
            kept.append(mistake)
    return tuple(kept)


def _results(function: Callable[..., Any], probes: Sequence[tuple[Any, ...]]) -> tuple[str, ...]:
    return tuple(_result(function, probe) for probe in probes)


def _result(function: Callable[..., Any], probe: tuple[Any, ...]) -> str:
    try:
        return repr(function(*probe))
    except Exception as error:
        return type(error).__name__

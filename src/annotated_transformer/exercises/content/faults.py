"""Banks of mistakes built from single faults: one computation whose steps can be done wrongly.

An exercise writes its computation once, with every step that can go wrong as a keyword option, and
names each wrong option as a `Fault`. Two faults at once are two options at once, and what to say to
them is what is said to each.
"""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

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


def together(computation: Candidate, faults: Iterable[Fault], number: int) -> list[Mistake]:
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


def _results(function: Callable[..., Any], probes: Sequence[tuple[Any, ...]]) -> tuple[object, ...]:
    return tuple(part for probe in probes for part in _written(_result(function, probe)))


def _result(function: Callable[..., Any], probe: tuple[Any, ...]) -> Any:
    try:
        return function(*copy.deepcopy(probe))
    except Exception as error:
        return type(error).__name__


def _written(value: Any) -> Iterator[object]:
    """A result as parts that can be compared and hashed, its numbers to five digits."""
    if isinstance(value, torch.Tensor):
        yield f"{value.dtype} {tuple(value.shape)}"
        real = torch.view_as_real(value) if value.is_complex() else value
        yield _five_digits(real.detach().double().numpy())
    elif isinstance(value, (list, tuple)):
        yield "("
        for item in value:
            yield from _written(item)
        yield ")"
    elif isinstance(value, float):
        yield _five_digits(np.array(value))
    else:
        yield repr(value)


def _five_digits(x: NDArray[np.float64]) -> bytes:
    """Numbers rounded to five significant digits, and to nine places; a bank has very many."""
    x = np.round(x, 9)
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = np.floor(np.log10(np.abs(x))) - 4  # the power of ten of the last digit
        unit = np.where(np.isfinite(unit), unit, 0.0)
        rounded = np.round(x / 10.0**unit) * 10.0**unit + 0.0  # adding 0 makes 0 of -0
    return np.where(np.isnan(rounded), np.nan, rounded).tobytes()

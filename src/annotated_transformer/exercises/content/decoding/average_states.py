"""Mistakes of `decoding.average_checkpoints` besides the mean: integers, dtypes, names, inputs."""

import torch
from torch import Tensor

from annotated_transformer.exercises.content.decoding.average_steps import (
    State,
    averaging,
    mean_of,
)
from annotated_transformer.exercises.exercise import Candidate, Mistake

_INTEGERS = (
    "Integer tensors are averaged too. They are counters and indices: the mean of two is not a "
    "state the model was ever in, and it may not even be whole. Copy them from the last "
    "checkpoint, `tensor.is_floating_point()` tells which is which."
)

_INTEGERS_SUMMED = (
    "Integer tensors are added up over the checkpoints. They are counters and indices: copy them "
    "from the last checkpoint as they are, `tensor.is_floating_point()` tells which is which."
)

_AND_DTYPE = " Besides, floating tensors lose their dtype."

_WHICH_INTEGERS = (
    "Integer tensors are not those of the last checkpoint. A counter has its newest value there: "
    "copy it from `states[-1]`."
)

_INTEGERS_LOST = (
    "Integer tensors are missing from the result, so `load_state_dict` would complain. Copy them "
    "from the last checkpoint."
)

_DTYPE = (
    "The dtype of a floating tensor changes. The mean has the dtype that the tensor had: cast it "
    "back, `.to(state[name].dtype)`, if you compute in another."
)

_IN_PLACE = (
    "A given checkpoint is changed. `total = states[0]` is no copy, and neither is `dict(...)` of "
    "it: `+=` and `/=` write into the caller's tensors. Make new ones, `total = total + tensor`, "
    "or clone first."
)

_POPPED = (
    "The list of checkpoints is changed (`pop`). Leave the caller's list as it is: loop over it, "
    "or copy it first."
)

_NAMES = (
    "Some names are missing from the result. It has an entry for every name that the checkpoints "
    "have."
)

_RETURNED = (
    "Asked for is one dictionary from names to tensors, ready for `load_state_dict`: not a list or "
    "tuple, and nothing besides."
)


def _mean_as_integer(tensors: list[Tensor]) -> Tensor:
    return torch.stack(tensors).double().mean(0).to(tensors[0].dtype)


def _rounded_mean(tensors: list[Tensor]) -> Tensor:
    return torch.stack(tensors).double().mean(0).round().to(tensors[0].dtype)


def _mean_as_float(tensors: list[Tensor]) -> Tensor:
    return torch.stack(tensors).float().mean(0)


def _into_the_first(states: list[State]) -> State:
    """`average = states[0]`, then `+=` and `/=`."""
    for name, tensor in states[0].items():
        if tensor.is_floating_point():
            for state in states[1:]:
                tensor += state[name]
            tensor /= len(states)
        else:
            states[0][name] = states[-1][name]
    return states[0]


def _into_a_shallow_copy(states: list[State]) -> State:
    average = dict(states[0])
    for name, tensor in average.items():
        if tensor.is_floating_point():
            for state in states[1:]:
                tensor += state[name]
            tensor /= len(states)
    return {**average, **{n: t for n, t in states[-1].items() if not t.is_floating_point()}}


def _added_into_a_shallow_copy(states: list[State]) -> State:
    average = dict(states[0])
    for name, tensor in average.items():
        if tensor.is_floating_point():
            for state in states[1:]:
                tensor += state[name]
            average[name] = tensor / len(states)
        else:
            average[name] = states[-1][name]
    return average


def _into_the_last(states: list[State]) -> State:
    for name, tensor in states[-1].items():
        if tensor.is_floating_point():
            for state in states[:-1]:
                tensor += state[name]
            tensor /= len(states)
    return states[-1]


def _popped(states: list[State]) -> State:
    """The list itself is used up."""
    average = averaging()(list(states))
    while states:
        states.pop()
    return dict(average)


def _floats_only(states: list[State]) -> State:
    return {n: t for n, t in averaging()(states).items() if t.is_floating_point()}


def _matrices_only(states: list[State]) -> State:
    return {n: t for n, t in averaging()(states).items() if t.dim() > 0}


def _counter_by_name(states: list[State]) -> State:
    """float32 is taken for the only floating dtype; every other tensor is copied."""
    average = averaging()(states)
    return {n: t if t.dtype == torch.float32 else states[-1][n] for n, t in average.items()}


def _everything_as(dtype: torch.dtype) -> Candidate:
    return averaging(floats=lambda tensors: mean_of(tensors).to(dtype))


def _divided_in_place(states: list[State]) -> State:
    """Each checkpoint's share is made in its own tensors."""
    average = {}
    for name, newest in states[-1].items():
        if newest.is_floating_point():
            average[name] = sum(state[name].div_(len(states)) for state in states)
        else:
            average[name] = newest.clone()
    return average  # type: ignore[return-value]


def _first_popped(states: list[State]) -> State:
    average = averaging()(list(states))
    states.pop(0)
    return dict(average)


def _last_popped(states: list[State]) -> State:
    average = averaging()(list(states))
    states.pop()
    return dict(average)


def _only_full_precision(tensors: list[Tensor]) -> Tensor:
    return mean_of(tensors) if tensors[0].itemsize > 2 else tensors[-1].clone()


def _everything_averaged(dtype: torch.dtype) -> Candidate:
    """Integers too, all in one dtype and left in it."""

    def combine(tensors: list[Tensor]) -> Tensor:
        return torch.stack(tensors).to(dtype).mean(0)

    return averaging(combine, combine)


STATE_MISTAKES = (
    Mistake("integers-averaged-as-floats", averaging(integers=_mean_as_float), _INTEGERS),
    Mistake(
        "integers-averaged-in-double",
        averaging(integers=lambda ts: torch.stack(ts).double().mean(0)),
        _INTEGERS,
    ),
    Mistake("all-averaged-in-float32", _everything_averaged(torch.float32), _INTEGERS + _AND_DTYPE),
    Mistake("all-averaged-in-float64", _everything_averaged(torch.float64), _INTEGERS + _AND_DTYPE),
    Mistake("integers-averaged", averaging(integers=_mean_as_integer), _INTEGERS),
    Mistake("integers-rounded", averaging(integers=_rounded_mean), _INTEGERS),
    Mistake(
        "mean-of-integers-refused",
        averaging(integers=lambda tensors: torch.stack(tensors).mean(0)),
        "`mean` of an integer tensor raises. Leave integer tensors out of the averaging and copy "
        "them from the last checkpoint, `tensor.is_floating_point()` tells which is which.",
    ),
    Mistake("integers-summed", averaging(integers=lambda ts: sum(ts[1:], ts[0])), _INTEGERS_SUMMED),
    Mistake(
        "integers-summed-as-int64",
        averaging(integers=lambda ts: torch.stack(ts).sum(0)),
        _INTEGERS_SUMMED,
    ),
    Mistake("integers-of-the-first", averaging(integers=lambda ts: ts[0].clone()), _WHICH_INTEGERS),
    Mistake(
        "largest-integers",
        averaging(integers=lambda ts: torch.stack(ts).amax(0)),
        _WHICH_INTEGERS,
    ),
    Mistake(
        "smallest-integers",
        averaging(integers=lambda ts: torch.stack(ts).amin(0)),
        _WHICH_INTEGERS,
    ),
    Mistake(
        "integers-zeroed",
        averaging(integers=lambda ts: torch.zeros_like(ts[0])),
        _WHICH_INTEGERS,
    ),
    Mistake(
        "integers-as-floats",
        averaging(integers=lambda ts: ts[-1].float()),
        "Integer tensors come back as floats. They are copied as they are, dtype included.",
    ),
    Mistake("integers-lost", _floats_only, _INTEGERS_LOST),
    Mistake("single-numbers-lost", _matrices_only, _NAMES),
    Mistake("first-name-only", lambda s: dict(list(averaging()(s).items())[:1]), _NAMES),
    Mistake(
        "only-float32-averaged",
        _counter_by_name,
        "Only float32 tensors are averaged; those of other floating dtypes (half precision, "
        "float64) are copied from the last checkpoint. All floating dtypes are averaged: "
        "`tensor.is_floating_point()`.",
    ),
    Mistake(
        "half-precision-not-averaged",
        averaging(_only_full_precision),
        "Tensors in half precision (float16, bfloat16) are copied instead of averaged. All "
        "floating dtypes are averaged: `tensor.is_floating_point()`.",
    ),
    Mistake("all-in-float32", _everything_as(torch.float32), _DTYPE),
    Mistake(
        "computed-and-left-in-float32",
        averaging(lambda tensors: torch.stack(tensors).float().mean(0)),
        _DTYPE,
    ),
    Mistake(
        "computed-and-left-in-float64",
        averaging(lambda tensors: torch.stack(tensors).double().mean(0)),
        _DTYPE,
    ),
    Mistake("all-in-float64", _everything_as(torch.float64), _DTYPE),
    Mistake("all-in-float16", _everything_as(torch.float16), _DTYPE),
    Mistake(
        "half-in-float32",
        averaging(lambda ts: mean_of(ts).float() if ts[0].itemsize == 2 else mean_of(ts)),
        _DTYPE,
    ),
    Mistake("into-the-first", _into_the_first, _IN_PLACE),
    Mistake("into-a-shallow-copy", _into_a_shallow_copy, _IN_PLACE),
    Mistake("added-into-a-shallow-copy", _added_into_a_shallow_copy, _IN_PLACE),
    Mistake("into-the-last", _into_the_last, _IN_PLACE),
    Mistake("divided-in-place", _divided_in_place, _IN_PLACE),
    Mistake("list-used-up", _popped, _POPPED),
    Mistake("first-popped", _first_popped, _POPPED),
    Mistake("last-popped", _last_popped, _POPPED),
    Mistake("list-returned", lambda states: list(averaging()(states).values()), _RETURNED),
    Mistake("number-returned-too", lambda s: (averaging()(s), len(s)), _RETURNED),
    Mistake("in-a-list", lambda states: [averaging()(states)], _RETURNED),
)

"""`decoding.average_checkpoints` (section 6.1): the last 5 of the base model, 20 of the big one."""

import copy
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, Stage, call

State = dict[str, Tensor]


def average_checkpoints(states: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    averaged = {}
    for name, newest in states[-1].items():
        tensors = [state[name] for state in states]
        if newest.is_floating_point():
            stacked = torch.stack(tensors).double()  # one axis more, for the checkpoints
            mean = stacked.mean(dim=0)
            averaged[name] = mean.to(newest.dtype)
        else:
            averaged[name] = newest.clone()  # a counter or an index
    return averaged


def _by_running_sums(states: list[State]) -> State:
    result = {name: tensor.clone() for name, tensor in states[-1].items()}
    for name, total in result.items():
        if torch.is_floating_point(total):
            for state in states[:-1]:
                total += state[name]
            total /= len(states)
    return result


def _by_running_means(states: list[State]) -> State:
    result = copy.deepcopy(states[0])
    for count, state in enumerate(states[1:], start=2):
        for name, tensor in state.items():
            if tensor.is_floating_point():
                result[name] = result[name] + (tensor - result[name]) / count
    for name, tensor in states[-1].items():
        if not tensor.dtype.is_floating_point:
            result[name] = tensor
    return result


def _by_shares(states: list[State]) -> State:
    share = 1 / len(states)
    return {
        name: sum((share * state[name] for state in states[1:]), share * states[0][name])
        if newest.dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64)
        else newest.detach().clone()
        for name, newest in states[-1].items()
    }


def _by_numpy(states: list[State]) -> State:
    result = {}
    for name, newest in states[-1].items():
        if not newest.is_floating_point():
            result[name] = torch.tensor(newest.numpy().copy())
            continue
        arrays = np.array([state[name].double().numpy() for state in states])
        result[name] = torch.tensor(arrays.mean(axis=0)).to(newest.dtype)
    return result


Make = Callable[[torch.Generator, torch.dtype], State]


def _checkpoints(
    name: str, number: int, make: Make, stage: Stage = "main", isolates: str | None = None
) -> Case:
    def case(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call([make(generator, dtype) for _ in range(number)])

    return Case(name, case, stage=stage, isolates=isolates)


def _numbered(rows: list[list[float]], steps: list[int]) -> Callable[..., Call]:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        states = [
            {"weight": torch.tensor(row, dtype=dtype), "step": torch.tensor(step)}
            for row, step in zip(rows, steps, strict=True)
        ]
        return call(states)

    return make


def _weights_alone(generator: torch.Generator, dtype: torch.dtype) -> State:
    return {"weight": torch.randn(2, 3, generator=generator, dtype=dtype)}


def _model(generator: torch.Generator, dtype: torch.dtype) -> State:
    """What a small model holds: matrices, vectors, a single number, counters and indices."""
    return {
        "embedding.weight": torch.randn(4, 3, generator=generator, dtype=dtype),
        "norm.bias": torch.randn(3, generator=generator, dtype=dtype),
        "scale": torch.randn((), generator=generator, dtype=dtype),
        "norm.num_batches_tracked": torch.randint(1, 1000, (), generator=generator),
        "positions": torch.randint(0, 50, (5,), generator=generator),
    }


def _mixed(generator: torch.Generator, dtype: torch.dtype) -> State:
    """Several floating dtypes in one model, and a small integer dtype.

    The numbers in half precision are positive and few, so that any order of adding will do.
    """
    return {
        "half": torch.randint(4, 16, (2, 3), generator=generator).half() / 4,
        "brain": torch.randint(4, 16, (3, 2), generator=generator).bfloat16() / 4,
        "single": torch.randn(4, generator=generator),
        "double": torch.randn(2, 2, generator=generator, dtype=torch.float64),
        "small": torch.randint(0, 100, (2, 2), generator=generator, dtype=torch.int32),
    }


AVERAGE_CHECKPOINTS = Exercise(
    id="decoding.average_checkpoints",
    title="Average the last checkpoints",
    kind="code",
    difficulty=2,
    minutes=10,
    signature="average_checkpoints(states: list[dict[str, Tensor]]) -> dict[str, Tensor]",
    statement=(
        "Each state is a model's `state_dict` at one checkpoint, oldest first; all have the same "
        "names, shapes and dtypes. Return the mean of every floating tensor (dtype kept); integer "
        "tensors are copied from the last checkpoint. The inputs stay untouched."
    ),
    objective="Average checkpoints as the paper does, without spoiling them or the counters.",
    prerequisite="Section 6.1 of the paper",
    hints=(
        "Three checkpoints hold 0, 3 and 9 under one name. What is their mean, and what does "
        "((0 + 3) / 2 + 9) / 2 give?",
        "A state also holds whole numbers, such as a count of steps. `tensor.is_floating_point()` "
        "tells them apart. And what does `total = states[0]; total[name] += ...` do to states[0]?",
        "For each name: `torch.stack([state[name] for state in states]).mean(dim=0)` where the "
        "tensor is floating, else `states[-1][name].clone()`.",
    ),
    reference=average_checkpoints,
    explanation=(
        "The last checkpoints of a run lie around a good point rather than on it; their mean is "
        "nearer to it and costs no training. Each has the same weight: the paper averages 5 "
        "checkpoints of the base model and 20 of the big one. A counter has no mean that would "
        "make sense, so integers come from the last. Summing into states[0] would change a "
        "checkpoint that someone may still need, and a shallow copy does not prevent it, because "
        "it shares the tensors."
    ),
    cases=(
        Case(
            "three checkpoints of four numbers and a step",
            _numbered(
                [[0.0, 3.0, -2.0, 4.0], [3.0, 3.0, 5.0, -4.0], [9.0, 0.0, 9.0, 0.0]], [7, 3, 4]
            ),
            isolates="the mean of three, and one counter",
        ),
        _checkpoints(
            "two checkpoints without integers",
            2,
            _weights_alone,
            isolates="the mean of two floating tensors",
        ),
        _checkpoints("four checkpoints of a small model", 4, _model),
        _checkpoints("a single checkpoint", 1, _model),
        _checkpoints("six checkpoints of a small model", 6, _model),
        _checkpoints("three checkpoints of mixed dtypes", 3, _mixed),
        _checkpoints("two checkpoints of mixed dtypes", 2, _mixed),
    ),
    mistakes=page(__file__, average_checkpoints),
    alternatives=(_by_running_sums, _by_running_means, _by_shares, _by_numpy),
    starter=(
        "def average_checkpoints(states):\n"
        '    """A list of state_dicts, oldest first -> one, with the mean of every tensor."""\n'
        "    ...  # your code"
    ),
)

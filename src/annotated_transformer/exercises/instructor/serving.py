"""Functions that stayed with the marker, called for a candidate: few times, on few numbers."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.grader.failures import describe_failure
from annotated_transformer.exercises.grader.running import floating_tensors
from annotated_transformer.exercises.grader.values import Array, pack, to_tensors, unpack

MAX_CALLS = 20_000  # by one candidate
MAX_CALL_NUMBERS = 5_000  # in the arguments of one call
MAX_GRAPHS = 500  # calls whose gradient may still be asked for


class Service:
    """The functions among the arguments of one call of the candidate, and what they have done."""

    def __init__(self, functions: Sequence[Callable[..., Any]]) -> None:
        self.functions = functions
        self.graphs: dict[int, tuple[list[Tensor], list[Tensor]]] = {}

    def value(self, data: bytes) -> bytes:
        """The value of a function on the arguments that the candidate gave it."""
        try:
            told = unpack(data)
            if _numbers(told[2:4]) > MAX_CALL_NUMBERS:  # before any is copied
                raise ValueError(f"a given function was called on over {MAX_CALL_NUMBERS} numbers")
            number, call, args, kwargs, differentiated = to_tensors(told)
            leaves = floating_tensors((args, kwargs))
            for leaf, wanted in zip(leaves, differentiated, strict=False):
                leaf.requires_grad_(wanted is True)
            value = self.functions[number](*args, **kwargs)
            if any(differentiated):
                if len(self.graphs) >= MAX_GRAPHS:
                    raise ValueError(f"a given function was called over {MAX_GRAPHS} times")
                self.graphs[call] = (floating_tensors(value), leaves)
            return pack({"value": value})
        except Exception as error:
            return pack({"failure": describe_failure(error)})

    def gradients(self, data: bytes) -> bytes:
        """The gradients of an earlier call with respect to its floating arguments."""
        try:
            told = unpack(data)
            if _numbers(told) > MAX_CALL_NUMBERS * 100:
                raise ValueError("a gradient of too many numbers")
            call, gradients = to_tensors(told)
            outputs, leaves = self.graphs[call]
            pairs = [(o, g) for o, g in zip(outputs, gradients, strict=True) if o.requires_grad]
            wanted = [leaf for leaf in leaves if leaf.requires_grad]
            found = iter(
                torch.autograd.grad(
                    [o for o, _ in pairs],
                    wanted,
                    [g for _, g in pairs],
                    retain_graph=True,
                    allow_unused=True,
                )
            )
            return pack({"value": [next(found) if leaf.requires_grad else None for leaf in leaves]})
        except Exception as error:
            return pack({"failure": describe_failure(error)})


def _numbers(tree: Any) -> int:
    """How many numbers the arrays within lists, tuples and dictionaries hold."""
    if isinstance(tree, Array):
        return 0 if tree.array is None else int(tree.array.size)
    if isinstance(tree, dict):
        tree = list(tree.values())
    return sum(map(_numbers, tree)) if isinstance(tree, (list, tuple)) else 0

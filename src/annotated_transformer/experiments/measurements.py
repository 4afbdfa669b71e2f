"""What the chapters measure on any function of tensors: gap, dependence, cost, chain, what is kept.

The bytes that are alive at one time are in `dispatch`: they need PyTorch's private modules. The
operations of products are in `benchmark.products`.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.graph import Node, saved_tensors_hooks

# Chapters count with it beside the functions of this module.
from annotated_transformer.benchmark.products import multiply_adds as multiply_adds


def gap(ours: Any, theirs: Any) -> float:
    """The largest difference between two arrays of the same shape: tensors, arrays, nested lists.

    Raises:
        ValueError: the shapes differ. Nothing is repeated to fit.
    """
    a, b = _as_float64(ours), _as_float64(theirs)
    if a.shape != b.shape:
        raise ValueError(f"shapes {a.shape} and {b.shape} were given; expected two of the same")
    return float(np.abs(a - b).max())


def _as_float64(x: Any) -> NDArray[np.float64]:
    if isinstance(x, Tensor):
        x = x.detach().to("cpu", torch.float64).numpy()
    return np.asarray(x, dtype=np.float64)


def longest_chain(function: Callable[..., Tensor], *inputs: Tensor) -> int:
    """How many tensor operations must wait for each other in `function(*inputs)`.

    No machine can be done in fewer steps, however much it computes at the same time. The chain is
    read off the graph that autograd records, so operations are PyTorch's own; the input itself
    counts as the first.

    A function with a backward pass of its own (`torch.autograd.Function`) is one operation there,
    whatever it does inside: `tiled.tiled_attention` has a chain of 2. Follow what it is made of,
    `tiled.online_softmax_attention`.

    Raises:
        ValueError: the result does not depend on the inputs.
    """
    last = function(*(x.detach().requires_grad_() for x in inputs)).grad_fn
    if last is None:
        raise ValueError("the result does not depend on the inputs: there is no chain to follow")
    lengths: dict[Node, int] = {}
    to_visit = [last]
    while to_visit:  # depth first, without recursion: chains are thousands long
        node = to_visit[-1]
        before = [source for source, _ in node.next_functions if source is not None]
        missing = [source for source in before if source not in lengths]
        if missing:
            to_visit += missing
        else:
            lengths[node] = 1 + max((lengths[source] for source in before), default=0)
            to_visit.pop()
    return lengths[last]


def kept_for_backward(
    function: Callable[[], Any], besides: Iterable[Tensor] = ()
) -> dict[torch.dtype, int]:
    """Bytes that autograd keeps of `function()` until the backward pass, by type.

    Tensors that share memory count once; those in `besides`, as the weights, do not count.
    """
    known = {tensor.untyped_storage().data_ptr() for tensor in besides}
    kept: dict[int, tuple[torch.dtype, int, Tensor]] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            # Held to the end, or its address would be given to another.
            kept[storage.data_ptr()] = (tensor.dtype, storage.nbytes(), tensor)
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        result = function()
    del result
    totals: dict[torch.dtype, int] = {}
    for dtype, size, _ in kept.values():
        totals[dtype] = totals.get(dtype, 0) + size
    return totals

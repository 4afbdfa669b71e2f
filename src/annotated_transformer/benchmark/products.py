"""The products that a real call makes, counted while it runs."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode


def multiply_adds(function: Callable[..., Any], *inputs: Tensor) -> int:
    """Multiply-adds in the matrix products and convolutions of `function(*inputs)`.

    Those inside fused attention count too. PyTorch's counter knows the kernels for a GPU; the one
    for a CPU is added here, where PyTorch still has it under its private name.
    """
    kernel = getattr(torch.ops.aten, "_scaled_dot_product_flash_attention_for_cpu", None)
    mapping = {} if kernel is None else {kernel: _operations_of_attention}
    counting = FlopCounterMode(display=False, custom_mapping=mapping)
    with torch.no_grad(), counting as counter:
        function(*inputs)
    return counter.get_total_flops() // 2


def _operations_of_attention(
    query: Sequence[int], key: Sequence[int], value: Sequence[int], *_: Any, **__: Any
) -> int:
    """Multiplications and additions of the two products of equation 1, from three shapes."""
    n_keys, d_k = key[-2:]
    return 2 * math.prod(query[:-1]) * n_keys * (d_k + value[-1])

"""Recurrence, convolution and self-attention side by side (sections 2 and 4, Table 1).

One layer of each kind, the same tensor in and out, and four measures: multiplications counted,
operations that wait for each other counted, reach counted by gradients, and time. Chapters 1 and
13 use them. A layer here is any function from (1, n, d) to (1, n, d).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from time import process_time

import torch
from torch import Tensor, nn
from torch.nn import functional

from annotated_transformer.attention import scaled_dot_product_attention
from annotated_transformer.experiments import measurements

Layer = Callable[[Tensor], Tensor]
MEASURED = 0.05  # seconds: several ticks also of a coarse clock, such as Windows' of 1/64 s


def recurrent(d: int) -> Layer:
    """h_t = tanh(W x_t + U h_(t-1) + b): `torch.nn.RNN`, from left to right."""
    module = nn.RNN(d, d, batch_first=True)
    return lambda x: module(x)[0]


def convolution(d: int, k: int = 3, dilation: int = 1) -> Layer:
    """Each position reads itself and k - 1 positions before it, `dilation` apart."""
    module = nn.Conv1d(d, d, k, dilation=dilation)
    behind = (k - 1) * dilation  # zeros in front, so that the length stays

    def layer(x: Tensor) -> Tensor:
        padded = functional.pad(x.transpose(1, 2), (behind, 0))  # (1, d, behind + n)
        convolved: Tensor = module(padded)  # (1, d, n)
        return convolved.transpose(1, 2)

    return layer


def self_attention(d: int) -> Layer:
    """Scaled dot-product attention of a sequence to itself, without projections, as in Table 1."""

    def layer(x: Tensor) -> Tensor:
        assert x.size(-1) == d
        output, _ = scaled_dot_product_attention(x, x, x)
        return output

    return layer


def stack(layers: Sequence[Layer]) -> Layer:
    """One layer after the other."""

    def stacked(x: Tensor) -> Tensor:
        for layer in layers:
            x = layer(x)
        return x

    return stacked


def multiply_adds(layer: Layer, n: int, d: int) -> int:
    """Multiply-adds in the matrix products and convolutions of one pass over n positions."""
    return measurements.multiply_adds(layer, torch.zeros(1, n, d))


def waiting_operations(layer: Layer, n: int, d: int) -> int:
    """The longest chain of tensor operations in which each needs the result of the one before."""
    return measurements.longest_chain(layer, torch.zeros(1, n, d))


def reached(layer: Layer, n: int, d: int, seed: int = 0) -> list[bool]:
    """Which of the n inputs the last output depends on: where its gradient is not zero."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(1, n, d, generator=generator).requires_grad_()
    (gradient,) = torch.autograd.grad(layer(x)[0, -1].sum(), x)  # (1, n, d)
    return [bool(size > 0) for size in gradient[0].abs().sum(-1)]


def gradient_sizes(layer: Layer, n: int, d: int, seed: int = 0) -> list[float]:
    """How strongly the last output depends on the input 0, 1, ..., n - 1 places before it.

    The size is that of the whole matrix of derivatives (d, d), its Frobenius norm, in float64.
    """
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(1, n, d, generator=generator, dtype=torch.float64)
    x.requires_grad_()
    last = layer(x)[0, -1]  # (d,)
    rows = [torch.autograd.grad(last[i], x, retain_graph=True)[0][0] for i in range(d)]
    jacobian = torch.stack(rows)  # (d, n, d)
    sizes: list[float] = jacobian.square().sum((0, 2)).sqrt().flip(0).tolist()
    return sizes


def layers_to_reach(build: Callable[[int], Layer], n: int, d: int) -> int:
    """How many layers it takes until the last output depends on the first input.

    Args:
        build: gives the layer of depth 0, 1, 2, ...

    Raises ValueError where n layers do not do it: one that looks back at all needs fewer.
    """
    layers: list[Layer] = []
    while len(layers) < n:
        layers.append(build(len(layers)))
        if reached(stack(layers), n, d)[0]:
            return len(layers)
    raise ValueError(
        f"After {n} layers the last output does not depend on the first of {n} inputs: do the "
        "layers look back?"
    )


def necessary_handovers(n: int, d: int) -> int:
    """Through how many steps of a recurrent layer the first input must go to reach the last output.

    The layer is run with the state cut at one place: used, and kept from passing a gradient. Every
    cut that leaves no gradient at the first input is a place that all paths go through.
    """
    cell = nn.RNNCell(d, d).double()
    inputs = torch.randn(n, 1, d, generator=torch.Generator().manual_seed(0)).double()
    needed = 0
    for cut in range(1, n):
        x = inputs.clone().requires_grad_()
        state = torch.zeros(1, d, dtype=torch.float64)
        for t in range(n):
            state = cell(x[t], state.detach() if t == cut else state)
        (gradient,) = torch.autograd.grad(state.sum(), x)
        needed += int(bool((gradient[0] == 0).all()))
    return needed


@torch.no_grad()
def seconds(
    layers: Mapping[str, Layer], lengths: Sequence[int], d: int, batch: int = 1, repeats: int = 5
) -> dict[str, list[float]]:
    """The shortest processor time of one pass, layer -> one number for each length.

    Layers and lengths take turns, round after round, so that other work on the machine disturbs
    all alike, and the shortest of the repeats is the one that was disturbed least. Where the last
    of them was still shorter by 5 % somewhere, the machine is not quiet, and up to twice as many
    follow. The time of all threads is added up: set one thread, if it is to be the time that
    passes.
    """
    inputs = [torch.randn(batch, n, d) for n in lengths]
    best = {name: [math.inf] * len(inputs) for name in layers}
    for round_number in range(1, 3 * repeats + 1):
        settled = round_number > 1
        for place, x in enumerate(inputs):
            for name, layer in layers.items():
                taken, before = _seconds_a_pass(layer, x), best[name][place]
                settled &= taken > 0.95 * before
                best[name][place] = min(before, taken)
        if settled and round_number >= repeats:
            break
    return best


def _seconds_a_pass(layer: Layer, x: Tensor) -> float:
    """Processor time of one pass, from as many passes as it takes to measure MEASURED seconds.

    The first one is not timed: the pass before it, of another layer or length, has left its own
    data in the caches.
    """
    layer(x)
    start, passes, passed = process_time(), 0, 0.0
    while passed < MEASURED:
        layer(x)
        passes += 1
        passed = process_time() - start
    return passed / passes

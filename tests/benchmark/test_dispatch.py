"""Bytes that are alive, against cases known by hand and against torch's profiler."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from annotated_transformer.attention import scaled_dot_product_attention
from annotated_transformer.benchmark.dispatch import peak_bytes, tensors_in
from annotated_transformer.experiments.restricted import restricted_attention
from annotated_transformer.experiments.tiled import tiled_attention


def test_tensors_are_found_in_whatever_holds_them() -> None:
    a, b, c = torch.zeros(3, 1).unbind()
    found = tensors_in(((a, [b, 2.0]), {"c": c, "none": None}))
    assert [id(tensor) for tensor in found] == [id(a), id(b), id(c)]
    assert tensors_in(None) == []


def test_peak_bytes_of_steps_known_by_hand() -> None:
    x = torch.zeros(1000)  # 4,000 bytes, which are not counted
    assert peak_bytes(lambda x: x + 1, x) == 4000
    assert peak_bytes(lambda x: ((x + 1) * 2).exp(), x) == 8000  # one step's input and output
    assert peak_bytes(lambda x: [x + 1, x + 2, x + 3], x) == 12000
    assert peak_bytes(lambda x: x.view(10, 100)[:5].mT, x) == 0  # views
    assert peak_bytes(lambda x: x.add_(1), x) == 0  # in place


def training(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], None]:
    """A pass forward and one backward."""

    def both(x: Tensor) -> None:
        function(x.detach().requires_grad_()).sum().backward()

    return both


def test_peak_bytes_sees_what_autograd_keeps() -> None:
    """exp keeps its result: after the last of three, three are alive, one when none is kept."""
    x = torch.zeros(1000)
    thrice = lambda x: x.exp().exp().exp()  # noqa: E731
    assert peak_bytes(thrice, x) == 8000
    assert peak_bytes(lambda x: thrice(x.detach().requires_grad_()), x) == 12000


def bytes_by_the_profiler(function: Callable[[Tensor], object], x: Tensor) -> int:
    """The same, from the list of allocations that torch's profiler writes."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        function(x)
    kineto = profiler.profiler
    assert kineto is not None
    events = [e for e in kineto.kineto_results.events() if e.name() == "[memory]"]
    live = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        live += event.nbytes()
        peak = max(peak, live)
    return peak


@pytest.mark.parametrize(
    "function",
    [
        lambda x: scaled_dot_product_attention(x, x, x)[0],
        lambda x: tiled_attention(x, x, x, 64),
        lambda x: restricted_attention(x, x, x, 8, 8),
    ],
)
def test_peak_bytes_is_what_torchs_profiler_sees(function: Callable[[Tensor], Tensor]) -> None:
    x = torch.randn(1, 256, 32, generator=torch.Generator().manual_seed(0))
    for run in (function, training(function)):
        assert abs(bytes_by_the_profiler(run, x) - peak_bytes(run, x)) <= 64  # a number or two

"""What only a GPU can show: recorded steps, compiled layers, and their gradients."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from annotated_transformer.benchmark.ladder import invented_pairs
from annotated_transformer.benchmark.rungs import RungSteps, Workload, rungs_on
from annotated_transformer.config import TransformerConfig
from annotated_transformer.fast.graphs import attention_for_one_shape
from annotated_transformer.training.step import count_tokens, sum_of

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
CPU, CUDA = torch.device("cpu"), torch.device("cuda")
RUNGS = {rung.name: rung for rung in rungs_on(CUDA)}


@pytest.fixture(autouse=True)
def compiled_anew() -> None:
    torch.compiler.reset()


@pytest.fixture(scope="module")
def workload() -> Workload:
    config = TransformerConfig.preset("small", 2_000).with_changes(dropout=0.0)
    return Workload(config, invented_pairs(2_000, config), max_tokens=2_048, steps=2)


def gradients(workload: Workload, device: torch.device, **changes: Any) -> list[Tensor]:
    """Of batches 0, 1 and 0 again, all weights in one; of the rung "graph", but for the changes."""
    steps = RungSteps(replace(RUNGS["graph"], **changes), workload, device)
    found = []
    for number in (0, 1, 0):
        steps.model.zero_grad()
        parts = steps.steps[number]
        target_tokens, _ = count_tokens(workload.split, parts)
        assert sum_of(steps.start(parts, target_tokens)) > 0
        grads = [p.grad for p in steps.model.parameters()]
        found.append(torch.cat([g.double().cpu().flatten() for g in grads if g is not None]))
    steps.gradients.close()
    return found


def distances(ours: list[Tensor], theirs: list[Tensor]) -> list[float]:
    return [float((a - b).norm() / b.norm()) for a, b in zip(ours, theirs, strict=True)]


def test_a_recorded_step_has_the_gradient_of_the_cpu(workload: Workload) -> None:
    plain = {"bf16": False, "compiled": False}
    on_cpu = gradients(workload, CPU, recording=False, **plain)
    assert max(distances(gradients(workload, CUDA, recording=False, **plain), on_cpu)) < 1e-3
    recorded = gradients(workload, CUDA, **plain)
    assert max(distances(recorded, on_cpu)) < 1e-3
    assert torch.equal(recorded[0], recorded[2])  # a replay leaves nothing behind
    assert max(distances(gradients(workload, CUDA, compiled=False), on_cpu)) < 0.05  # bfloat16
    assert max(distances(gradients(workload, CUDA), on_cpu)) < 0.05


def test_a_recorded_step_draws_new_dropout_each_time(workload: Workload) -> None:
    with_dropout = replace(workload, config=workload.config.with_changes(dropout=0.1))
    first, _, again = gradients(with_dropout, CUDA, compiled=False)
    assert 0.01 < distances([again], [first])[0] < 1


def test_a_longer_table_of_positions_leaves_the_graph_its_own(workload: Workload) -> None:
    """Validation and translation may lengthen it between two replays."""
    steps = RungSteps(replace(RUNGS["graph"], bf16=False, compiled=False), workload, CUDA)
    before = sum_of(steps.start(steps.steps[0], 1))
    with torch.no_grad():
        steps.model.encode(torch.full((1, 600), 5, device=CUDA))
    rubbish = [torch.full((600, 512), 9.0, device=CUDA) for _ in range(20)]
    assert sum_of(steps.start(steps.steps[0], 1)) == before
    assert len(rubbish) == 20


@pytest.mark.parametrize("width", [64, 128, 192])
def test_attention_of_a_recorded_step_gives_numbers(width: int) -> None:
    """cuDNN's backward pass gave NaN for widths of 64 and 192 with a mask and low scores."""
    query, key, value = (torch.randn(1, 1, width, 64, device=CUDA).bfloat16() for _ in "qkv")
    query[..., 0], key[..., 0] = 1.0, -120 * 8.0
    query.requires_grad_()
    mask = torch.ones(width, width, dtype=torch.bool, device=CUDA).tril()
    with attention_for_one_shape(width):
        out = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        out.sum().backward()
    assert query.grad is not None
    assert query.grad.isfinite().all()

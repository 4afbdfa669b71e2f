"""What a recorded step computes, as far as a CPU can show it; test_on_gpu.py has the rest."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import EncodedSplit
from annotated_transformer.fast.attach import use_fast_paths
from annotated_transformer.fast.compiling import compile_layers
from annotated_transformer.fast.graphs import Recording
from annotated_transformer.fast.rounded_weights import RoundedWeights
from annotated_transformer.fast.shared_rows import RowShape, SharedRowBatch, shared_row_batch
from annotated_transformer.training import TrainingConfig, projected_label_smoothing_loss
from annotated_transformer.training.gradients import recorded_gradients
from annotated_transformer.training.label_smoothing import softmax_less_answers
from annotated_transformer.training.step import batch_loss
from annotated_transformer.transformer import Transformer

CONFIG = TransformerConfig(30, d_model=16, d_ff=32, num_heads=2, num_layers=2, dropout=0.0)
IN_16_BITS = TrainingConfig(steps=1, precision="bf16", share_rows=True)


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(0)
    model = Transformer(CONFIG).train()
    use_fast_paths(model)
    return model


@pytest.fixture
def batch() -> SharedRowBatch:
    chance = np.random.default_rng(0)
    sides = [[chance.integers(3, 30, n).tolist() for n in chance.integers(4, 20, 8)] for _ in "st"]
    pairs = EncodedSplit(*sides, indices=range(8), skipped=0)
    return shared_row_batch(pairs, list(range(8)), RowShape(3, 64), CONFIG.pad_id)


def gradients(model: Transformer) -> dict[str, Tensor]:
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def of_autocast(model: Transformer, batch: SharedRowBatch) -> tuple[Tensor, dict[str, Tensor]]:
    twin = copy.deepcopy(model)
    loss = batch_loss(twin, IN_16_BITS, batch)
    (loss * 0.5).backward()
    return loss.detach(), gradients(twin)


# --- the softmax of the loss --------------------------------------------------------------------


@pytest.fixture(autouse=True)
def compiled_anew() -> Iterator[None]:
    """Only so many shapes are compiled before it is refused."""
    torch.compiler.reset()
    yield
    torch.compiler.reset()


@contextmanager
def compiling() -> Iterator[None]:
    """Skip the test where there is no compiler for C++."""
    try:
        yield
    except torch._dynamo.exc.BackendCompilerFailed as error:
        pytest.skip(f"nothing compiles here: {type(error).__name__}")


def test_softmax_less_answers_is_what_it_says() -> None:
    torch.manual_seed(0)
    logits = torch.randn(5, 7, dtype=torch.float64) * 30
    answers, exact = torch.tensor([3, 0, 6, 6, 2]), logits.clone()
    log_sums = softmax_less_answers(logits, answers, -0.9)
    torch.testing.assert_close(log_sums, exact.logsumexp(1))
    expected = exact.softmax(1) - 0.9 * functional.one_hot(answers, 7).double()
    torch.testing.assert_close(logits, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("eps", [0.1, 0.01, 0.0])
@pytest.mark.parametrize("sure", [0, 30])
def test_the_compiled_softmax_gives_the_loss_and_its_gradients(eps: float, sure: int) -> None:
    """Against PyTorch's loss in float64, in two parts of unequal size, some rows left out."""
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(200, 64, generator=generator).bfloat16().requires_grad_()
    target = torch.randint(200, (300,), generator=generator)
    hidden = torch.randn(300, 64, generator=generator) / 4
    hidden += sure / 100 * weight.detach()[target].float()
    hidden, real = hidden.bfloat16().requires_grad_(), torch.rand(300, generator=generator) < 0.8
    exact, table = (each.detach().double().requires_grad_() for each in (hidden, weight))
    logits = (exact @ table.T)[real]
    expected_loss = functional.cross_entropy(
        logits, target[real], label_smoothing=eps, reduction="sum"
    )
    expected = torch.autograd.grad(expected_loss, (exact, table))
    with compiling():
        loss = projected_label_smoothing_loss(
            hidden, weight, target, eps, chunk=200, real=real, compiled_softmax=True
        )
    got = torch.autograd.grad(loss, (hidden, weight))
    assert float(loss.detach()) == pytest.approx(float(expected_loss.detach()), rel=1e-3)
    for ours, theirs in zip(got, expected, strict=True):
        assert (ours - theirs).norm() <= 0.03 * theirs.norm()


def test_the_compiled_softmax_does_not_overflow() -> None:
    weight, target = torch.eye(6), torch.tensor([4, 3])
    hidden = torch.zeros(2, 6)
    hidden[:, 3] = 1e4
    plain = projected_label_smoothing_loss(hidden, weight, target)
    with compiling():
        compiled = projected_label_smoothing_loss(hidden, weight, target, compiled_softmax=True)
    torch.testing.assert_close(compiled, plain)


def test_r_drop_goes_without_the_compiled_softmax() -> None:
    torch.manual_seed(0)
    hidden, weight, target = torch.randn(4, 8), torch.randn(6, 8), torch.tensor([1, 1, 5, 5])
    plain, compiled = (
        projected_label_smoothing_loss(hidden, weight, target, r_drop=3.0, compiled_softmax=how)
        for how in (False, True)
    )
    assert torch.equal(plain, compiled)


# --- weights in 16 bits -------------------------------------------------------------------------


def test_weights_in_16_bits_give_the_bits_of_autocast(
    model: Transformer, batch: SharedRowBatch
) -> None:
    expected_loss, expected = of_autocast(model, batch)
    weights = RoundedWeights(model)
    for _ in range(2):  # nothing is left from one step to the next
        model.zero_grad()
        with weights.in_place():
            inside = {p.dtype for m in linear_layers(model) for p in m.parameters()}
            loss = batch_loss(model, IN_16_BITS, batch)
            (loss * 0.5).backward()
        weights.turn_gradients()
        assert inside == {torch.bfloat16}
        assert torch.equal(loss.detach(), expected_loss)
        found = gradients(model)
        assert found.keys() == expected.keys()
        assert all(torch.equal(found[name], expected[name]) for name in expected)


def linear_layers(model: Transformer) -> list[nn.Linear]:
    stacks = (*model.encoder.modules(), *model.decoder.modules())
    return [module for module in stacks if isinstance(module, nn.Linear)]


def test_the_models_own_weights_come_back(model: Transformer) -> None:
    before = {name: (p, p.detach().clone()) for name, p in model.named_parameters()}
    weights = RoundedWeights(model)
    with pytest.raises(KeyError), weights.in_place():
        raise KeyError
    after = dict(model.named_parameters())
    assert list(after) == list(before)
    for name, (parameter, value) in before.items():
        assert after[name] is parameter
        assert torch.equal(parameter, value)


def test_each_step_rounds_the_weights_that_there_are_by_then(
    model: Transformer, batch: SharedRowBatch
) -> None:
    recorded = recorded_gradients(model, IN_16_BITS, Recording(rounded_weights=True))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(3):
        expected_loss, expected = of_autocast(model, batch)
        loss = recorded._pass(batch, torch.tensor(0.5))
        assert torch.equal(loss, expected_loss)
        found = gradients(model)
        assert all(torch.equal(found[name], expected[name]) for name in expected)
        optimizer.step()


def test_in_32_bits_no_weight_is_rounded(model: Transformer) -> None:
    exact = TrainingConfig(steps=1, precision="fp32", share_rows=True)
    assert recorded_gradients(model, exact, Recording(rounded_weights=True)).weights is None
    assert recorded_gradients(model, IN_16_BITS).weights is None
    assert recorded_gradients(model, IN_16_BITS, Recording(rounded_weights=True)).weights


def test_compiled_layers_take_the_rounded_weights(batch: SharedRowBatch) -> None:
    """What is compiled reads its weights anew in each step."""
    torch.manual_seed(0)
    model = Transformer(CONFIG.with_changes(num_layers=1)).train()
    use_fast_paths(model)
    twin = copy.deepcopy(model)
    compile_layers(twin, one_shape=True)
    recorded = recorded_gradients(twin, IN_16_BITS, Recording(rounded_weights=True))
    for _ in range(2):
        _, expected = of_autocast(model, batch)
        with compiling():
            recorded._pass(batch, torch.tensor(0.5))
        found = gradients(twin)
        assert found.keys() == expected.keys()
        for name, gradient in expected.items():
            assert (found[name] - gradient).norm() <= 0.1 * gradient.norm() + 1e-6, name
        with torch.no_grad():  # a step, the same for both
            for ours, theirs in zip(twin.parameters(), model.parameters(), strict=True):
                ours.copy_(theirs.sub_(0.5 * theirs.sign() * theirs.abs().mean()))

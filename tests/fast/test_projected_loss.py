"""The loss of training against the one that is written to be read, and against PyTorch's."""

import math
from unittest import mock

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from annotated_transformer.fast import projected_loss
from annotated_transformer.fast.projected_loss import projected_label_smoothing_loss
from annotated_transformer.training import label_smoothing_loss
from annotated_transformer.training.r_drop import disagreement, in_pairs


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 40),
    st.integers(3, 30),
    st.integers(1, 50),
    st.floats(0, 0.9),
)
def test_the_projected_loss_equals_the_plain_one_with_its_gradients(rows, vocab, chunk, eps):
    torch.manual_seed(rows * 100 + vocab)
    hidden = torch.randn(rows, 8, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(vocab, 8, dtype=torch.float64, requires_grad=True)
    target = torch.randint(1, vocab, (rows,))
    plain = rows * label_smoothing_loss((hidden @ weight.T)[None], target[None], eps)
    expected = torch.autograd.grad(3 * plain, (hidden, weight))
    loss = projected_label_smoothing_loss(hidden, weight, target, eps, chunk)
    got = torch.autograd.grad(3 * loss, (hidden, weight))
    torch.testing.assert_close(loss, plain, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 20),
    st.integers(3, 30),
    st.integers(1, 12),
    st.integers(1, 10),
    st.floats(0, 0.9),
    st.floats(0.1, 8),
)
def test_r_drop_is_the_mean_of_both_losses_and_of_both_divergences(
    positions, vocab, pairs, at_once, eps, alpha
):
    """Against PyTorch's kl_div and autograd: the value, and both gradients."""
    torch.manual_seed(positions * 100 + vocab)
    hidden = torch.randn(2 * positions, 8, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(vocab, 8, dtype=torch.float64, requires_grad=True)
    target = torch.randint(1, vocab, (positions,))
    first, second = (hidden @ weight.T).log_softmax(-1).unflatten(0, (2, -1))
    divergences = [
        functional.kl_div(of, against, reduction="sum", log_target=True)
        for of, against in ((second, first), (first, second))
    ]
    both = positions * (
        label_smoothing_loss(first[None], target[None], eps)
        + label_smoothing_loss(second[None], target[None], eps)
    )
    expected_loss = both + alpha * sum(divergences) / 2
    expected = torch.autograd.grad(3 * expected_loss, (hidden, weight))
    with mock.patch.object(projected_loss, "IN_CACHE", at_once * vocab):
        loss = projected_label_smoothing_loss(
            in_pairs(hidden), weight, target.repeat_interleave(2), eps, 2 * pairs, alpha
        )
    got = torch.autograd.grad(3 * loss, (hidden, weight))
    torch.testing.assert_close(loss, expected_loss, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(
        disagreement(first, second).sum(), sum(divergences) / 2, rtol=1e-9, atol=1e-9
    )


def test_r_drop_needs_pairs():
    with pytest.raises(ValueError, match="3 rows by 1024 at a time: pairs need even numbers"):
        projected_label_smoothing_loss(
            torch.ones(3, 2), torch.ones(4, 2), torch.ones(3).long(), r_drop=1.0
        )


@pytest.mark.parametrize("beside_one_that_has_none", [False, True])
def test_in_bfloat16_only_logits_and_probabilities_are_rounded(beside_one_that_has_none):
    """Row by row: no sum over the vocabulary is rounded.

    The loss of a row is off by no more than the rounding of one probability, 1 part in 256; those
    of many rows, of whose answers the model is unsure, average out. Where some answer has no
    probability at all, the log of the sum is found by the most probable token, of every row: it is
    as exact.
    """
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(100, 16, generator=generator).bfloat16()
    hidden = torch.randn(1000, 1, 16, generator=generator).bfloat16()
    target = torch.randint(100, (1000, 1), generator=generator)
    if beside_one_that_has_none:
        far = 20 * weight[:1]
        least = (far @ weight.T).argmin(1)
        hidden = torch.cat([hidden, far.expand(1000, 1, 16)], 1)
        target = torch.cat([target, least.expand(1000, 1)], 1)
        assert functional.cross_entropy((far @ weight.T).float(), least) > 200  # nats
    errors = []
    for rows, answers in zip(hidden, target, strict=True):
        loss = projected_label_smoothing_loss(rows, weight, answers, eps=0.1)
        logits = (rows @ weight.T).float()
        expected = functional.cross_entropy(logits, answers, label_smoothing=0.1, reduction="sum")
        errors.append(loss - expected)
    errors = torch.stack(errors)
    assert errors.abs().max() <= hidden.size(1) * 2**-8 + 1e-4
    if not beside_one_that_has_none:  # that one is off by the same 1,000 times
        assert abs(errors.mean()) <= 2**-8 / math.sqrt(1000) + 1e-4


@pytest.mark.parametrize(("eps", "sure"), [(0.1, 0), (0.1, 30), (0.0, 0), (0.0, 30), (0.05, 30)])
def test_in_bfloat16_the_gradient_of_the_loss_is_that_of_float64(eps, sure):
    """Where the model is sure of its answers too, and the gradient is small."""
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(200, 64, generator=generator).bfloat16()
    target = torch.randint(200, (300,), generator=generator)
    hidden = torch.randn(300, 64, generator=generator) / 4 + sure / 100 * weight[target].float()
    hidden = hidden.bfloat16().requires_grad_()
    exact = hidden.detach().double().requires_grad_()
    expected_loss = functional.cross_entropy(
        exact @ weight.double().T, target, label_smoothing=eps, reduction="sum"
    )
    (expected,) = torch.autograd.grad(expected_loss, exact)
    loss = projected_label_smoothing_loss(hidden, weight, target, eps)
    (got,) = torch.autograd.grad(loss, hidden)
    assert (got - expected).norm() <= 0.03 * expected.norm()
    assert float(loss.detach()) == pytest.approx(float(expected_loss.detach()), rel=0.01)


def test_in_float16_an_answer_of_little_probability_is_told_by_the_most_probable_token():
    """Below 6e-5 float16 has fewer digits."""
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(100, 16, generator=generator).half()
    for row in torch.randn(50, 1, 16, generator=generator).half() * 0.4:
        logits = (row @ weight.T).float()
        least = logits.argmin(1)
        loss = projected_label_smoothing_loss(row, weight, least, eps=0.1)
        expected = functional.cross_entropy(logits, least, label_smoothing=0.1)
        torch.testing.assert_close(loss, expected, rtol=0.0, atol=2e-3)


def test_the_projected_loss_has_one_derivative():
    """Its gradient is made by hand: a second one would be wrong, so it is refused."""
    hidden, weight = torch.ones(2, 3, requires_grad=True), torch.ones(4, 3)
    loss = projected_label_smoothing_loss(hidden, weight, torch.tensor([1, 2]))
    (gradient,) = torch.autograd.grad(loss.square(), hidden, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


@pytest.mark.parametrize("lead", [1.0, 100.0, 150.0, 1e4])
def test_the_projected_loss_is_finite_where_the_answer_has_no_probability(lead):
    """exp(-150) is 0 in float32; its logarithm is still -150."""
    weight = torch.eye(6)
    hidden = torch.zeros(2, 6)
    hidden[:, 3] = lead
    target = torch.tensor([4, 3])
    loss = projected_label_smoothing_loss(hidden, weight, target, eps=0.1)
    torch.testing.assert_close(loss, 2 * label_smoothing_loss(hidden[None], target[None], eps=0.1))

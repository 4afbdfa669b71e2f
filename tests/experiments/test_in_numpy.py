"""The model in NumPy is the package's and `torch.nn.Transformer`: logits, loss, every gradient."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional

from annotated_transformer.experiments.in_numpy import (
    LayerNorm,
    MultiHeadAttention,
    NumpyTransformer,
    Weights,
    softmax,
    softmax_backward,
)
from annotated_transformer.experiments.in_numpy.model import DecoderLayer, cross_entropy, sinusoids
from annotated_transformer.positional import sinusoidal_encoding
from annotated_transformer.training.label_smoothing import label_smoothing_loss
from annotated_transformer.transformer import Transformer
from torch_twin import PAD, TorchTwin, a_batch, our_model

pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")

Gradients = dict[str, Any]


def by_hand(model: Transformer) -> NumpyTransformer:
    arrays = {name: value.detach().numpy() for name, value in model.named_parameters()}
    return NumpyTransformer(arrays, model.config)


def labels_of(tgt: Tensor) -> Tensor:
    """What should follow each target token: the next one; nothing after the last."""
    labels = torch.full_like(tgt, PAD)
    labels[:, :-1] = tgt[:, 1:]
    return labels


def by_autograd(
    model: Transformer, src: Tensor, tgt: Tensor, labels: Tensor, smoothing: float
) -> tuple[np.ndarray, float, Gradients]:
    model.zero_grad()
    logits = model(src, tgt)
    loss = label_smoothing_loss(logits, labels, smoothing)
    loss.backward()
    gradients = {}
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None
        gradients[name] = parameter.grad.numpy().copy()
    return logits.detach().numpy(), loss.item(), gradients


def assert_same(model: Transformer, src: Tensor, tgt: Tensor, smoothing: float = 0.0) -> None:
    """Logits, loss and the gradient of every parameter, name by name, to 1e-10."""
    labels = labels_of(tgt)
    logits, loss, expected = by_autograd(model, src, tgt, labels, smoothing)
    ours = by_hand(model)
    our_loss, gradients = ours.loss_and_gradients(
        src.numpy(), tgt.numpy(), labels.numpy(), smoothing
    )
    np.testing.assert_allclose(ours.forward(src.numpy(), tgt.numpy()), logits, atol=1e-10, rtol=0)
    assert our_loss == pytest.approx(loss, abs=1e-10)
    assert gradients.keys() == expected.keys()
    for name, gradient in gradients.items():
        np.testing.assert_allclose(gradient, expected[name], atol=1e-10, rtol=0, err_msg=name)
        assert gradient.shape == expected[name].shape


# --- three ways -----------------------------------------------------------------------------------


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"num_layers": 1, "num_heads": 1},
        {"num_heads": 24, "d_ff": 7},
        {"d_k": 5, "d_v": 3},
        {"layer_norm_eps": 0.1},
    ],
    ids=["4 heads, 3 layers", "one of each", "heads of one feature", "d_k and d_v", "eps"],
)
def test_equals_the_package(changes: dict[str, Any], smoothing: float) -> None:
    src, tgt = a_batch()
    assert src.size(1) != tgt.size(1)
    assert_same(our_model(torch.float64, **changes), src, tgt, smoothing)


def test_equals_the_package_where_there_is_nothing_to_attend_to() -> None:
    src, tgt = a_batch()
    src[2] = PAD  # a source of padding only: attention to it gives zeros
    tgt[1, 0] = PAD  # a target whose first position sees nothing at all
    assert_same(our_model(torch.float64), src, tgt)


def test_equals_the_package_in_float32_and_stays_there() -> None:
    model = our_model(torch.float32)
    src, tgt = a_batch()
    labels = labels_of(tgt)
    logits, loss, expected = by_autograd(model, src, tgt, labels, 0.1)
    ours = by_hand(model)
    our_loss, gradients = ours.loss_and_gradients(src.numpy(), tgt.numpy(), labels.numpy(), 0.1)
    our_logits = ours.forward(src.numpy(), tgt.numpy())
    assert our_logits.dtype == np.float32
    np.testing.assert_allclose(our_logits, logits, atol=2e-5)
    assert our_loss == pytest.approx(loss, abs=1e-5)
    for name, gradient in gradients.items():
        assert gradient.dtype == np.float32, name
        np.testing.assert_allclose(gradient, expected[name], atol=1e-5, err_msg=name)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_equals_torch_nn_transformer(smoothing: float) -> None:
    """Nothing of ours on the other side but the weights: model and loss are PyTorch's."""
    model = our_model(torch.float64)
    twin = TorchTwin(model)
    src, tgt = a_batch()
    labels = labels_of(tgt)
    loss = functional.cross_entropy(
        twin(src, tgt).flatten(0, 1),
        labels.flatten(),
        ignore_index=PAD,
        label_smoothing=smoothing,
    )
    loss.backward()
    ours = by_hand(model)
    our_loss, gradients = ours.loss_and_gradients(
        src.numpy(), tgt.numpy(), labels.numpy(), smoothing
    )
    logits = twin(src, tgt).detach()[tgt != PAD].numpy()
    our_logits = ours.forward(src.numpy(), tgt.numpy())[(tgt != PAD).numpy()]
    np.testing.assert_allclose(our_logits, logits, atol=1e-10)
    assert our_loss == pytest.approx(loss.item(), abs=1e-10)
    found = {name: torch.from_numpy(gradient) for name, gradient in gradients.items()}
    assert twin.table.grad is not None
    table = found.pop(NumpyTransformer.TABLE)
    torch.testing.assert_close(table, twin.table.grad, atol=1e-10, rtol=0)
    compared = 0
    for name, parameter in twin.transformer.named_parameters():
        if "in_proj_bias" in name or name.endswith("out_proj.bias"):
            continue  # biases that the paper does not have
        expected = TorchTwin.from_ours(name, found)
        torch.testing.assert_close(expected, parameter.grad, atol=1e-10, rtol=0)
        compared += expected.numel()
    assert compared == sum(gradient.numel() for gradient in found.values())


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_equals_the_package_at_any_size(data: st.DataObject) -> None:
    def size(low: int, high: int) -> int:
        return data.draw(st.integers(low, high))

    heads = size(1, 4)
    vocab_size, batch = size(3, 12), size(1, 4)
    model = our_model(
        torch.float64,
        vocab_size,
        d_model=2 * heads * size(1, 3),
        num_heads=heads,
        d_ff=size(1, 9),
        num_layers=size(1, 3),
    )

    def tokens(n: int) -> Tensor:
        row = st.lists(st.integers(0, vocab_size - 1), min_size=n, max_size=n)
        return torch.tensor(data.draw(st.lists(row, min_size=batch, max_size=batch)))

    src, tgt = tokens(size(1, 6)), tokens(size(2, 6))
    tgt[0, 1] = 1  # at least one token counts
    assert_same(model, src, tgt, data.draw(st.sampled_from([0.0, 0.1, 0.5])))


# --- without PyTorch ------------------------------------------------------------------------------


def test_gradients_equal_differences() -> None:
    """Two random entries of every parameter, and three of the table, moved a little."""
    model = our_model(torch.float64)
    src, tgt = (tokens.numpy() for tokens in a_batch())
    labels = labels_of(torch.from_numpy(tgt)).numpy()
    ours = by_hand(model)
    _, gradients = ours.loss_and_gradients(src, tgt, labels, 0.1)
    rng = np.random.default_rng(5)
    step = 1e-5
    for name, gradient in gradients.items():
        for _ in range(3 if name == NumpyTransformer.TABLE else 2):
            place = tuple(rng.integers(0, size) for size in gradient.shape)
            losses = []
            for move in (step, -2 * step):
                ours.weights.values[name][place] += move
                losses.append(cross_entropy(ours.forward(src, tgt), labels, 0.1)[0])
            ours.weights.values[name][place] += step
            difference = (losses[0] - losses[1]) / (2 * step)
            assert gradient[place] == pytest.approx(difference, abs=2e-8), (name, place)


def test_steps_by_hand_are_the_steps_of_sgd() -> None:
    model = our_model(torch.float64)
    ours = by_hand(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    src, tgt = a_batch()
    labels = labels_of(tgt)
    losses = []
    for _ in range(8):
        _, loss, _ = by_autograd(model, src, tgt, labels, 0.0)
        optimizer.step()
        our_loss, _ = ours.loss_and_gradients(src.numpy(), tgt.numpy(), labels.numpy())
        ours.step(0.3)
        assert our_loss == pytest.approx(loss, abs=1e-9)
        losses.append(our_loss)
    assert losses[-1] < 0.7 * losses[0]
    for name, parameter in model.named_parameters():
        values = ours.weights.values[name]
        np.testing.assert_allclose(values, parameter.detach().numpy(), atol=1e-9, err_msg=name)


def test_the_arrays_given_are_copied_and_gradients_handed_out_stay() -> None:
    model = our_model(torch.float64)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    ours = by_hand(model)
    src, tgt = (tokens.numpy() for tokens in a_batch())
    _, first = ours.loss_and_gradients(src, tgt, tgt)
    kept = {name: gradient.copy() for name, gradient in first.items()}
    ours.step(1.0)
    _, second = ours.loss_and_gradients(src, tgt, tgt)
    for name, gradient in kept.items():
        np.testing.assert_array_equal(first[name], gradient)
        assert not np.array_equal(second[name], gradient)
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])


# --- the pieces -----------------------------------------------------------------------------------


def test_softmax_and_its_gradient_are_those_of_torch() -> None:
    torch.manual_seed(0)
    scores = (1e3 * torch.randn(2, 3, 5, dtype=torch.float64)).requires_grad_()
    mask = torch.rand(2, 3, 5) < 0.6
    mask[1, 2] = False
    expected = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0.0)
    weights = softmax(scores.detach().numpy(), mask.numpy())
    np.testing.assert_allclose(weights, expected.detach().numpy(), atol=1e-12)
    assert not weights[1, 2].any()
    grad = torch.randn_like(expected)
    expected[mask.any(-1)].backward(grad[mask.any(-1)])
    assert scores.grad is not None
    found = softmax_backward(weights, grad.numpy())
    np.testing.assert_allclose(found, scores.grad.nan_to_num().numpy(), atol=1e-12)


def test_what_may_not_be_attended_to_does_not_count_however_large() -> None:
    scores = np.array([-2000.0, 5.0, -2001.0])
    weights = softmax(scores, np.array([True, False, True]))
    np.testing.assert_allclose(weights, [1 / (1 + np.exp(-1)), 0, 1 / (1 + np.e)], atol=1e-15)


def test_softmax_backward_is_the_product_with_the_jacobian() -> None:
    rng = np.random.default_rng(1)
    p = softmax(rng.normal(size=6))
    grad = rng.normal(size=6)
    jacobian = np.diag(p) - np.outer(p, p)
    np.testing.assert_allclose(softmax_backward(p, grad), grad @ jacobian, atol=1e-15)


def test_layer_norm_and_its_gradients_are_those_of_torch() -> None:
    torch.manual_seed(0)
    norm = nn.LayerNorm(7, eps=1e-3, dtype=torch.float64)
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    x = torch.randn(2, 3, 7, dtype=torch.float64, requires_grad=True)
    grad = torch.randn(2, 3, 7, dtype=torch.float64)
    y = norm(x)
    y.backward(grad)
    values = {"n.gamma": norm.weight.detach().numpy(), "n.beta": norm.bias.detach().numpy()}
    ours = LayerNorm(Weights(values), "n", 1e-3)
    np.testing.assert_allclose(ours.forward(x.detach().numpy()), y.detach().numpy(), atol=1e-12)
    pairs = {
        "x": (ours.backward(grad.numpy()), x.grad),
        "gamma": (ours.weights.gradients["n.gamma"], norm.weight.grad),
        "beta": (ours.weights.gradients["n.beta"], norm.bias.grad),
    }
    for name, (found, expected) in pairs.items():
        assert expected is not None
        np.testing.assert_allclose(found, expected.numpy(), atol=1e-12, err_msg=name)


def test_sinusoids_are_those_of_the_package() -> None:
    for d_model in (2, 24, 512):
        expected = sinusoidal_encoding(300, d_model).numpy()
        np.testing.assert_allclose(sinusoids(300, d_model), expected, atol=6e-8, rtol=0)


def test_the_gradient_of_the_logits_is_said_minus_should_have_been_said() -> None:
    logits = np.log(np.array([[[0.5, 0.25, 0.25]]]))
    loss, grad = cross_entropy(logits, np.array([[1]]))
    assert loss == pytest.approx(np.log(4))
    np.testing.assert_allclose(grad, [[[0.5, -0.75, 0.25]]], atol=1e-12)
    _, grad = cross_entropy(logits.astype(np.float32), np.array([[1]]), 0.1)
    assert grad.dtype == np.float32


@pytest.mark.parametrize(
    "change",
    [
        {"norm": "pre"},
        {"positions": "learned"},
        {"tie_embeddings": False},
        {"attention_bias": True},
        {"attention": "additive"},
        {"residual": False},
        {"embedding_scale": False},
        {"decoder_layers": 1},
    ],
    ids=str,
)
def test_another_model_than_the_papers_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="The NumPy model is the paper's"):
        by_hand(our_model(torch.float64, **change))


# --- the comparison notices what can be forgotten -------------------------------------------------


def forget_the_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = NumpyTransformer.embed_backward

    def targets_only(self: NumpyTransformer, tokens: Any, grad: Any) -> None:
        if tokens is not self.src:
            whole(self, tokens, grad)

    monkeypatch.setattr(NumpyTransformer, "embed_backward", targets_only)


def forget_the_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = NumpyTransformer.embed_backward

    def sources_only(self: NumpyTransformer, tokens: Any, grad: Any) -> None:
        if tokens is not self.tgt:
            whole(self, tokens, grad)

    monkeypatch.setattr(NumpyTransformer, "embed_backward", sources_only)


def forget_the_output(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = NumpyTransformer.backward

    def embeddings_only(self: NumpyTransformer, grad: Any) -> None:
        whole(self, grad)
        rows = grad.reshape(-1, grad.shape[-1])
        through_output = rows.T @ self.hidden.reshape(len(rows), -1)
        self.weights.gradients[self.TABLE] -= through_output

    monkeypatch.setattr(NumpyTransformer, "backward", embeddings_only)


def forget_repeated_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    def each_token_once(self: NumpyTransformer, tokens: Any, grad: Any) -> None:
        self.weights.gradients[self.TABLE][tokens] += grad.shape[-1] ** 0.5 * grad

    monkeypatch.setattr(NumpyTransformer, "embed_backward", each_token_once)


def forget_the_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = LayerNorm.backward

    def without_mean(self: LayerNorm, grad: Any) -> Any:
        g = grad * self.weights.values[self.gamma]
        return whole(self, grad) + g.mean(-1, keepdims=True) / self.sigma

    monkeypatch.setattr(LayerNorm, "backward", without_mean)


def forget_the_variance(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = LayerNorm.backward

    def without_sigma(self: LayerNorm, grad: Any) -> Any:
        g = grad * self.weights.values[self.gamma]
        through_sigma = self.normal * (g * self.normal).mean(-1, keepdims=True)
        return whole(self, grad) + through_sigma / self.sigma

    monkeypatch.setattr(LayerNorm, "backward", without_sigma)


def forget_the_memory_of_one_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = DecoderLayer.backward

    def without_first(self: DecoderLayer, grad: Any) -> Any:
        grad, memory = whole(self, grad)
        first = self.norms[0].gamma.startswith("decoder.layers.0.")
        return grad, 0.0 * memory if first else memory

    monkeypatch.setattr(DecoderLayer, "backward", without_first)


def forget_the_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = MultiHeadAttention.backward

    def unscaled(self: MultiHeadAttention, grad: Any) -> Any:
        self.scale = 1.0
        return whole(self, grad)

    monkeypatch.setattr(MultiHeadAttention, "backward", unscaled)


@pytest.mark.parametrize(
    ("forget", "name"),
    [
        (forget_the_sources, "source_embedding.table.weight"),
        (forget_the_targets, "source_embedding.table.weight"),
        (forget_the_output, "source_embedding.table.weight"),
        (forget_repeated_tokens, "source_embedding.table.weight"),
        (forget_the_mean, "encoder.layers"),
        (forget_the_variance, "encoder.layers"),
        (forget_the_memory_of_one_layer, "encoder.layers"),
        (forget_the_scale, "query_projection"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_forgotten_path_is_noticed(
    forget: Callable[[pytest.MonkeyPatch], None], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    src, tgt = a_batch()
    model = our_model(torch.float64)
    labels = labels_of(tgt)
    _, _, expected = by_autograd(model, src, tgt, labels, 0.0)
    forget(monkeypatch)
    _, found = by_hand(model).loss_and_gradients(src.numpy(), tgt.numpy(), labels.numpy())
    wrong = {n for n in expected if not np.allclose(found[n], expected[n], atol=1e-4, rtol=0)}
    assert any(name in one for one in wrong)
    with pytest.raises(AssertionError):
        assert_same(model, src, tgt)

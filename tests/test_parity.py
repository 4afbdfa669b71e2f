"""Our Transformer is `torch.nn.Transformer` and Hugging Face's Marian, on the same weights.

Both of them differ from the paper in details: PyTorch adds a norm at the end of each stack, both
have biases in attention, Marian stores its sinusoids in two halves. The twins made here are put
right in these details, and then logits and gradients must agree. Marian is the contestant of the
benchmark, so that one is proven too.
"""

import pytest
import torch
from torch import Tensor

from annotated_transformer.benchmark.peers import MarianPeer
from annotated_transformer.sharing.ports import fill, hugging_face_of, hugging_face_parameter
from annotated_transformer.transformer import Transformer
from torch_twin import PAD, TorchTwin, a_batch, our_model

pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")

TINY = {"d_model": 128, "d_ff": 256, "num_heads": 4, "num_layers": 4}
BASE = {"d_model": 512, "d_ff": 2048, "num_heads": 8, "num_layers": 6}
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-5}


def marian_twin(ours: Transformer) -> MarianPeer:
    """Hugging Face's Marian, the very one that takes part in the benchmark, with our weights."""
    config = ours.config
    twin = MarianPeer(config)
    fill(twin.marian, ours)
    return twin


def assert_close(ours: Tensor, theirs: Tensor, what: str) -> None:
    torch.testing.assert_close(
        ours, theirs, atol=TOLERANCE[ours.dtype], rtol=0, msg=lambda message: f"{what}: {message}"
    )


def backpropagate(logits: Tensor, tgt: Tensor) -> None:
    """A loss in which every real position and every logit counts differently."""
    generator = torch.Generator().manual_seed(3)
    weights = torch.randn(logits.shape, generator=generator, dtype=torch.float64).to(logits)
    (logits.log_softmax(-1) * weights)[tgt != PAD].mean().backward()


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize(
    "changes", [{}, TINY, BASE, {"norm": "pre"}], ids=["small", "tiny", "base", "pre-norm"]
)
def test_logits_equal_torch_nn_transformer(dtype, changes):
    ours = our_model(dtype, **changes)
    twin = TorchTwin(ours)
    src, tgt = a_batch()
    real = tgt != PAD
    assert_close(ours(src, tgt)[real], twin(src, tgt)[real], "logits in training mode")
    with torch.inference_mode():
        logits, twin_logits = ours.eval()(src, tgt), twin.eval()(src, tgt)
        assert_close(logits[real], twin_logits[real], "logits in evaluation mode")


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_gradients_equal_torch_nn_transformer(dtype):
    ours = our_model(dtype)
    twin = TorchTwin(ours)
    src, tgt = a_batch()
    backpropagate(ours(src, tgt), tgt)
    backpropagate(twin(src, tgt), tgt)
    gradients = {name: parameter.grad for name, parameter in ours.named_parameters()}
    assert all(gradient is not None for gradient in gradients.values())
    assert_close(gradients.pop("source_embedding.table.weight"), twin.table.grad, "table")
    compared = 0
    for name, parameter in twin.transformer.named_parameters():
        if "in_proj_bias" in name or name.endswith("out_proj.bias"):
            continue  # biases that the paper does not have
        expected = TorchTwin.from_ours(name, gradients)
        assert_close(expected, parameter.grad, name)
        compared += expected.numel()
    assert compared == sum(gradient.numel() for gradient in gradients.values())


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("changes", [{}, TINY, BASE], ids=["small", "tiny", "base"])
def test_logits_equal_marian(dtype, changes):
    ours = our_model(dtype, **changes)
    twin = marian_twin(ours)
    src, tgt = a_batch()
    real = tgt != PAD
    assert_close(ours(src, tgt)[real], twin.logits(src, tgt)[real], "logits")


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_gradients_equal_marian(dtype):
    ours = our_model(dtype)
    twin = marian_twin(ours).train()
    src, tgt = a_batch()
    backpropagate(ours(src, tgt), tgt)
    backpropagate(twin.logits(src, tgt), tgt)
    gradients = {name: parameter.grad for name, parameter in ours.named_parameters()}
    compared = 0
    for name, parameter in twin.marian.named_parameters():
        bias_of_attention = name.endswith("_proj.bias")
        if bias_of_attention or "embed_positions" in name:
            continue
        expected = hugging_face_parameter(name, gradients)
        assert_close(expected, parameter.grad, name)
        compared += expected.numel()
    assert compared == sum(gradient.numel() for gradient in gradients.values())


@pytest.mark.parametrize("changes", [{}, {"attention_bias": True}, {"norm": "pre"}], ids=str)
def test_logits_equal_the_hugging_face_model_that_decoding_is_compared_with(changes):
    ours = our_model(torch.float64, **changes)
    twin = hugging_face_of(ours, banned=(5,))
    src, tgt = a_batch()
    real = tgt != PAD
    theirs = twin(input_ids=src, attention_mask=src != PAD, decoder_input_ids=tgt).logits
    logits = ours.eval()(src, tgt)
    logits[..., 5] -= 1e9  # what is banned
    assert_close(logits[real], theirs[real], "logits")


def test_the_comparison_notices_a_small_difference():
    """A hundredth of one weight is seen: the tolerances are not slack."""
    ours = our_model(torch.float32)
    twin = TorchTwin(ours)
    src, tgt = a_batch()
    with torch.no_grad():
        ours.encoder.layers[0].self_attention.value_projection.weight[0, 0] += 0.01
    with pytest.raises(AssertionError, match="logits"):
        assert_close(ours(src, tgt), twin(src, tgt), "logits")

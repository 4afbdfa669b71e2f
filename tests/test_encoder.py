"""Section 3.1, the encoder: the order of its parts, and what padding may not do."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from annotated_transformer.config import TransformerConfig
from annotated_transformer.encoder import Encoder, EncoderLayer
from annotated_transformer.transformer import Transformer

PAD = 0


def config(**changes) -> TransformerConfig:
    values = {"d_model": 8, "d_ff": 12, "num_heads": 2, "num_layers": 2, "dropout": 0.0}
    return TransformerConfig(vocab_size=11, **{**values, **changes})


def model(seed: int = 0, **changes) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(config(**changes)).double().eval()


def norm(x: Tensor, residual: torch.nn.Module) -> Tensor:
    return functional.layer_norm(
        x, (x.size(-1),), residual.norm.gamma, residual.norm.beta, residual.norm.eps
    )


def test_a_layer_is_attention_then_feed_forward_each_added_then_normalised():
    layer = EncoderLayer(config()).double()
    x = torch.randn(2, 5, 8, dtype=torch.float64)
    mask = torch.rand(2, 1, 5, 5) > 0.3
    first, second = layer.residuals
    middle = norm(x + layer.self_attention(x, x, x, mask), first)
    expected = norm(middle + layer.feed_forward(middle), second)
    torch.testing.assert_close(layer(x, mask), expected)


def test_pre_norm_normalises_before_and_once_more_at_the_end():
    encoder = Encoder(config(norm="pre", num_layers=1)).double()
    [layer] = encoder.layers
    x = torch.randn(2, 5, 8, dtype=torch.float64)
    first, second = layer.residuals
    normalised = norm(x, first)
    middle = x + layer.self_attention(normalised, normalised, normalised)
    output = middle + layer.feed_forward(norm(middle, second))
    torch.testing.assert_close(encoder(x), encoder.final_norm(output))


def test_the_papers_stack_has_no_norm_at_its_end():
    encoder = Encoder(config()).double()
    assert encoder.final_norm is None
    x = torch.randn(2, 5, 8, dtype=torch.float64)
    torch.testing.assert_close(encoder(x), encoder.layers[1](encoder.layers[0](x)))


def test_layers_do_not_share_their_weights():
    encoder = Encoder(config())
    parameters = {id(parameter) for parameter in encoder.parameters()}
    assert len(parameters) == 2 * len(list(encoder.layers[0].parameters()))


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    extra=st.integers(0, 4),
    left=st.booleans(),
)
def test_padding_changes_nothing_at_real_positions(seed, lengths, extra, left):
    """A sentence in a padded batch is encoded as alone; padding before it only shifts positions."""
    transformer = model(seed, positions="none" if left else "sinusoidal")
    n = max(lengths) + extra
    tokens = torch.zeros(len(lengths), n, dtype=torch.long)
    generator = torch.Generator().manual_seed(seed)
    for row, length in enumerate(lengths):
        sentence = torch.randint(1, 11, (length,), generator=generator)
        place = slice(n - length, n) if left else slice(0, length)
        tokens[row, place] = sentence
        alone = transformer.encode(sentence[None])[0]
        torch.testing.assert_close(transformer.encode(tokens)[row, place], alone)


def test_no_gradient_flows_from_a_real_position_to_padding():
    transformer = model()
    tokens = torch.tensor([[5, 6, 7, PAD, PAD]])
    x = transformer.source_embedding(tokens).detach().requires_grad_()
    output = transformer.encoder(x, (tokens != PAD)[:, None, None, :])
    [gradient] = torch.autograd.grad(output[:, :3].square().sum(), x)
    assert (gradient[:, 3:] == 0).all()
    assert (gradient[:, :3] != 0).all()


def test_every_real_position_sees_every_other_also_later_ones():
    transformer = model()
    x = torch.randn(1, 5, 8, dtype=torch.float64)
    for i in range(5):
        variable = x.clone().requires_grad_()
        output = transformer.encoder(variable)[0, i]
        [gradient] = torch.autograd.grad((output * torch.arange(8.0)).sum(), variable)
        assert gradient.abs().amax(-1).gt(1e-6).all()


@pytest.mark.parametrize(("positions", "equivariant"), [("none", True), ("sinusoidal", False)])
def test_only_positions_tell_the_order_of_tokens(positions, equivariant):
    transformer = model(positions=positions)
    tokens, order = torch.tensor([[5, 6, 7, 8]]), torch.tensor([2, 0, 3, 1])
    permuted, expected = transformer.encode(tokens[:, order]), transformer.encode(tokens)[:, order]
    assert torch.allclose(permuted, expected, atol=1e-9) == equivariant

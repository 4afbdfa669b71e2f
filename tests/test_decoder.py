"""Section 3.1, the decoder: the order of its parts, and that nothing sees what comes after it."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from annotated_transformer.config import TransformerConfig
from annotated_transformer.decoder import Decoder, DecoderLayer
from annotated_transformer.masks import causal_mask
from annotated_transformer.transformer import Transformer

PAD = 0
norms = st.sampled_from(["post", "pre"])


def config(**changes) -> TransformerConfig:
    values = {"d_model": 8, "d_ff": 12, "num_heads": 2, "num_layers": 2, "dropout": 0.0}
    return TransformerConfig(vocab_size=11, **{**values, **changes})


def model(seed: int = 0, **changes) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(config(**changes)).double().eval()


def random_tokens(seed: int, batch: int, n: int) -> Tensor:
    return torch.randint(1, 11, (batch, n), generator=torch.Generator().manual_seed(seed))


def norm(x: Tensor, residual: torch.nn.Module) -> Tensor:
    return functional.layer_norm(
        x, (x.size(-1),), residual.norm.gamma, residual.norm.beta, residual.norm.eps
    )


def test_a_layer_is_self_attention_cross_attention_feed_forward():
    layer = DecoderLayer(config()).double()
    x = torch.randn(2, 4, 8, dtype=torch.float64)
    memory = torch.randn(2, 6, 8, dtype=torch.float64)
    tgt_mask, src_mask = causal_mask(4), torch.rand(2, 1, 1, 6) > 0.3
    first, second, third = layer.residuals
    a = norm(x + layer.self_attention(x, x, x, tgt_mask), first)
    b = norm(a + layer.cross_attention(a, memory, memory, src_mask), second)
    expected = norm(b + layer.feed_forward(b), third)
    torch.testing.assert_close(layer(x, memory, src_mask, tgt_mask), expected)


def test_every_layer_reads_the_same_memory():
    decoder = Decoder(config()).double()
    assert decoder.final_norm is None
    x = torch.randn(2, 4, 8, dtype=torch.float64)
    memory = torch.randn(2, 6, 8, dtype=torch.float64)
    first, second = decoder.layers
    torch.testing.assert_close(decoder(x, memory), second(first(x, memory), memory))


def test_a_pre_norm_stack_ends_with_a_norm():
    decoder = Decoder(config(norm="pre")).double()
    x, memory = torch.randn(1, 4, 8).double(), torch.randn(1, 6, 8).double()
    torch.testing.assert_close(decoder(x, memory).mean(-1), torch.zeros(1, 4).double())


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 1000),
    n_src=st.integers(1, 5),
    n_tgt=st.integers(2, 7),
    data=st.data(),
    norm=norms,
)
def test_a_later_token_changes_nothing_before_it(seed, n_src, n_tgt, data, norm):
    """Perturb token j: the logits before j keep every bit that matters, those from j on move."""
    transformer = model(seed, norm=norm)
    src, tgt = random_tokens(seed, 2, n_src), random_tokens(seed + 1, 2, n_tgt)
    j = data.draw(st.integers(1, n_tgt - 1))
    other = tgt.clone()
    other[:, j] = tgt[:, j] % 10 + 1
    logits, other_logits = transformer(src, tgt), transformer(src, other)
    torch.testing.assert_close(logits[:, :j], other_logits[:, :j], atol=1e-12, rtol=0)
    assert (logits[:, j:] - other_logits[:, j:]).abs().amax(-1).gt(1e-9).all()


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), n_tgt=st.integers(1, 6), norm=norms)
def test_gradients_flow_to_the_past_and_the_present_alone(seed, n_tgt, norm):
    """Position i depends on every position j <= i and on none after it."""
    transformer = model(seed, norm=norm)
    memory = transformer.encode(random_tokens(seed, 1, 3)).detach()
    x = torch.randn(1, n_tgt, 8, dtype=torch.float64, requires_grad=True)
    hidden = transformer.decoder(x, memory, None, causal_mask(n_tgt))
    for i in range(n_tgt):
        one = (hidden[0, i] * torch.arange(8.0)).sum()
        [gradient] = torch.autograd.grad(one, x, retain_graph=True)
        depends = gradient[0].abs().amax(-1) > 0  # (n_tgt,)
        assert depends.tolist() == [j <= i for j in range(n_tgt)]


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    lengths=st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=3),
    extra=st.tuples(st.integers(0, 3), st.integers(0, 3)),
)
def test_padding_of_source_and_target_changes_no_real_logit(seed, lengths, extra):
    transformer = model(seed)
    src = torch.zeros(len(lengths), max(s for s, _ in lengths) + extra[0], dtype=torch.long)
    tgt = torch.zeros(len(lengths), max(t for _, t in lengths) + extra[1], dtype=torch.long)
    for row, (n_src, n_tgt) in enumerate(lengths):
        src[row, :n_src] = random_tokens(seed + row, 1, n_src)[0]
        tgt[row, :n_tgt] = random_tokens(seed - row + 7, 1, n_tgt)[0]
    logits = transformer(src, tgt)
    for row, (n_src, n_tgt) in enumerate(lengths):
        alone = transformer(src[row : row + 1, :n_src], tgt[row : row + 1, :n_tgt])[0]
        torch.testing.assert_close(logits[row, :n_tgt], alone)


def test_no_gradient_flows_to_padded_memory():
    transformer = model()
    memory = torch.randn(1, 5, 8, dtype=torch.float64, requires_grad=True)
    src_mask = torch.tensor([[[[True, True, False, True, False]]]])
    hidden = transformer.decode(memory, random_tokens(0, 1, 4), src_mask)
    [gradient] = torch.autograd.grad((hidden * torch.arange(8.0)).sum(), memory)
    assert (gradient[0].abs().amax(-1) > 0).tolist() == [True, True, False, True, False]


@pytest.mark.parametrize("seed", range(3))
def test_the_memory_matters(seed):
    transformer = model(seed)
    tgt = random_tokens(seed, 1, 4)
    one = transformer(torch.tensor([[5, 6]]), tgt)
    other = transformer(torch.tensor([[6, 5]]), tgt)
    assert (one - other).abs().amax(-1).gt(1e-6).all()

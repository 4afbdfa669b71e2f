"""The references of the encoder's exercises against PyTorch, by Hypothesis."""

import torch
import torch.nn.functional as F  # noqa: N812
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from annotated_transformer.exercises.content.encoder.embed import embed
from annotated_transformer.exercises.content.encoder.feed_forward import feed_forward
from annotated_transformer.exercises.content.encoder.layer import encoder_layer
from annotated_transformer.exercises.content.encoder.layer_norm import layer_norm
from annotated_transformer.exercises.content.encoder.layer_norm_backward import layer_norm_backward
from annotated_transformer.exercises.content.encoder.padding_leak import padding_leak
from annotated_transformer.exercises.content.encoder.sublayer_connection import sublayer_connection

sizes = st.integers(1, 5)


@settings(deadline=None, max_examples=40)
@given(st.lists(sizes, min_size=1, max_size=4), st.integers(0, 999), st.sampled_from([1e-6, 0.3]))
def test_layer_norm_is_torchs(shape: list[int], seed: int, eps: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    x = 3 * torch.randn(shape, generator=generator, dtype=torch.float64) + 1
    gamma, beta = torch.randn(2, shape[-1], generator=generator, dtype=torch.float64)
    expected = F.layer_norm(x, shape[-1:], gamma, beta, eps)
    torch.testing.assert_close(layer_norm(x, gamma, beta, eps), expected)


@settings(deadline=None, max_examples=40)
@given(sizes, sizes, st.integers(0, 999), st.sampled_from([1e-5, 0.3]))
def test_layer_norm_backward_is_autograds(n: int, d: int, seed: int, eps: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    x, grad = torch.randn(2, n, d, generator=generator, dtype=torch.float64)
    leaf = x.clone().requires_grad_()
    F.layer_norm(leaf, (d,), eps=eps).backward(grad)
    torch.testing.assert_close(layer_norm_backward(x, grad, eps), leaf.grad)


@settings(deadline=None, max_examples=40)
@given(st.lists(sizes, min_size=1, max_size=4), sizes, st.integers(0, 999))
def test_feed_forward_is_two_of_torchs_linear_modules(
    shape: list[int], d_ff: int, seed: int
) -> None:
    torch.manual_seed(seed)
    first, second = nn.Linear(shape[-1], d_ff).double(), nn.Linear(d_ff, shape[-1]).double()
    x = torch.randn(shape, dtype=torch.float64)
    expected = nn.Sequential(first, nn.ReLU(), second)(x)
    got = feed_forward(x, first.weight.mT, first.bias, second.weight.mT, second.bias)
    torch.testing.assert_close(got, expected)


@settings(deadline=None, max_examples=40)
@given(sizes, sizes, sizes, sizes, st.integers(0, 3), st.integers(0, 999))
def test_embed_is_torchs_embedding_scaled_with_a_position_a_column(
    batch: int, n: int, vocabulary: int, d: int, spare: int, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    table = torch.randn(vocabulary, d, generator=generator)
    pe = torch.randn(n + spare, d, generator=generator)
    tokens = torch.randint(vocabulary, (batch, n), generator=generator)
    got = embed(tokens, table, pe)
    for position in range(n):
        expected = d**0.5 * nn.Embedding.from_pretrained(table)(tokens[:, position])
        torch.testing.assert_close(got[:, position], expected + pe[position])


@settings(deadline=None, max_examples=30)
@given(sizes, sizes, sizes, st.integers(0, 999), st.sampled_from([1e-6, 0.3]))
def test_sublayer_connection_is_torchs_norm_of_the_sum(
    batch: int, n: int, d: int, seed: int, eps: float
) -> None:
    torch.manual_seed(seed)
    sublayer, norm = nn.Linear(d, d).double(), nn.LayerNorm(d, eps=eps).double()
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    x = torch.randn(batch, n, d, dtype=torch.float64)
    got = sublayer_connection(x, sublayer, norm.weight, norm.bias, eps)
    torch.testing.assert_close(got, norm(x + sublayer(x)))


@settings(deadline=None, max_examples=20)
@given(sizes, sizes, st.integers(1, 3), st.integers(0, 999))
def test_encoder_layer_is_torchs(batch: int, n: int, heads: int, seed: int) -> None:
    torch.manual_seed(seed)
    d = 2 * heads
    theirs = nn.TransformerEncoderLayer(d, heads, 3 * d, dropout=0.0, batch_first=True).double()
    for parameter in theirs.parameters():
        nn.init.normal_(parameter)
    x = torch.randn(batch, n, d, dtype=torch.float64)
    mask = torch.rand(batch, 1, 1, n) < 0.7
    mask[..., 0] = True

    def self_attn(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        result: Tensor = theirs.self_attn(query, key, value, ~mask[:, 0, 0], need_weights=False)[0]
        return result

    def ffn(x: Tensor) -> Tensor:
        result: Tensor = theirs.linear2(theirs.linear1(x).relu())
        return result

    got = encoder_layer(x, mask, self_attn, ffn, [theirs.norm1, theirs.norm2])
    torch.testing.assert_close(got, theirs(x, src_key_padding_mask=~mask[:, 0, 0]))


@settings(deadline=None, max_examples=10)
@given(st.integers(1, 3), st.integers(2, 4), st.integers(1, 4), st.integers(0, 999))
def test_padding_leaks_through_torchs_encoder_unless_it_is_masked(
    batch: int, n: int, extra: int, seed: int
) -> None:
    torch.manual_seed(seed)
    table = nn.Embedding(9, 4).double()
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True).double()
    tokens = torch.randint(1, 9, (batch, n))
    tokens[0, 1:] = 0

    def masked(tokens: Tensor) -> Tensor:
        result: Tensor = layer(table(tokens), src_key_padding_mask=tokens == 0)
        return result

    def unmasked(tokens: Tensor) -> Tensor:
        result: Tensor = layer(table(tokens))
        return result

    assert padding_leak(masked, tokens, extra) < 1e-9
    assert padding_leak(unmasked, tokens, extra) > 1e-6

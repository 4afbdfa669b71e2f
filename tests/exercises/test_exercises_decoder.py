"""The references of the decoder's exercises against PyTorch, by Hypothesis."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from annotated_transformer.exercises.content.decoder.layer import decoder_layer
from annotated_transformer.exercises.content.decoder.leaks_future import leaks_future

sizes = st.integers(1, 5)


@settings(deadline=None, max_examples=20)
@given(sizes, sizes, sizes, st.integers(1, 3), st.integers(0, 999))
def test_decoder_layer_is_torchs(batch: int, n_t: int, n_s: int, heads: int, seed: int) -> None:
    torch.manual_seed(seed)
    d = 2 * heads
    theirs = nn.TransformerDecoderLayer(d, heads, 3 * d, dropout=0.0, batch_first=True).double()
    for parameter in theirs.parameters():
        nn.init.normal_(parameter)
    x = torch.randn(batch, n_t, d, dtype=torch.float64)
    memory = torch.randn(batch, n_s, d, dtype=torch.float64)
    past = torch.ones(n_t, n_t, dtype=torch.bool).tril()
    real = torch.rand(batch, 1, 1, n_s) < 0.7
    real[..., 0] = True

    def self_attn(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        result: Tensor = theirs.self_attn(query, key, value, attn_mask=~mask[0, 0])[0]
        return result

    def cross_attn(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        hidden = ~mask[:, 0, 0]
        result: Tensor = theirs.multihead_attn(query, key, value, key_padding_mask=hidden)[0]
        return result

    def ffn(x: Tensor) -> Tensor:
        result: Tensor = theirs.linear2(theirs.linear1(x).relu())
        return result

    norms = [theirs.norm1, theirs.norm2, theirs.norm3]
    causal = past.expand(batch, 1, -1, -1)
    got = decoder_layer(x, memory, causal, real, self_attn, cross_attn, ffn, norms)
    expected = theirs(x, memory, tgt_mask=~past, memory_key_padding_mask=~real[:, 0, 0])
    torch.testing.assert_close(got, expected)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 5), st.data())
def test_leaks_future_finds_any_entry_above_the_diagonal(n: int, data: st.DataObject) -> None:
    entries = st.lists(st.booleans(), min_size=n * n, max_size=n * n)
    seen = torch.tensor(data.draw(entries)).reshape(n, n)
    x = torch.randn(2, n, 3, generator=torch.Generator().manual_seed(n), dtype=torch.float64)
    got = leaks_future(lambda x: seen.double() @ x, x)
    assert got == bool(seen.triu(1).any())

"""`decoding.cache_bytes`: how much memory the key-value cache takes."""

import math

import torch

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, call


def cache_bytes(layers: int, kv_heads: int, d_k: int, n: int, batch: int, bytes: int) -> int:
    one_token = 2 * kv_heads * d_k  # numbers: a key and a value, both kv_heads x d_k
    tokens = batch * n
    numbers = layers * tokens * one_token
    return numbers * bytes


def _as_tensors(layers: int, kv_heads: int, d_k: int, n: int, batch: int, bytes: int) -> int:
    shape = (batch, kv_heads, n, d_k)
    keys = values = math.prod(shape)
    return sum((keys + values) * bytes for _ in range(layers))


def _by_parts(layers: int, kv_heads: int, d_k: int, n: int, batch: int, bytes: int) -> int:
    width = kv_heads * d_k
    one_layer = width * n * bytes << 1
    return int(one_layer * float(layers * batch))


def _by_torch(layers: int, kv_heads: int, d_k: int, n: int, batch: int, bytes: int) -> int:
    cache = torch.empty(layers, 2, batch, kv_heads, n, d_k, device="meta", dtype=torch.int8)
    return cache.numel() * bytes


def _of(name: str, *sizes: int, isolates: str | None = None) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(*sizes)

    return Case(name, make, isolates=isolates)


CACHE_BYTES = Exercise(
    id="decoding.cache_bytes",
    title="How large is the cache?",
    kind="number",
    difficulty=2,
    minutes=6,
    signature=(
        "cache_bytes(layers: int, kv_heads: int, d_k: int, n: int, batch: int, bytes: int) -> int"
    ),
    statement=(
        "When tokens are generated one by one, every layer's self-attention keeps the keys and "
        "values of all tokens so far. Return how many bytes that cache takes: `layers` layers, "
        "`kv_heads` heads of keys and values (there may be more heads of queries), d_k numbers "
        "for the key of one head and as many for its value, n tokens, `batch` sentences, `bytes` "
        "bytes a number."
    ),
    objective="Work out the memory that decides how long and how many texts a model can serve.",
    prerequisite="decoding.cached_step",
    hints=(
        "One layer, one sentence, one head: which two matrices are kept, and of what shape?",
        "A key and a value are kept for each token, each key/value head, each layer and each "
        "sentence. Which of q, k and v is never needed again?",
        "2 · layers · batch · kv_heads · n · d_k numbers, each of `bytes` bytes.",
    ),
    reference=cache_bytes,
    explanation=(
        "Each layer keeps two tensors of shape (batch, kv_heads, n, d_k): the keys and the values. "
        "Queries are not kept, for a query is used in its own step alone. The base Transformer's "
        "decoder (6 layers, 8 heads of 64) needs 2 · 6 · 8 · 64 = 6,144 numbers a token. A model "
        "with 32 layers, 32 heads of 128 and 16-bit numbers needs 512 KiB a token, 2 GiB for 4,096 "
        "of them; with 8 key/value heads instead, a quarter. The cache grows in proportion to "
        "the length, not with its square."
    ),
    cases=(
        _of(
            "1 layer, 1 head of width 1, 1 token, 1 sentence, 1 byte",
            *(1, 1, 1, 1, 1, 1),
            isolates="what is kept of one token: a key and a value",
        ),
        _of("3 layers, 5 heads of width 7, 11 tokens, 2 sentences, 4 bytes", 3, 5, 7, 11, 2, 4),
        _of("the base Transformer's decoder, 100 tokens, 4 bytes", 6, 8, 64, 100, 1, 4),
        _of("32 layers, 32 heads of 128, 4,096 tokens, 2 bytes", 32, 32, 128, 4096, 1, 2),
        _of("32 layers, 8 heads of 128, 8,192 tokens, 16 sentences", 32, 8, 128, 8192, 16, 2),
        _of("80 layers, 8 heads of 128, 131,072 tokens, 1 byte", 80, 8, 128, 131_072, 3, 1),
    ),
    mistakes=page(__file__, cache_bytes),
    alternatives=(_as_tensors, _by_parts, _by_torch),
    starter=(
        "def cache_bytes(layers, kv_heads, d_k, n, batch, bytes):\n"
        '    """The bytes of the keys and values of n tokens in each of batch sentences."""\n'
        "    ...  # your code"
    ),
)

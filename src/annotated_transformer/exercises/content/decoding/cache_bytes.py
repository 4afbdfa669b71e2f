"""`decoding.cache_bytes`: how much memory the key-value cache takes."""

import math
from collections.abc import Callable
from typing import Any

import torch

from annotated_transformer.exercises.exercise import Call, Case, Exercise, Mistake, call


def cache_bytes(layers: int, kv_heads: int, d_k: int, n: int, batch: int, bytes: int) -> int:
    numbers_of_one_token = 2 * kv_heads * d_k  # a key and a value, both kv_heads x d_k
    tokens = batch * n
    return layers * tokens * numbers_of_one_token * bytes


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


_K_ONLY = (
    "Only the keys (or only the values) are counted. Attention needs both of every earlier "
    "token: the scores come from the keys, the output is mixed from the values. There is a factor "
    "of 2."
)
_QUERIES = (
    "Something is counted three times, as if queries were kept as well. Only keys and values of "
    "earlier tokens are needed again; a query is used once, in its own step. The factor is 2."
)
_HEADS = (
    "Not `kv_heads` heads are counted, but a number of query heads (or a model width) that stands "
    "in the code. What is stored is one key and one value for each *key/value* head: that is how "
    "grouped-query attention saves memory, with fewer of them than query heads."
)
_ONE_HEAD = (
    "`kv_heads` is missing: the size of one head's cache. Each key/value head has keys and values "
    "of its own, d_k wide: multiply by kv_heads."
)
_BATCH = "`batch` is missing. Every sentence of a batch has its own keys and values."
_LAYERS = (
    "`layers` is missing. Each layer projects its own keys and values and has to keep them: "
    "multiply by the number of layers."
)
_LENGTH = "`n` is missing. A key and a value are kept for every one of the n tokens."
_WIDTH = "`d_k` is missing. A key is a vector of d_k numbers for each key/value head."
_BYTES = (
    "Numbers are counted, or a fixed width of them, instead of `bytes` for each. Multiply by the "
    "bytes that one number takes: 2 in half precision, 4 in float32."
)
_BITS = (
    "The result is in bits, or bits and bytes are mixed up: `bytes` is already in bytes, and so "
    "is the answer. There is no factor or divisor of 8."
)
_SQUARE = (
    "The result grows with the square of n. That is true of the attention *scores*, which are not "
    "kept; of each token one key and one value are, so the cache grows in proportion to n."
)
_UNITS = (
    "The result is in kilo-, mega- or gigabytes. Asked for are bytes, a whole number, without "
    "dividing."
)
_OFF = (
    "The number of tokens is off by one. All n tokens have been read, the last as well: each has a "
    "key and a value in the cache."
)
_CROSS = (
    "The keys and values are counted more than twice, as if cross-attention, or encoder and "
    "decoder, had a cache too. Asked for is that of self-attention in `layers` layers: 2 vectors "
    "for each token, head and layer."
)

_AND_HEADS = " `kv_heads` is missing as well."
_AND_BATCH = " `batch` is missing as well."
_AND_BYTES = " So are the bytes of a number."

Formula = Callable[[int, int, int, int, int, int], Any]
_FORMULAS: tuple[tuple[str, Formula, str], ...] = (
    ("keys-only", lambda la, h, d, n, b, w: la * h * d * n * b * w, _K_ONLY),
    ("queries-too", lambda la, h, d, n, b, w: 3 * la * h * d * n * b * w, _QUERIES),
    ("query-heads-8", lambda la, h, d, n, b, w: 2 * la * 8 * d * n * b * w, _HEADS),
    ("query-heads-16", lambda la, h, d, n, b, w: 2 * la * 16 * d * n * b * w, _HEADS),
    ("query-heads-32", lambda la, h, d, n, b, w: 2 * la * 32 * d * n * b * w, _HEADS),
    ("four-query-heads-each", lambda la, h, d, n, b, w: 8 * la * h * d * n * b * w, _HEADS),
    ("model-width-512", lambda la, h, d, n, b, w: 2 * la * 512 * n * b * w, _HEADS),
    ("model-width-4096", lambda la, h, d, n, b, w: 2 * la * 4096 * n * b * w, _HEADS),
    ("one-head", lambda la, h, d, n, b, w: 2 * la * d * n * b * w, _ONE_HEAD),
    ("one-head-keys-only", lambda la, h, d, n, b, w: la * d * n * b * w, _ONE_HEAD),
    (
        "divided-by-heads",
        lambda la, h, d, n, b, w: 2 * la * (d // h) * n * b * w,
        "d_k is divided by the number of heads, as if it were the model's width. d_k is already "
        "the width of one head: multiply it by kv_heads.",
    ),
    (
        "heads-squared",
        lambda la, h, d, n, b, w: 2 * la * h * h * d * n * b * w,
        "`kv_heads` is multiplied in twice. d_k is the width of one head, so kv_heads · d_k "
        "numbers make one key of all heads.",
    ),
    (
        "heads-for-width",
        lambda la, h, d, n, b, w: 2 * la * h * h * n * b * w,
        "`kv_heads` is multiplied in twice and `d_k` not at all. A key of one head has d_k "
        "numbers: kv_heads · d_k for all heads.",
    ),
    (
        "matrices-of-weights",
        lambda la, h, d, n, b, w: 2 * la * h * d * d * w,
        "This is the size of projection matrices, which belong to the model. The cache holds what "
        "they give: a key and a value of d_k numbers for each token of each sentence.",
    ),
    (
        "width-squared",
        lambda la, h, d, n, b, w: 2 * la * h * d * d * n * b * w,
        "`d_k` is multiplied in twice. A key is a vector of d_k numbers, not a matrix; matrices of "
        "weights belong to the model, not to the cache.",
    ),
    ("no-batch", lambda la, h, d, n, b, w: 2 * la * h * d * n * w, _BATCH),
    ("no-batch-keys-only", lambda la, h, d, n, b, w: la * h * d * n * w, _BATCH),
    ("no-layers", lambda la, h, d, n, b, w: 2 * h * d * n * b * w, _LAYERS),
    ("no-layers-keys-only", lambda la, h, d, n, b, w: h * d * n * b * w, _LAYERS),
    ("no-length", lambda la, h, d, n, b, w: 2 * la * h * d * b * w, _LENGTH),
    ("no-width", lambda la, h, d, n, b, w: 2 * la * h * n * b * w, _WIDTH),
    ("numbers", lambda la, h, d, n, b, w: 2 * la * h * d * n * b, _BYTES),
    ("numbers-keys-only", lambda la, h, d, n, b, w: la * h * d * n * b, _BYTES),
    ("two-bytes-fixed", lambda la, h, d, n, b, w: 2 * la * h * d * n * b * 2, _BYTES),
    ("four-bytes-fixed", lambda la, h, d, n, b, w: 2 * la * h * d * n * b * 4, _BYTES),
    ("eight-bytes-fixed", lambda la, h, d, n, b, w: 2 * la * h * d * n * b * 8, _BYTES),
    ("bits", lambda la, h, d, n, b, w: 2 * la * h * d * n * b * w * 8, _BITS),
    ("bits-taken-for-bytes", lambda la, h, d, n, b, w: 2 * la * h * d * n * b * w // 8, _BITS),
    ("length-squared", lambda la, h, d, n, b, w: 2 * la * h * d * n * n * b * w, _SQUARE),
    ("scores", lambda la, h, d, n, b, w: la * h * n * n * b * w, _SQUARE),
    ("two-matrices-of-scores", lambda la, h, d, n, b, w: 2 * la * h * n * n * b * w, _SQUARE),
    (
        "scores-too",
        lambda la, h, d, n, b, w: la * h * b * w * n * (2 * d + n),
        _SQUARE,
    ),
    (
        "all-prefixes",
        lambda la, h, d, n, b, w: la * h * d * n * (n + 1) * b * w,
        "The caches of all steps are added up, 1 + 2 + ... + n tokens. The cache of a step "
        "contains that of the step before: at the end n tokens are kept, once each.",
    ),
    ("kibibytes", lambda la, h, d, n, b, w: 2 * la * h * d * n * b * w / 2**10, _UNITS),
    ("mebibytes", lambda la, h, d, n, b, w: 2 * la * h * d * n * b * w / 2**20, _UNITS),
    ("gibibytes", lambda la, h, d, n, b, w: 2 * la * h * d * n * b * w / 2**30, _UNITS),
    ("kilobytes", lambda la, h, d, n, b, w: 2 * la * h * d * n * b * w / 10**3, _UNITS),
    ("megabytes", lambda la, h, d, n, b, w: 2 * la * h * d * n * b * w / 10**6, _UNITS),
    ("gigabytes", lambda la, h, d, n, b, w: 2 * la * h * d * n * b * w / 10**9, _UNITS),
    ("whole-mebibytes", lambda la, h, d, n, b, w: 2 * la * h * d * n * b * w // 2**20, _UNITS),
    ("one-token-less", lambda la, h, d, n, b, w: 2 * la * h * d * (n - 1) * b * w, _OFF),
    ("one-token-more", lambda la, h, d, n, b, w: 2 * la * h * d * (n + 1) * b * w, _OFF),
    ("cross-attention-too", lambda la, h, d, n, b, w: 4 * la * h * d * n * b * w, _CROSS),
    (
        "layers-and-one",
        lambda la, h, d, n, b, w: 2 * (la + 1) * h * d * n * b * w,
        "One layer too many is counted. The embeddings keep no keys or values: multiply by "
        "`layers`.",
    ),
    (
        "keys-and-values-of-one-token-added",
        lambda la, h, d, n, b, w: (2 + la * h * d * n * b) * w,
        "The 2 is added instead of multiplied. Keys and values are two tensors of the same size: "
        "2 · layers · batch · n · kv_heads · d_k · bytes.",
    ),
    (
        "sum-of-all",
        lambda la, h, d, n, b, w: 2 * (la + h + d + n + b) * w,
        "The sizes are added. They multiply: the keys of one layer are a tensor of shape (batch, "
        "kv_heads, n, d_k).",
    ),
    (
        "values-shared-by-the-heads",
        lambda la, h, d, n, b, w: la * (h + 1) * d * n * b * w,
        "One of the two, keys or values, is counted once for all heads. Each key/value head has a "
        "key and a value of its own for every token: 2 · kv_heads · d_k numbers.",
    ),
    ("six-for-two", lambda la, h, d, n, b, w: 6 * la * h * d * n * b * w, _QUERIES),
    ("twelve-for-two", lambda la, h, d, n, b, w: 12 * la * h * d * n * b * w, _CROSS),
    ("half", lambda la, h, d, n, b, w: la * h * d * n * b * w / 2, _K_ONLY),
    ("no-layers-no-heads", lambda la, h, d, n, b, w: 2 * d * n * b * w, _LAYERS + _AND_HEADS),
    ("no-layers-no-batch", lambda la, h, d, n, b, w: 2 * h * d * n * w, _LAYERS + _AND_BATCH),
    ("no-layers-no-bytes", lambda la, h, d, n, b, w: 2 * h * d * n * b, _LAYERS + _AND_BYTES),
    ("no-heads-no-batch", lambda la, h, d, n, b, w: 2 * la * d * n * w, _ONE_HEAD + _AND_BATCH),
    ("no-heads-no-bytes", lambda la, h, d, n, b, w: 2 * la * d * n * b, _ONE_HEAD + _AND_BYTES),
    ("no-batch-no-bytes", lambda la, h, d, n, b, w: 2 * la * h * d * n, _BATCH + _AND_BYTES),
    ("width-for-heads", lambda la, h, d, n, b, w: 2 * la * d * d * n * b * w, _ONE_HEAD),
    (
        "as-a-string",
        lambda la, h, d, n, b, w: str(2 * la * h * d * n * b * w),
        "A string is returned. Asked for is a number: the bytes, as an int.",
    ),
    (
        "in-a-dictionary",
        lambda la, h, d, n, b, w: {"bytes": 2 * la * h * d * n * b * w},
        "A dictionary is returned. Asked for is the number alone.",
    ),
    (
        "keys-and-values-apart",
        lambda la, h, d, n, b, w: (la * h * d * n * b * w, la * h * d * n * b * w),
        "Keys and values are returned as two numbers. Asked for is their sum.",
    ),
    (
        "as-text",
        lambda la, h, d, n, b, w: f"{2 * la * h * d * n * b * w} bytes",
        "A string is returned. Asked for is a number: the bytes, as an int.",
    ),
)
MISTAKES = tuple(Mistake(name, formula, sentence) for name, formula, sentence in _FORMULAS)


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
    mistakes=MISTAKES,
    alternatives=(_as_tensors, _by_parts, _by_torch),
    starter=(
        "def cache_bytes(layers, kv_heads, d_k, n, batch, bytes):\n"
        '    """The bytes of the keys and values of n tokens in each of batch sentences."""\n'
        "    ...  # your code"
    ),
)

"""Answers that learners write in NumPy, right and wrong ones, as functions of arrays."""

from typing import Any

import numpy as np
import torch


def layer_norm(x: Any, gamma: Any, beta: Any, eps: float = 1e-6) -> Any:
    mean = np.mean(x, axis=-1, keepdims=True)
    variance = np.var(x, axis=-1, keepdims=True)
    return gamma * (x - mean) / np.sqrt(variance + eps) + beta


def layer_norm_unbiased(x: Any, gamma: Any, beta: Any, eps: float = 1e-6) -> Any:
    mean = np.mean(x, axis=-1, keepdims=True)
    variance = np.var(x, axis=-1, keepdims=True, ddof=1)
    return gamma * (x - mean) / np.sqrt(variance + eps) + beta


def softmax(x: Any, dim: int = -1) -> Any:
    e = np.exp(x - x.max(axis=dim, keepdims=True))
    return e / e.sum(axis=dim, keepdims=True)


def softmax_by_a_helper(x: Any, dim: int = -1) -> Any:
    return _shifted(x, dim) / np.sum(_shifted(x, dim), axis=dim, keepdims=True)


def _shifted(x: Any, dim: int) -> Any:
    return np.exp(x - np.max(x, axis=dim, keepdims=True))


def softmax_as_a_tensor(x: Any, dim: int = -1) -> Any:
    e = np.exp(x - np.max(x, axis=dim, keepdims=True))
    return torch.from_numpy(e / np.sum(e, axis=dim, keepdims=True))


def softmax_overflowing(x: Any, dim: int = -1) -> Any:
    e = np.exp(x)
    return e / np.sum(e, axis=dim, keepdims=True)


def softmax_without_axis(x: Any, dim: int = -1) -> Any:
    e = np.exp(x - np.max(x, axis=dim))
    return e / np.sum(e, axis=dim, keepdims=True)


def attention(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    scores = np.einsum("...id,...jd->...ij", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    largest = scores.max(axis=-1, keepdims=True)
    e = np.exp(scores - np.where(np.isfinite(largest), largest, 0.0))
    total = np.sum(e, axis=-1, keepdims=True)
    weights = e / np.where(total == 0, 1, total)
    return weights @ v, weights


def attention_without_scale(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    output, weights = attention(q * q.shape[-1] ** 0.5, k, v, mask)
    return output, weights


def label_smoothing_loss(logits: Any, target: Any, eps: float = 0.1, pad_id: int = 0) -> Any:
    size = logits.shape[-1]
    shifted = logits - np.max(logits, axis=-1, keepdims=True)
    log_p = shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))
    q = np.full(logits.shape, eps / (size - 2))
    q[..., pad_id] = 0.0
    np.put_along_axis(q, target[..., None], 1 - eps, axis=-1)
    return np.mean(-np.sum(q * log_p, axis=-1)[target != pad_id])


def loss_over_all_positions(logits: Any, target: Any, eps: float = 0.1, pad_id: int = 0) -> Any:
    size = logits.shape[-1]
    shifted = logits - np.max(logits, axis=-1, keepdims=True)
    log_p = shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))
    q = np.full(logits.shape, eps / (size - 2))
    q[..., pad_id] = 0.0
    np.put_along_axis(q, target[..., None], 1 - eps, axis=-1)
    return np.mean(-np.sum(q * log_p, axis=-1) * (target != pad_id))


def padding_mask(tokens: Any, pad_id: int = 0) -> Any:
    return np.expand_dims(tokens != pad_id, (1, 2))


def padding_mask_inverted(tokens: Any, pad_id: int = 0) -> Any:
    return np.expand_dims(tokens == pad_id, (1, 2))


def causal_mask(n: int) -> Any:
    return np.tril(np.ones((n, n), dtype=bool))


def sinusoidal_encoding(n_positions: int, d_model: int) -> Any:
    exponents = np.arange(0, d_model, 2) / d_model
    angles = np.arange(n_positions)[:, None] / 10000**exponents
    encoding = np.empty((n_positions, d_model), dtype=np.float32)
    encoding[:, 0::2], encoding[:, 1::2] = np.sin(angles), np.cos(angles)
    return encoding


def sublayer_connection(x: Any, sublayer: Any, gamma: Any, beta: Any, eps: float = 1e-6) -> Any:
    return layer_norm(x + sublayer(x), gamma, beta, eps)


def sublayer_connection_before(
    x: Any, sublayer: Any, gamma: Any, beta: Any, eps: float = 1e-6
) -> Any:
    return x + sublayer(layer_norm(x, gamma, beta, eps))


def greedy_decode(
    next_logits: Any, batch_size: int, max_len: int, bos: int = 1, eos: int = 2, pad: int = 0
) -> Any:
    tokens = np.full((batch_size, 1), bos)
    ended = np.zeros(batch_size, dtype=bool)
    for _ in range(max_len):
        chosen = np.where(ended, pad, np.argmax(next_logits(tokens), axis=-1))
        tokens = np.concatenate([tokens, chosen[:, None]], axis=1)
        ended = ended | (chosen == eos)
        if ended.all():
            break
    return tokens

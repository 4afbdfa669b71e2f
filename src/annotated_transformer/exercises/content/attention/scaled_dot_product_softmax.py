"""Named mistakes of `attention.scaled_dot_product` in the softmax: axis, stability, form."""

from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.content.attention.scaled_dot_product_steps import (
    Mask,
    attention_of,
    masked,
    right_weights,
)
from annotated_transformer.exercises.exercise import Mistake


def softmax_over(*axes: int) -> Callable[[Tensor, Mask], Tensor]:
    """A softmax over other axes than the keys, forbidden weights 0."""

    def weights(scores: Tensor, mask: Mask) -> Tensor:
        given = axes or tuple(range(scores.dim()))
        scores = masked(scores, mask, -1e30)
        exponentials = (scores - scores.amax(given, keepdim=True)).exp()
        shares = exponentials / exponentials.sum(given, keepdim=True)
        return shares if mask is None else shares * mask

    return weights


def _mask_after_softmax(scores: Tensor, mask: Mask) -> Tensor:
    weights = scores.softmax(-1)
    return weights if mask is None else weights.masked_fill(~mask, 0.0)


def _plain_exponentials(scores: Tensor, mask: Mask) -> Tensor:
    exponentials = scores.exp()
    if mask is not None:
        exponentials = exponentials * mask
    total = exponentials.sum(-1, keepdim=True)
    return torch.where(total == 0, torch.zeros_like(exponentials), exponentials / total)


def _small_denominator(scores: Tensor, mask: Mask) -> Tensor:
    weights = _mask_after_softmax(scores, mask)
    return weights / (weights.sum(-1, keepdim=True) + 0.1)


def _largest_subtracted_from_all(scores: Tensor, mask: Mask) -> Tensor:
    exponentials = (masked(scores, mask, float("-inf")) - scores.max()).exp()
    total = exponentials.sum(-1, keepdim=True)
    return torch.where(total == 0, torch.zeros_like(exponentials), exponentials / total)


def _sigmoid(scores: Tensor, mask: Mask) -> Tensor:
    weights = scores.sigmoid()
    return weights if mask is None else weights * mask


def _log_softmax(scores: Tensor, mask: Mask) -> Tensor:
    return masked(scores, mask, -1e9).log_softmax(-1)


def _raw(scores: Tensor, mask: Mask) -> Tensor:
    return masked(scores, mask, 0.0)


def _divided_by_sum(scores: Tensor, mask: Mask) -> Tensor:
    scores = masked(scores, mask, 0.0)
    return scores / scores.sum(-1, keepdim=True)


def _hard(scores: Tensor, mask: Mask) -> Tensor:
    best = masked(scores, mask, float("-inf")).argmax(-1)
    weights = F.one_hot(best, scores.size(-1)).to(scores.dtype)
    return weights if mask is None else weights * mask


def _softmax_twice(scores: Tensor, mask: Mask) -> Tensor:
    return right_weights(right_weights(scores, mask), mask)


SOFTMAX_MISTAKES = (
    Mistake(
        "softmax-over-queries",
        attention_of(weights=softmax_over(-2)),
        "The softmax runs over the queries (dim=-2): columns sum to 1 instead of rows. Each query "
        "shares 1 among the keys, so it runs over the last axis of the scores, dim=-1.",
    ),
    Mistake(
        "softmax-over-first-axis",
        attention_of(weights=softmax_over(0)),
        "The softmax runs over axis 0, the batch: different sentences share one sum. Each query "
        "shares 1 among its keys: dim=-1.",
    ),
    Mistake(
        "softmax-over-second-axis",
        attention_of(weights=softmax_over(1)),
        "The softmax runs over axis 1 (dim=1), which are the keys only in a single matrix; here "
        "it is heads or queries. Count from the end: dim=-1, the keys.",
    ),
    Mistake(
        "softmax-over-third-axis",
        attention_of(
            weights=lambda scores, mask: softmax_over(2 if scores.dim() > 2 else -1)(scores, mask)
        ),
        "The softmax runs over axis 2 (dim=2), which are the keys only with exactly one leading "
        "axis; with heads it is the queries. Count from the end: dim=-1, the keys.",
    ),
    Mistake(
        "softmax-over-everything",
        attention_of(weights=softmax_over()),
        "The softmax runs over the whole tensor, so that all weights of the batch together sum to "
        "1. Every query's row has to sum to 1 by itself: dim=-1.",
    ),
    Mistake(
        "softmax-over-both-axes",
        attention_of(weights=softmax_over(-2, -1)),
        "The softmax runs over queries and keys together: a whole matrix sums to 1. Every query's "
        "row has to sum to 1 by itself: dim=-1.",
    ),
    Mistake(
        "softmax-overflow",
        attention_of(weights=_plain_exponentials),
        "The softmax is written as exp(scores) / sum without subtracting the row's maximum: large "
        "scores overflow to inf, very negative ones underflow to 0 / 0. Subtract the largest "
        "score of the row first, or call your own stable softmax.",
    ),
    Mistake(
        "largest-of-all-subtracted",
        attention_of(weights=_largest_subtracted_from_all),
        "One maximum, that of the whole tensor, is subtracted before exp (global max): a row far "
        "below it underflows to 0. Subtract each row's own maximum, along dim=-1.",
    ),
    Mistake(
        "large-epsilon",
        attention_of(weights=_small_denominator),
        "The number added to the denominator is large enough to see: the weights sum to less than "
        "1. Mask before the softmax and none is needed.",
    ),
    Mistake(
        "sigmoid",
        attention_of(weights=_sigmoid),
        "A sigmoid stands in place of the softmax: each key is weighed by itself, and a query's "
        "weights do not sum to 1. Use softmax over the keys, dim=-1.",
    ),
    Mistake(
        "log-softmax",
        attention_of(weights=_log_softmax),
        "`log_softmax` returns logarithms of weights, negative numbers. Attention mixes the "
        "values with the weights themselves: `softmax`.",
    ),
    Mistake(
        "no-softmax",
        attention_of(weights=_raw),
        "The softmax is missing: the raw scores are used as weights, so they can be negative and "
        "do not sum to 1.",
    ),
    Mistake(
        "divided-by-sum",
        attention_of(weights=_divided_by_sum),
        "The scores are divided by their sum without the exponential. Negative scores give "
        "negative weights and a sum near 0 explodes: use softmax.",
    ),
    Mistake(
        "hard-maximum",
        attention_of(weights=_hard),
        "The key with the largest score gets weight 1 (argmax). Attention is soft: a softmax "
        "gives every key a share, and a gradient.",
    ),
    Mistake(
        "softmax-twice",
        attention_of(weights=_softmax_twice),
        "The softmax is applied twice, the second time to weights between 0 and 1, which flattens "
        "them. Once is right.",
    ),
)

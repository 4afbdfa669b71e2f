"""The wrong counts for `ablations.attention_flops`: of operations, and of the length."""

import math
from collections.abc import Callable
from typing import Any

from annotated_transformer.exercises.content.ablations.attention_flops_lengths import LENGTHS
from annotated_transformer.exercises.content.faults import Fault, single, together, told_apart
from annotated_transformer.exercises.exercise import Candidate, Mistake

Count = Callable[[int, int, int], float]


def _flops(
    n: int,
    d_model: int,
    n_heads: int,
    *,
    projections: Count = lambda n, d, h: 8 * n * d * d,
    scores: Count = lambda n, d, h: 4 * n * n * d,
    besides: Count = lambda n, d, h: 0,
    times: Callable[[int], float] = lambda h: 1,
    length: Count = lambda n, d, h: 2 * d,
    result: Callable[[Any, Any], Any] = lambda flops, length: (flops, length),
) -> Any:
    sizes = n, d_model, n_heads
    total = projections(*sizes) + scores(*sizes) + besides(*sizes)
    return result(_whole(times(n_heads) * total), _whole(length(*sizes)))


def _whole(number: float) -> float:
    return int(number) if math.isfinite(number) and number == int(number) else number


_HEADS = (
    "The heads share d_model out: h heads of d_model / h together are d_model wide, and n_heads "
    "drops out."
)


def _with_length(
    name: str, options: dict[str, Any], length: Count | None, sentence: str
) -> tuple[Fault, ...]:
    """A fault in the count alone, and the same with the length that follows from it."""
    alone = Fault(name, options, sentence)
    if length is None:
        return (alone,)
    follows = " The length at which both cost the same comes out wrong with it: it is 2 d_model."
    return alone, Fault(f"{name}-in-both", {**options, "length": length}, sentence + follows)


_COMMON = (
    *_with_length(
        "multiply-add-as-one",
        {"times": lambda h: 0.5},
        None,
        "A multiply-add is counted as one operation. Asked for are operations: a multiplication "
        "and an addition, 2.",
    ),
    *_with_length(
        "all-times-heads",
        {"times": lambda h: h},
        None,
        "Everything is multiplied by n_heads. " + _HEADS,
    ),
    *_with_length(
        "scores-times-heads",
        {"scores": lambda n, d, h: 4 * h * n * n * d},
        lambda n, d, h: 2 * d / h,
        "q k^T and weights times v are counted with the whole width d_model in every head. "
        + _HEADS,
    ),
    *_with_length(
        "projections-times-heads",
        {"projections": lambda n, d, h: 8 * h * n * d * d},
        lambda n, d, h: 2 * d * h,
        "The projections are multiplied by n_heads. " + _HEADS,
    ),
    *_with_length(
        "query-key-value-times-heads",
        {"projections": lambda n, d, h: (6 * h + 2) * n * d * d},
        lambda n, d, h: (3 * h + 1) * d / 2,
        "The projections of queries, keys and values are multiplied by n_heads. " + _HEADS,
    ),
    *_with_length(
        "no-output-projection",
        {"projections": lambda n, d, h: 6 * n * d * d},
        lambda n, d, h: 1.5 * d,
        "The output projection W^O is missing: there are four projections of 2nd² each.",
    ),
    *_with_length(
        "half-of-the-scores",
        {"scores": lambda n, d, h: 2 * n * n * d},
        lambda n, d, h: 4 * d,
        "Half of n²d is missing: q k^T *and* weights times v cost 2n²d each. A causal mask saves "
        "nothing here, and a multiply-add counts as 2.",
    ),
    *_with_length(
        "half-of-the-projections",
        {"projections": lambda n, d, h: 4 * n * d * d},
        lambda n, d, h: d,
        "Half of the projections is missing: four of them, each 2nd², a multiply-add counting as "
        "2.",
    ),
)
_OTHERS = (
    *_with_length(
        "scores-of-one-head",
        {"scores": lambda n, d, h: 4 * n * n * d / h},
        lambda n, d, h: 2 * d * h,
        "q k^T and weights times v are counted for one head only, with d_k. There are n_heads of "
        "them.",
    ),
    *_with_length(
        "projections-of-one-head",
        {"projections": lambda n, d, h: 8 * n * d * d / h},
        lambda n, d, h: 2 * d / h,
        "The projections are counted for one head only, (d_model, d_k). There are n_heads of them.",
    ),
    *_with_length(
        "projections-within-heads",
        {"projections": lambda n, d, h: 6 * n * d * d / h + 2 * n * d * d},
        lambda n, d, h: (3 / h + 1) * d / 2,
        "Each head's projections are counted with a slice of the input, (d_k, d_k). Every head "
        "projects the whole vector, (d_model, d_k).",
    ),
    *_with_length(
        "three-eighths",
        {"projections": lambda n, d, h: 6 * n * d * d, "scores": lambda n, d, h: 2 * n * n * d},
        lambda n, d, h: 3 * d,
        "W^O is missing, and one of q k^T and weights times v too: four projections of 2nd² each, "
        "two products of 2n²d each.",
    ),
    *_with_length(
        "no-projections",
        {"projections": lambda n, d, h: 0},
        lambda n, d, h: 0,
        "The projections are missing: four products of (n, d) with (d, d), 2nd² each.",
    ),
    *_with_length(
        "no-scores",
        {"scores": lambda n, d, h: 0},
        None,
        "q k^T and weights times v are missing: 2n²d each, over all heads.",
    ),
    *_with_length(
        "one-projection",
        {"projections": lambda n, d, h: 2 * n * d * d},
        lambda n, d, h: d / 2,
        "One projection is counted. There are four, W^Q, W^K, W^V and W^O.",
    ),
    *_with_length(
        "scores-without-width",
        {"scores": lambda n, d, h: 4 * n * n},
        None,
        "Each of the n² scores is counted as one multiply-add. It takes d_k of them, in every of "
        "the n_heads heads: n²·d_model.",
    ),
    *_with_length(
        "scores-of-heads-without-width",
        {"scores": lambda n, d, h: 4 * n * n * h},
        None,
        "Each score is counted as one multiply-add. It takes d_k of them.",
    ),
    *_with_length(
        "scores-linear",
        {"scores": lambda n, d, h: 4 * n * d},
        None,
        "q k^T is counted with n results. Every query meets every key: n².",
    ),
    *_with_length(
        "scores-with-d-squared",
        {"scores": lambda n, d, h: 4 * n * n * d * d},
        None,
        "q k^T is counted with d². Each of the n² results takes d_k multiply-adds: n²·d over all "
        "heads.",
    ),
    *_with_length(
        "projections-linear",
        {"projections": lambda n, d, h: 8 * n * d},
        None,
        "A projection is counted with n·d operations. Each of its n·d results takes d "
        "multiply-adds.",
    ),
    *_with_length(
        "last-token-alone",
        {
            "projections": lambda n, d, h: 8 * d * d,
            "scores": lambda n, d, h: 4 * n * d,
        },
        None,
        "The operations of one token are counted, as in a step of decoding. Asked for is the whole "
        "sentence: all n tokens are projected, and all n queries meet all n keys.",
    ),
    *_with_length(
        "projections-once",
        {"projections": lambda n, d, h: 8 * d * d},
        None,
        "The projections are counted for one token. They are applied to each of the n tokens.",
    ),
    *_with_length(
        "softmax-besides",
        {"besides": lambda n, d, h: h * n * n},
        None,
        "The scale or the softmax is counted too (n² a head). Only the matrix products are asked "
        "for.",
    ),
    *_with_length(
        "softmax-three-steps",
        {"besides": lambda n, d, h: 3 * h * n * n},
        None,
        "The softmax is counted too. Only the matrix products are asked for.",
    ),
    *_with_length(
        "softmax-five-steps",
        {"besides": lambda n, d, h: 5 * h * n * n},
        None,
        "The softmax is counted too. Only the matrix products are asked for.",
    ),
    *_with_length(
        "softmax-and-scale",
        {"besides": lambda n, d, h: 4 * h * n * n},
        None,
        "Scale and softmax are counted too. Only the matrix products are asked for.",
    ),
    *_with_length(
        "feed-forward-besides",
        {"besides": lambda n, d, h: 16 * n * d * d},
        lambda n, d, h: 6 * d,
        "The feed-forward network is counted too. Only the attention is asked for.",
    ),
    *_with_length(
        "biases-besides",
        {"besides": lambda n, d, h: 4 * n * d},
        None,
        "Biases are counted too. Only the matrix products are asked for.",
    ),
    *_with_length(
        "one-addition-less",
        {"besides": lambda n, d, h: -4 * n * d - h * n * n - n * d},
        None,
        "The additions are counted exactly, one fewer than multiplications. By the usual "
        "convention a multiply-add counts as 2: 2·a·b·c for (a, b) times (b, c).",
    ),
    *_with_length(
        "backward-too",
        {"times": lambda h: 3},
        None,
        "Going back is counted too (three times as much). Asked for is one pass forward.",
    ),
    *_with_length(
        "doubled",
        {"times": lambda h: 2},
        None,
        "Everything is counted twice: a multiply-add counts as 2 operations, not 4.",
    ),
    Fault(
        "count-alone",
        {"result": lambda flops, length: flops},
        "Only the count is returned. Return a tuple of two: the count, and the length at which "
        "both halves cost the same.",
    ),
    Fault(
        "never",
        {"length": lambda n, d, h: math.inf},
        "The length is given as infinite. 4n²d overtakes 8nd² at n = 2 d_model.",
    ),
    Fault(
        "no-length",
        {"length": lambda n, d, h: 0, "result": lambda flops, length: (flops, None)},
        "The second answer is None. Asked for is the length at which both parts cost the same: "
        "solve 4n²d = 8nd² for n.",
    ),
    Fault(
        "dictionary",
        {"result": lambda flops, length: {"flops": flops, "n": length}},
        "A dictionary is returned. Return a tuple of two: the count and the length.",
    ),
    Fault(
        "exchanged",
        {"result": lambda flops, length: (length, flops)},
        "The two results are exchanged: first the count, then the length.",
    ),
    Fault(
        "halves",
        {"result": lambda flops, length: (flops, length, 0)},
        "Three things are returned. Asked for are two: the count and the length.",
    ),
    Fault(
        "parameters",
        {
            "projections": lambda n, d, h: 4 * d * d,
            "scores": lambda n, d, h: 0,
        },
        "These are the weights, 4d². Each is used once for every token, and scores and averages "
        "have no weights at all.",
    ),
)

_PROBES = ((3, 4, 1), (5, 6, 2), (7, 8, 4), (1, 12, 3), (40, 10, 5))


def mistakes_against(reference: Candidate) -> tuple[Mistake, ...]:
    """Each fault alone, the common ones in twos, and each count with each length."""
    counts = [fault for fault in (*_COMMON, *_OTHERS) if "length" not in fault.options]
    mistakes = [
        *single(_flops, (*_COMMON, *_OTHERS, *LENGTHS)),
        *(
            mistake
            for count in counts
            for length in LENGTHS[:4]
            for mistake in together(_flops, (count, length), 2)
        ),
        *together(_flops, _COMMON, 2),
    ]
    return told_apart(mistakes, reference, _PROBES)

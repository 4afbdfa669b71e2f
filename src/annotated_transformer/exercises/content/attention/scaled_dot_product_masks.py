"""Named mistakes of `attention.scaled_dot_product` in the mask: value, order, sign, empty rows."""

import torch
from torch import Tensor

from annotated_transformer.exercises.content.attention.scaled_dot_product_steps import (
    Mask,
    attention_of,
    filled_with,
    masked,
    right_weights,
)
from annotated_transformer.exercises.exercise import Candidate, Mistake


def _unmasked_softmax(scores: Tensor, mask: Mask) -> Tensor:
    return scores.softmax(-1)


def _mask_after_softmax(scores: Tensor, mask: Mask) -> Tensor:
    weights = scores.softmax(-1)
    return weights if mask is None else weights.masked_fill(~mask, 0.0)


def _inverted(scores: Tensor, mask: Mask) -> Tensor:
    return right_weights(scores, None if mask is None else ~mask)


def _additive_large(scores: Tensor, mask: Mask) -> Tensor:
    if mask is not None:
        scores = scores + (~mask).to(scores.dtype) * -1e9
    return scores.softmax(-1)


def _minus_infinity(scores: Tensor, mask: Mask) -> Tensor:
    return masked(scores, mask, float("-inf")).softmax(-1)


def _zero_times_infinity(scores: Tensor, mask: Mask) -> Tensor:
    if mask is not None:
        scores = scores + (~mask).to(scores.dtype) * float("-inf")
    return scores.softmax(-1)


def _transposed_mask(scores: Tensor, mask: Mask) -> Tensor:
    return right_weights(scores, None if mask is None else mask.mT)


def _empty_rows_everywhere(scores: Tensor, mask: Mask) -> Tensor:
    weights = right_weights(scores, mask)
    return weights if mask is None else weights.masked_fill(~mask.all(-1, keepdim=True), 0.0)


def _empty_columns(scores: Tensor, mask: Mask) -> Tensor:
    weights = torch.nan_to_num(_minus_infinity(scores, mask), nan=1.0 / scores.size(-1))
    return weights if mask is None else weights.masked_fill(~mask.any(-2, keepdim=True), 0.0)


def _mask_added(scores: Tensor, mask: Mask) -> Tensor:
    return (scores if mask is None else scores + mask).softmax(-1)


def _axis_added(scores: Tensor, mask: Mask) -> Tensor:
    scores = scores if mask is None else scores.masked_fill(~mask.unsqueeze(1), float("-inf"))
    return scores.softmax(-1).nan_to_num(0.0)


def _first_row_for_all(scores: Tensor, mask: Mask) -> Tensor:
    return right_weights(scores, None if mask is None else mask[..., :1, :])


def _first_sentence_for_all(scores: Tensor, mask: Mask) -> Tensor:
    return right_weights(scores, mask[:1] if mask is not None and mask.dim() > 2 else mask)


def _causal_always(scores: Tensor, mask: Mask) -> Tensor:
    causal = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    return right_weights(scores, causal if mask is None else mask & causal)


def _small_fill_with_zeros(scores: Tensor, mask: Mask) -> Tensor:
    weights = masked(scores, mask, -1e4).softmax(-1)
    return weights if mask is None else weights * mask.any(-1, keepdim=True)


def _number_then_zeros(fill: float) -> Candidate:
    """Forbidden scores are an ordinary number, forbidden weights 0 afterwards."""
    return attention_of(
        weights=lambda scores, mask: masked(masked(scores, mask, fill).softmax(-1), mask, 0.0)
    )


_NUMBER_THEN_ZEROS = (
    "Forbidden scores are set to an ordinary number ({shown}), and the forbidden weights to 0 "
    "after the softmax. By then the forbidden keys have had their share: where real scores are not "
    "far above that number, what is left sums to less than 1. Use -inf, which is below every score."
)

MASK_MISTAKES = (
    Mistake(
        "mask-ignored",
        attention_of(weights=_unmasked_softmax),
        "The mask is ignored: forbidden keys keep their weight. Before the softmax, set the "
        "scores where the mask is False to -inf (`masked_fill(~mask, ...)`).",
    ),
    Mistake(
        "mask-inverted",
        attention_of(weights=_inverted),
        "The mask is inverted: allowed keys are forbidden and forbidden ones allowed. True means "
        "may attend, so fill where it is False: `masked_fill(~mask, ...)`.",
    ),
    Mistake(
        "mask-inverted-nan",
        attention_of(
            weights=lambda scores, mask: _minus_infinity(scores, None if mask is None else ~mask)
        ),
        "The mask is inverted: allowed keys are forbidden and forbidden ones allowed. True means "
        "may attend, so fill where it is False: `masked_fill(~mask, ...)`. A row of -inf alone "
        "gives NaN besides.",
    ),
    Mistake(
        "mask-inverted-large",
        attention_of(
            weights=lambda scores, mask: (
                scores if mask is None else scores.masked_fill(mask, -1e9)
            ).softmax(-1)
        ),
        "The mask is inverted: `masked_fill(mask, -1e9)` forbids where the mask is True. Here "
        "True means may attend, so fill where it is False: `masked_fill(~mask, ...)`.",
    ),
    Mistake(
        "mask-after-softmax",
        attention_of(weights=_mask_after_softmax),
        "The mask is applied after the softmax: forbidden weights are set to 0, but they had "
        "already taken their share, so the remaining ones no longer sum to 1. Mask the scores "
        "before the softmax.",
    ),
    Mistake(
        "mask-fills-small-number-but-zeros",
        attention_of(weights=_small_fill_with_zeros),
        "Forbidden scores are set to an ordinary number such as -5, -100 or -10000. Real scores "
        "can lie below it, and then the forbidden keys win. Use -inf, which is below every score.",
    ),
    Mistake(
        "mask-fills-small-number-then-zeros",
        _number_then_zeros(-1e4),
        _NUMBER_THEN_ZEROS.format(shown="such as -100 or -10000"),
    ),
    *(
        Mistake(
            f"mask-fills-minus-{size}-then-zeros",
            _number_then_zeros(-float(size)),
            _NUMBER_THEN_ZEROS.format(shown=f"-{size}"),
        )
        for size in (1, 5, 10)
    ),
    Mistake(
        "mask-fills-small-number",
        filled_with(-1e4),
        "Forbidden scores are set to an ordinary number such as -5, -100 or -10000. Real scores "
        "can lie below it, and then the forbidden keys win; a row with nothing allowed becomes "
        "uniform besides. Use -inf, which is below every score, and give such rows zeros.",
    ),
    Mistake(
        "mask-fills-zero",
        filled_with(0.0),
        "Forbidden scores are set to 0, by filling with 0 or by multiplying the scores with the "
        "mask. exp(0) is 1, so a forbidden key keeps a share, and beats every negative score. "
        "Replace them by -inf, whose exponential is 0: `masked_fill(~mask, float('-inf'))`.",
    ),
    Mistake(
        "mask-added",
        attention_of(weights=_mask_added),
        "The boolean mask is added to the scores as 0 and 1 (or subtracted), which shifts them a "
        "little and forbids nothing. Replace the forbidden scores by -inf: "
        "`masked_fill(~mask, float('-inf'))`.",
    ),
    *(
        Mistake(
            f"mask-fills-minus-{size}",
            filled_with(-float(size)),
            f"Forbidden scores are set to -{size}, an ordinary score: such a key keeps a share, "
            "and attention leaks. Use -inf, whose exponential is exactly 0.",
        )
        for size in (1, 2, 3, 5, 10, 20)
    ),
    Mistake(
        "mask-fills-one",
        filled_with(1.0),
        "Forbidden scores are set to 1, which raises many of them. Use -inf, whose exponential "
        "is exactly 0.",
    ),
    Mistake(
        "mask-fills-plus-infinity",
        attention_of(
            weights=lambda scores, mask: torch.nan_to_num(
                masked(scores, mask, 1e30).softmax(-1), nan=0.0
            )
        ),
        "Forbidden scores are set to a huge positive number, so the forbidden keys take all the "
        "weight. It must be negative: -inf.",
    ),
    Mistake(
        "empty-row-uniform",
        filled_with(-1e9),
        "Where everything is forbidden the weights come out uniform: with -1e9 (or the dtype's "
        "smallest number) in the whole row all scores are equal, so the query attends to all the "
        "forbidden keys. Such a row has to be zeros: set the weights to 0 where "
        "`mask.any(-1, keepdim=True)` is False.",
    ),
    Mistake(
        "empty-row-unmasked",
        attention_of(weights=_additive_large),
        "Where everything is forbidden the weights come out as if nothing were: -1e9 added to "
        "every score of the row cancels in the softmax. Such a row has to be zeros: set the "
        "weights to 0 where `mask.any(-1, keepdim=True)` is False.",
    ),
    Mistake(
        "empty-row-nan",
        attention_of(weights=_minus_infinity),
        "A fully masked row comes out as NaN: where everything is forbidden the softmax of -inf "
        "alone is 0 / 0. Such a query gets zeros: set the weights to 0 where "
        "`mask.any(-1, keepdim=True)` is False, before they meet the values.",
    ),
    Mistake(
        "empty-row-nan-in-weights",
        lambda q, k, v, mask=None: (
            torch.nan_to_num(attention_of(weights=_minus_infinity)(q, k, v, mask)[0], nan=0.0),
            attention_of(weights=_minus_infinity)(q, k, v, mask)[1],
        ),
        "Where everything is forbidden the output is zeros but the weights returned are NaN. Set "
        "the weights to 0 first, where `mask.any(-1, keepdim=True)` is False; the output then "
        "is 0 by itself.",
    ),
    Mistake(
        "empty-row-nan-in-output",
        lambda q, k, v, mask=None: (
            attention_of(weights=_minus_infinity)(q, k, v, mask)[0],
            torch.nan_to_num(attention_of(weights=_minus_infinity)(q, k, v, mask)[1], nan=0.0),
        ),
        "Where everything is forbidden the weights returned are zeros but the output is NaN: it "
        "was made before the weights were cleaned. Set the weights to 0 first.",
    ),
    Mistake(
        "empty-row-uniform-in-weights",
        lambda q, k, v, mask=None: (
            attention_of()(q, k, v, mask)[0],
            filled_with(-1e9)(q, k, v, mask)[1],
        ),
        "Where everything is forbidden the output is zeros but the weights returned are uniform. "
        "Set the weights to 0 first, where `mask.any(-1, keepdim=True)` is False.",
    ),
    Mistake(
        "empty-row-everywhere",
        attention_of(weights=_empty_rows_everywhere),
        "Every row in which *something* is forbidden is set to zero (`mask.all`). Only a row in "
        "which *everything* is forbidden is: `~mask.any(-1, keepdim=True)`.",
    ),
    Mistake(
        "empty-columns",
        attention_of(weights=_empty_columns),
        "Rows with nothing allowed are looked for along the queries (`any(-2)`), so a fully "
        "masked query still gets weights. Ask each query: `mask.any(-1, keepdim=True)`.",
    ),
    Mistake(
        "zero-times-infinity",
        attention_of(weights=_zero_times_infinity),
        "The mask is turned into numbers and multiplied by -inf: 0 times infinity is NaN, at the "
        "very places that are allowed. Use `masked_fill(~mask, float('-inf'))`.",
    ),
    Mistake(
        "mask-axis-added",
        attention_of(weights=_axis_added),
        "An axis is put into the mask (`unsqueeze(1)`), as some libraries do for masks without a "
        "head axis. Here the mask already broadcasts to (..., n_q, n_k): use it as it comes.",
    ),
    Mistake(
        "mask-transposed",
        attention_of(weights=_transposed_mask),
        "The mask is transposed: keys are masked where queries should be. Its rows are queries "
        "and its columns keys, as in the scores; use it as it comes.",
    ),
    Mistake(
        "mask-first-row",
        attention_of(weights=_first_row_for_all),
        "Only the first row of the mask is used, for all queries. Each query has its own row: "
        "let the mask broadcast as it is.",
    ),
    Mistake(
        "mask-first-sentence",
        attention_of(weights=_first_sentence_for_all),
        "Only the first sentence's mask is used, for the whole batch. Each sentence has its own: "
        "let the mask broadcast as it is.",
    ),
    Mistake(
        "causal-always",
        attention_of(weights=_causal_always),
        "A causal mask is built in, whether asked for or not. What is hidden is said by `mask` "
        "alone; with mask=None every query sees every key.",
    ),
)

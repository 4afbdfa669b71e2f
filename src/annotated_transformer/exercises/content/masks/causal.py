"""`masks.causal`: the mask of decoder self-attention (section 3.2.3, third bullet)."""

import numpy as np
import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import Call, Case, Exercise, Mistake, call


def causal_mask(n: int) -> Tensor:
    return torch.ones(n, n, dtype=torch.bool).tril()  # (n, n); the diagonal is kept


def _by_positions(n: int) -> Tensor:
    positions = torch.arange(n)
    return positions[None, :] <= positions[:, None]


def _by_loops(n: int) -> Tensor:
    return torch.tensor([[j <= i for j in range(n)] for i in range(n)], dtype=torch.bool)


def _by_hiding_the_future(n: int) -> Tensor:
    return torch.triu(torch.ones(n, n), diagonal=1) == 0


def _by_filling_rows(n: int) -> Tensor:
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        mask[i, : i + 1] = True
    return mask


def _by_running_sums(n: int) -> Tensor:
    return torch.eye(n).cumsum(dim=0).bool()


def _length(n: int) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(n)

    return Case(f"n = {n}", make)


_FLOATS = (
    "A mask of 1.0 and 0.0 would be added to the scores by torch instead of forbidding anything. "
    "Ask for `dtype=torch.bool`."
)
_INVERTED = (
    "The mask is inverted: it says True where attention is forbidden. Here True means may attend, "
    "as in torch's `scaled_dot_product_attention`; `torch.nn.MultiheadAttention` uses the "
    "opposite sense, which is where this often comes from. Negate it with `~`."
)
_STRICT = (
    "The diagonal is False, so a position may not attend to itself and the first query has "
    "no key at all. The decoder's input is already shifted right, so token i may be seen "
    "at position i: keep the diagonal (`j <= i`, not `j < i`)."
)
_TRANSPOSED = (
    "The upper triangle is True: every query sees itself and the future, and nothing of "
    "the past. Rows are queries and columns are keys, so row i is True at columns 0 to i: "
    "the lower triangle, diagonal included (`tril`, not `triu`)."
)
_ADDITIVE = (
    "This is an additive mask, zero where attention is allowed and a huge negative number where "
    "it is forbidden, meant to be added to the scores. Asked for is the boolean mask, True = may "
    "attend; the attention function turns it into -inf itself."
)

_NUMPY = (
    "This is a NumPy array, and attention computes with tensors: they know gradients and devices. "
)

MISTAKES = (
    Mistake("strict-diagonal", lambda n: torch.ones(n, n, dtype=torch.bool).tril(-1), _STRICT),
    Mistake("inverted", lambda n: torch.ones(n, n, dtype=torch.bool).triu(1), _INVERTED),
    Mistake("transposed", lambda n: torch.ones(n, n, dtype=torch.bool).triu(), _TRANSPOSED),
    Mistake(
        "one-ahead",
        lambda n: torch.ones(n, n, dtype=torch.bool).tril(1),
        "Every query may also attend to the key right after it: the diagonal is off by one. "
        "Position i predicts token i + 1, so seeing it hands over the answer: training looks "
        "excellent and translation fails. Allow j <= i only (`tril()` without an offset).",
    ),
    Mistake(
        "float-ones",
        lambda n: torch.ones(n, n).tril(),
        "The pattern is right but the entries are floats, not booleans. " + _FLOATS,
    ),
    Mistake(
        "integer-ones",
        lambda n: torch.ones(n, n, dtype=torch.long).tril(),
        "The pattern is right but the dtype is integer, not boolean. `~mask` of an integer 1 is "
        "-2, and indexing with integers picks rows instead of masking. Ask for "
        "`dtype=torch.bool`, or compare: `... == 1`.",
    ),
    Mistake(
        "integer32-ones",
        lambda n: torch.ones(n, n, dtype=torch.int).tril(),
        "The pattern is right but the dtype is integer, not boolean. `~mask` of an integer 1 is "
        "-2, and indexing with integers picks rows instead of masking. Ask for "
        "`dtype=torch.bool`, or compare: `... == 1`.",
    ),
    Mistake(
        "byte-ones",
        lambda n: torch.ones(n, n, dtype=torch.uint8).tril(),
        "The pattern is right but the dtype is uint8, the way masks were written before torch had "
        "booleans. Today integers index rows instead of masking: ask for `dtype=torch.bool`.",
    ),
    Mistake(
        "float-strict",
        lambda n: torch.ones(n, n).tril(-1),
        "The diagonal is zero, so a position may not attend to itself and the first query has no "
        "key: keep the diagonal (`tril()`, j <= i). The entries are floats besides. " + _FLOATS,
    ),
    Mistake(
        "float-inverted",
        lambda n: torch.ones(n, n).triu(1),
        "The mask is inverted: it marks with 1 the future, which is forbidden, while True means "
        "may attend. It is also made of floats. Compare it with 0 (`== 0`) and you have the "
        "boolean mask that is asked for.",
    ),
    Mistake(
        "float-transposed",
        lambda n: torch.ones(n, n).triu(),
        _TRANSPOSED + " The entries are floats besides: ask for `dtype=torch.bool`.",
    ),
    Mistake(
        "additive",
        lambda n: torch.zeros(n, n).masked_fill(~causal_mask(n), float("-inf")),
        _ADDITIVE,
    ),
    Mistake(
        "additive-large",
        lambda n: torch.zeros(n, n).masked_fill(~causal_mask(n), -1e9),
        _ADDITIVE,
    ),
    Mistake(
        "additive-nan",
        lambda n: torch.ones(n, n).triu(1) * float("-inf"),
        "Multiplying a triangle of zeros and ones by -inf makes NaN wherever the triangle is "
        "zero, because 0 times infinity is not a number. And what is asked for is not an additive "
        "mask but booleans, True = may attend.",
    ),
    Mistake(
        "batch-axis",
        lambda n: causal_mask(n)[None],
        "The pattern is right, but the shape is (1, n, n). The causal mask is the same for every "
        "sentence and head, so it is two-dimensional, (n, n), and broadcasts over all leading "
        "axes by itself: leave out the extra axis.",
    ),
    Mistake(
        "batch-and-head-axes",
        lambda n: causal_mask(n)[None, None],
        "The pattern is right, but the shape is (1, 1, n, n). The causal mask is the same for "
        "every sentence and head, so it is two-dimensional, (n, n), and broadcasts over all "
        "leading axes by itself: leave out the extra axes.",
    ),
    Mistake(
        "no-mask",
        lambda n: torch.ones(n, n, dtype=torch.bool),
        "Every entry is True: nothing is hidden, and the decoder can copy the next word from its "
        "own input. Keep only the lower triangle, j <= i.",
    ),
    Mistake(
        "nothing-allowed",
        lambda n: torch.zeros(n, n, dtype=torch.bool),
        "Every entry is False: no query may attend to anything. `tril` of a matrix of zeros is "
        "still zeros; start from `torch.ones`.",
    ),
    Mistake(
        "self-only",
        lambda n: torch.eye(n, dtype=torch.bool),
        "Only the diagonal is True: each position sees itself alone and the past is hidden too. "
        "Query i may attend to all of 0 to i: compare with `<=`, not `==`.",
    ),
    Mistake(
        "not-self",
        lambda n: ~torch.eye(n, dtype=torch.bool),
        "Only the diagonal is False: the future stays visible and the position itself is hidden, "
        "the reverse of what is meant. Allow j <= i, the lower triangle with its diagonal.",
    ),
    Mistake(
        "previous-only",
        lambda n: torch.ones(n, n, dtype=torch.bool).tril(-1).triu(-1),
        "Each query sees only the one key before it. It may attend to itself and to the whole "
        "past: compare positions with `j <= i`.",
    ),
    Mistake(
        "window-of-two",
        lambda n: causal_mask(n) & torch.ones(n, n, dtype=torch.bool).triu(-1),
        "Each query sees itself and one key before it, a window. The causal mask hides only the "
        "future: the whole past, 0 to i, stays visible.",
    ),
    Mistake(
        "flipped-columns",
        lambda n: causal_mask(n).flip(1),
        "The triangle leans the wrong way: the columns run from right to left, so query 0 sees "
        "the last key. Column j is key j; row 0 is True at column 0 only.",
    ),
    Mistake(
        "flipped-rows",
        lambda n: causal_mask(n).flip(0),
        "The rows run from bottom to top: query 0 sees every key and the last query only the "
        "first. Row i is query i, which may attend to keys 0 to i.",
    ),
    Mistake(
        "one-row",
        lambda n: torch.ones(n, dtype=torch.bool),
        "This is one row of length n. Each query has its own set of allowed keys, so the mask "
        "needs a row for each: shape (n, n), rows are queries, columns are keys.",
    ),
    Mistake(
        "one-too-large",
        lambda n: causal_mask(n + 1),
        "The mask is (n + 1, n + 1). The shift by one belongs to the decoder's input, not to the "
        "mask: n positions need a mask of (n, n).",
    ),
    Mistake(
        "one-too-small",
        lambda n: causal_mask(n - 1),
        "The mask is (n - 1, n - 1). `n` already counts the positions the decoder sees: "
        "the mask is (n, n), and the diagonal is part of it.",
    ),
    Mistake(
        "numpy",
        lambda n: np.tri(n, dtype=bool),
        _NUMPY + "The pattern is right: wrap it in `torch.from_numpy`, or start from `torch.ones` "
        "with `dtype=torch.bool`.",
    ),
    *(
        Mistake(f"numpy-{name}", implementation, _NUMPY + "Besides: " + sentence)
        for name, implementation, sentence in (
            ("inverted", lambda n: ~np.tri(n, dtype=bool), _INVERTED),
            ("strict-diagonal", lambda n: np.tri(n, k=-1, dtype=bool), _STRICT),
            ("transposed", lambda n: np.tri(n, dtype=bool).T, _TRANSPOSED),
        )
    ),
    Mistake(
        "numpy-numbers",
        lambda n: np.tri(n),
        _NUMPY + "The pattern is right, but its entries are numbers besides: start from "
        "`torch.ones` with `dtype=torch.bool`, and `tril()`.",
    ),
    Mistake(
        "lists",
        lambda n: [[j <= i for j in range(n)] for i in range(n)],
        "These are nested Python lists. The pattern is right; attention needs a tensor: wrap it "
        "in `torch.tensor(..., dtype=torch.bool)`.",
    ),
)

CAUSAL = Exercise(
    id="masks.causal",
    title="The causal mask",
    kind="code",
    difficulty=1,
    minutes=5,
    signature="causal_mask(n: int) -> BoolTensor (n, n)",
    statement=(
        "Return the boolean mask of decoder self-attention for n positions: entry [i, j] is True "
        "when query i may attend to key j, that is when j <= i."
    ),
    objective="Write the mask that keeps a decoder from seeing the words it has to predict.",
    prerequisite="Section 3.2.3 of the paper, third bullet",
    hints=(
        "Row i belongs to query i. Which keys may rows 0, 1 and 2 see when n = 3? Write the nine "
        "entries down by hand.",
        "A position may attend to itself: the diagonal is True, all that lies right of it False.",
        "Start from a boolean matrix of ones, `torch.ones(n, n, dtype=torch.bool)`, and keep its "
        "lower triangle with `tril()`.",
    ),
    reference=causal_mask,
    explanation=(
        "Query i stands for the decoder's position i, which has seen the tokens 0 to i as input "
        "and predicts token i + 1. It may therefore look at itself and to the left. The diagonal "
        "must stay: without it the first query could attend to nothing at all."
    ),
    cases=(_length(3), _length(1), _length(2), _length(6)),
    mistakes=MISTAKES,
    alternatives=(
        _by_positions,
        _by_loops,
        _by_hiding_the_future,
        _by_filling_rows,
        _by_running_sums,
    ),
    starter=(
        "def causal_mask(n):\n"
        '    """n positions -> boolean (n, n), True where query i may attend to key j."""\n'
        "    ...  # your code"
    ),
)

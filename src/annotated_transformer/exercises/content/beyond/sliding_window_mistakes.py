"""Wrong forms of `beyond.sliding_window_mask`: wrong ranges of i - j, and all that is not one."""

from functools import partial

import torch
from torch import Tensor

from annotated_transformer.exercises.content.beyond.drawn import then
from annotated_transformer.exercises.content.beyond.sliding_window_ranges import RANGES
from annotated_transformer.exercises.exercise import Candidate, Mistake


def _back(n: int) -> Tensor:
    """How far back key j lies from query i: i - j, (n, n)."""
    positions = torch.arange(n)
    return positions[:, None] - positions[None, :]


def _right(n: int, window: int) -> Tensor:
    back = _back(n)
    return (back >= 0) & (back < window)


def _between(first: Candidate, last: Candidate) -> Candidate:
    """True where i - j lies between two numbers made of the window, both included."""
    return lambda n, window: (_back(n) >= first(window)) & (_back(n) <= last(window))


def _chunks(n: int, window: int) -> Tensor:
    chunk = torch.arange(n) // window
    return (chunk[:, None] == chunk[None, :]) & (_back(n) >= 0)


def _chunks_on_both_sides(n: int, window: int) -> Tensor:
    chunk = torch.arange(n) // window
    return chunk[:, None] == chunk[None, :]


def _own_chunk_and_the_one_before(n: int, window: int) -> Tensor:
    chunk = torch.arange(n) // window
    return (chunk[:, None] - chunk[None, :] <= 1) & (_back(n) >= 0)


def _round_the_end(n: int, window: int) -> Tensor:
    return _back(n) % n < window


def _by_negative_slices(n: int, window: int) -> Tensor:
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        mask[i, i - window + 1 : i + 1] = True
    return mask


def _with_gaps(step: int, n: int, window: int, wide: bool) -> Tensor:
    """Dilated: in the window every step-th key, or window keys in a window step times as wide."""
    reach = step * window if wide else window
    return (_back(n) >= 0) & (_back(n) < reach) & (_back(n) % step == 0)


def _additive(n: int, window: int) -> Tensor:
    return torch.zeros(n, n).masked_fill(~_right(n, window), float("-inf"))


_INVERTED = (
    "The mask is inverted: it says True where attention is forbidden. Here True means may attend. "
    "Negate it with `~`."
)
_FLOATS = (
    "The pattern is right but the entries are floats, not booleans. A mask of 1.0 and 0.0 would "
    "be added to the scores by torch instead of forbidding anything. Ask for `dtype=torch.bool`."
)
_INTEGERS = (
    "The pattern is right but the entries are integers, not booleans. Integers index rows instead "
    "of masking: ask for `dtype=torch.bool`, or compare: `... == 1`."
)

MISTAKES = (
    *(Mistake(name, _between(first, last), sentence) for name, first, last, sentence in RANGES),
    Mistake("inverted", then(_right, torch.logical_not), _INVERTED),
    Mistake(
        "inverted-plus-one",
        lambda n, window: ~((_back(n) >= 0) & (_back(n) <= window)),
        _INVERTED + " The window is also one key too wide.",
    ),
    Mistake(
        "inverted-past-only",
        lambda n, window: (_back(n) < 0) & (_back(n) > -window),
        "The mask looks ahead and leaves out the query itself. The allowed keys are the query "
        "and those before it: 0 <= i - j < window.",
    ),
    Mistake(
        "chunks",
        _chunks,
        "The sentence is cut into blocks of `window`, and a query sees only its own block: the "
        "first query of a block sees nothing before it. A window slides along: every query has "
        "its own, 0 <= i - j < window.",
    ),
    Mistake(
        "chunks-on-both-sides",
        _chunks_on_both_sides,
        "Positions are cut into fixed blocks; the window moves along with the query. And a block "
        "holds keys after the query too. Allowed are 0 <= i - j < window.",
    ),
    Mistake(
        "chunks-of-two",
        _own_chunk_and_the_one_before,
        "The sentence is cut into blocks of `window`, and a query sees its own block and the one "
        "before. A window slides along: every query has its own, 0 <= i - j < window.",
    ),
    Mistake(
        "no-window-for-1",
        lambda n, window: _right(n, window if window > 1 else n),
        "A window of 1 is taken for no window at all (`if window - 1:` does this). It leaves "
        "only the diagonal.",
    ),
    Mistake(
        "at-most-n-minus-1",
        lambda n, window: _right(n, min(window, n - 1)),
        "The window is cut to n - 1 keys, so the last query does not see the first key when the "
        "window is as long as the sentence. It may be n or more: leave it as it is.",
    ),
    Mistake(
        "rows-flipped",
        then(_right, lambda mask: mask.flip(0)),
        "The rows run from bottom to top. Row i is query i; row 0 is True at column 0 only.",
    ),
    Mistake(
        "round-the-end",
        _round_the_end,
        "The window runs round the end of the sentence: the first queries see the last keys. "
        "`torch.roll` and negative indices do that. At the start the window is just shorter.",
    ),
    Mistake(
        "negative-slices",
        _by_negative_slices,
        "The first rows are wrong: i - window + 1 is negative there, and a negative index counts "
        "from the end. Take `max(0, i - window + 1)`.",
    ),
    Mistake(
        "short-rows-left-out",
        lambda n, window: _right(n, window) & (torch.arange(n) >= window - 1)[:, None],
        "The first window - 1 rows are all False. Their window is shorter, but the query may "
        "still attend to itself and to what lies before it.",
    ),
    Mistake(
        "first-rows-filled",
        lambda n, window: (
            _right(n, window)
            | (torch.arange(n)[:, None].clamp(min=window - 1) >= torch.arange(n))
            & (torch.arange(n)[:, None] < window)
        ),
        "The first rows hold `window` keys as the others do, and so reach into the future. At the "
        "start of the sentence the window is shorter: j <= i.",
    ),
    Mistake(
        "first-key-kept",
        lambda n, window: _right(n, window) | ((torch.arange(n) == 0) & (_back(n) >= 0)),
        "The first key stays visible to every query (an attention sink). That is another mask; "
        "here only the window is open.",
    ),
    Mistake(
        "dilated",
        lambda n, window: (_back(n) >= 0) & (_back(n) % window == 0),
        "Every `window`-th key is True: that is a strided mask. A window holds neighbours: "
        "0 <= i - j < window.",
    ),
    *(
        Mistake(
            f"every-{ordinal}-key-{reach}",
            partial(_with_gaps, step, wide=reach == "of-a-wider-window"),
            f"Only every {ordinal} key is True: that is a dilated window. The window holds "
            "neighbours, without gaps: 0 <= i - j < window.",
        )
        for step, ordinal in ((2, "second"), (3, "third"))
        for reach in ("of-the-window", "of-a-wider-window")
    ),
    Mistake(
        "flipped",
        then(_right, lambda mask: mask.flip(1)),
        "The columns run from right to left. Column j is key j; row 0 is True at column 0 only.",
    ),
    Mistake("float-ones", then(_right, Tensor.float), _FLOATS),
    Mistake("integer-ones", then(_right, Tensor.long), _INTEGERS),
    Mistake("byte-ones", then(_right, Tensor.byte), _INTEGERS),
    Mistake("integer32-ones", then(_right, Tensor.int), _INTEGERS),
    Mistake(
        "additive",
        _additive,
        "This is an additive mask, 0 where attention is allowed and -inf where it is forbidden. "
        "Asked for is the boolean mask, True = may attend.",
    ),
    Mistake(
        "additive-large",
        lambda n, window: torch.zeros(n, n).masked_fill(~_right(n, window), -1e9),
        "This is an additive mask, 0 where attention is allowed and a large negative number where "
        "it is forbidden. Asked for is the boolean mask, True = may attend.",
    ),
    *(
        Mistake(
            f"float-{name}",
            then(_between(first, last), Tensor.float),
            sentence + " The entries are floats besides: ask for `dtype=torch.bool`.",
        )
        for name, first, last, sentence in RANGES
        if name in ("window-plus-one", "window-minus-one", "two-sided", "causal-only", "not-self")
    ),
    Mistake(
        "first-keys",
        lambda n, window: (torch.arange(n) < window) & (_back(n) >= 0),
        "The first `window` keys of the sentence are open to all. The window moves with the "
        "query: 0 <= i - j < window.",
    ),
    Mistake(
        "last-keys",
        lambda n, window: (torch.arange(n) >= n - window) & (_back(n) >= 0),
        "The last `window` keys of the sentence are open. The window moves with the query: "
        "0 <= i - j < window.",
    ),
    Mistake(
        "batch-axis",
        then(_right, lambda mask: mask[None]),
        "The pattern is right, but the shape is (1, n, n). The mask is the same for every "
        "sentence and head and broadcasts by itself: leave out the extra axis.",
    ),
    Mistake(
        "batch-and-head-axes",
        then(_right, lambda mask: mask[None, None]),
        "The pattern is right, but the shape is (1, 1, n, n). The mask is the same for every "
        "sentence and head and broadcasts by itself: leave out the extra axes.",
    ),
    Mistake(
        "only-the-window",
        lambda n, window: _right(n, window)[:, -window:],
        "Only `window` columns are returned. Each query has its own window, so the mask needs "
        "all n columns.",
    ),
    Mistake(
        "lists",
        then(_right, Tensor.tolist),
        "These are nested Python lists. Attention needs a tensor: wrap it in "
        "`torch.tensor(..., dtype=torch.bool)`.",
    ),
)

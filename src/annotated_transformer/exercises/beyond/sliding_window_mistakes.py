"""Wrong forms of `beyond.sliding_window_mask`, most of them a wrong range of i - j."""

import torch
from torch import Tensor

from annotated_transformer.exercises.beyond.drawn import then
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


def _round_the_end(n: int, window: int) -> Tensor:
    return _back(n) % n < window


def _by_negative_slices(n: int, window: int) -> Tensor:
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        mask[i, i - window + 1 : i + 1] = True
    return mask


def _additive(n: int, window: int) -> Tensor:
    return torch.zeros(n, n).masked_fill(~_right(n, window), float("-inf"))


_PLUS_ONE = (
    "The window is one key too wide: window + 1 keys are True, the query and `window` keys before "
    "it. The query itself is counted: allow i - j < window, not i - j <= window. With window = 1 "
    "only the diagonal may be left."
)
_MINUS_ONE = (
    "The window is one key too narrow: the query itself and window - 2 keys before it. `window` "
    "keys are allowed in all, the query counted once: 0 <= i - j < window."
)
_TWO_SIDED = (
    "The window is two-sided: keys in the future are True as well, so a decoder could copy the "
    "next word. Compare i - j without `abs`, and keep only j <= i."
)
_NO_SELF = (
    "The diagonal is False: the query itself is hidden. It belongs to the window, as its first "
    "key: 0 <= i - j < window."
)
_INVERTED = (
    "The mask is inverted: it says True where attention is forbidden. Here True means may attend. "
    "Negate it with `~`."
)
_FUTURE = (
    "The window looks ahead: query i sees itself and the keys after it, and nothing of the past. "
    "Rows are queries and columns are keys; the allowed keys lie left of the diagonal."
)
_FLOATS = (
    "The pattern is right but the entries are floats, not booleans. A mask of 1.0 and 0.0 would "
    "be added to the scores by torch instead of forbidding anything. Ask for `dtype=torch.bool`."
)
_INTEGERS = (
    "The pattern is right but the entries are integers, not booleans. Integers index rows instead "
    "of masking: ask for `dtype=torch.bool`, or compare: `... == 1`."
)

# The first and the last distance i - j that are True.
_RANGES: tuple[tuple[str, Candidate, Candidate, str], ...] = (
    ("window-plus-one", lambda w: 0, lambda w: w, _PLUS_ONE),
    ("window-minus-one", lambda w: 0, lambda w: w - 2, _MINUS_ONE),
    (
        "window-plus-two",
        lambda w: 0,
        lambda w: w + 1,
        "The window is two keys too wide. `window` keys are allowed in all, the query itself "
        "counted: 0 <= i - j < window.",
    ),
    ("two-sided", lambda w: 1 - w, lambda w: w - 1, _TWO_SIDED),
    (
        "two-sided-plus-one",
        lambda w: -w,
        lambda w: w,
        _TWO_SIDED + " It is also one key too wide: the query itself is counted in `window`.",
    ),
    (
        "two-sided-halves",
        lambda w: -(w // 2),
        lambda w: w // 2,
        "The window is centred on the query, half of it before and half after it. The future is "
        "hidden from a decoder: all `window` keys are the query itself and those before it.",
    ),
    (
        "two-sided-uneven-halves",
        lambda w: -((w - 1) // 2),
        lambda w: w // 2,
        "The window is centred on the query, half of it before and half after it. The future is "
        "hidden from a decoder: all `window` keys are the query itself and those before it.",
    ),
    (
        "half",
        lambda w: 0,
        lambda w: w // 2,
        "Only half of the window is used. It is not centred on the query: all of it lies in the "
        "past, 0 <= i - j < window.",
    ),
    (
        "half-open",
        lambda w: 0,
        lambda w: w // 2 - 1,
        "Only half of the window is used. It is not centred on the query: all of it lies in the "
        "past, 0 <= i - j < window.",
    ),
    (
        "one-ahead",
        lambda w: -1,
        lambda w: w - 1,
        "The key right after the query is allowed too. Position i predicts token i + 1, so this "
        "hands over the answer: allow j <= i only.",
    ),
    (
        "shifted-ahead",
        lambda w: -1,
        lambda w: w - 2,
        "The window is shifted by one: it holds the next key and ends one short in the past. It "
        "holds the distances i - j = 0 to window - 1.",
    ),
    ("not-self", lambda w: 1, lambda w: w - 1, _NO_SELF),
    (
        "before-the-query",
        lambda w: 1,
        lambda w: w,
        "The window holds the `window` keys before the query, but not the query itself. It is "
        "counted: 0 <= i - j < window. Otherwise the first query has no key at all.",
    ),
    (
        "only-the-edge",
        lambda w: w - 1,
        lambda w: w - 1,
        "Only the key at the far end of the window is True. All distances from 0 to window - 1 "
        "are allowed: compare with `<`, not `==`.",
    ),
    (
        "only-beyond-the-edge",
        lambda w: w,
        lambda w: w,
        "Only the key just beyond the window is True. All distances from 0 to window - 1 are "
        "allowed.",
    ),
    (
        "outside-in-the-past",
        lambda w: w,
        lambda w: 10**6,
        "True stands at the keys *beyond* the window, the far past. Near keys are meant: "
        "i - j < window.",
    ),
    (
        "outside-and-the-edge",
        lambda w: w - 1,
        lambda w: 10**6,
        "True stands at the far past, from the edge of the window on. Near keys are meant: "
        "i - j < window.",
    ),
    ("looks-ahead", lambda w: 1 - w, lambda w: 0, _FUTURE),
    (
        "looks-ahead-plus-one",
        lambda w: -w,
        lambda w: 0,
        _FUTURE + " The window is also one key too wide.",
    ),
    (
        "causal-only",
        lambda w: 0,
        lambda w: 10**6,
        "The window is ignored: this is the ordinary causal mask, which shows the whole past. "
        "Keys `window` or more steps back are hidden: add i - j < window.",
    ),
    (
        "no-causal-part",
        lambda w: -(10**6),
        lambda w: w - 1,
        "The future is open: only the far past is hidden. The mask is causal as well: add j <= i.",
    ),
    (
        "no-causal-part-plus-one",
        lambda w: -(10**6),
        lambda w: w,
        "The future is open, and the window is one key too wide. Both conditions are needed: "
        "j <= i and i - j < window.",
    ),
    (
        "past-and-ahead",
        lambda w: 1 - w,
        lambda w: 10**6,
        "The whole past is open, and the window lies in the future (`tril` with a positive "
        "offset). It limits the past: 0 <= i - j < window.",
    ),
    (
        "past-and-ahead-plus-one",
        lambda w: -w,
        lambda w: 10**6,
        "The whole past is open, and the window lies in the future (`tril` with a positive "
        "offset). It limits the past: 0 <= i - j < window.",
    ),
    (
        "conditions-joined-by-or",
        lambda w: -(10**6),
        lambda w: 10**6,
        "Every entry is True: nothing is hidden. Two conditions must hold at once, j <= i and "
        "i - j < window: join them with `&`, not `|`.",
    ),
    (
        "self-only",
        lambda w: 0,
        lambda w: 0,
        "Only the diagonal is True, whatever the window. That is right for window = 1 alone; "
        "allow 0 <= i - j < window.",
    ),
    (
        "nothing",
        lambda w: 1,
        lambda w: 0,
        "Every entry is False: no query may attend to anything. Start from the causal mask and "
        "take away what is too far back.",
    ),
    (
        "window-of-two",
        lambda w: 0,
        lambda w: 1,
        "The window is always 2, whatever `window` says. Use the argument.",
    ),
    (
        "window-of-three",
        lambda w: 0,
        lambda w: 2,
        "The window is always 3, whatever `window` says. Use the argument.",
    ),
    (
        "doubled",
        lambda w: 0,
        lambda w: 2 * w - 1,
        "The window is twice as wide as asked for: 2 * window keys. `window` counts the keys "
        "themselves, the query included.",
    ),
)

MISTAKES = (
    *(Mistake(name, _between(first, last), sentence) for name, first, last, sentence in _RANGES),
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
        for name, first, last, sentence in _RANGES
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

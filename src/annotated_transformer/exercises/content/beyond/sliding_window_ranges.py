"""Wrong windows: the distances i - j that are True, as a first and a last one."""

from annotated_transformer.exercises.exercise import Candidate

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
_FUTURE = (
    "The window looks ahead: query i sees itself and the keys after it, and nothing of the past. "
    "Rows are queries and columns are keys; the allowed keys lie left of the diagonal."
)
_TURNED_ROUND = (
    "The comparison is turned round: `j <= i` is the past. Here all of the future is open and "
    "the past is hidden. (With i < j the other condition, i - j < window, always holds.)"
)

# The first and the last distance i - j that are True.
RANGES: tuple[tuple[str, Candidate, Candidate, str], ...] = (
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
        "turned-round",
        lambda w: -(10**6),
        lambda w: -1,
        _TURNED_ROUND + " And the query itself is allowed: `<=`, not `<`.",
    ),
    ("turned-round-with-the-query", lambda w: -(10**6), lambda w: 0, _TURNED_ROUND),
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

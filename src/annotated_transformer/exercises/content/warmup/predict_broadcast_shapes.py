"""The wrong shapes of `warmup.predict_broadcast`, in the sizes of one learner's exercise."""

from collections.abc import Callable
from dataclasses import dataclass

Shape = tuple[int, ...] | str | int
ERROR = "error"


@dataclass(frozen=True)
class Sizes:
    """The sizes of one learner's exercise, all different; the defaults are those of the book."""

    batch: int = 2
    n: int = 4
    m: int = 3
    d: int = 5


_LEFT = (
    "Shapes are written one below the other with their *last* axes aligned; (batch, n) stands "
    "below (n, d), n meets d, and neither is 1. `keepdim=True` would keep the axis as 1."
)

# The key, a name, the wrong shape, what to say.
WRONG: tuple[tuple[str, str, Callable[[Sizes], Shape], str], ...] = (
    ("sum", "error", lambda s: ERROR, "they do fit: a counts as (1, d), and a 1 is stretched."),
    (
        "sum",
        "transposed",
        lambda s: (s.d, s.n),
        "a is aligned on the right, as a row (1, d), and b is a column (n, 1): n rows, d columns.",
    ),
    (
        "sum",
        "of-a",
        lambda s: (s.d,),
        "b has an axis more, of length n. The result has all axes of the longer shape.",
    ),
    (
        "sum",
        "of-b",
        lambda s: (s.n, 1),
        "the last axis of b has length 1 and is stretched to the d numbers of a.",
    ),
    ("sum", "column", lambda s: (s.n,), "a counts as (1, d), so a row of d appears n times."),
    ("sum", "square", lambda s: (s.n, s.n), "the columns come from a, of which there are d."),
    ("sum", "square-of-a", lambda s: (s.d, s.d), "the rows come from b, of which there are n."),
    (
        "sum",
        "joined",
        lambda s: (s.n + s.d,),
        "nothing is put end to end: every number of b meets every number of a.",
    ),
    (
        "sum",
        "flat",
        lambda s: (s.n * s.d,),
        "there are as many numbers, but as a table: n rows of d.",
    ),
    (
        "sum",
        "three-axes",
        lambda s: (s.n, 1, s.d),
        "a does not get an axis of its own beside b's: it is aligned with b's last axis.",
    ),
    ("sum", "one-row", lambda s: (1, s.d), "b has n rows, so the result has n rows too."),
    (
        "sum",
        "axis-in-front",
        lambda s: (1, s.n, s.d),
        "neither of them has three axes, so neither has the result.",
    ),
    (
        "kept",
        "error",
        lambda s: ERROR,
        "they do fit: (batch, 1, d) and (n, 1), aligned on the right, meet a 1 in both axes.",
    ),
    (
        "kept",
        "sum-alone",
        lambda s: (s.batch, 1, s.d),
        "this is the sum alone. Its axis of length 1 meets the n rows of b and is stretched.",
    ),
    (
        "kept",
        "dropped",
        lambda s: (s.batch, s.d),
        "`keepdim=True` keeps the summed axis with length 1, and b stretches it to n.",
    ),
    (
        "kept",
        "no-batch",
        lambda s: (s.n, s.d),
        "the axis of the batch is on the left, where b has none: it stays.",
    ),
    (
        "kept",
        "other-axis",
        lambda s: (s.batch, s.n, 1),
        "dim=1 was summed, so the 1 is in the middle: (batch, 1, d). The last axis keeps its d.",
    ),
    (
        "kept",
        "b-alone",
        lambda s: (s.n, 1),
        "this is the shape of b. The result has every axis of the longer shape.",
    ),
    (
        "kept",
        "b-in-a-batch",
        lambda s: (s.batch, s.n, s.n),
        "b's last axis is 1 and meets d, not n: a 1 is stretched to the other length.",
    ),
    (
        "kept",
        "own-axis",
        lambda s: (s.batch, s.n, 1, s.d),
        "b is aligned on the right, its n with the kept 1: no fourth axis comes about.",
    ),
    (
        "kept",
        "own-axes",
        lambda s: (s.batch, 1, s.d, s.n),
        "b is aligned on the right, its n with the kept 1: no fourth axis comes about.",
    ),
    (
        "kept",
        "exchanged",
        lambda s: (s.batch, s.d, s.n),
        "b is (n, 1): its n stands on the last axis but one, its 1 on the last.",
    ),
    (
        "kept",
        "one",
        lambda s: (1, s.n, s.d),
        "dim=1 was summed, not the batch, which is axis 0 and stays.",
    ),
    (
        "sum",
        "last-axis-kept",
        lambda s: (s.d, 1),
        "the last axes are aligned: the d numbers of a meet b's axis of length 1, not its n.",
    ),
    (
        "sum",
        "in-two-more-axes",
        lambda s: (s.d, s.n, 1),
        "a has one axis, and it stands below the last of b, which is 1 and is stretched to d.",
    ),
    (
        "pairs",
        "both-ones",
        lambda s: (s.batch, s.n, 1, s.m, s.d),
        "both new axes are counted. Each is an axis of length 1 that meets one of the other "
        "tensor, n or m: four axes, like each of the two.",
    ),
    (
        "pairs",
        "both-ones-in-front",
        lambda s: (s.batch, 1, s.n, s.m, s.d),
        "both new axes are counted. Each is an axis of length 1 that meets one of the other "
        "tensor, n or m: four axes, like each of the two.",
    ),
    (
        "kept",
        "one-at-the-end",
        lambda s: (s.batch, s.d, 1),
        "`keepdim=True` keeps the summed axis in its place: (batch, 1, d). b stretches that 1 to "
        "n.",
    ),
    (
        "kept",
        "width-lost",
        lambda s: (s.batch, 1, s.n),
        "the last axis is d: b's last axis is 1 and is stretched. Its n meets the kept 1.",
    ),
    (
        "kept",
        "aligned-left",
        lambda s: (s.n, 1, s.d),
        "(n, 1) is aligned on the right: its n stands below the kept 1 and its 1 below d. The "
        "batch has nothing below it and stays.",
    ),
    (
        "dropped",
        "as-if-kept",
        lambda s: (s.batch, s.n, s.d),
        "the mean has lost its axis. " + _LEFT,
    ),
    ("dropped", "mean", lambda s: (s.batch, s.n), "this is the shape of the mean. " + _LEFT),
    (
        "dropped",
        "mean-kept",
        lambda s: (s.batch, s.n, 1),
        "this is the mean with keepdim. " + _LEFT,
    ),
    ("dropped", "other-axis", lambda s: (s.batch, s.d), "the last axis is averaged. " + _LEFT),
    ("dropped", "matrix", lambda s: (s.n, s.d), "the shapes do not fit. " + _LEFT),
    (
        "dropped",
        "more-axes",
        lambda s: (s.batch, s.batch, s.n, s.d),
        "no axes are added when shapes do not fit. " + _LEFT,
    ),
    (
        "dropped",
        "in-the-middle",
        lambda s: (s.batch, s.n, s.n),
        "a length other than 1 is not replaced. " + _LEFT,
    ),
    ("dropped", "middle-one", lambda s: (s.batch, 1, s.d), "dim=-1 is the last axis. " + _LEFT),
    ("pairs", "error", lambda s: ERROR, "they do fit: (batch, n, 1, d) and (batch, 1, m, d)."),
    (
        "pairs",
        "of-x",
        lambda s: (s.batch, s.n, s.d),
        "`None` puts in an axis of length 1: x becomes (batch, n, 1, d), four axes.",
    ),
    (
        "pairs",
        "of-y",
        lambda s: (s.batch, s.m, s.d),
        "`None` puts in an axis of length 1: y becomes (batch, 1, m, d), four axes.",
    ),
    (
        "pairs",
        "summed",
        lambda s: (s.batch, s.n, s.m),
        "nothing is summed: `*` multiplies entry by entry, and the axis d stays.",
    ),
    (
        "pairs",
        "exchanged",
        lambda s: (s.batch, s.m, s.n, s.d),
        "x has its new axis behind n, y in front of m: n comes first.",
    ),
    (
        "pairs",
        "new-axis-last",
        lambda s: (s.batch, s.n, s.d, s.m),
        "`x[:, :, None]` puts the new axis after n, before d. The last axis is d in both.",
    ),
    (
        "pairs",
        "x-alone",
        lambda s: (s.batch, s.n, 1, s.d),
        "this is x with its new axis. That 1 meets the m of y and is stretched.",
    ),
    (
        "pairs",
        "y-alone",
        lambda s: (s.batch, 1, s.m, s.d),
        "this is y with its new axis. That 1 meets the n of x and is stretched.",
    ),
    (
        "pairs",
        "added-up",
        lambda s: (s.batch, s.n + s.m, s.d),
        "nothing is put end to end: every row of x meets every row of y, n times m of them.",
    ),
    (
        "pairs",
        "joined",
        lambda s: (s.batch, s.n * s.m, s.d),
        "there are as many rows, but n and m stay two axes.",
    ),
    (
        "pairs",
        "no-batch",
        lambda s: (s.n, s.m, s.d),
        "the axis of the batch stays: both have it on the left.",
    ),
    (
        "pairs",
        "batch-twice",
        lambda s: (s.batch, s.batch, s.n, s.m, s.d),
        "the two batches are aligned and share one axis: entry by entry, not each with each.",
    ),
    (
        "pairs",
        "width-twice",
        lambda s: (s.batch, s.n, s.m, s.d, s.d),
        "the two d are aligned and share one axis: entry by entry.",
    ),
    (
        "pairs",
        "all-axes",
        lambda s: (s.batch, s.n, s.d, s.m, s.d),
        "the two d are aligned and share one axis, the last.",
    ),
    (
        "pairs",
        "square",
        lambda s: (s.batch, s.n, s.n, s.d),
        "the new axis of x has length 1 and becomes as long as y's, which is m.",
    ),
)

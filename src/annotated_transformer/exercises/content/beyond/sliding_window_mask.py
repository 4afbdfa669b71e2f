"""`beyond.sliding_window_mask`: the causal mask of local attention."""

import torch
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, call


def sliding_window_mask(n: int, window: int) -> Tensor:
    i = torch.arange(n)[:, None]  # the queries, a column
    j = torch.arange(n)  # the keys, a row
    back = i - j  # (n, n): how far back the key lies
    past = back >= 0  # the query itself included
    near = back < window
    return past & near


def _by_triangles(n: int, window: int) -> Tensor:
    return torch.ones(n, n, dtype=torch.bool).tril().triu(1 - window)


def _by_difference(n: int, window: int) -> Tensor:
    ones = torch.ones(n, n)
    return torch.tril(ones) - torch.tril(ones, -window) > 0


def _by_loops(n: int, window: int) -> Tensor:
    return torch.tensor([[0 <= i - j < window for j in range(n)] for i in range(n)])


def _by_filling_rows(n: int, window: int) -> Tensor:
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        mask[i, max(0, i - window + 1) : i + 1] = True
    return mask


def _by_diagonals(n: int, window: int) -> Tensor:
    mask = torch.zeros(n, n, dtype=torch.bool)
    for back in range(min(window, n)):
        mask |= torch.diag(torch.ones(n - back, dtype=torch.bool), -back)
    return mask


def _case(n: int, window: int, isolates: str | None = None) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(n, window)

    return Case(f"n = {n}, window = {window}", make, isolates=isolates)


SLIDING_WINDOW_MASK = Exercise(
    id="beyond.sliding_window_mask",
    title="The mask of a sliding window",
    kind="code",
    difficulty=2,
    minutes=6,
    signature="sliding_window_mask(n: int, window: int) -> BoolTensor (n, n)",
    statement=(
        "Return the causal mask of a sliding window: each query may attend to `window` keys, "
        "itself and the window - 1 keys before it (fewer at the start of the sentence). Entry "
        "[i, j] is True when query i may attend to key j; window is at least 1 and may be larger "
        "than n."
    ),
    objective="Limit attention to the near past, and count the window without an off-by-one.",
    prerequisite="masks.causal",
    hints=(
        "Write down rows 0 to 3 for n = 4 and window = 2. How many True has each row?",
        "Two conditions have to hold: the key is not in the future, and it is less than `window` "
        "steps back. A window of 1 leaves only the diagonal.",
        "With `i` as a column and `j` as a row of positions: `(j <= i) & (i - j < window)`.",
    ),
    reference=sliding_window_mask,
    explanation=(
        "i - j says how far back the key lies: 0 is the query itself, and the window holds the "
        "distances 0 to window - 1. So a query has at most `window` keys, and a cache need not "
        "keep more. Models differ in whether the query itself is counted, which is why the "
        "number alone says little: try window = 1. Stacked layers see further than one window: "
        "after N layers up to N · (window - 1) positions back."
    ),
    cases=(
        _case(4, 2),
        _case(5, 3),
        _case(3, 1, "the window itself: with window 1 only the diagonal is left"),
        _case(4, 4, "the causal part: the window reaches back to the start"),
        _case(3, 7, "a window larger than the sentence"),
        _case(1, 1),
        _case(1, 2),
        _case(2, 1),
        _case(7, 2),
        _case(8, 4),
        _case(9, 5),
    ),
    mistakes=page(__file__, sliding_window_mask),
    alternatives=(
        _by_triangles,
        _by_difference,
        _by_loops,
        _by_filling_rows,
        _by_diagonals,
    ),
    starter=(
        "def sliding_window_mask(n, window):\n"
        '    """Boolean (n, n): query i may attend to itself and the window - 1 keys before."""\n'
        "    ...  # your code"
    ),
)

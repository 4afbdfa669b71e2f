"""`ablations.attention_flops`: what a layer of self-attention computes (Table 1, section 4)."""

import torch

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, call


def attention_flops(n: int, d_model: int, n_heads: int) -> tuple[int, int]:
    d_k = d_model // n_heads
    projections = 4 * 2 * n * d_model * d_model  # W^Q, W^K, W^V, W^O: (n, d) times (d, d)
    scores = n_heads * 2 * n * n * d_k  # q k^T: (n, d_k) times (d_k, n) in every head
    averages = n_heads * 2 * n * n * d_k  # weights v: (n, n) times (n, d_k) in every head
    operations = projections + scores + averages
    length = 2 * d_model  # scores + averages = 4 n² d equal the projections' 8 n d² at n = 2 d
    return operations, length


def _by_one_formula(n: int, d: int, h: int) -> tuple[int, int]:
    return 4 * n * d * (2 * d + n), d + d


def _by_products(n: int, d: int, h: int) -> tuple[int, int]:
    def product(rows: int, inner: int, columns: int) -> int:
        return 2 * rows * inner * columns

    total = 4 * product(n, d, d)
    for _ in range(h):
        total += product(n, d // h, n)
        total += product(n, n, d // h)
    return total, (4 * product(1, d, d)) // (2 * product(1, d, 1))


def _by_searching(n: int, d: int, h: int) -> tuple[int, int]:
    length = 1
    while 4 * length * length * d < 8 * length * d * d:
        length += 1
    return 8 * n * d**2 + 4 * n**2 * d, length


def _head_by_head(n: int, d: int, h: int) -> tuple[int, float]:
    d_k = d / h
    multiply_adds = h * (3 * n * d * d_k + n * n * d_k + n * n * d_k) + n * (h * d_k) * d
    return round(2 * multiply_adds), 4 * d * d / (2 * h * d_k)


def _by_torchs_counter(n: int, d: int, h: int) -> tuple[int, int]:
    from torch.utils.flop_counter import FlopCounterMode

    x, w = torch.zeros(n, d), torch.zeros(d, d)
    with FlopCounterMode(display=False) as counter:
        q, k, v = ((x @ w).reshape(n, h, d // h).transpose(0, 1) for _ in range(3))
        heads = torch.bmm(torch.bmm(q, k.mT), v)
        heads.transpose(0, 1).reshape(n, d) @ w
    return counter.get_total_flops(), 2 * d


def _sizes(n: int, d_model: int, n_heads: int) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(n, d_model, n_heads)

    name = f"n = {n}, d_model = {d_model}, n_heads = {n_heads}"
    return Case(name, make, rtol=1e-9, atol=1e-9)


ATTENTION_FLOPS = Exercise(
    id="ablations.attention_flops",
    title="What does attention cost?",
    kind="number",
    difficulty=3,
    minutes=12,
    signature="attention_flops(n: int, d_model: int, n_heads: int) -> (int, int)",
    statement=(
        "Count the floating-point operations of one multi-head self-attention, going forward once "
        "over a sentence of n tokens. Count the matrix products alone: the four projections with "
        "W^Q, W^K, W^V and W^O, each (d_model, d_model), and in every head q k^T and weights "
        "times v, with d_k = d_v = d_model / n_heads. A multiply-add counts as 2 operations. "
        "Return a tuple of two: this number, and the length of a sentence at which q k^T and "
        "weights times v together cost exactly as much as the four projections (for the given "
        "d_model and n_heads, whatever n is). d_model is a multiple of n_heads."
    ),
    objective="Say when n² matters, instead of always fearing it.",
    prerequisite="multihead.attention",
    hints=(
        "A product of (a, b) with (b, c) has a·c results. How many multiply-adds takes each?",
        "One projection: n·d_model results of d_model multiply-adds each. q k^T in one head: n·n "
        "results of d_k multiply-adds each; what do all heads together cost?",
        "Projections: 4 · 2·n·d². Scores and averages over all heads: 2 · 2·n²·d. Set the two "
        "equal and solve for n.",
    ),
    reference=attention_flops,
    explanation=(
        "The heads share d_model out, h · d_k = d_model, so their number drops out: 8nd² for the "
        "projections and 4n²d for scores and averages. They are equal at n = 2d: 1,024 tokens "
        "for the base model, far beyond a sentence. Below that the projections (and the "
        "feed-forward network, 16nd² more when d_ff = 4d) are what one pays for, and the "
        "dreaded n² is the smaller part; with 128,000 tokens it is nearly everything."
    ),
    cases=(
        _sizes(3, 4, 1),
        _sizes(5, 6, 2),
        _sizes(7, 8, 4),
        _sizes(1, 12, 3),
        _sizes(40, 10, 5),
        _sizes(100, 16, 2),
        _sizes(24, 12, 4),
    ),
    mistakes=page(__file__, attention_flops),
    alternatives=(
        _by_one_formula,
        _by_products,
        _by_searching,
        _head_by_head,
        _by_torchs_counter,
    ),
    starter=(
        "def attention_flops(n, d_model, n_heads):\n"
        '    """Three whole numbers -> (operations, length at which both parts cost the same)."""\n'
        "    ...  # your code"
    ),
    returns=("operations", "n"),
)

"""`beyond.linear_attention`: causal attention as a running sum, without an n × n matrix."""

from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.content.beyond.drawn import drawn
from annotated_transformer.exercises.exercise import Case, Exercise, Gradient, Stage
from annotated_transformer.exercises.grader.watching import result_and, shape_of

_LONG = 37  # n in the case that watches: no other axis is so long


def linear_attention(phi_q: Tensor, phi_k: Tensor, v: Tensor) -> Tensor:
    products = phi_k[..., :, None] * v[..., None, :]  # phi_k[j] v[j]^T (B, n, r, d)
    state = products.cumsum(1)  # S at every position: key i is seen by query i
    total = phi_k.cumsum(1)  # z at every position (B, n, r)
    weighted = (phi_q[..., None] * state).sum(2)  # phi_q[i]^T S (B, n, d)
    divisor = (phi_q * total).sum(-1, keepdim=True)  # phi_q[i]·z (B, n, 1)
    return weighted / divisor


def _position_by_position(phi_q: Tensor, phi_k: Tensor, v: Tensor) -> Tensor:
    """A recurrent network: of the state, only the present one is kept."""
    state = phi_k.new_zeros(phi_k.size(0), phi_k.size(2), v.size(2))  # S (B, r, d)
    total = phi_k.new_zeros(phi_k.size(0), phi_k.size(2))  # z (B, r)
    rows = []
    for i in range(phi_q.size(1)):
        state = state + phi_k[:, i, :, None] * v[:, i, None, :]
        total = total + phi_k[:, i]
        weighted = torch.einsum("br,brd->bd", phi_q[:, i], state)
        rows.append(weighted / (phi_q[:, i] * total).sum(-1, keepdim=True))
    return torch.stack(rows, dim=1)


def _by_a_column_of_ones(phi_q: Tensor, phi_k: Tensor, v: Tensor) -> Tensor:
    """The normaliser is what a value of 1 would come to."""
    wide = torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)
    states = torch.cumsum(torch.einsum("bnr,bnd->bnrd", phi_k, wide), dim=1)
    sums = torch.einsum("bnr,bnrd->bnd", phi_q, states)
    return sums[..., :-1] / sums[..., -1:]


def _by_chunks(phi_q: Tensor, phi_k: Tensor, v: Tensor, chunk: int = 4) -> Tensor:
    """Within a chunk by a small masked matrix, between chunks by the state."""
    state = phi_k.new_zeros(phi_k.size(0), phi_k.size(2), v.size(2) + 1)
    wide = torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)
    rows = []
    for start in range(0, v.size(1), chunk):
        q, k, w = (x[:, start : start + chunk] for x in (phi_q, phi_k, wide))
        sums = (q @ k.mT).tril() @ w + q @ state
        rows.append(sums[..., :-1] / sums[..., -1:])
        state = state + k.mT @ w
    return torch.cat(rows, dim=1)


def _by_prefixes(phi_q: Tensor, phi_k: Tensor, v: Tensor) -> Tensor:
    out = torch.zeros_like(v)
    for i in range(v.size(1)):
        shares = torch.einsum("br,bjr->bj", phi_q[:, i], phi_k[:, : i + 1])
        shares = shares / shares.sum(-1, keepdim=True)
        out[:, i] = torch.einsum("bj,bjd->bd", shares, v[:, : i + 1])
    return out


def _square(name: str, args: tuple[Any, ...], result: Any) -> bool:
    """A tensor with two axes as long as the sentence."""
    results = result if isinstance(result, (tuple, list)) else (result,)
    return any(shape_of(one).count(_LONG) > 1 for one in results)


def _case(
    name: str,
    batch: int,
    n: int,
    r: int,
    d: int,
    isolates: str | None = None,
    stage: Stage = "main",
    dtype: torch.dtype | None = None,
    gradient: Gradient = "ignored",
) -> Case:
    """No denominator is near 0, and the tolerance forgives a tiny number added to it."""
    return drawn(
        name,
        ((batch, n, r), (batch, n, r), (batch, n, d)),
        change=_small if r == 1 else _positive,
        isolates=isolates,
        stage=stage,
        dtype=dtype,
        gradient=gradient,
        rtol=1e-4,
    )


def _positive(phi_q: Tensor, phi_k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return 0.5 + 2 * phi_q.sigmoid(), 0.5 + 2 * phi_k.sigmoid(), v


def _small(phi_q: Tensor, phi_k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return 0.5 + 0.4 * phi_q.sigmoid(), 0.5 + 0.4 * phi_k.sigmoid(), v


LINEAR_ATTENTION = Exercise(
    id="beyond.linear_attention",
    title="Causal linear attention",
    kind="code",
    difficulty=4,
    minutes=25,
    signature=("linear_attention(phi_q: (B, n, r), phi_k: (B, n, r), v: (B, n, d)) -> (B, n, d)"),
    statement=(
        "phi_q and phi_k are queries and keys after the feature map; all their entries are "
        "positive. The weight of key j <= i for query i is phi_q[i]·phi_k[j], divided by the sum "
        "of these products over all keys 0 to i; later keys have weight 0. Return the values so "
        "weighted, without ever making an n × n matrix. No feature map, scale or softmax is to be "
        "added. Shapes and dtype as given; inputs are left untouched. Gradients have to flow back "
        "to its inputs: it is trained through."
    ),
    objective="See a causal attention as a recurrent network with a state of fixed size.",
    prerequisite="masks.causal",
    hints=(
        "The sum over j <= i of (phi_q[i]·phi_k[j]) v[j]: what can be taken out of the sum, since "
        "it does not depend on j?",
        "phi_q[i] comes out, and what is left is a sum of outer products phi_k[j] v[j]^T, an "
        "r × d matrix S. From i to i + 1 it grows by one term. The denominator is phi_q[i]·z with "
        "z the sum of the phi_k[j].",
        "With running sums: `S = torch.cumsum(phi_k[..., None] * v[..., None, :], dim=1)`, "
        "`z = phi_k.cumsum(1)`, then `torch.einsum('bnr,bnrd->bnd', phi_q, S) / "
        "(phi_q * z).sum(-1, keepdim=True)`.",
    ),
    reference=linear_attention,
    explanation=(
        "A softmax of q·k ties each query to each key. With a product of features instead, the "
        "query can be taken out of the sum: phi_q[i]^T (sum of phi_k[j] v[j]^T). The bracket is a "
        "state of r × d numbers that grows by one term a position, so the cost is O(n·r·d) "
        "instead of O(n²·d), and decoding needs no cache that grows: this is a recurrent "
        "network. Key i is added before query i reads, as the causal mask keeps its diagonal. "
        "Without the normaliser z the output grows with the position. What is lost is the sharp "
        "choice of a softmax: a state of fixed size cannot remember every key."
    ),
    cases=(
        _case(
            "1 position, r = 1, d = 2",
            1,
            1,
            1,
            2,
            isolates="the value path: with one key its weight must be 1",
        ),
        _case(
            "2 positions, r = 1, d = 1",
            1,
            2,
            1,
            1,
            isolates="the two sums: with one feature it cancels from the query",
        ),
        _case("3 positions, r = 2, d = 1", 1, 3, 2, 1, isolates="the weights of one sentence"),
        _case(
            "a batch of 2, 5 positions, r = 3, d = 4",
            2,
            5,
            3,
            4,
            isolates="the axes: all sizes differ",
            gradient="required",
        ),
        _case(
            "a batch of 4, n = r = d = 4",
            4,
            4,
            4,
            4,
            isolates="the axes: all have the same length, so none raises an error",
        ),
        _case("a batch of 3, 7 positions, r = 5, d = 2", 3, 7, 5, 2),
        _case(
            "float32, a batch of 2, 6 positions, r = 3, d = 2",
            2,
            6,
            3,
            2,
            stage="other",
            dtype=torch.float32,
        ),
        drawn(
            "views that are not contiguous",
            ((2, 5, 6), (2, 5, 6), (2, 5, 8)),
            change=lambda *given: tuple(x[..., ::2] for x in _positive(*given)),
            stage="other",
            rtol=1e-4,
        ),
        drawn(
            "37 positions, with a look at every tensor made",
            ((2, _LONG, 3), (2, _LONG, 3), (2, _LONG, 2)),
            change=_positive,
            stage="other",
            rtol=1e-4,
            observe=result_and(
                "an n × n matrix was made",
                _square,
                "The values are right, but a tensor with two axes of length n was made on the way.",
            ),
        ),
    ),
    mistakes=page(__file__, linear_attention),
    alternatives=(_position_by_position, _by_a_column_of_ones, _by_chunks, _by_prefixes),
    starter=(
        "def linear_attention(phi_q, phi_k, v):\n"
        '    """phi_q, phi_k (B, n, r), v (B, n, d) -> causal, normalised (B, n, d).\n'
        "\n"
        "    No n × n matrix: keep running sums over the positions.\n"
        '    """\n'
        "    ...  # your code"
    ),
)

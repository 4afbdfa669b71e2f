"""`beyond.swiglu`: the feed-forward layer with a gate."""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.content.beyond.drawn import drawn
from annotated_transformer.exercises.exercise import Exercise


def swiglu(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    gate = x @ w_gate  # (..., d_ff)
    activated = gate * torch.sigmoid(gate)  # SiLU (..., d_ff)
    up = x @ w_up  # (..., d_ff)
    hidden = activated * up  # (..., d_ff)
    return hidden @ w_down  # (..., d)


def _by_torch(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    return F.linear(F.silu(F.linear(x, w_gate.T)) * F.linear(x, w_up.T), w_down.T)


def _by_one_product(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    gate, up = (x @ torch.cat([w_gate, w_up], dim=1)).chunk(2, dim=-1)
    return (gate / (1 + torch.exp(-gate)) * up) @ w_down


def _by_einsum(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    gate = torch.nn.SiLU()(torch.einsum("...d,df->...f", x, w_gate))
    up = torch.einsum("...d,df->...f", x, w_up)
    return torch.einsum("...f,...f,fd->...d", gate, up, w_down)


def _by_hidden_units(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    out = torch.zeros_like(x)
    for unit in range(w_up.size(1)):
        gate = (x * w_gate[:, unit]).sum(-1, keepdim=True)
        up = (x * w_up[:, unit]).sum(-1, keepdim=True)
        out = out + gate * gate.sigmoid() * up * w_down[unit]
    return out


SWIGLU = Exercise(
    id="beyond.swiglu",
    title="SwiGLU",
    kind="code",
    difficulty=2,
    minutes=8,
    signature=(
        "swiglu(x: (..., d), w_gate: (d, d_ff), w_up: (d, d_ff), w_down: (d_ff, d)) -> (..., d)"
    ),
    statement=(
        "Return (SiLU(x w_gate) * (x w_up)) w_down, where * multiplies entry by entry and "
        "SiLU(z) = z · sigmoid(z). The weights are used as `x @ w`; there is no bias, no dropout "
        "and no residual connection. Shape and dtype are those of x, which is left untouched. "
        "Gradients have to flow back to its inputs: it is trained through."
    ),
    objective="Write the gated feed-forward layer of most later models.",
    prerequisite="encoder.feed_forward",
    hints=(
        "Two matrices take x up to the width d_ff. Which of the two results goes through SiLU?",
        "A gate says entry by entry how much of the other branch passes: activate the one, "
        "multiply by the other, and only then come back to width d.",
        "`gate = x @ w_gate`, then `(gate * torch.sigmoid(gate) * (x @ w_up)) @ w_down`.",
    ),
    reference=swiglu,
    explanation=(
        "The paper's layer decides by ReLU alone which hidden numbers pass. Here a second "
        "projection decides: SiLU(x w_gate) scales each number of x w_up. Three matrices instead "
        "of two would be half as many weights again; d_ff = 8/3 d in place of 4 d keeps their "
        "number. LLaMA 7B takes 2.7 d, Llama 2 70B and Mistral 7B 3.5 d. Which branch is "
        "activated matters as soon as weights are shared or loaded: with the branches exchanged a "
        "trained model computes nonsense, and nothing raises an error."
    ),
    cases=(
        drawn(
            "x of shape (1, 1), d_ff = 1",
            ((1, 1), (1, 1), (1, 1), (1, 1)),
            isolates="the activation: every matrix is one number",
        ),
        drawn(
            "x of shape (1, 3), d_ff = 2",
            ((1, 3), (3, 2), (3, 2), (2, 3)),
            isolates="the two branches: there is one position",
        ),
        drawn(
            "x of shape (2, 4, 3), d_ff = 5",
            ((2, 4, 3), (3, 5), (3, 5), (5, 3)),
            isolates="the axes: all sizes differ",
            gradient="required",
        ),
        drawn(
            "x of shape (3, 3), d_ff = 3",
            ((3, 3), (3, 3), (3, 3), (3, 3)),
            isolates="the transposes: all matrices are square, so none raises an error",
        ),
        drawn(
            "x of shape (4,), d_ff = 6", ((4,), (4, 6), (4, 6), (6, 4)), isolates="a single vector"
        ),
        drawn(
            "large numbers of both signs, x of shape (2, 3), d_ff = 4",
            ((2, 3), (3, 4), (3, 4), (4, 3)),
            change=lambda x, *w: (10 * x, *w),
            isolates="the ends of the gate: open and closed",
        ),
        drawn(
            "float32, x of shape (2, 3, 4), d_ff = 6",
            ((2, 3, 4), (4, 6), (4, 6), (6, 4)),
            stage="other",
            dtype=torch.float32,
        ),
        drawn(
            "views that are not contiguous",
            ((2, 3, 8), (5, 4), (5, 4), (4, 5)),
            stage="other",
            change=lambda x, *w: (x[..., :4], *(m.T for m in w)),
        ),
    ),
    mistakes=page(__file__, swiglu),
    alternatives=(_by_torch, _by_one_product, _by_einsum, _by_hidden_units),
    starter=(
        "def swiglu(x, w_gate, w_up, w_down):\n"
        '    """(SiLU(x w_gate) * (x w_up)) w_down: x (..., d) -> (..., d)."""\n'
        "    ...  # your code"
    ),
)

"""Wrong forms of `beyond.swiglu`: one computation with its steps replaced one at a time."""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.exercise import Candidate, Mistake

Activation = Callable[[Tensor], Tensor]


def _swiglu(
    x: Tensor,
    w_gate: Tensor,
    w_up: Tensor,
    w_down: Tensor,
    *,
    of_gate: Activation = F.silu,
    of_up: Activation = lambda up: up,
    join: Callable[[Tensor, Tensor], Tensor] = torch.mul,
    finish: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda hidden, w_down, x: hidden @ w_down,
) -> Tensor:
    return finish(join(of_gate(x @ w_gate), of_up(x @ w_up)), w_down, x)


def _plain(numbers: Tensor) -> Tensor:
    return numbers


def _transposed(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    return _swiglu(x, w_gate.T, w_up.T, w_down.T)


def _in_place(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    result = _swiglu(x, w_gate, w_up, w_down)
    x.copy_(result)
    return result


def _with_dropout(rate: float) -> tuple[tuple[str, Candidate], ...]:
    drop = partial(F.dropout, p=rate)
    return (
        ("on-the-hidden", partial(_swiglu, finish=lambda hidden, w, x: drop(hidden) @ w)),
        ("at-the-end", partial(_swiglu, finish=lambda hidden, w, x: drop(hidden @ w))),
    )


_DROPOUT = (
    "Dropout is applied: entries vanish at random and the others are scaled up. None is asked for "
    "here, so leave `dropout` out."
)
_WRONG_BRANCH = (
    "SiLU is applied to the `w_up` branch and the `w_gate` branch is left as it is. Asked for is "
    "SiLU(x @ w_gate) * (x @ w_up): the gate carries the activation. With trained weights the "
    "two matrices cannot be exchanged."
)
_SIGMOID = (
    "The gate is a plain sigmoid: that is the first GLU. SiLU multiplies the sigmoid by its own "
    "argument, SiLU(z) = z * sigmoid(z), so that the gate is not bounded by 1."
)
_GELU = (
    "The gate is a GELU: that is GEGLU. The two curves look alike but differ by up to a fifth; "
    "SwiGLU takes SiLU, z * sigmoid(z)."
)
_BOTH = (
    "SiLU is applied to both branches. Only the gate has it; the `w_up` branch stays linear, so "
    "that the product can be negative in both directions."
)
_ON_PRODUCT = (
    "SiLU is applied to the product of the branches. It belongs to the gate alone, before the "
    "branches are multiplied: SiLU(x @ w_gate) * (x @ w_up)."
)
_NO_GATE = (
    "The `w_up` branch is missing: this is the ordinary feed-forward layer with SiLU instead of "
    "ReLU. SwiGLU multiplies the activated gate entry by entry by x @ w_up."
)
_ADDED = (
    "The two branches are added. A gate multiplies: each hidden number of x @ w_up is let "
    "through in the measure that SiLU(x @ w_gate) says."
)
_OTHER_GATES: tuple[tuple[str, Activation, str], ...] = (
    ("selu", F.selu, "The gate is a SELU. SiLU is another curve, z * sigmoid(z)."),
    (
        "squared-relu",
        lambda z: F.relu(z) ** 2,
        "The gate is a squared ReLU. SiLU is z * sigmoid(z), which is not 0 for negative numbers.",
    ),
    (
        "steeper",
        lambda z: z * torch.sigmoid(2 * z),
        "The sigmoid's argument is doubled: a Swish with another beta. SiLU is z * sigmoid(z), "
        "with a factor of 1.",
    ),
    (
        "one-plus",
        lambda z: 1 + F.silu(z),
        "1 is added to the gate, so that x @ w_up passes even where the gate is closed. The gate "
        "is SiLU(x @ w_gate) itself.",
    ),
)
_NO_DOWN = (
    "This is the hidden layer, of width d_ff. It still has to be brought back to the width of the "
    "model: `@ w_down`."
)

MISTAKES = (
    Mistake("silu-on-up", partial(_swiglu, of_gate=_plain, of_up=F.silu), _WRONG_BRANCH),
    Mistake("silu-on-both", partial(_swiglu, of_up=F.silu), _BOTH),
    Mistake(
        "silu-on-product",
        partial(_swiglu, of_gate=_plain, join=lambda gate, up: F.silu(gate * up)),
        _ON_PRODUCT,
    ),
    Mistake(
        "silu-on-sum",
        partial(_swiglu, of_gate=_plain, join=lambda gate, up: F.silu(gate + up)),
        _ADDED + " And SiLU belongs to the gate alone.",
    ),
    Mistake(
        "silu-on-product-again",
        partial(_swiglu, join=lambda gate, up: F.silu(gate * up)),
        "SiLU is applied to the gate and once more to the product. Apply it once, to x @ w_gate.",
    ),
    Mistake(
        "silu-twice",
        partial(_swiglu, of_gate=lambda gate: F.silu(F.silu(gate))),
        "SiLU is applied twice to the gate. Apply it once.",
    ),
    Mistake(
        "silu-times-gate",
        partial(_swiglu, of_gate=lambda gate: gate * F.silu(gate)),
        "SiLU is multiplied once more by its argument, which makes z² * sigmoid(z). `F.silu` "
        "holds the factor z already: SiLU(z) = z * sigmoid(z).",
    ),
    Mistake(
        "silu-of-the-input",
        lambda x, *w: _swiglu(F.silu(x), *w, of_gate=_plain),
        "SiLU is applied to x before the projections. It is applied to the projected gate, "
        "x @ w_gate.",
    ),
    Mistake(
        "silu-of-the-gate-s-input",
        lambda x, w_gate, w_up, w_down: ((F.silu(x) @ w_gate) * (x @ w_up)) @ w_down,
        "SiLU is applied to x before the projections. It is applied to the projected gate, "
        "x @ w_gate.",
    ),
    Mistake(
        "silu-at-the-end",
        partial(_swiglu, of_gate=_plain, finish=lambda hidden, w, x: F.silu(hidden @ w)),
        "SiLU is applied to the result of the layer. It is applied to the gate, x @ w_gate; "
        "after `w_down` nothing follows.",
    ),
    Mistake(
        "silu-at-the-end-too",
        partial(_swiglu, finish=lambda hidden, w, x: F.silu(hidden @ w)),
        "SiLU is applied to the result as well. After `w_down` nothing follows: the "
        "residual connection needs both signs.",
    ),
    Mistake(
        "no-activation",
        partial(_swiglu, of_gate=_plain),
        "There is no activation at all: the branches are multiplied as they are (the bilinear "
        "layer). Apply SiLU to x @ w_gate first.",
    ),
    Mistake("sigmoid-gate", partial(_swiglu, of_gate=torch.sigmoid), _SIGMOID),
    Mistake(
        "sigmoid-on-up",
        partial(_swiglu, of_gate=_plain, of_up=torch.sigmoid),
        _SIGMOID + " And it belongs to the gate, x @ w_gate, not to x @ w_up.",
    ),
    Mistake(
        "up-squared",
        partial(_swiglu, join=lambda gate, up: up * up),
        "The `w_up` branch is multiplied by itself; `w_gate` is not used. Multiply "
        "SiLU(x @ w_gate) by x @ w_up.",
    ),
    Mistake(
        "sigmoid-on-both",
        partial(_swiglu, of_gate=torch.sigmoid, of_up=torch.sigmoid),
        _SIGMOID + " And the `w_up` branch has no activation.",
    ),
    Mistake(
        "relu-on-both",
        partial(_swiglu, of_gate=F.relu, of_up=F.relu),
        "Both branches go through a ReLU. The gate has SiLU, z * sigmoid(z), and the `w_up` "
        "branch stays linear.",
    ),
    Mistake("gelu-gate", partial(_swiglu, of_gate=F.gelu), _GELU),
    Mistake("gelu-tanh-gate", partial(_swiglu, of_gate=partial(F.gelu, approximate="tanh")), _GELU),
    Mistake(
        "gelu-on-up",
        partial(_swiglu, of_gate=_plain, of_up=F.gelu),
        _GELU + " And it belongs to the gate, x @ w_gate, not to x @ w_up.",
    ),
    Mistake(
        "gelu-by-sigmoid",
        partial(_swiglu, of_gate=lambda z: z * torch.sigmoid(1.702 * z)),
        "The sigmoid's argument is multiplied by 1.702, which makes it an approximation of "
        "GELU. SiLU is z * sigmoid(z), with a factor of 1.",
    ),
    Mistake(
        "relu-gate",
        partial(_swiglu, of_gate=F.relu),
        "The gate is a ReLU: that is ReGLU. It closes for every negative number; SiLU, "
        "z * sigmoid(z), lets a little of them through.",
    ),
    Mistake(
        "relu-on-up",
        partial(_swiglu, of_gate=_plain, of_up=F.relu),
        "The activation is a ReLU, and it is on the `w_up` branch. Asked for is SiLU, "
        "z * sigmoid(z), on the gate: SiLU(x @ w_gate) * (x @ w_up).",
    ),
    Mistake(
        "tanh-gate",
        partial(_swiglu, of_gate=torch.tanh),
        "The gate is a tanh. SiLU is z * sigmoid(z), which is not bounded above.",
    ),
    Mistake(
        "leaky-relu-gate",
        partial(_swiglu, of_gate=F.leaky_relu),
        "The gate is a leaky ReLU. SiLU is z * sigmoid(z), a smooth curve.",
    ),
    Mistake(
        "softplus-gate",
        partial(_swiglu, of_gate=F.softplus),
        "The gate is a softplus, log(1 + exp(z)), which is never negative. SiLU is z * sigmoid(z).",
    ),
    Mistake(
        "elu-gate", partial(_swiglu, of_gate=F.elu), "The gate is an ELU. SiLU is z * sigmoid(z)."
    ),
    Mistake(
        "mish-gate",
        partial(_swiglu, of_gate=F.mish),
        "The gate is Mish, z * tanh(softplus(z)). SiLU is z * sigmoid(z).",
    ),
    Mistake(
        "hardswish-gate",
        partial(_swiglu, of_gate=F.hardswish),
        "The gate is the piecewise approximation of SiLU (`hardswish`). Asked for is "
        "z * sigmoid(z) itself.",
    ),
    Mistake(
        "softmax-gate",
        partial(_swiglu, of_gate=partial(torch.softmax, dim=-1)),
        "The gate is a softmax, which makes the hidden numbers of a position share 1. SiLU "
        "works on every number alone: z * sigmoid(z).",
    ),
    Mistake(
        "silu-by-softmax",
        partial(_swiglu, of_gate=lambda z: z * z.softmax(-1)),
        "The sigmoid has become a softmax, which makes the hidden numbers of a position share 1. "
        "SiLU works on every number alone: z * sigmoid(z).",
    ),
    *(
        Mistake(f"dropout-{place}-{rate:g}", implementation, _DROPOUT)
        for rate in (0.1, 0.2, 0.5)
        for place, implementation in _with_dropout(rate)
    ),
    Mistake(
        "negated-sigmoid",
        partial(_swiglu, of_gate=lambda z: z * torch.sigmoid(-z)),
        "The sigmoid has the wrong sign: the gate opens for negative numbers. SiLU is "
        "z * sigmoid(z) = z / (1 + exp(-z)).",
    ),
    Mistake(
        "divided-by-sigmoid",
        partial(_swiglu, of_gate=lambda z: z * (1 + torch.exp(-z))),
        "z is multiplied by 1 + exp(-z) instead of divided by it. SiLU is z / (1 + exp(-z)).",
    ),
    *(
        Mistake(f"{name}-gate", partial(_swiglu, of_gate=function), sentence)
        for name, function, sentence in _OTHER_GATES
    ),
    Mistake(
        "layer-norm-first",
        lambda x, *w: _swiglu(F.layer_norm(x, x.shape[-1:]), *w),
        "x is normalised first. That belongs to the block around this layer, not into it.",
    ),
    Mistake(
        "larger-branch",
        partial(_swiglu, join=torch.maximum),
        "The larger of the two branches is taken. A gate multiplies: SiLU(x @ w_gate) * "
        "(x @ w_up).",
    ),
    Mistake("no-up", partial(_swiglu, join=lambda gate, up: gate), _NO_GATE),
    Mistake(
        "relu-without-up",
        partial(_swiglu, of_gate=F.relu, join=lambda gate, up: gate),
        "This is the paper's feed-forward layer, ReLU and no gate. SwiGLU has two branches: "
        "SiLU(x @ w_gate) * (x @ w_up).",
    ),
    Mistake(
        "no-gate",
        partial(_swiglu, join=lambda gate, up: up),
        "The gate is missing: the result is linear in x, `w_gate` has no effect. Multiply "
        "x @ w_up by SiLU(x @ w_gate).",
    ),
    Mistake(
        "silu-of-up-alone",
        partial(_swiglu, of_up=F.silu, join=lambda gate, up: up),
        "Only the `w_up` branch is used, with SiLU on it; `w_gate` has no effect. Asked for "
        "is SiLU(x @ w_gate) * (x @ w_up).",
    ),
    Mistake(
        "gate-for-both",
        partial(_swiglu, join=lambda gate, up: gate * gate),
        "The activated gate is multiplied by itself; `w_up` has no effect. Multiply it by "
        "x @ w_up.",
    ),
    Mistake(
        "gate-by-its-own-activation",
        partial(_swiglu, of_gate=lambda z: z * F.silu(z), join=lambda gate, up: gate),
        "Both factors come from `w_gate`; `w_up` has no effect. Multiply SiLU(x @ w_gate) by "
        "x @ w_up.",
    ),
    Mistake(
        "up-by-its-own-activation",
        partial(_swiglu, of_up=lambda z: z * F.silu(z), join=lambda gate, up: up),
        "Both factors come from `w_up`; `w_gate` has no effect. Multiply SiLU(x @ w_gate) by "
        "x @ w_up.",
    ),
    Mistake("added", partial(_swiglu, join=torch.add), _ADDED),
    Mistake(
        "added-silu-on-up",
        partial(_swiglu, of_gate=_plain, of_up=F.silu, join=torch.add),
        _ADDED + " And SiLU belongs to the `w_gate` branch.",
    ),
    Mistake(
        "subtracted",
        partial(_swiglu, join=torch.sub),
        "The branches are subtracted. A gate multiplies: SiLU(x @ w_gate) * (x @ w_up).",
    ),
    Mistake("no-down", partial(_swiglu, finish=lambda hidden, w, x: hidden), _NO_DOWN),
    Mistake(
        "no-down-silu-on-up",
        partial(_swiglu, of_gate=_plain, of_up=F.silu, finish=lambda hidden, w, x: hidden),
        _WRONG_BRANCH + " And `w_down` is missing.",
    ),
    Mistake(
        "residual",
        partial(_swiglu, finish=lambda hidden, w, x: x + hidden @ w),
        "x is added to the result. The residual connection belongs to the block around this "
        "layer, not into it.",
    ),
    Mistake(
        "down-before-the-product",
        lambda x, w_gate, w_up, w_down: (F.silu(x @ w_gate) @ w_down) * (x @ w_up @ w_down),
        "Both branches are brought down before they are multiplied. The product is "
        "taken in the hidden layer, of width d_ff; `w_down` comes after it, once.",
    ),
    Mistake(
        "gate-after-down",
        lambda x, w_gate, w_up, w_down: F.silu(x @ w_gate @ w_down) * (x @ w_up @ w_down),
        "Both branches are brought down before the gate acts. SiLU and the product belong "
        "in the hidden layer, of width d_ff; `w_down` comes after them, once.",
    ),
    Mistake(
        "transposed",
        _transposed,
        "The weights are used as `x @ w.T`, the way `nn.Linear` stores them. Here they are "
        "used as `x @ w`: no transpose.",
    ),
    Mistake(
        "down-transposed",
        partial(_swiglu, finish=lambda hidden, w, x: hidden @ w.T),
        "`w_down` is transposed. It has the shape (d_ff, d) and is used as `hidden @ w_down`.",
    ),
    Mistake(
        "gate-and-down-exchanged",
        lambda x, w_gate, w_up, w_down: _swiglu(x, w_down, w_up, w_gate),
        "`w_gate` and `w_down` are exchanged. The arguments come in the order gate, up, down; "
        "some libraries call them w1, w3 and w2.",
    ),
    Mistake(
        "up-and-down-exchanged",
        lambda x, w_gate, w_up, w_down: _swiglu(x, w_gate, w_down, w_up),
        "`w_up` and `w_down` are exchanged. The arguments come in the order gate, up, down; "
        "some libraries count them w1, w3 and w2.",
    ),
    Mistake(
        "normalised",
        partial(_swiglu, finish=lambda hidden, w, x: hidden @ w / w.size(0)),
        "The result is divided by d_ff. Nothing is averaged here: `hidden @ w_down` is all.",
    ),
    Mistake(
        "in-place",
        _in_place,
        "x itself is overwritten. The caller still needs it, for the residual connection: "
        "return a new tensor.",
    ),
)

"""The named mistakes of `encoder.feed_forward`: wrong steps, alone and two together, odd ones."""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.content.encoder.feed_forward_steps import (
    ACTIVATIONS,
    STEPS,
    network_of,
)
from annotated_transformer.exercises.exercise import Candidate, Mistake


def _right(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
    return torch.relu(x @ w1 + b1) @ w2 + b2


def _residual_in_place(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
    x += _right(x, w1, b1, w2, b2)
    return x


def _relu_in_place_on_x(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
    return x.relu_() @ w1 @ w2 + b2


def _tied(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
    return torch.relu(x @ w1 + b1) @ w1.T + b2


def _norm_first(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
    return x + _right(F.layer_norm(x, (x.size(-1),), eps=1e-6), w1, b1, w2, b2)


def _residual_and_norm(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
    return F.layer_norm(x + _right(x, w1, b1, w2, b2), (x.size(-1),), eps=1e-6)


_AXES = (
    "The code works for one number of axes only (`mm`, `bmm`, an einsum with fixed letters, "
    "`batch, n, d = x.shape`). x is (..., d): `x @ w1` broadcasts over all leading axes."
)
_TRANSPOSED = (
    "The weights are transposed, as `F.linear` and `nn.Linear` store them. Here w1 is (d, d_ff) "
    "and used as `x @ w1`."
)

_PAIRS = (
    *(
        (activation, step)
        for activation in ("no-activation", "gelu", "silu", "leaky-relu", "sigmoid", "tanh")
        for step in ("no-biases", "no-first-bias", "no-second-bias", "relu-at-the-end-too")
    ),
    ("no-activation", "relu-before-the-second-bias"),
    ("no-activation", "softmax-at-the-end"),
    ("dropout-0.1", "dropout-at-the-end"),
)
_PAIR_TEXTS = {
    ("no-activation", "relu-at-the-end-too"): (
        "The ReLU stands after the second map instead of between the two, so the maps collapse "
        "into one and no number of the result is negative. It belongs to x W_1 + b_1."
    )
}


_RESIDUAL = (
    "x is added to the result. The residual connection is drawn round the network, not inside it: "
    "return the network's result alone. "
)


def _with_residual(network: Candidate) -> Candidate:
    def implementation(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
        result: Tensor = x + network(x, w1, b1, w2, b2)
        return result

    return implementation


def _pair(activation: str, step: str) -> Mistake:
    (one, function), (other, steps) = ACTIVATIONS[activation], STEPS[step]
    text = _PAIR_TEXTS.get((activation, step), (one + other).strip())
    return Mistake(f"{activation}+{step}", network_of(activation=function, **steps), text)


FEED_FORWARD_MISTAKES = (
    *(Mistake(n, network_of(activation=f), text.strip()) for n, (text, f) in ACTIVATIONS.items()),
    *(Mistake(n, network_of(**steps), text.strip()) for n, (text, steps) in STEPS.items()),
    *(_pair(*names) for names in _PAIRS),
    Mistake(
        "relu-before-the-bias",
        lambda x, w1, b1, w2, b2: (torch.relu(x @ w1) + b1) @ w2 + b2,
        "The ReLU is taken of x W_1, and b_1 is added afterwards. The bias belongs inside: it "
        "decides where each unit becomes active, max(0, x W_1 + b_1).",
    ),
    Mistake(
        "relu-on-the-input",
        lambda x, w1, b1, w2, b2: (torch.relu(x) @ w1 + b1) @ w2 + b2,
        "The ReLU is taken of x, before the first map, and there is none between the maps. It is "
        "taken of x W_1 + b_1.",
    ),
    Mistake(
        "relu-on-the-input-too",
        lambda x, w1, b1, w2, b2: _right(torch.relu(x), w1, b1, w2, b2),
        "The ReLU is also taken of x itself. That throws away half of what the word carries: it "
        "is taken of x W_1 + b_1 only.",
    ),
    Mistake(
        "second-bias-before-the-map",
        lambda x, w1, b1, w2, b2: (torch.relu(x @ w1 + b1) + b2) @ w2,
        "b2 is added before the second map. It has d entries and belongs after it: "
        "hidden W_2 + b_2.",
    ),
    Mistake(
        "first-bias-before-the-map",
        lambda x, w1, b1, w2, b2: torch.relu((x + b1) @ w1) @ w2 + b2,
        "b1 is added to x before the first map. It has d_ff entries and belongs after it: "
        "x W_1 + b_1.",
    ),
    Mistake(
        "biases-exchanged",
        lambda x, w1, b1, w2, b2: torch.relu(x @ w1 + b2) @ w2 + b1,
        "The biases are exchanged: b1, (d_ff,), belongs to the first map, b2, (d,), to the second.",
    ),
    Mistake(
        "first-bias-in-both-places",
        lambda x, w1, b1, w2, b2: torch.relu(x @ w1 + b1) @ w2 + b1,
        "b1 is used in both places. The second map has its own bias, b2.",
    ),
    Mistake(
        "weights-exchanged",
        lambda x, w1, b1, w2, b2: torch.relu(x @ w2 + b1) @ w1 + b2,
        "w1 and w2 are exchanged. w1, (d, d_ff), comes first; w2, (d_ff, d), leads back.",
    ),
    Mistake(
        "weights-exchanged-and-transposed",
        lambda x, w1, b1, w2, b2: torch.relu(x @ w2.T + b1) @ w1.T + b2,
        "w1 and w2 are exchanged, each transposed so that its shape fits. w1 leads to the hidden "
        "layer as it is, x @ w1, and w2 back to d.",
    ),
    Mistake(
        "maps-exchanged",
        lambda x, w1, b1, w2, b2: torch.relu(x @ w2 + b2) @ w1 + b1,
        "The two maps are exchanged: w1, (d, d_ff), and b1 come first; w2 and b2 lead back.",
    ),
    Mistake(
        "weights-transposed",
        lambda x, w1, b1, w2, b2: torch.relu(x @ w1.T + b1) @ w2.T + b2,
        _TRANSPOSED,
    ),
    Mistake(
        "first-weight-transposed",
        lambda x, w1, b1, w2, b2: torch.relu(x @ w1.T + b1) @ w2 + b2,
        _TRANSPOSED,
    ),
    Mistake(
        "second-weight-transposed",
        lambda x, w1, b1, w2, b2: torch.relu(x @ w1 + b1) @ w2.T + b2,
        _TRANSPOSED,
    ),
    Mistake(
        "second-weight-for-the-first",
        lambda x, w1, b1, w2, b2: torch.relu(x @ w2.T + b1) @ w2 + b2,
        "w2 serves for both maps, and w1 is not used. The network has two matrices.",
    ),
    Mistake(
        "first-weight-twice",
        lambda x, w1, b1, w2, b2: torch.relu(x @ w1 + b1) @ w1 + b2,
        "w1 serves for both maps. The way back to d features has its own matrix, w2.",
    ),
    Mistake(
        "tied-weights",
        _tied,
        "The way back uses w1 transposed, and w2 is not used. The network has two matrices of "
        "its own.",
    ),
    Mistake("residual", _with_residual(network_of()), _RESIDUAL.strip()),
    *(
        Mistake(
            f"residual+{name}",
            _with_residual(network_of(activation=ACTIVATIONS[name][1])),
            _RESIDUAL + ACTIVATIONS[name][0].strip(),
        )
        for name in ACTIVATIONS
        if not name.startswith("dropout")
    ),
    *(
        Mistake(
            f"residual+{name}",
            _with_residual(network_of(**STEPS[name][1])),
            _RESIDUAL + STEPS[name][0].strip(),
        )
        for name in STEPS
        if name not in ("flattened", "softmax-at-the-end")
    ),
    Mistake(
        "residual-and-norm-first",
        _norm_first,
        "x is normalised, and added to the result: that is the whole sub-layer, in the later "
        "pre-norm order. Asked for is the network alone.",
    ),
    Mistake(
        "residual-and-norm",
        _residual_and_norm,
        "The residual and the layer normalisation are applied as well: that is the whole "
        "sub-layer. Asked for is the network alone.",
    ),
    Mistake(
        "residual-in-place",
        _residual_in_place,
        "`x += ...` adds the residual and writes it into the caller's x. Return the network's "
        "result alone, as a new tensor.",
    ),
    Mistake(
        "relu-in-place-on-x",
        _relu_in_place_on_x,
        "`relu_` changes the caller's x. The ReLU is taken of x W_1 + b_1, and the inputs are "
        "left as they are.",
    ),
    Mistake(
        "first-map-only",
        lambda x, w1, b1, w2, b2: torch.relu(x @ w1 + b1),
        "Only the hidden layer is returned, (..., d_ff). The second map leads back to d: "
        "hidden W_2 + b_2.",
    ),
    Mistake(
        "hidden-without-relu",
        lambda x, w1, b1, w2, b2: x @ w1 + b1,
        "Only the first linear map is returned. Its ReLU and the way back to d features, "
        "hidden W_2 + b_2, are missing.",
    ),
    Mistake(
        "hidden-returned-too",
        lambda x, w1, b1, w2, b2: (_right(x, w1, b1, w2, b2), torch.relu(x @ w1 + b1)),
        "The hidden layer is returned along with the result. Return the result alone.",
    ),
    Mistake(
        "largest-number-of-all",
        lambda x, w1, b1, w2, b2: (x @ w1 + b1).max() @ w2 + b2,
        "`max` of a tensor alone is its largest number. ReLU compares every number with 0: "
        "`torch.relu`, or `clamp(min=0)`.",
    ),
    Mistake(
        "mean-over-positions",
        lambda x, w1, b1, w2, b2: _right(x.mean(-2, keepdim=True).expand_as(x), w1, b1, w2, b2),
        "The positions are averaged, so every word gets the same. The network is position-wise: "
        "each word by itself.",
    ),
    Mistake(
        "first-bias-as-threshold",
        lambda x, w1, b1, w2, b2: (x @ w1) * (x @ w1 + b1 > 0) @ w2 + b2,
        "b1 decides only where a unit is active, and is not added to it. The ReLU passes on the "
        "whole of x W_1 + b_1.",
    ),
    Mistake(
        "relu-of-each-part",
        lambda x, w1, b1, w2, b2: (torch.relu(x @ w1) + torch.relu(b1)) @ w2 + b2,
        "The ReLU is taken of x W_1 and of b_1 separately. It is not linear: it is taken of their "
        "sum, max(0, x W_1 + b_1).",
    ),
    Mistake(
        "bias-after-the-second-map",
        lambda x, w1, b1, w2, b2: torch.relu(x @ w1) @ w2 + b1.sum() + b2,
        "b1 is added up and joins at the end. It has an entry for each hidden unit and stands "
        "inside the ReLU: x W_1 + b_1.",
    ),
    Mistake(
        "first-position-for-all",
        lambda x, w1, b1, w2, b2: _right(x.reshape(-1, x.size(-1))[:1], w1, b1, w2, b2).expand_as(
            x
        ),
        "Only the first position is worked out, and all others get its result. The network acts "
        "on each position by itself: `x @ w1` does so for all leading axes.",
    ),
    Mistake(
        "two-axes-only",
        lambda x, w1, b1, w2, b2: torch.mm(torch.relu(torch.mm(x, w1) + b1), w2) + b2,
        _AXES,
    ),
    Mistake(
        "three-axes-only",
        lambda x, w1, b1, w2, b2: (
            torch.einsum("bnf,fd->bnd", torch.relu(torch.einsum("bnd,df->bnf", x, w1) + b1), w2)
            + b2
        ),
        _AXES,
    ),
    Mistake(
        "unchanged",
        lambda x, w1, b1, w2, b2: x,
        "x comes back as it was. Write equation (2): max(0, x W_1 + b_1) W_2 + b_2.",
    ),
)

"""The feed-forward network with steps that can be replaced, and wrong activations and biases."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.exercise import Candidate

Map = Callable[[Tensor, Tensor, Tensor], Tensor]
Activation = Callable[[Tensor], Tensor]


def _linear(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return x @ w + b


def _same(values: Tensor) -> Tensor:
    return values


def network_of(
    first: Map = _linear,
    activation: Activation = torch.relu,
    second: Map = _linear,
    last: Activation = _same,
) -> Candidate:
    """The network with some of its steps replaced; `last` acts on the result."""

    def implementation(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
        return last(second(activation(first(x, w1, b1)), w2, b2))

    return implementation


def _no_bias(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return x @ w


def _bias_subtracted(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return x @ w - b


def _bias_doubled(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return x @ w + 2 * b


_NO_ACTIVATION = (
    "There is no ReLU between the two linear maps, so they collapse into a single one, x (W_1 "
    "W_2): the wide layer is for nothing. "
)
_OTHER = (
    "{name} is used in place of ReLU. Later models have other functions here; the paper's "
    "equation (2) is max(0, x W_1 + b_1). "
)
ACTIVATIONS: dict[str, tuple[str, Activation]] = {
    "no-activation": (_NO_ACTIVATION, _same),
    "gelu": (_OTHER.format(name="GELU"), F.gelu),
    "gelu-tanh": (
        _OTHER.format(name="GELU in its tanh approximation"),
        lambda values: F.gelu(values, approximate="tanh"),
    ),
    "silu": (_OTHER.format(name="SiLU (Swish)"), F.silu),
    "leaky-relu": (_OTHER.format(name="Leaky ReLU"), F.leaky_relu),
    "leaky-relu-0.1": (_OTHER.format(name="Leaky ReLU"), lambda h: F.leaky_relu(h, 0.1)),
    "leaky-relu-0.2": (_OTHER.format(name="Leaky ReLU"), lambda h: F.leaky_relu(h, 0.2)),
    "quick-gelu": (
        _OTHER.format(name="GELU in its sigmoid approximation"),
        lambda h: h * torch.sigmoid(1.702 * h),
    ),
    "mish": (_OTHER.format(name="Mish"), F.mish),
    "selu": (_OTHER.format(name="SELU"), F.selu),
    "hard-tanh": (_OTHER.format(name="A clamp to [0, 1]"), lambda h: h.clamp(0, 1)),
    "clamp-to-one": (_OTHER.format(name="A clamp to [-1, 1]"), lambda h: h.clamp(-1, 1)),
    "elu": (_OTHER.format(name="ELU"), F.elu),
    "softplus": (_OTHER.format(name="Softplus"), F.softplus),
    "tanh": (_OTHER.format(name="tanh"), torch.tanh),
    "sigmoid": (_OTHER.format(name="The sigmoid"), torch.sigmoid),
    "relu6": (_OTHER.format(name="ReLU6, which stops at 6,"), F.relu6),
    "softmax": (
        "A softmax is used in place of ReLU: hidden units then compete for a share. The paper's "
        "equation (2) is max(0, x W_1 + b_1). ",
        lambda values: values.softmax(-1),
    ),
    "absolute-value": (
        "The absolute value is taken: negative numbers are turned positive. ReLU sets them to 0. ",
        torch.abs,
    ),
    "squared-relu": (
        "The ReLU is squared. The paper's equation (2) has max(0, ...) as it is. ",
        lambda values: values.relu().square(),
    ),
    "negative-part": (
        "The negative numbers are kept and the positive ones set to 0, min(0, ...). ReLU is "
        "max(0, ...): `torch.relu` or `clamp(min=0)`. ",
        lambda values: values.clamp(max=0),
    ),
    "step": (
        "The hidden numbers are replaced by 0 and 1 (`> 0`): only whether a unit is active is "
        "left. ReLU keeps the positive numbers themselves. ",
        lambda values: (values > 0).to(values.dtype),
    ),
    "normalised": (
        "The hidden numbers are normalised to mean 0 and variance 1 before the ReLU. The "
        "network has no normalisation of its own. ",
        lambda values: F.layer_norm(values, (values.size(-1),)).relu(),
    ),
    "dropout-0.1": (
        "Dropout is applied to the hidden layer. None is asked for here. ",
        lambda values: F.dropout(values.relu(), 0.1),
    ),
    "dropout-0.5": (
        "Dropout is applied to the hidden layer. None is asked for here. ",
        lambda values: F.dropout(values.relu(), 0.5),
    ),
}

STEPS: dict[str, tuple[str, dict[str, Any]]] = {
    "no-first-bias": (
        "b1 is missing: the ReLU sees x W_1 alone. Add it before. ",
        {"first": _no_bias},
    ),
    "no-second-bias": (
        "b2 is missing. Add it to the result of the second map. ",
        {"second": _no_bias},
    ),
    "no-biases": (
        "Both biases are missing. Each linear map has one: x W_1 + b_1 inside the ReLU, + b_2 at "
        "the end. ",
        {"first": _no_bias, "second": _no_bias},
    ),
    "first-bias-twice": (
        "b1 is added twice. Once, inside the ReLU, is right: x W_1 + b_1. ",
        {"first": _bias_doubled},
    ),
    "second-bias-twice": (
        "b2 is added twice. Once, at the end, is right. ",
        {"second": _bias_doubled},
    ),
    "relu-before-the-second-bias": (
        "A second ReLU is taken of the second map, before b_2 is added. The ReLU stands between "
        "the two maps and nowhere else. ",
        {"second": lambda x, w, b: torch.relu(x @ w) + b},
    ),
    "scaled-by-root-of-width": (
        "The result is divided by sqrt(d). That scale belongs to attention's scores; here there "
        "is none. ",
        {"last": lambda values: values / values.size(-1) ** 0.5},
    ),
    "flattened": (
        "The positions of all sentences come back in one axis: the tokens were flattened to "
        "(B·n, d) and not put back. Return the shape of x. ",
        {"last": lambda values: values.reshape(-1, values.size(-1))},
    ),
    "first-bias-subtracted": (
        "b1 is subtracted. It is added: x W_1 + b_1. ",
        {"first": _bias_subtracted},
    ),
    "biases-subtracted": (
        "Both biases are subtracted. They are added: max(0, x W_1 + b_1) W_2 + b_2. ",
        {"first": _bias_subtracted, "second": _bias_subtracted},
    ),
    "hidden-scaled": (
        "The hidden layer is divided by sqrt(d_ff) before the second map. That scale belongs to "
        "attention's scores; here there is none. ",
        {"second": lambda x, w, b: x / w.size(0) ** 0.5 @ w + b},
    ),
    "hidden-scaled-by-width": (
        "The hidden layer is divided by sqrt(d) before the second map. That scale belongs to "
        "attention's scores; here there is none. ",
        {"second": lambda x, w, b: x / w.size(1) ** 0.5 @ w + b},
    ),
    "biases-twice": (
        "Both biases are added twice. Once each is right: max(0, x W_1 + b_1) W_2 + b_2. ",
        {"first": _bias_doubled, "second": _bias_doubled},
    ),
    "second-bias-subtracted": (
        "b2 is subtracted. It is added at the end. ",
        {"second": _bias_subtracted},
    ),
    "relu-at-the-end-too": (
        "A second ReLU follows the second map, so the network can only raise the residual "
        "stream, never lower it. The ReLU stands between the maps and nowhere else. ",
        {"last": torch.relu},
    ),
    "dropout-at-the-end": (
        "Dropout is applied to the result. None is asked for here. ",
        {"last": lambda values: F.dropout(values, 0.1)},
    ),
    "dropout-one-half-at-the-end": (
        "Dropout is applied to the result. None is asked for here. ",
        {"last": F.dropout},
    ),
    "softmax-at-the-end": (
        "A softmax follows the second map, as in a classifier. The result goes back into the "
        "residual stream as it is. ",
        {"last": lambda values: values.softmax(-1)},
    ),
    "normalised-at-the-end": (
        "The result is normalised. Layer normalisation belongs to the sub-layer connection, "
        "after the residual is added, not to the network. ",
        {"last": lambda values: F.layer_norm(values, (values.size(-1),), eps=1e-6)},
    ),
}

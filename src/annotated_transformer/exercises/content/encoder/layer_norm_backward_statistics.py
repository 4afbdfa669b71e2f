"""Wrong variances, eps and axes in the backward pass of layer normalisation."""

from typing import Any

_IGNORED = (
    "The argument eps is not read: a number of your own stands in its place. The root is the "
    "forward pass's, sqrt(variance + eps)."
)

# A name, what to say, and what is replaced in `backward_of`.
WRONG_STATISTICS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (
        "unbiased",
        "The variance is divided by d - 1 (`x.var(-1)`, `x.std(-1)`). The forward pass divides by "
        "d: use `correction=0`, or the mean of the squares.",
        {"correction": 1},
    ),
    (
        "unbiased-and-eps-outside",
        "The root is `x.std(-1) + eps`: the variance is divided by d - 1, and eps stands outside. "
        "The forward pass divides by sqrt(variance + eps), with the variance divided by d.",
        {"correction": 1, "root": lambda variance, eps: variance.sqrt() + eps},
    ),
    (
        "covariance-unbiased",
        "mean(grad * y) is divided by d - 1. The forward pass's variance is divided by d, and its "
        "derivative too.",
        {"variance": lambda p: p.y * p.sum(p.grad * p.y) / (p.x.size(-1) - 1)},
    ),
    (
        "divided-by-n",
        "The sums over the features are divided by n, the number of tokens (`x.size(0)`, "
        "`len(x)`), as in batch normalisation. Here a mean runs over d features: `x.size(-1)`.",
        {
            "mean": lambda p: p.sum(p.grad) / p.x.size(0),
            "variance": lambda p: p.y * p.sum(p.grad * p.y) / p.x.size(0),
        },
    ),
    (
        "y-not-centred",
        "In the path through the variance x / root stands in place of y: the mean has not been "
        "taken out. y is (x - mean) / root, as in the forward pass.",
        {"variance": lambda p: p.x / p.root * p.mean(p.grad * p.x / p.root)},
    ),
    (
        "no-eps",
        "eps is left out of the root. It is part of the forward pass: sqrt(variance + eps).",
        {"root": lambda variance, eps: variance.sqrt()},
    ),
    (
        "eps-outside",
        "eps is added after the root. In the forward pass it stands inside: sqrt(variance + eps).",
        {"root": lambda variance, eps: variance.sqrt() + eps},
    ),
    (
        "y-without-eps",
        "y is computed without eps, the outer root with it. It is one and the same root, "
        "sqrt(variance + eps), in both places.",
        {"variance": lambda p: p.centred * p.mean(p.grad * p.centred) / p.variance},
    ),
    (
        "eps-1e-6-fixed",
        _IGNORED,
        {"root": lambda variance, eps: (variance + 1e-6).sqrt()},
    ),
    (
        "eps-1e-5-fixed",
        _IGNORED,
        {"root": lambda variance, eps: (variance + 1e-5).sqrt()},
    ),
    (
        "first-axis",
        "Means and variance are taken over the tokens (dim=0): that is the gradient of batch "
        "normalisation. Here every token has its own: `dim=-1`.",
        {"axis": 0},
    ),
    (
        "whole-tensor",
        "Means and variance are taken over the whole tensor. Every token has its own: `dim=-1, "
        "keepdim=True`.",
        {"axis": (0, 1)},
    ),
    (
        "grad-mean-of-all",
        "The mean of grad is taken over the whole tensor (`grad.mean()`). Each token has its "
        "own: `dim=-1, keepdim=True`.",
        {"mean": lambda p: p.grad.mean()},
    ),
    (
        "variance-mean-of-all",
        "The mean of grad * y is taken over the whole tensor. Each token has its own: `dim=-1, "
        "keepdim=True`.",
        {"variance": lambda p: p.y * (p.grad * p.y).mean()},
    ),
    (
        "both-means-of-all",
        "The means of grad and of grad * y are taken over the whole tensor (`.mean()`). Each "
        "token has its own: `dim=-1, keepdim=True`.",
        {
            "mean": lambda p: p.grad.mean(),
            "variance": lambda p: p.y * (p.grad * p.y).mean(),
        },
    ),
    (
        "variance-mean-over-tokens",
        "The mean of grad * y is taken over the tokens (dim=0), which belongs to the gain gamma. "
        "For x it is taken over the features: `dim=-1, keepdim=True`.",
        {"variance": lambda p: p.y * (p.grad * p.y).mean(0)},
    ),
    (
        "both-means-over-tokens",
        "The means of grad and of grad * y are taken over the tokens (dim=0): those belong to "
        "shift and gain. For x they are taken over the features: `dim=-1, keepdim=True`.",
        {
            "mean": lambda p: p.grad.mean(0),
            "variance": lambda p: p.y * (p.grad * p.y).mean(0),
        },
    ),
    (
        "grad-mean-over-tokens",
        "The mean of grad is taken over the tokens (dim=0), which belongs to the shift beta. For "
        "x it is taken over the features: `dim=-1, keepdim=True`.",
        {"mean": lambda p: p.grad.mean(0)},
    ),
)

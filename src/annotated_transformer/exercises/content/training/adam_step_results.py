"""Mistakes of `training.adam_step` in its arguments and in what comes back."""

from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.content.training.adam_step_variants import Betas, Tensors, adam
from annotated_transformer.exercises.exercise import Candidate, Mistake


def _default(betas: Betas = (0.9, 0.98), eps: float = 1e-9) -> Candidate:
    def step(
        param: Tensor,
        grad: Tensor,
        m: Tensor,
        v: Tensor,
        step: int,
        lr: float,
        betas: Betas = betas,
        eps: float = eps,
    ) -> Tensors:
        return adam(param, grad, m, v, step, lr, betas, eps)

    return step


def _fixed(**fixed: Any) -> Candidate:
    """The arguments named are overwritten, whatever was given."""

    def step(
        param: Tensor,
        grad: Tensor,
        m: Tensor,
        v: Tensor,
        step: int,
        lr: float,
        betas: Betas = (0.9, 0.98),
        eps: float = 1e-9,
    ) -> Tensors:
        given = {"step": step, "lr": lr, "betas": betas, "eps": eps}
        return adam(param, grad, m, v, **{**given, **fixed})

    return step


def _in_place(which: str) -> Candidate:
    def step(*arguments: Any, **options: Any) -> Tensors:
        new = adam(*arguments, **options)
        for name, old, value in zip("pmv", (arguments[0], *arguments[2:4]), new, strict=True):
            if name in which:
                old.copy_(value)
        return new

    return step


def _returning(change: Any) -> Candidate:
    """What comes back is `change(param before, new param, new m, new v)`."""
    return lambda *arguments, **options: change(arguments[0], *adam(*arguments, **options))


_IN_PLACE = (
    "The result is right, but {} given to the function is changed in place (`add_`, `mul_`, `-=`). "
    "Return new tensors: `m = beta_1 * m + ...` makes one."
)


RESULTS = (
    Mistake(
        "default-eps-1e-8",
        _default(eps=1e-8),
        "The default eps is 1e-8, torch's. The paper's is 1e-9.",
    ),
    Mistake(
        "default-beta-0.999",
        _default(betas=(0.9, 0.999)),
        "The default betas are (0.9, 0.999), torch's. The paper's are (0.9, 0.98).",
    ),
    Mistake(
        "torch-defaults",
        _default(betas=(0.9, 0.999), eps=1e-8),
        "The defaults are torch's, betas (0.9, 0.999) and eps 1e-8. The paper's are (0.9, 0.98) "
        "and 1e-9.",
    ),
    Mistake(
        "eps-ignored",
        _fixed(eps=1e-9),
        "eps is fixed at 1e-9 in the code. Use the argument.",
    ),
    Mistake(
        "eps-ignored-1e-8",
        _fixed(eps=1e-8),
        "eps is fixed at 1e-8 in the code. Use the argument; its default is 1e-9.",
    ),
    Mistake(
        "betas-ignored",
        _fixed(betas=(0.9, 0.98)),
        "The betas are fixed at 0.9 and 0.98 in the code. Use the argument.",
    ),
    Mistake(
        "betas-ignored-0.999",
        _fixed(betas=(0.9, 0.999)),
        "The betas are fixed at 0.9 and 0.999 in the code. Use the argument; its default is (0.9, "
        "0.98).",
    ),
    Mistake("lr-ignored", _fixed(lr=1e-3), "lr is fixed at 0.001 in the code. Use the argument."),
    Mistake(
        "no-lr",
        _fixed(lr=1.0),
        "The step is not multiplied by lr: param - lr * m_hat / (sqrt(v_hat) + eps).",
    ),
    Mistake(
        "old-moments-returned",
        lambda *arguments, **options: (adam(*arguments, **options)[0], *arguments[2:4]),
        "The moments come back as they were given, so the next step would know nothing of this "
        "one. Return the updated m and v.",
    ),
    Mistake(
        "returned-in-another-order",
        _returning(lambda old, param, m, v: (m, v, param)),
        "The three tensors come back as (m, v, param). Return (param, m, v).",
    ),
    Mistake(
        "moments-exchanged",
        _returning(lambda old, param, m, v: (param, v, m)),
        "m and v come back in the wrong order. Return (param, m, v).",
    ),
    Mistake(
        "change-returned",
        _returning(lambda old, param, m, v: (param - old, m, v)),
        "The change comes back instead of the new parameters. Add it to param.",
    ),
    Mistake(
        "downward-change-returned",
        _returning(lambda old, param, m, v: (old - param, m, v)),
        "The change comes back instead of the new parameters. Subtract it from param.",
    ),
    Mistake(
        "param-unchanged",
        _returning(lambda old, param, m, v: (old, m, v)),
        "param comes back as it was. Return the new one.",
    ),
    Mistake(
        "dictionary",
        _returning(lambda old, param, m, v: {"param": param, "m": m, "v": v}),
        "A dictionary is returned. Return three tensors, (param, m, v).",
    ),
    Mistake(
        "param-and-moments",
        _returning(lambda old, param, m, v: (param, (m, v))),
        "The moments come back as a tuple of their own. Return three tensors, (param, m, v).",
    ),
    Mistake(
        "param-only",
        _returning(lambda old, param, m, v: param),
        "Only the parameters come back. The next step needs the moments as well: return (param, m, "
        "v).",
    ),
    Mistake(
        "step-returned-too",
        lambda *arguments, **options: (*adam(*arguments, **options), arguments[4] + 1),
        "The step is returned too. Return three tensors, (param, m, v).",
    ),
    Mistake(
        "one-tensor",
        _returning(lambda old, param, m, v: torch.stack([param, m, v])),
        "The three are stacked into one tensor. Return three tensors, (param, m, v).",
    ),
    Mistake(
        "lr-1e-4",
        _fixed(lr=1e-4),
        "lr is fixed at 0.0001 in the code. Use the argument.",
    ),
    Mistake("changes-all", _in_place("pmv"), _IN_PLACE.format("what is")),
    Mistake("changes-param", _in_place("p"), _IN_PLACE.format("the param")),
    Mistake("changes-moments", _in_place("mv"), _IN_PLACE.format("the pair of moments")),
    Mistake("changes-m", _in_place("m"), _IN_PLACE.format("the m")),
    Mistake("changes-v", _in_place("v"), _IN_PLACE.format("the v")),
)

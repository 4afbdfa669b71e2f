"""What code with tensors comes to, as plain data; the library is handed in."""

import math
import warnings
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

# Said from PyTorch 2.14 on by a subclass of the RuntimeError that 2.13 and the stand-in raise.
BY_A_SUBCLASS = ("Negation, the `-`", "Subtraction, the `-`", "Boolean inputs not supported")


def said(error: Exception) -> str:
    """An error as its class and its words."""
    name = type(error).__name__
    if name == "NotImplementedError" and str(error).startswith(BY_A_SUBCLASS):
        name = "RuntimeError"
    return f"{name}: {error}"


def inputs(torch: Any, kind: str = "float64", seed: int = 0) -> dict[str, Any]:
    """Small tensors of many shapes with the same numbers in either library."""
    draw = np.random.default_rng(seed)

    def floats(*shape: int) -> Any:
        return torch.from_numpy(np.asarray(draw.normal(size=shape))).to(getattr(torch, kind))

    return {
        "x": floats(2, 3),
        "y": floats(2, 3),
        "s": floats(3, 3),
        "v": floats(3),
        "w": floats(4),
        "c": floats(2, 3, 4),
        "d": floats(2, 4, 3),
        "z": floats(2, 1, 3, 4),
        "n": floats(),
        "p": floats(2, 3).abs() + 0.5,
        "m": torch.from_numpy(draw.random((2, 3)) < 0.5),
        "i": torch.from_numpy(draw.integers(0, 3, (2, 3))),
        "j": torch.from_numpy(draw.integers(0, 3, 4)),
        "k": torch.from_numpy(draw.integers(1, 9, (2, 3))),
    }


def names(torch: Any) -> dict[str, Any]:
    """What the code may use besides its inputs."""
    return {"torch": torch, "F": torch.nn.functional, "nn": torch.nn, "np": np, "math": math}


def told(value: Any, torch: ModuleType) -> Any:
    """A result as plain data: dtype, shape, the order in memory, and numbers."""
    if isinstance(value, torch.Tensor):
        steps = [
            step
            for step, length in zip(value.stride(), value.shape, strict=True)
            if length > 1 and value.numel()
        ]
        plain = value.detach()
        if value.dtype == torch.bfloat16:
            plain = plain.float()
        return SimpleNamespace(
            kind=str(value.dtype), shape=tuple(value.shape), steps=steps, numbers=plain.numpy()
        )
    if isinstance(value, (list, tuple)):
        return [told(one, torch) for one in value]
    if isinstance(value, dict):
        return {key: told(one, torch) for key, one in value.items()}
    return value


def difference(one: Any, other: Any, relative: float = 1e-9, steps: bool = True) -> str:
    """What is not the same about two results that were `told`; "" where all is."""
    if isinstance(one, SimpleNamespace) and isinstance(other, SimpleNamespace):
        if (one.kind, one.shape) != (other.kind, other.shape):
            return f"{one.kind} {one.shape} became {other.kind} {other.shape}"
        if steps and one.steps != other.steps:
            return f"steps {one.steps} became {other.steps}"
        if one.kind == "torch.float32":
            relative = max(relative, 2e-6)
        same = np.allclose(one.numbers, other.numbers, relative, relative / 10, equal_nan=True)
        return "" if same else f"{one.numbers} became {other.numbers}"
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        found = [difference(a, b, relative, steps) for a, b in zip(one, other, strict=True)]
        return next(filter(None, found), "")
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return next(filter(None, (difference(one[k], other[k], relative, steps) for k in one)), "")
    if isinstance(one, float) and isinstance(other, float):
        return "" if math.isclose(one, other, rel_tol=relative) or one != one else f"{one} {other}"
    return "" if type(one) is type(other) and one == other else f"{one!r} became {other!r}"


def outcome(code: str, torch: Any, given: dict[str, Any]) -> Any:
    """What an expression is worth, or the error that it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return told(eval(code, {**names(torch), **given}), torch)
        except Exception as error:
            return said(error)


def gradients(code: str, torch: Any) -> Any:
    """The gradients of an expression with respect to its inputs, or the error that it raises."""
    given = inputs(torch)
    leaves = [given[name].requires_grad_() for name in "xysvwcdznp"]
    try:
        value = eval(code, {**names(torch), **given})
        parts = value if isinstance(value, (list, tuple)) else [value]
        total = sum(
            (part * _weights(part, torch)).sum().real.double()
            for part in parts
            if isinstance(part, torch.Tensor) and part.requires_grad
        )
        wanted = isinstance(total, torch.Tensor)
        sent = torch.autograd.grad(total, leaves, allow_unused=True) if wanted else ()
        return told(list(sent), torch)
    except Exception as error:
        return said(error)


def _weights(part: Any, torch: Any) -> Any:
    places = torch.arange(1.0, part.numel() + 1, dtype=torch.float64)
    return places.cos().reshape(part.shape)


def after(code: str, torch: Any, given: dict[str, Any]) -> dict[str, Any]:
    """What every variable is after some statements; "error" is what they raised."""
    space = {**names(torch), **given}
    before = set(names(torch)) | {"__builtins__"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(code, space)
        except Exception as error:
            space["error"] = said(error)
    return {
        name: told(value, torch)
        for name, value in space.items()
        if name not in before and isinstance(value, (torch.Tensor, str, int, float, tuple, list))
    }

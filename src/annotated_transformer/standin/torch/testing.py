"""`torch.testing`: the assertion that two tensors are close."""

from typing import Any

import numpy as np

from . import absent
from .tensor import Tensor

__getattr__ = absent.attribute_of("torch.testing", absent.OF_TESTING)
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_dtype: bool = True,
) -> None:
    """Raise AssertionError where shape, dtype or numbers differ."""
    if isinstance(actual, (list, tuple)) and isinstance(expected, (list, tuple)):
        if len(actual) != len(expected):
            raise AssertionError(
                f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            )
        for one, other in zip(actual, expected, strict=True):
            assert_close(
                one, other, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=check_dtype
            )
        return
    a, b = (
        one._array if isinstance(one, Tensor) else np.asarray(one) for one in (actual, expected)
    )
    if a.shape != b.shape:
        raise AssertionError(
            "The values for attribute 'shape' do not match: "
            f"torch.Size({list(a.shape)}) != torch.Size({list(b.shape)})."
        )
    kinds = [one._dtype for one in (actual, expected) if isinstance(one, Tensor)]
    if check_dtype and len(kinds) == 2 and kinds[0] is not kinds[1]:
        raise AssertionError(
            f"The values for attribute 'dtype' do not match: {kinds[0]} != {kinds[1]}."
        )
    usual = max((_TOLERANCES.get(kind.name, (0.0, 0.0)) for kind in kinds), default=(1e-7, 1e-7))
    relative = usual[0] if rtol is None else rtol
    absolute = usual[1] if atol is None else atol
    close = np.isclose(a, b, relative, absolute, equal_nan)
    if not close.all():
        raise AssertionError(
            "Tensor-likes are not close!\n\n"
            f"Mismatched elements: {int((~close).sum())} / {close.size}"
        )

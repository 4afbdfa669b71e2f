"""Operations entry by entry: arithmetic, comparisons, and functions of one number."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .arguments import no_form_fits
from .dtypes import ALL, Array, as_dtype, bool_, converted, device, dtype, get_default_dtype, int64
from .errors import NotInThisPage, must_be_tensor, torch_error
from .operations import METHODS, observed, operation
from .promotion import Operand, fit, is_number, numbers_of, result_type
from .tensor import Tensor, result, wrap

Compute = Callable[[Array, Array], Any]
Back = Callable[[Array, Array, Array, Array], tuple[Any, Any]]  # gradient, a, b, result
Back1 = Callable[[Array, Array, Array], Any]  # gradient, a, result


def _other(name: str, value: Any, position: int = 2) -> Any:
    """An operand, which may be a number."""
    if isinstance(value, Tensor) or is_number(value):
        return value
    raise must_be_tensor(name, "input" if position == 1 else "other", position, value)


def _computed(
    name: str,
    input: Operand,
    other: Operand,
    compute: Compute,
    back: Back,
    floating: bool = False,
    saved: bool = True,
) -> Tensor:
    """An operation on two operands that are broadcast."""
    first, other = _other(name, input, 1), _other(name, other)
    fit(first, other)
    kind = result_type(first, other)
    if floating and kind.category < 2:
        kind = get_default_dtype()
    a, b = numbers_of(first, kind), numbers_of(other, kind)
    numbers = np.asarray(compute(a, b))

    def backward(gradient: Array) -> Sequence[Array]:
        return [
            _kept_real(one, of)
            for one, of in zip(back(gradient, a, b, numbers), (first, other), strict=True)
        ]

    needed = (first, other) if saved else ()
    return result(numbers, kind, name.title(), (first, other), backward, needed)


def _kept_real(gradient: Any, of: Operand) -> Array:
    """The gradient of a real operand is the real part of a complex one."""
    if isinstance(of, Tensor) and of._dtype.category != 3 and np.iscomplexobj(gradient):
        return np.asarray(gradient.real)
    return np.asarray(gradient)


def _no_bools_subtracted(*operands: Operand) -> None:
    bools = [
        isinstance(one, bool) or (isinstance(one, Tensor) and one._dtype is bool_)
        for one in operands
    ]
    if all(bools):
        raise torch_error(
            RuntimeError,
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` operator instead.",
        )
    if any(bools):
        raise torch_error(
            RuntimeError,
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying "
            "to invert a mask, use the `~` or `logical_not()` operator instead.",
        )


@operation()
def add(input: Operand, other: Operand, *, alpha: Any = 1) -> Tensor:
    """input + alpha * other."""
    if alpha != 1:
        other = mul(other, alpha)
    return _computed("add", input, other, _plus, lambda g, a, b, r: (g, g), saved=False)


def _plus(a: Array, b: Array) -> Array:
    return np.logical_or(a, b) if a.dtype == bool and b.dtype == bool else np.add(a, b)


@operation("sub", "subtract")
def sub(input: Operand, other: Operand, *, alpha: Any = 1) -> Tensor:
    """input - alpha * other."""
    _no_bools_subtracted(input, other)
    if alpha != 1:
        other = mul(other, alpha)
    return _computed("sub", input, other, np.subtract, lambda g, a, b, r: (g, -g), saved=False)


@operation()
def rsub(input: Tensor, other: Operand) -> Tensor:
    """other - input."""
    return sub(other, input)


@operation("mul", "multiply")
def mul(input: Operand, other: Operand) -> Tensor:
    """input * other."""
    return _computed(
        "mul",
        input,
        other,
        np.multiply,
        lambda g, a, b, r: (g * np.conj(b), g * np.conj(a)),
        saved=isinstance(input, Tensor) and isinstance(other, Tensor),
    )


@operation("div", "divide")
def div(input: Operand, other: Operand, *, rounding_mode: str | None = None) -> Tensor:
    """input / other, floating; whole where a rounding mode ("floor", "trunc") is named."""
    if rounding_mode in ("floor", "trunc"):
        kind = result_type(input, other)
        a, b = numbers_of(input, kind), numbers_of(other, kind)
        numbers = _whole_quotient(a, b) if rounding_mode == "floor" else np.trunc(a / b)
        return result(numbers, kind, "Div", (input, other), _nothing_for_two)
    return true_divide(input, other)


def _nothing_for_two(gradient: Array) -> Sequence[Array]:
    return np.zeros_like(gradient), np.zeros_like(gradient)


@operation()
def true_divide(input: Operand, other: Operand) -> Tensor:
    """input / other."""
    return _computed(
        "div",
        input,
        other,
        np.true_divide,
        lambda g, a, b, r: (g / np.conj(b), -g * np.conj(r / b)),
        floating=True,
        saved=isinstance(other, Tensor),
    )


@operation()
def floor_divide(input: Operand, other: Operand) -> Tensor:
    """input // other, rounded down."""

    kind = result_type(_other("floor_divide", input, 1), _other("floor_divide", other))
    if kind.category in (0, 3):
        raise _no_kernel("div_floor_cpu", kind)

    def back(g: Array, a: Array, b: Array, r: Array) -> tuple[Any, Any]:
        raise _no_derivative("floor_divide")

    return _computed("floor_divide", input, other, _whole_quotient, back)


def _no_kernel(name: str, kind: dtype) -> Exception:
    return torch_error(NotImplementedError, f"\"{name}\" not implemented for '{kind.type_name}'")


def _no_derivative(name: str) -> Exception:
    return torch_error(RuntimeError, f"derivative for aten::{name} is not implemented")


def _whole_quotient(a: Array, b: Array) -> Array:
    _no_zero_among_integers(b)
    return np.floor_divide(a, b)


def _no_zero_among_integers(b: Array) -> None:
    if b.dtype.kind in "biu" and (b == 0).any():
        raise torch_error(RuntimeError, "ZeroDivisionError")


@operation()
def remainder(input: Operand, other: Operand) -> Tensor:
    """What is left of input // other, with the sign of `other`."""

    def compute(a: Array, b: Array) -> Array:
        _no_zero_among_integers(b)
        return np.mod(a, b)

    def back(g: Array, a: Array, b: Array, r: Array) -> tuple[Any, Any]:
        if not isinstance(input, Tensor):
            raise _no_derivative("remainder")
        return g, -g * np.floor(a / b)

    return _computed("remainder", input, other, compute, back)


@operation()
def fmod(input: Operand, other: Operand) -> Tensor:
    """What is left of the division, with the sign of `input`."""
    return _computed("fmod", input, other, np.fmod, lambda g, a, b, r: (g, -g * np.trunc(a / b)))


@operation("pow")
def power(input: Operand, exponent: Operand) -> Tensor:
    """input ** exponent."""
    if not isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        raise torch_error(
            TypeError,
            f"pow() received an invalid combination of arguments - got ({type(input).__name__}, "
            f"{type(exponent).__name__}), but expected one of:\n"
            " * (Tensor input, Tensor exponent, *, Tensor out = None)\n"
            " * (Number self, Tensor exponent, *, Tensor out = None)\n"
            " * (Tensor input, Number exponent, *, Tensor out = None)\n",
        )
    whole = isinstance(input, Tensor) and input._dtype.category < 2
    if whole and isinstance(exponent, int) and exponent < 0:
        raise torch_error(RuntimeError, "Integers to negative integer powers are not allowed.")

    kind = result_type(input, exponent)
    if kind is bool_ and isinstance(exponent, Tensor):
        raise _no_kernel("pow", kind)

    def back(g: Array, a: Array, b: Array, r: Array) -> tuple[Any, Any]:
        of_base = np.where(b == 0, 0, g * np.conj(b * np.power(a, np.where(b == 0, 1, b - 1))))
        of_exponent = np.where((a == 0) & (b.real >= 0), 0, g * np.conj(r * np.log(a)))
        return of_base, of_exponent

    return _computed("pow", input, exponent, _raised, back)


def _raised(a: Array, b: Array) -> Array:
    if a.dtype.kind in "iu" and (b < 0).any():  # only 1 and -1 have a whole inverse
        return np.where(
            b < 0, np.where(np.abs(a) == 1, np.power(a, np.abs(b)), 0), np.power(a, np.abs(b))
        )
    return np.power(a, b)


def _elementwise_pair(name: str, compute: Compute, back: Back, both_tensors: bool) -> None:
    def function(input: Operand, other: Operand) -> Tensor:
        if both_tensors and not isinstance(other, Tensor):
            raise must_be_tensor(name, "other", 2, other)
        return _computed(name, input, other, compute, back, floating=name not in _OF_ANY_KIND)

    function.__name__ = name
    operation()(function)


_OF_ANY_KIND = ("maximum", "minimum", "fmax", "fmin")
_PAIRS: dict[str, tuple[Compute, Back]] = {
    "maximum": (
        np.maximum,
        lambda g, a, b, r: (g * ((a > b) + 0.5 * (a == b)), g * ((b > a) + 0.5 * (a == b))),
    ),
    "minimum": (
        np.minimum,
        lambda g, a, b, r: (g * ((a < b) + 0.5 * (a == b)), g * ((b < a) + 0.5 * (a == b))),
    ),
    "logaddexp": (np.logaddexp, lambda g, a, b, r: (g * np.exp(a - r), g * np.exp(b - r))),
    "atan2": (np.arctan2, lambda g, a, b, r: (g * b / (a * a + b * b), -g * a / (a * a + b * b))),
    "hypot": (np.hypot, lambda g, a, b, r: (g * a / r, g * b / r)),
}
for _name, (_compute, _back) in _PAIRS.items():
    _elementwise_pair(_name, _compute, _back, both_tensors=True)
_elementwise_pair(
    "xlogy",
    lambda a, b: np.where(np.isnan(b), np.nan, np.where(a == 0, 0, a * np.log(b))),
    lambda g, a, b, r: (np.where((a == 0) & (b <= 0), 0, g * np.log(b)), g * a / b),
    both_tensors=False,
)


# Comparisons.


def _comparison(name: str, compute: Compute) -> Callable[..., Tensor]:
    def function(input: Tensor, other: Operand) -> Tensor:
        other = _other(name, other)
        fit(input, other)
        kind = result_type(input, other)
        if kind.is_complex and name not in ("eq", "ne"):
            raise _no_kernel(f"{name}_cpu", kind)
        return wrap(compute(numbers_of(input, kind), numbers_of(other, kind)), bool_)

    function.__name__ = name
    return function


_COMPARISONS = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_LONG = {
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
for _name, _numpys in _COMPARISONS.items():
    _function = _comparison(_name, _numpys)
    operation(_name, *([_LONG[_name]] if _name in _LONG else []))(_function)


def _logical(name: str, compute: Compute) -> None:
    def function(input: Tensor, other: Tensor) -> Tensor:
        if not isinstance(other, Tensor):
            raise must_be_tensor(name, "other", 2, other)
        fit(input, other)
        return wrap(compute(converted(input._array, bool_), converted(other._array, bool_)))

    operation(name)(function)


_logical("logical_and", np.logical_and)
_logical("logical_or", np.logical_or)
_logical("logical_xor", np.logical_xor)


@operation()
def logical_not(input: Tensor) -> Tensor:
    """True where the entry is 0."""
    return wrap(np.logical_not(input._array))


def _of_bits(name: str, compute: Compute) -> None:
    def function(input: Operand, other: Operand) -> Tensor:
        other = _other(name, other)
        fit(input, other)
        kind = result_type(input, other)
        if kind.category > 1:
            raise _no_kernel(f"{name}_cpu", kind)
        return wrap(compute(numbers_of(input, kind), numbers_of(other, kind)), kind)

    operation(name)(function)


_of_bits("bitwise_and", np.bitwise_and)
_of_bits("bitwise_or", np.bitwise_or)
_of_bits("bitwise_xor", np.bitwise_xor)


def _shift(name: str, compute: Compute) -> None:
    def function(input: Operand, other: Operand) -> Tensor:
        other = _other(name, other)
        fit(input, other)
        kind = result_type(input, other)
        if kind.category > 1:
            raise _no_kernel(f"{name[8]}shift_cpu", kind)
        kind = int64 if kind is bool_ else kind
        places = numbers_of(other, kind)
        if ((places < 0) | (places >= 8 * kind.itemsize)).any():
            raise NotInThisPage("a shift by so many places")
        return wrap(compute(numbers_of(input, kind), places), kind)

    operation(name)(function)


_shift("bitwise_left_shift", np.left_shift)
_shift("bitwise_right_shift", np.right_shift)


@operation()
def bitwise_not(input: Tensor) -> Tensor:
    """Every bit turned around; of booleans, every entry."""
    if input._dtype.category > 1:
        raise torch_error(
            TypeError, "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        )
    return wrap(np.invert(input._array), input._dtype)


# Functions of one number.


def _one_argument(
    name: str, compute: Callable[[Array], Any], back: Back1, needs: str, floating: bool = True
) -> None:
    """needs: "input", "result" or "" - whose numbers the way back uses."""

    def function(input: Tensor) -> Tensor:
        kind = input._dtype
        if name == "relu" and kind is bool_:
            raise torch_error(RuntimeError, "Boolean inputs not supported for relu")
        if floating and kind.category < 2:
            kind = get_default_dtype()
        a = converted(input._array, kind)
        numbers = converted(np.asarray(compute(a)), kind)
        return result(
            numbers,
            kind,
            name.title(),
            (input,),
            lambda g: (back(g, a, numbers),),
            (input,) if needs == "input" else (),
            needs == "result",
        )

    function.__name__ = name
    operation()(function)


def _sigmoid(a: Array) -> Array:
    small = np.exp(-np.abs(a))
    return np.where(a >= 0, 1 / (1 + small), small / (1 + small))


_erf_of_one = np.vectorize(math.erf, otypes=[np.float64])


def erf_of(a: Array) -> Array:
    """The error function of every entry."""
    found: Array = _erf_of_one(a) if a.size else np.zeros(a.shape)
    return found.astype(a.dtype)


_FLOATING: dict[str, tuple[Callable[[Array], Any], Back1, str]] = {
    "exp": (np.exp, lambda g, a, r: g * np.conj(r), "result"),
    "exp2": (np.exp2, lambda g, a, r: g * r * math.log(2), "result"),
    "expm1": (np.expm1, lambda g, a, r: g * (r + 1), "result"),
    "log": (np.log, lambda g, a, r: g / np.conj(a), "input"),
    "log2": (np.log2, lambda g, a, r: g / (a * math.log(2)), "input"),
    "log10": (np.log10, lambda g, a, r: g / (a * math.log(10)), "input"),
    "log1p": (np.log1p, lambda g, a, r: g / (1 + a), "input"),
    "sqrt": (np.sqrt, lambda g, a, r: g / (2 * r), "result"),
    "rsqrt": (lambda a: 1 / np.sqrt(a), lambda g, a, r: -0.5 * g * r**3, "result"),
    "reciprocal": (lambda a: 1 / a, lambda g, a, r: -g * r * r, "result"),
    "sin": (np.sin, lambda g, a, r: g * np.cos(a), "input"),
    "cos": (np.cos, lambda g, a, r: -g * np.sin(a), "input"),
    "tan": (np.tan, lambda g, a, r: g * (1 + r * r), "result"),
    "asin": (np.arcsin, lambda g, a, r: g / np.sqrt(1 - a * a), "input"),
    "acos": (np.arccos, lambda g, a, r: -g / np.sqrt(1 - a * a), "input"),
    "atan": (np.arctan, lambda g, a, r: g / (1 + a * a), "input"),
    "sinh": (np.sinh, lambda g, a, r: g * np.cosh(a), "input"),
    "cosh": (np.cosh, lambda g, a, r: g * np.sinh(a), "input"),
    "tanh": (np.tanh, lambda g, a, r: g * (1 - r * r), "result"),
    "sigmoid": (_sigmoid, lambda g, a, r: g * r * (1 - r), "result"),
    "erf": (erf_of, lambda g, a, r: g * (2 / math.sqrt(math.pi)) * np.exp(-a * a), "input"),
    "deg2rad": (np.deg2rad, lambda g, a, r: g * (math.pi / 180), ""),
    "rad2deg": (np.rad2deg, lambda g, a, r: g * (180 / math.pi), ""),
}
for _name, (_forward, _backward, _needs) in _FLOATING.items():
    _one_argument(_name, _forward, _backward, _needs)

_OF_ANY_DTYPE: dict[str, tuple[Callable[[Array], Any], Back1, str]] = {
    "square": (np.square, lambda g, a, r: 2 * g * np.conj(a), "input"),
    "sign": (np.sign, lambda g, a, r: g * 0, ""),
    "sgn": (np.sign, lambda g, a, r: g * 0, ""),
    "floor": (np.floor, lambda g, a, r: g * 0, ""),
    "ceil": (np.ceil, lambda g, a, r: g * 0, ""),
    "trunc": (np.trunc, lambda g, a, r: g * 0, ""),
    "frac": (lambda a: a - np.trunc(a), lambda g, a, r: g, ""),
    "relu": (lambda a: np.maximum(a, 0), lambda g, a, r: np.where(r > 0, g, 0), "result"),
    "positive": (lambda a: a, lambda g, a, r: g, ""),
    "conj": (np.conj, lambda g, a, r: np.conj(g), ""),
}
for _name, (_forward, _backward, _needs) in _OF_ANY_DTYPE.items():
    _one_argument(_name, _forward, _backward, _needs, floating=False)


@operation("neg", "negative")
def neg(input: Tensor) -> Tensor:
    """-input."""
    if input._dtype is bool_:
        raise torch_error(
            RuntimeError,
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
            "invert a mask, use the `~` or `logical_not()` operator instead.",
        )
    return result(-input._array, input._dtype, "Neg", (input,), lambda g: (-g,))


@operation("abs", "absolute")
def absolute(input: Tensor) -> Tensor:
    """The distance of every entry from 0."""
    a, kind = input._array, input._dtype
    numbers = np.abs(a)
    if kind.is_complex:
        back: Callable[[Array], Any] = lambda g: g * np.where(a == 0, 0, a / np.abs(a))  # noqa: E731
        return result(numbers, _real(kind), "Abs", (input,), lambda g: (back(g),), (input,))
    return result(numbers, kind, "Abs", (input,), lambda g: (g * np.sign(a),), (input,))


def _real(kind: dtype) -> dtype:
    from .dtypes import float32, float64

    return float64 if kind.storage == np.complex128 else float32


@operation("round")
def rounded(input: Tensor, *, decimals: int = 0) -> Tensor:
    """The nearest whole numbers, or those with so many digits; ties to the even one."""
    numbers = np.round(input._array, decimals)
    return result(numbers, input._dtype, "Round", (input,), lambda g: (g * 0,))


def _test_of_number(name: str) -> None:
    numpys = getattr(np, name)

    def function(input: Tensor) -> Tensor:
        return wrap(numpys(input._array), bool_)

    operation(name)(function)


for _name in ("isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit"):
    _test_of_number(_name)


@operation("clamp", "clip")
def clamp(input: Tensor, min: Operand = None, max: Operand = None) -> Tensor:
    """Every entry, or the bound that it exceeds."""
    low, high = min, max
    bounds = [bound for bound in (low, high) if bound is not None]
    if not bounds:
        raise torch_error(
            RuntimeError, "torch.clamp: At least one of 'min' or 'max' must not be None"
        )
    if len({isinstance(bound, Tensor) for bound in bounds}) > 1:
        kinds = {True: "Tensor", False: type(next(b for b in bounds if is_number(b))).__name__}
        raise torch_error(
            TypeError,
            "clamp() received an invalid combination of arguments - got (max="
            f"{kinds[isinstance(high, Tensor)]}, min={kinds[isinstance(low, Tensor)]}, ), but "
            "expected one of:\n * (Tensor min = None, Tensor max = None)\n"
            " * (Number min = None, Number max = None)\n",
        )
    fit(input, *bounds)
    kind = result_type(input, *bounds)
    a = numbers_of(input, kind)
    least = None if low is None else numbers_of(low, kind)
    most = None if high is None else numbers_of(high, kind)
    numbers = a if least is None else np.maximum(a, least)
    numbers = numbers if most is None else np.minimum(numbers, most)

    def backward(g: Array) -> Sequence[Array]:
        too_low = np.False_ if least is None else a < least
        too_high = np.False_ if most is None else a > most
        nothing = np.zeros_like(g)
        return (
            np.where(too_low | too_high, nothing, g),
            np.where(too_low & ~too_high, g, nothing),
            np.where(too_high, g, nothing),
        )

    return result(numbers, kind, "Clamp", (input, low, high), backward, (input, low, high))


@operation()
def clamp_min(input: Tensor, min: Operand) -> Tensor:
    """No entry below `min`."""
    return clamp(input, min=min)


@operation()
def clamp_max(input: Tensor, max: Operand) -> Tensor:
    """No entry above `max`."""
    return clamp(input, max=max)


@operation()
def nan_to_num(
    input: Tensor,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:
    """Numbers in place of NaN (0) and the infinities (the largest ones)."""
    a = input._array
    numbers = np.nan_to_num(a, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)
    return result(
        numbers, input._dtype, "NanToNum", (input,), lambda g: (g * np.isfinite(a),), (input,)
    )


@operation()
def masked_fill(input: Tensor, mask: Tensor, value: Operand) -> Tensor:
    """`value` where the mask is True."""
    if not isinstance(mask, Tensor):
        kinds = f"({type(mask).__name__}, {type(value).__name__})"
        raise torch_error(
            TypeError,
            f"masked_fill() received an invalid combination of arguments - got {kinds}, but "
            "expected one of:\n * (Tensor mask, Tensor value)\n * (Tensor mask, Number value)\n",
        )
    if mask._dtype is not bool_:
        raise torch_error(
            RuntimeError,
            "masked_fill_ only supports boolean masks, but got mask with dtype "
            f"{mask._dtype.c_name}",
        )
    if problem := fit_mask(mask, input):
        raise problem
    if isinstance(value, Tensor) and value.ndim:
        raise torch_error(
            RuntimeError,
            "masked_fill only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.ndim} dimension(s).",
        )
    plain = value._array.item() if isinstance(value, Tensor) else value
    check_representable(plain, input._dtype)
    a, masked = np.broadcast_arrays(input._array, mask._array)
    numbers = np.array(a, order="C")
    numbers[masked] = converted(np.asarray(plain), input._dtype)

    def backward(g: Array) -> Sequence[Array]:
        return np.where(masked, 0, g), np.where(masked, g, 0).sum()

    return result(numbers, input._dtype, "MaskedFill", (input, value), backward, (mask,))


def fit_mask(mask: Tensor, input: Tensor) -> Exception | None:
    """What PyTorch says to a mask that does not fit; it names the mask first."""
    from .errors import cannot_broadcast

    return cannot_broadcast(mask._array.shape, input._array.shape)


def copied(a: Array) -> Array:
    """A copy with the axes in memory in the same order, as PyTorch keeps them."""
    copy = np.empty_like(a)
    copy[...] = a
    return copy


def check_representable(value: Any, kind: dtype) -> None:
    """PyTorch refuses to fill with what the dtype cannot hold."""
    if isinstance(value, (bool, complex)) or kind.category not in (1, 2):
        return
    number = float(value)
    if kind.category == 1:
        too_large = not math.isfinite(number)
    else:
        largest = 3.3895313892515355e38 if kind.name == "bfloat16" else np.finfo(kind.storage).max
        too_large = math.isfinite(number) and abs(number) > float(largest)
    if too_large:
        name = {"int64": "int64_t", "int32": "int"}.get(kind.name, kind.c_name)
        raise torch_error(
            RuntimeError, f"value cannot be converted to type {name} without overflow"
        )


@operation(method=False)
def where(condition: Tensor, input: Operand = None, other: Operand = None) -> Any:
    """`input` where the condition holds, else `other`; alone, the places where it holds."""
    if not isinstance(condition, Tensor):
        raise must_be_tensor("where", "condition", 1, condition)
    if input is None and other is None:
        return METHODS["nonzero"](condition, as_tuple=True)
    if condition._dtype is not bool_:
        raise torch_error(
            RuntimeError,
            "where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{condition._dtype.type_name}",
        )
    input, other = _other("where", input), _other("where", other, 3)
    fit(condition, input, other)
    kind = result_type(input, other)
    holds, a, b = np.broadcast_arrays(
        condition._array, numbers_of(input, kind), numbers_of(other, kind)
    )
    numbers = np.empty_like(a)
    numbers[...] = np.where(holds, a, b)

    def backward(g: Array) -> Sequence[Array]:
        return np.where(holds, g, 0), np.where(holds, 0, g)

    return result(numbers, kind, "Where", (input, other), backward, (condition,))


@operation("where", function=False)
def _where_method(self: Tensor, condition: Tensor, other: Operand) -> Tensor:
    return where(condition, self, other)  # type: ignore[no-any-return]


@operation()
def lerp(input: Tensor, end: Tensor, weight: Operand) -> Tensor:
    """input + weight * (end - input)."""
    for name, one in (("end", end), ("weight", weight)):
        if isinstance(one, Tensor) and one._dtype is not input._dtype:
            raise torch_error(
                RuntimeError,
                f"expected dtype {input._dtype.c_name} for `{name}` but got dtype "
                f"{one._dtype.c_name}",
            )
    return add(input, mul(weight, sub(end, input)))


@operation()
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """input + value * tensor1 * tensor2."""
    return add(input, mul(mul(tensor1, tensor2), value))


@operation()
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """input + value * tensor1 / tensor2."""
    return add(input, mul(div(tensor1, tensor2), value))


# Other dtypes.


def cast(input: Tensor, kind: dtype) -> Tensor:
    """The tensor in another dtype; itself where it has that one."""
    if kind is input._dtype:
        return input
    numbers = converted(input._array, kind)
    return result(numbers, kind, "ToCopy", (input,), lambda g: (_kept_real(g, input),))


@operation(function=False)
def to(self: Tensor, *args: Any, copy: bool = False, **kwargs: Any) -> Tensor:
    """The tensor in the dtype that is named, or in that of the tensor that is named."""
    kind = self._dtype
    for given in (*args, *kwargs.values()):
        if isinstance(given, Tensor):
            kind = given._dtype
        elif isinstance(given, (dtype, type)):
            kind = as_dtype(given, kind)
        elif type(given) is int and kind is not self._dtype:
            raise no_form_fits("to", "non_blocking", args, kwargs)
        elif not isinstance(given, (bool, type(None))):
            device(given)
    return clone(self) if copy and kind is self._dtype else cast(self, kind)


_CASTS = {
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "bfloat16": "bfloat16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "bool": "bool",
    "cfloat": "complex64",
    "cdouble": "complex128",
}


def _casting(name: str, kind: dtype) -> None:
    def function(self: Tensor) -> Tensor:
        return cast(self, kind)

    operation(name, function=False)(function)


def _define_casts() -> None:
    of_name = {one.name: one for one in ALL}
    for name, kind in _CASTS.items():
        _casting(name, of_name[kind])


_define_casts()


@operation(function=False)
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in the dtype of another."""
    return cast(self, other._dtype)


@operation("type", function=False)
def type_(self: Tensor, dtype: Any = None) -> Any:
    """The name of the tensor's type; with a dtype, the tensor in that."""
    if dtype is None:
        return f"torch.{self._dtype.type_name}Tensor"
    return cast(self, _of_type(dtype))


def _of_type(given: Any) -> dtype:
    """A dtype, also by its class's old name: `torch.LongTensor`, "torch.LongTensor"."""
    from .dtypes import ALL

    if isinstance(given, str):
        named = {f"torch.{one.type_name}Tensor": one for one in ALL}
        if given not in named:
            raise torch_error(ValueError, f"invalid type: '{given}'")
        return named[given]
    return as_dtype(getattr(given, "kind", given), bool_)


@operation()
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy with a memory of its own."""
    return result(copied(input._array), input._dtype, "Clone", (input,), lambda g: (g,))


# Complex numbers.


def _one_scalar_type(first: Tensor, second: Tensor) -> None:
    if first._dtype is not second._dtype:
        raise torch_error(
            RuntimeError,
            f"Expected object of scalar type {first._dtype.type_name} but got scalar type "
            f"{second._dtype.type_name} for second argument",
        )


@operation("complex", method=False)
def complex_(real: Tensor, imag: Tensor) -> Tensor:
    """real + 1j * imag."""
    _one_scalar_type(real, imag)
    fit(real, imag)
    kind = _complex_of(real)
    numbers = converted(real._array + 1j * imag._array, kind)
    return result(numbers, kind, "Complex", (real, imag), lambda g: (g.real, g.imag))


def _complex_of(real: Tensor) -> dtype:
    from .dtypes import complex64, complex128

    return complex128 if real._array.dtype == np.float64 else complex64


@operation(method=False)
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """abs * e ** (1j * angle)."""
    _one_scalar_type(abs, angle)
    fit(abs, angle)
    length, turn = abs._array, np.exp(1j * angle._array)

    def backward(g: Array) -> Sequence[Array]:
        return (g * np.conj(turn)).real, (g * np.conj(1j * length * turn)).real

    return result(length * turn, _complex_of(abs), "Polar", (abs, angle), backward, (abs, angle))


@operation(method=False)
def view_as_complex(input: Tensor) -> Tensor:
    """Pairs along the last axis as complex numbers."""
    kind = _complex_of(input)
    numbers = np.ascontiguousarray(input._array).view(kind.storage)[..., 0]
    return result(
        numbers, kind, "ViewAsComplex", (input,), lambda g: (np.stack([g.real, g.imag], -1),)
    )


@operation(method=False)
def view_as_real(input: Tensor) -> Tensor:
    """Complex numbers as pairs along a new last axis."""
    numbers = np.stack([input._array.real, input._array.imag], -1)
    return result(
        numbers,
        _real(input._dtype),
        "ViewAsReal",
        (input,),
        lambda g: (g[..., 0] + 1j * g[..., 1],),
    )


@operation()
def real(input: Tensor) -> Tensor:
    """The real parts."""
    if not input._dtype.is_complex:
        return input
    return result(input._array.real, _real(input._dtype), "Real", (input,), lambda g: (g,))


@operation()
def imag(input: Tensor) -> Tensor:
    """The imaginary parts."""
    return result(input._array.imag, _real(input._dtype), "Imag", (input,), lambda g: (1j * g,))


for _name in ("real", "imag"):
    setattr(Tensor, _name, property(observed("__get__", METHODS.pop(_name))))

"""`torch.nn.functional`: layers as functions."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import absent
from ..dtypes import Array, bool_, float32, float64, int64, uint8
from ..errors import NotInThisPage, torch_error
from ..indexing import gather
from ..operations import FUNCTIONS, METHODS, operation
from ..pointwise import cast, clamp, masked_fill, where
from ..products import matmul
from ..promotion import result_type
from ..random import bernoulli_numbers
from ..reductions import log_softmax as _log_softmax
from ..reductions import mean, norm, total
from ..reductions import softmax as _softmax
from ..shapes import movedim, narrow, ordered, split, transpose, unsqueeze
from ..tensor import Tensor, laid_out_as, result, wrap

__getattr__ = absent.attribute_of("torch.nn.functional", absent.OF_FUNCTIONAL)


def _function(function: Callable[..., Any]) -> Callable[..., Any]:
    return operation(function.__name__, function=False, method=False)(function)


# Activations.


@_function
def softmax(input: Tensor, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Positive weights that add up to 1 along an axis."""
    return _softmax(input, _usual_axis(input, dim), dtype)


@_function
def log_softmax(input: Tensor, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of the softmax."""
    return _log_softmax(input, _usual_axis(input, dim), dtype)


@_function
def softmin(input: Tensor, dim: Any = None) -> Tensor:
    """The softmax of the negative."""
    return _softmax(-input, _usual_axis(input, dim))


def _usual_axis(input: Tensor, dim: Any) -> Any:
    """The axis that PyTorch takes where none is named."""
    return (0 if input.ndim in (0, 1, 3) else 1) if dim is None else dim


for _name in ("sigmoid", "tanh"):
    globals()[_name] = FUNCTIONS[_name]


@_function
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """The larger of each entry and 0."""
    return METHODS["relu_" if inplace else "relu"](input)  # type: ignore[no-any-return]


def _no_change_in_place(inplace: bool) -> None:
    if inplace:
        raise NotInThisPage("a layer in place (inplace=True)")


def _smooth(
    name: str, input: Tensor, forward: Callable[[Array], Any], slope: Callable[[Array], Any]
) -> Tensor:
    """A function of one number, by itself and by its derivative."""
    if input._dtype.category < 2:
        raise torch_error(
            NotImplementedError, f"\"{name}\" not implemented for '{input._dtype.type_name}'"
        )
    a = input._array
    return result(forward(a), input._dtype, name, (input,), lambda g: (g * slope(a),), (input,))


def _logistic(a: Array) -> Array:
    small = np.exp(-np.abs(a))
    return np.where(a >= 0, 1 / (1 + small), small / (1 + small))


@_function
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x)."""
    _no_change_in_place(inplace)
    return _smooth(
        "silu_cpu",
        input,
        lambda a: a * _logistic(a),
        lambda a: _logistic(a) * (1 + a * (1 - _logistic(a))),
    )


@_function
def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """x times the probability that a normal number is smaller."""
    if approximate == "tanh":
        factor = math.sqrt(2 / math.pi)
        kind = input._array.dtype.type

        def bent(a: Array) -> Array:
            return np.tanh(kind(factor) * (a + kind(0.044715) * a**3))

        return _smooth(
            "GeluKernelImpl",
            input,
            lambda a: kind(0.5) * a * (1 + bent(a)),
            lambda a: (
                kind(0.5) * (1 + bent(a))
                + kind(0.5)
                * a
                * (1 - bent(a) ** 2)
                * kind(factor)
                * (1 + kind(3 * 0.044715) * a**2)
            ),
        )
    from ..pointwise import erf_of

    def below(a: Array) -> Array:
        return np.asarray(0.5 * (1 + erf_of(a / math.sqrt(2))), a.dtype)

    return _smooth(
        "GeluKernelImpl",
        input,
        lambda a: a * below(a),
        lambda a: below(a) + a * np.exp(-a * a / 2) / math.sqrt(2 * math.pi),
    )


@_function
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where it is positive, else a small part of it."""
    _no_change_in_place(inplace)
    return _smooth(
        "leaky_relu_cpu",
        input,
        lambda a: np.where(a > 0, a, a * negative_slope),
        lambda a: np.where(a > 0, 1, negative_slope),
    )


@_function
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where it is positive, else alpha * (exp(x) - 1)."""
    _no_change_in_place(inplace)
    return _smooth(
        "elu_cpu",
        input,
        lambda a: np.where(a > 0, a, alpha * np.expm1(np.minimum(a, 0))),
        lambda a: np.where(a > 0, 1, alpha * np.exp(np.minimum(a, 0))),
    )


@_function
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` with two constants that keep mean and variance."""
    _no_change_in_place(inplace)
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    return _smooth(
        "elu_cpu",
        input,
        lambda a: scale * np.where(a > 0, a, alpha * np.expm1(np.minimum(a, 0))),
        lambda a: scale * np.where(a > 0, 1, alpha * np.exp(np.minimum(a, 0))),
    )


@_function
def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """log(1 + exp(beta * x)) / beta."""
    return _smooth(
        "softplus_cpu",
        input,
        lambda a: np.where(a * beta > threshold, a, np.logaddexp(a * beta, 0) / beta),
        lambda a: np.where(a * beta > threshold, 1, _logistic(a * beta)),
    )


@_function
def logsigmoid(input: Tensor) -> Tensor:
    """The logarithm of the sigmoid."""
    return _smooth(
        "log_sigmoid_cpu", input, lambda a: -np.logaddexp(-a, 0), lambda a: _logistic(-a)
    )


@_function
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * tanh(log(1 + exp(x)))."""
    _no_change_in_place(inplace)
    return input * METHODS["tanh"](softplus(input))


@_function
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """x, but at least 0 and at most 6."""
    _no_change_in_place(inplace)
    return clamp(input, 0, 6)


@_function
def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """x, but between two bounds."""
    _no_change_in_place(inplace)
    return clamp(input, min_val, max_val)


@_function
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * min(max(x + 3, 0), 6) / 6."""
    _no_change_in_place(inplace)
    return input * clamp(input + 3, 0, 6) / 6


@_function
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(x + 3, 0), 6) / 6."""
    _no_change_in_place(inplace)
    return clamp(input + 3, 0, 6) / 6


@_function
def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|)."""
    return input / (METHODS["abs"](input) + 1)


@_function
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """One half times the sigmoid of the other."""
    length = input.shape[dim]
    if length % 2:
        raise torch_error(
            RuntimeError,
            f"Halving dimension must be even, but dimension {dim} is size {length}",
        )
    first, second = split(input, length // 2, dim)
    return first * METHODS["sigmoid"](second)


# Layers.


@_function
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias."""
    if not isinstance(weight, Tensor):
        raise torch_error(
            TypeError,
            f"linear(): argument 'weight' (position 2) must be Tensor, not {type(weight).__name__}",
        )
    turned = ordered(weight, tuple(reversed(range(weight.ndim))))
    if input.ndim == 1 and weight.ndim == 2 and input.shape[0] != weight.shape[1]:
        product = matmul(unsqueeze(input, 0), turned)
    else:
        product = matmul(input, turned)
    if bias is None:
        return product
    if bias._dtype is not product._dtype:
        raise torch_error(
            RuntimeError,
            f"self and mat2 must have the same dtype, but got {bias._dtype.type_name} and "
            f"{weight._dtype.type_name}",
        )
    return product + bias


@_function
def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """The rows of a table whose numbers are given."""
    if input._dtype.name not in ("int64", "int32"):
        raise torch_error(
            RuntimeError,
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
            f"Long, Int; but got torch.{input._dtype.type_name}Tensor instead (while checking "
            "arguments for embedding)",
        )
    if weight.ndim != 2:
        raise torch_error(RuntimeError, "'weight' must be 2-D")
    places, rows = input._array, weight._array.shape[0]
    if places.size and (places.min() < 0 or places.max() >= rows):
        raise torch_error(IndexError, "index out of range in self")

    def backward(g: Array) -> Sequence[Array]:
        whole = np.zeros(weight._array.shape, g.dtype)
        kept = (
            places != (rows + padding_idx if padding_idx < 0 else padding_idx)
            if (padding_idx is not None)
            else np.ones(places.shape, bool)
        )
        np.add.at(whole, places[kept], g[kept])
        return (whole,)

    return result(weight._array[places], weight._dtype, "Embedding", (weight,), backward)


@_function
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """For every number a row of zeros with one 1."""
    if tensor._dtype is not int64:
        raise torch_error(
            RuntimeError, "one_hot is only applicable to index tensor of type LongTensor."
        )
    numbers = tensor._array
    if numbers.size == 0 and num_classes <= 0:
        raise torch_error(RuntimeError, "Can not infer total number of classes from empty tensor.")
    if numbers.size and numbers.min() < 0:
        raise torch_error(RuntimeError, "Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(numbers.max()) + 1
    elif numbers.size and numbers.max() >= num_classes:
        raise torch_error(RuntimeError, "Class values must be smaller than num_classes.")
    places = np.ascontiguousarray(numbers).reshape(*numbers.shape, 1)
    return wrap((places == np.arange(num_classes)).astype(np.int64))


@_function
def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0 and variance 1 over the last axes, then scaled and shifted."""
    shape = _normalised("layer_norm", input, normalized_shape)
    if input._dtype.category < 2:
        raise torch_error(
            NotImplementedError,
            f"\"LayerNormKernelImpl\" not implemented for '{input._dtype.type_name}'",
        )
    if weight is not None and weight._dtype is not input._dtype:
        raise torch_error(RuntimeError, "mixed dtype (CPU): all inputs must share same datatype.")
    if bias is not None and bias._dtype is not input._dtype:
        raise torch_error(
            RuntimeError,
            f"expected scalar type {input._dtype.type_name} but found {bias._dtype.type_name}",
        )
    a = np.ascontiguousarray(input._array)
    axes = tuple(range(-len(shape), 0))
    apart = a - a.mean(axes, keepdims=True)
    root = np.sqrt((apart * apart).mean(axes, keepdims=True) + np.asarray(eps, a.dtype))
    even = apart / root

    def backward(g: Array) -> Sequence[Array]:
        inner = g - g.mean(axes, keepdims=True) - even * (g * even).mean(axes, keepdims=True)
        return (inner / root,)

    normal = result(even, input._dtype, "NativeLayerNorm", (input,), backward, (input,))
    return _affine(normal, weight, bias)


def _normalised(name: str, input: Tensor, given: Any) -> tuple[int, ...]:
    if not isinstance(given, (tuple, list)):
        raise torch_error(
            TypeError,
            f"{name}(): argument 'normalized_shape' (position 2) must be tuple of ints, not "
            f"{type(given).__name__}",
        )
    shape = tuple(int(one) for one in given)
    if tuple(input.shape[input.ndim - len(shape) :]) != shape:
        listed = ", ".join(map(str, shape))
        raise torch_error(
            RuntimeError,
            f"Given normalized_shape={list(shape)}, expected input with shape [*, {listed}], but "
            f"got input of size{list(input.shape)}",
        )
    return shape


def _affine(normal: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    scaled = normal if weight is None else normal * weight
    return scaled if bias is None else scaled + bias


@_function
def rms_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Root mean square 1 over the last axes, then scaled."""
    shape = _normalised("rms_norm", input, normalized_shape)
    small = float(np.finfo(input._dtype.storage).eps) if eps is None else eps
    square = mean(input * input, tuple(range(-len(shape), 0)), True)
    return _affine(input * METHODS["rsqrt"](square + small), weight, None)


@_function
def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Tensor:
    """Vectors of length 1 along an axis."""
    return input / clamp(norm(input, p, dim, True), min=eps)


@_function
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along an axis."""
    lengths = [clamp(norm(one, 2, dim, True), min=eps) for one in (x1, x2)]
    return total(x1 / lengths[0] * (x2 / lengths[1]), dim)


@_function
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Each entry 0 with probability `p`, the others larger by as much."""
    if not 0 <= p <= 1:
        raise torch_error(ValueError, f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    _no_change_in_place(inplace)
    if p == 1:
        return input * 0
    kept = bernoulli_numbers(input._array.size, 1 - p).reshape(input._array.shape)
    noise = (kept / (1 - p)).astype(input._array.dtype)
    return input * wrap(noise, input._dtype)


@operation("dropout", method=False)
def _torch_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    return dropout(input, p, train)  # type: ignore[no-any-return]


@_function
def pad(input: Tensor, pad: Any, mode: str = "constant", value: Any = None) -> Tensor:
    """More entries before and behind those of the last axes; fewer where a number is negative."""
    if mode != "constant":
        raise NotInThisPage(f"pad() with mode={mode!r}")
    around = [int(one) for one in pad]
    if len(around) % 2:
        raise torch_error(RuntimeError, "Padding length must be divisible by 2")
    if len(around) > 2 * input.ndim:
        raise torch_error(
            RuntimeError,
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(around)} and input of dimension {input.ndim}",
        )
    widths = [(0, 0)] * input.ndim
    for place in range(len(around) // 2):
        axis = input.ndim - 1 - place
        before, behind = around[2 * place], around[2 * place + 1]
        start, end = max(-before, 0), input.shape[axis] - max(-behind, 0)
        input = narrow(input, axis, start, end - start)
        widths[axis] = (max(before, 0), max(behind, 0))
    numbers = np.pad(input._array, widths, constant_values=0 if value is None else value)
    inside = tuple(
        slice(before, before + length)
        for (before, _), length in zip(widths, input._array.shape, strict=True)
    )
    numbers = np.asarray(numbers, order="C")
    return result(numbers, input._dtype, "ConstantPadNd", (input,), lambda g: (g[inside],))


@_function
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query @ key.T / sqrt(d) + mask) @ value; a row without any key gives zeros."""
    kinds = [one._dtype for one in (query, key, value)]
    if len(set(kinds)) > 1:
        raise torch_error(
            RuntimeError,
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{kinds[0].c_name} key.dtype: {kinds[1].c_name} and value.dtype: {kinds[2].c_name} "
            "instead.",
        )
    if enable_gqa:
        times = query.shape[-3] // key.shape[-3]
        key, value = (METHODS["repeat_interleave"](one, times, -3) for one in (key, value))
    root = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = matmul(query, transpose(key, -2, -1)) * root
    if is_causal:
        if attn_mask is not None:
            raise torch_error(
                RuntimeError,
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
                "is_causal=True",
            )
        attn_mask = wrap(np.tri(*scores.shape[-2:], dtype=bool))
    if attn_mask is not None:
        if attn_mask._dtype is bool_:
            nothing = wrap(np.asarray(-np.inf, scores._array.dtype))
            scores = scores + where(attn_mask, 0.0, nothing)
        elif attn_mask._dtype is float32 and kinds[0] is float64:
            scores = scores + attn_mask
        elif attn_mask._dtype is float32 and kinds[0] is not float32:
            raise NotInThisPage("a mask of another floating dtype")
        elif attn_mask._dtype is not query._dtype:
            raise torch_error(
                RuntimeError,
                "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
                f"attn_mask.dtype: {attn_mask._dtype.c_name} and  query.dtype: "
                f"{query._dtype.c_name} instead.",
            )
        else:
            scores = scores + attn_mask
    empty = wrap(np.isneginf(scores._array).all(-1, keepdims=True))
    weights = masked_fill(_softmax(masked_fill(scores, empty, 0.0), -1), empty, 0.0)
    mixed: Tensor = matmul(dropout(weights, dropout_p), value)
    masked_by_learned = attn_mask is not None and attn_mask.requires_grad
    if not dropout_p and not masked_by_learned and _all_at_once(query, key, value):
        mixed._array = laid_out_as(query._array, mixed._array)
    return mixed


def _all_at_once(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Does PyTorch take its one kernel for attention? Its output lies in memory as the query."""
    three = (query, key, value)
    return (
        all(one.ndim == 4 and one.numel() for one in three)
        and all(one.stride(-1) == 1 for one in three)
        and len({one.shape[0] for one in three}) == len({one.shape[3] for one in three}) == 1
        and len({one.shape[1] for one in three}) == 1
    )


# Losses.


def _reduced(losses: Tensor, reduction: str) -> Tensor:
    if reduction == "none":
        return losses
    if reduction in ("mean", "sum"):
        return mean(losses) if reduction == "mean" else total(losses)
    raise torch_error(ValueError, f"{reduction} is not a valid value for reduction")


@_function
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """The negative log probability of each target; the classes are on axis 1."""
    axis = 1 if input.ndim > 1 else 0
    classes = movedim(input, axis, -1)
    _check_targets(input, target, classes)
    kept = target._array != ignore_index
    places = np.where(kept, target._array, 0).astype(np.int64, copy=False)
    wrong = places[(places < 0) | (places >= classes.shape[-1])]
    if wrong.size:
        raise torch_error(IndexError, f"Target {wrong[0]} is out of bounds.")
    picked = gather(classes, -1, wrap(places[..., None]))
    heavy = kept.astype(input._array.dtype)
    if weight is not None:
        if weight.requires_grad:
            raise NotInThisPage("the gradient of the weights of classes")
        heavy = heavy * weight._array[places]
    weights = wrap(np.asarray(heavy), input._dtype)
    losses = masked_fill(-METHODS["squeeze"](picked, -1), wrap(~kept), 0.0) * weights
    if reduction == "mean":
        return total(losses) / total(weights)
    return _reduced(losses, reduction)


def _check_targets(input: Tensor, target: Tensor, classes: Tensor) -> None:
    fits = tuple(classes.shape[:-1]) == tuple(target.shape)
    if input.ndim == 1 and tuple(target.shape) == (1,):
        raise NotInThisPage("one target in a list for logits without rows")
    if not fits and target.ndim and input.shape[0] != target.shape[0]:
        raise torch_error(
            ValueError,
            f"Expected input batch_size ({input.shape[0]}) to match target batch_size "
            f"({target.shape[0]}).",
        )
    if target._dtype not in (int64, uint8):
        raise torch_error(
            RuntimeError,
            f"expected target dtype to be Long or Byte, but got {target._dtype.type_name}",
        )
    if target._dtype is uint8 and input.ndim > 2:
        raise torch_error(RuntimeError, "expected scalar type Long but found Byte")
    if not fits:
        expected = [input.shape[0], *input.shape[2:]]
        raise torch_error(
            RuntimeError, f"Expected target size {expected}, got {list(target.shape)}"
        )


@_function
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """`nll_loss` of the log softmax of logits, whose classes are on axis 1."""
    axis = 1 if input.ndim > 1 else 0
    logarithms = _log_softmax(input, axis)
    if target.shape == input.shape:
        _check_probabilities(target, ignore_index)
        if weight is not None:
            raise NotInThisPage("cross_entropy() with probabilities and weights")
        if label_smoothing:
            target = target * (1 - label_smoothing) + label_smoothing / input.shape[axis]
        losses = -total(logarithms * target, axis)
        if reduction == "mean":
            return total(losses) / (losses._array.size if input.ndim > 1 else 1)
        return _reduced(losses, reduction)
    plain = nll_loss(logarithms, target, weight, ignore_index=ignore_index, reduction=reduction)
    if not label_smoothing:
        return plain  # type: ignore[no-any-return]
    if weight is not None:
        raise NotInThisPage("cross_entropy() with weights and label smoothing")
    left_out = wrap(target._array == ignore_index)
    spread = masked_fill(-total(logarithms, axis), left_out, 0.0)
    count = int((~left_out._array).sum())
    even = total(spread) / count if reduction == "mean" else _reduced(spread, reduction)
    share = label_smoothing / input.shape[axis]
    return plain * (1 - label_smoothing) + even * share  # type: ignore[no-any-return]


def _check_probabilities(target: Tensor, ignore_index: int) -> None:
    if target._dtype.category < 2:
        raise torch_error(
            RuntimeError,
            "Expected floating point type for target with class probabilities, got "
            f"{target._dtype.type_name}",
        )
    if ignore_index >= 0:
        raise torch_error(RuntimeError, "ignore_index is not supported for floating point target")


@_function
def kl_div(
    input: Tensor, target: Tensor, *, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """target * (log(target) - input), with log probabilities as input."""
    if log_target:
        losses = METHODS["exp"](target) * (target - input)
    else:
        losses = METHODS["xlogy"](target, target) - target * input
    if reduction == "batchmean":
        return total(losses) / input.shape[0]
    return _reduced(losses, reduction)


@_function
def mse_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """The squared difference."""
    kind = result_type(input, target)
    return _reduced(METHODS["square"](cast(input, kind) - target), reduction)


@_function
def l1_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """The absolute difference."""
    return _reduced(METHODS["abs"](input - target), reduction)


@_function
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, *, reduction: str = "mean"
) -> Tensor:
    """The cross-entropy of yes and no, from a logit."""
    return _reduced(input * (1 - target) - logsigmoid(input), reduction)


@_function
def binary_cross_entropy(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """The cross-entropy of yes and no, from a probability."""
    if tuple(input.shape) != tuple(target.shape):
        raise torch_error(
            ValueError,
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}) is deprecated. Please ensure they have the same size.",
        )
    if target._dtype is not input._dtype:
        raise torch_error(
            RuntimeError,
            f"Found dtype {target._dtype.type_name} but expected {input._dtype.type_name}",
        )
    for name, one in (("target", target), ("input", input)):
        if ((one._array < 0) | (one._array > 1)).any():
            raise torch_error(RuntimeError, f"all elements of {name} should be between 0 and 1")
    if target.requires_grad:
        raise NotInThisPage("the gradient of a target")
    return _reduced(_of_yes_and_no(input, target._array), reduction)


def _of_yes_and_no(input: Tensor, wanted: Array) -> Tensor:
    a = input._array
    yes, no = (np.maximum(np.log(one), -100) for one in (a, 1 - a))
    losses = (wanted - 1) * no - wanted * yes

    def backward(g: Array) -> Sequence[Array]:
        return (g * (a - wanted) / np.maximum((1 - a) * a, 1e-12),)

    return result(losses, input._dtype, "BinaryCrossEntropy", (input,), backward, (input,))

"""Random numbers: those of PyTorch on a CPU, for the same seed.

PyTorch draws from a Mersenne twister (mt19937), of which NumPy has the same one. What it makes of
the raw numbers is copied here: 53 or 24 bits of them as a uniform number, Box and Muller's pairs
as normal ones, in blocks of sixteen where there are at least so many. Only for Bernoulli's zeros
and ones (dropout) PyTorch has two ways: on processors made by Intel it takes another generator.
"""

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from .dtypes import CPU, Array, as_dtype, converted, device, dtype, get_default_dtype, int64
from .errors import NotInThisPage, torch_error
from .operations import operation
from .shapes import sizes_of
from .tensor import Tensor, change, result, wrap

DEFAULT_SEED = 67280421310721
_BLOCK = 16


class Generator:
    """A stream of random numbers."""

    __module__ = "torch"

    def __init__(self, device: Any = None) -> None:
        self.manual_seed(DEFAULT_SEED)
        self.device = CPU if device is None else _checked(device)

    def manual_seed(self, seed: int) -> "Generator":
        """Begin anew."""
        self._seed = int(seed)
        self._twister = np.random.RandomState(self._seed & 0xFFFFFFFF)
        self._kept: float | None = None  # the second of a pair of normal numbers
        return self

    def initial_seed(self) -> int:
        """The seed it was begun with."""
        return self._seed

    def seed(self) -> int:
        """Begin anew with a seed that is not to be foreseen."""
        self.manual_seed(int.from_bytes(np.random.bytes(7), "little"))
        return self._seed

    def get_state(self) -> "State":
        """What is needed to go on from here once more."""
        return State((self._seed, self._twister.get_state(), self._kept))

    def set_state(self, state: "State") -> "Generator":
        """Go on from where `get_state` was called."""
        self._seed, of_twister, self._kept = state
        self._twister = np.random.RandomState()
        self._twister.set_state(of_twister)
        return self

    def clone_state(self) -> "Generator":
        """Another generator that goes on from here."""
        return Generator().set_state(self.get_state())

    # What the distributions below draw.

    def raw(self, count: int) -> Array:
        """Whole numbers of 32 bits."""
        return np.asarray(self._twister._bit_generator.random_raw(count), dtype=np.uint64)  # type: ignore[attr-defined]

    def raw_long(self, count: int) -> Array:
        """Whole numbers of 64 bits."""
        halves = self.raw(2 * count)
        return (halves[0::2] << np.uint64(32)) | halves[1::2]

    def uniform(self, count: int, storage: Any) -> Array:
        """Numbers from 0 to 1, without 1."""
        if storage == np.float64:
            bits = self.raw_long(count) & np.uint64((1 << 53) - 1)
            return bits.astype(np.float64) * 2.0**-53
        digits = 11 if storage == np.float16 else 24
        bits = self.raw(count) & np.uint64((1 << digits) - 1)
        return (bits.astype(np.float32) * np.float32(2.0**-digits)).astype(storage)

    def normal(self, count: int, storage: Any) -> Array:
        """Numbers with mean 0 and deviation 1."""
        if count < _BLOCK:
            return np.array([self._one_normal() for _ in range(count)]).astype(storage)
        numbers = self.uniform(count, storage)
        _box_muller(numbers[: count - count % _BLOCK].reshape(-1, _BLOCK))
        if count % _BLOCK:  # the last block is drawn anew, and overlaps the one before
            numbers[-_BLOCK:] = self.uniform(_BLOCK, storage)
            _box_muller(numbers[-_BLOCK:].reshape(1, _BLOCK))
        return numbers

    def _one_normal(self) -> float:
        if self._kept is not None:
            number, self._kept = self._kept, None
            return number
        turn, size = self.uniform(2, np.float64)
        radius, angle = math.sqrt(-2.0 * math.log1p(-size)), 2.0 * math.pi * turn
        self._kept = radius * math.sin(angle)
        return radius * math.cos(angle)


def _box_muller(blocks: Array) -> None:
    """Rows of sixteen uniform numbers made normal, in place."""
    half = _BLOCK // 2
    size, turn = 1 - blocks[:, :half], blocks[:, half:].copy()
    radius = np.sqrt(-2 * np.log(size))
    angle = np.asarray(2 * np.pi, blocks.dtype) * turn
    blocks[:, :half], blocks[:, half:] = radius * np.cos(angle), radius * np.sin(angle)


class State(tuple[Any, ...]):
    """A generator's state, which PyTorch keeps in a tensor of bytes."""

    __slots__ = ()


def _checked(where: Any) -> device:
    return device(where)


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Begin the stream anew that is used where no generator is named."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Begin the stream anew with a seed that is not to be foreseen."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the stream was begun with."""
    return default_generator.initial_seed()


def get_rng_state() -> State:
    """What is needed to go on from here once more."""
    return default_generator.get_state()


def set_rng_state(new_state: State) -> None:
    """Go on from where `get_rng_state` was called."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices: Any = None, enabled: bool = True) -> Iterator[None]:
    """After the block the stream goes on as if nothing had been drawn in it."""
    before = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(before)


def _stream(generator: Generator | None) -> Generator:
    return default_generator if generator is None else generator


def _made(
    numbers: Array, shape: tuple[int, ...], kind: dtype, requires_grad: bool, where: Any
) -> Tensor:
    if where is not None:
        device(where)
    made = wrap(converted(numbers, kind).reshape(shape), kind)
    if requires_grad:
        made.requires_grad = True
    return made


def _count(name: str, shape: tuple[int, ...]) -> int:
    if any(length < 0 for length in shape):
        raise torch_error(
            RuntimeError,
            f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}",
        )
    return math.prod(shape)


def _floating(name: str, draw: str) -> None:
    def function(
        *size: Any,
        generator: Generator | None = None,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
    ) -> Tensor:
        shape, kind = sizes_of(name, size), as_dtype(dtype, get_default_dtype())
        if kind.category < 2:
            raise torch_error(
                NotImplementedError,
                f'"{"normal_kernel_cpu" if name == "randn" else "check_uniform_bounds"}" not '
                f"implemented for '{kind.type_name}'",
            )
        numbers = getattr(_stream(generator), draw)(_count(name, shape), kind.storage)
        return _made(numbers, shape, kind, requires_grad, device)

    def like(
        input: Tensor,
        *,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        generator: Generator | None = None,
    ) -> Tensor:
        return function(
            *input.shape,
            dtype=as_dtype(dtype, input._dtype),
            device=device,
            requires_grad=requires_grad,
            generator=generator,
        )

    operation(name, method=False)(function)
    operation(f"{name}_like", method=False)(like)


_floating("randn", "normal")
_floating("rand", "uniform")


@operation(method=False)
def randint(
    low: Any = None,
    high: Any = None,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Whole numbers from `low` up to `high`, without it."""
    if size is None:
        low, high, size = 0, low, high
    if low is None:
        low = 0
    shape = sizes_of("randint", (size,))
    kind = as_dtype(dtype, int64)
    numbers = _whole_numbers(_stream(generator), int(low), int(high), _count("randint", shape))
    return _made(numbers, shape, kind, requires_grad, device)


def _whole_numbers(stream: Generator, low: int, high: int, count: int) -> Array:
    if low >= high:
        raise torch_error(
            RuntimeError,
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}",
        )
    width = high - low
    raw = stream.raw_long(count) if width >= 2**28 else stream.raw(count)
    return (raw % np.uint64(width)).astype(np.int64) + low


@operation(method=False)
def randint_like(input: Tensor, low: Any, high: Any = None, *, dtype: Any = None) -> Tensor:
    """Whole numbers in the shape of another tensor."""
    if high is None:
        low, high = 0, low
    return randint(low, high, tuple(input.shape), dtype=as_dtype(dtype, input._dtype))


@operation(method=False)
def randperm(
    n: int, *, generator: Generator | None = None, dtype: Any = None, device: Any = None
) -> Tensor:
    """The numbers from 0 to n - 1, shuffled."""
    order, stream = np.arange(n), _stream(generator)
    for place, raw in enumerate(stream.raw(max(n - 1, 0))):
        other = place + int(raw) % (n - place)
        order[place], order[other] = order[other], order[place]
    return _made(order, (n,), as_dtype(dtype, int64), False, device)


@operation(method=False)
def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
) -> Tensor:
    """Normal numbers with this mean and deviation."""
    if size is None:
        raise NotInThisPage("torch.normal() without a size")
    shape, kind = sizes_of("normal", (size,)), as_dtype(dtype, get_default_dtype())
    numbers = _stream(generator).normal(_count("normal", shape), kind.storage)
    return _made(_scaled(numbers, mean, std), shape, kind, False, None)


def _scaled(numbers: Array, mean: float, std: float) -> Array:
    kind = numbers.dtype.type
    return numbers * kind(std) + kind(mean)


def _replaced(target: Tensor, numbers: Array) -> Tensor:
    def new(old: Tensor) -> Tensor:
        shaped = numbers.reshape(old._array.shape)
        return result(shaped, old._dtype, "Random", (old,), lambda g: (np.zeros_like(g),))

    return change(target, new)


@operation(function=False)
def normal_(
    self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Filled with normal numbers."""
    numbers = _stream(generator).normal(self._array.size, self._array.dtype)
    return _replaced(self, _scaled(numbers, mean, std))


@operation(function=False)
def uniform_(
    self: Tensor, a: float = 0.0, b: float = 1.0, *, generator: Generator | None = None, **ends: Any
) -> Tensor:
    """Filled with uniform numbers."""
    low, high = ends.pop("from", a), ends.pop("to", b)
    if ends:
        raise NotInThisPage(f"the argument {min(ends)!r} of uniform_()")
    numbers = _stream(generator).uniform(self._array.size, self._array.dtype)
    wide = numbers.astype(np.longdouble)  # PyTorch rounds once, after both steps
    return _replaced(self, (wide * (high - low) + low).astype(numbers.dtype))


@operation(function=False)
def random_(
    self: Tensor, a: int = 0, b: int | None = None, *, generator: Generator | None = None
) -> Tensor:
    """Filled with whole numbers from `a` up to `b`, without it."""
    low, high = (a, b) if b is not None else (0, a)
    return _replaced(self, _whole_numbers(_stream(generator), low, high, self._array.size))


def bernoulli_numbers(count: int, p: float, generator: Generator | None = None) -> Array:
    """Ones with probability `p`, else zeros."""
    return _stream(generator).uniform(count, np.float64) < p


@operation()
def bernoulli(input: Tensor, p: Any = None, *, generator: Generator | None = None) -> Tensor:
    """Ones with the probabilities that are given, else zeros."""
    if p is None:
        draws = _stream(generator).uniform(input._array.size, np.float64)
        chosen = draws.reshape(input._array.shape) < input._array
    else:
        chosen = bernoulli_numbers(input._array.size, p, generator).reshape(input._array.shape)
    return wrap(chosen.astype(input._array.dtype), input._dtype)


@operation(function=False)
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Filled with ones with probability `p`, else zeros."""
    if isinstance(p, Tensor):
        raise NotInThisPage("bernoulli_() with a tensor")
    return _replaced(self, bernoulli_numbers(self._array.size, float(p), generator))

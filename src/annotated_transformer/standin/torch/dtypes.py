"""The kinds of numbers, what becomes of two kinds that meet, and shapes and devices."""

import math
from typing import Any

import numpy as np

from .errors import NotInThisPage, torch_error

Array = np.ndarray[Any, Any]
_KINDS = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}  # of NumPy's dtypes, in PyTorch's order


class dtype:  # noqa: N801 - PyTorch's name
    """A kind of number. `storage` is NumPy's; bfloat16, which NumPy lacks, is kept as float32."""

    __module__ = "torch"

    def __init__(self, name: str, type_name: str, c_name: str, storage: str = "") -> None:
        self.name, self.type_name, self.c_name = name, type_name, c_name
        self.storage = np.dtype(storage or name)
        self.category = _KINDS[self.storage.kind]

    @property
    def is_floating_point(self) -> bool:
        return self.category == 2

    @property
    def is_complex(self) -> bool:
        return self.category == 3

    @property
    def is_signed(self) -> bool:
        return self.storage.kind not in "bu"

    @property
    def itemsize(self) -> int:
        return 2 if self.name == "bfloat16" else self.storage.itemsize

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


bool_ = dtype("bool", "Bool", "bool")
uint8 = dtype("uint8", "Byte", "unsigned char")
int8 = dtype("int8", "Char", "signed char")
int16 = dtype("int16", "Short", "short")
int32 = dtype("int32", "Int", "int", "intc")  # and not NumPy's own, see PLACES
int64 = dtype("int64", "Long", "long int")
float16 = dtype("float16", "Half", "c10::Half")
bfloat16 = dtype("bfloat16", "BFloat16", "c10::BFloat16", "float32")
float32 = dtype("float32", "Float", "float")
float64 = dtype("float64", "Double", "double")
complex64 = dtype("complex64", "ComplexFloat", "c10::complex<float>")
complex128 = dtype("complex128", "ComplexDouble", "c10::complex<double>")
ALL = (
    *(bool_, uint8, int8, int16, int32, int64),
    *(float16, bfloat16, float32, float64, complex64, complex128),
)
_OF_NUMPY = {one.storage: one for one in ALL if one is not bfloat16}
_OF_PYTHON = {bool: bool_, int: int64, float: float64, complex: complex128}
# NumPy's own whole numbers stand for int64. In a page they have 32 bits, as C's int has, but their
# letter is another one: by it they are told from an int32 of ours.
PLACES = np.dtype(np.intp)
_default = [float32]


def get_default_dtype() -> dtype:
    """The dtype that `torch.zeros(3)` has."""
    return _default[0]


def set_default_dtype(d: dtype, /) -> None:
    """Choose the dtype that `torch.zeros(3)` has."""
    if not isinstance(d, dtype) or not d.is_floating_point:
        raise torch_error(TypeError, "only floating-point types are supported as the default type")
    _default[0] = d


def default_complex() -> dtype:
    return complex128 if get_default_dtype() is float64 else complex64


def dtype_of_array(array: Array) -> dtype:
    """The dtype that a tensor of this array has, or PyTorch's complaint."""
    if array.dtype.char == PLACES.char:
        return int64
    if array.dtype.kind == "u" and array.dtype.itemsize > 1:
        raise NotInThisPage(f"the dtype torch.{array.dtype}")
    found = _OF_NUMPY.get(array.dtype)
    if found is None:
        raise torch_error(
            TypeError,
            f"can't convert np.ndarray of type {array.dtype.type.__module__}."
            f"{array.dtype.type.__name__}. The only supported types are: float64, float32, "
            "float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, "
            "uint8, and bool.",
        )
    return found


def check_strides(array: Array) -> None:
    """PyTorch takes no array that runs backwards in its memory."""
    if any(step < 0 for step in array.strides):
        raise torch_error(
            ValueError,
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not currently supported. (You can probably work around this by making a "
            "copy of your array  with array.copy().) ",
        )


def as_places(whole: Array) -> Array:
    """Whole numbers as NumPy takes them for places and counts; it refuses larger ones than that."""
    return whole.astype(PLACES, copy=False, casting="same_kind")


def as_dtype(given: Any, otherwise: dtype) -> dtype:
    """A `dtype=` argument, which may be None or one of Python's own types."""
    if given is None:
        return otherwise
    if isinstance(given, dtype):
        return given
    if given in _OF_PYTHON:
        return _OF_PYTHON[given]
    raise torch_error(
        TypeError, f"argument 'dtype' must be torch.dtype, not {type(given).__name__}"
    )


def converted(array: Array, to: dtype) -> Array:
    """The numbers in another dtype; the same array where nothing changes."""
    if to is bfloat16:
        return _as_bfloat16(array)
    if to.category == 0:
        return array if array.dtype == to.storage else array != 0
    if array.dtype.kind == "c" and to.category != 3:
        array = array.real.copy()
    return stored(array, to)


def stored(array: Array, kind: dtype) -> Array:
    """The numbers in the dtype that NumPy keeps them in; the same array where they are."""
    return array if array.dtype.char == kind.storage.char else array.astype(kind.storage)


def _as_bfloat16(array: Array) -> Array:
    """float32 numbers rounded to the nearest with eight binary digits, ties to the even one."""
    plain = np.ascontiguousarray(array.astype(np.float32, copy=False))
    bits = plain.view(np.uint32)
    rounded = (bits + (((bits >> np.uint32(16)) & np.uint32(1)) + np.uint32(0x7FFF))) & np.uint32(
        0xFFFF0000
    )
    result: Array = np.where(np.isnan(plain), plain, rounded.view(np.float32))
    return result.reshape(array.shape)


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that both fit in, as PyTorch sees it: int64 and float16 give float16."""
    if type1 is type2:
        return type1
    high, low = (type1, type2) if type1.category >= type2.category else (type2, type1)
    if high.category == 3 and low.category == 2:
        return complex128 if float64 in (high, low) or complex128 in (high, low) else complex64
    if high.category != low.category:
        return high
    if bfloat16 in (high, low):
        return float32 if float16 in (high, low) else (low if high is bfloat16 else high)
    return _OF_NUMPY[np.promote_types(high.storage, low.storage)]


class Size(tuple[int, ...]):
    """A tensor's shape."""

    __module__ = "torch"
    __slots__ = ()

    def numel(self) -> int:
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> Any:
        return Size(tuple(self) + tuple(other)) if isinstance(other, tuple) else NotImplemented


Size.__qualname__ = "Size"


class device:  # noqa: N801 - PyTorch's name
    """Where a tensor lives. Here there is the processor alone."""

    __module__ = "torch"
    type: str

    def __init__(self, kind: Any = "cpu", index: int | None = None) -> None:
        given = kind.type if isinstance(kind, device) else str(kind)
        name, _, number = given.partition(":")
        if name != "cpu":
            raise NotInThisPage(f"the device {name!r}")
        self.type, self.index = name, int(number) if number else index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __repr__(self) -> str:
        return f"device(type='{self.type}')"

    def __str__(self) -> str:
        return self.type

    def __enter__(self) -> "device":
        return self

    def __exit__(self, *_: object) -> None:
        return None


CPU = device("cpu")


class finfo:  # noqa: N801 - PyTorch's name
    """The limits of a floating dtype."""

    __module__ = "torch"

    def __init__(self, type: dtype | None = None) -> None:
        kind = type or get_default_dtype()
        if not (kind.is_floating_point or kind.is_complex):
            raise torch_error(
                TypeError,
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle "
                "'torch.finfo'",
            )
        self.dtype, self.bits = kind.name, 8 * kind.itemsize
        if kind is bfloat16:
            self.max, self.eps, self.tiny = 3.3895313892515355e38, 2.0**-7, 2.0**-126
        else:
            info = np.finfo(kind.storage)
            self.max, self.eps, self.tiny = float(info.max), float(info.eps), float(info.tiny)
        self.min, self.smallest_normal = -self.max, self.tiny
        self.resolution = {"float16": 1e-3, "bfloat16": 1e-2, "float64": 1e-15}.get(kind.name, 1e-6)


class iinfo:  # noqa: N801 - PyTorch's name
    """The limits of a whole-number dtype."""

    __module__ = "torch"

    def __init__(self, type: dtype) -> None:
        if type.category != 1:
            raise torch_error(
                TypeError,
                "torch.iinfo() requires an integer input type. Use torch.finfo to handle "
                "'torch.iinfo'",
            )
        info = np.iinfo(type.storage)
        self.dtype, self.bits = type.name, int(info.bits)
        self.min, self.max = int(info.min), int(info.max)

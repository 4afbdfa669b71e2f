"""What a candidate returned, as plain data: taken from it in the child, read again by the parent.

Nothing that a candidate made is trusted. In the child a tensor is recognised by its exact class and
read with torch's overrides switched off; what crosses the pipe is JSON and raw numbers, never a
pickle; the parent builds NumPy arrays from it and compares those.
"""

import json
import math
import struct
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

MAX_ELEMENTS = 1_000_000  # of one tensor; a larger one crosses as its shape and dtype alone
MAX_NODES = 20_000  # tensors, numbers, lists, ... of one value
MAX_DEPTH = 40
MAX_TREE = 4 * 2**20  # bytes of JSON
MAX_TEXT = 2_000  # characters of one string

_PLAIN_TENSORS = (torch.Tensor, torch.nn.Parameter)
_DICTIONARIES = (dict, OrderedDict, defaultdict, Counter)  # a state_dict() is an OrderedDict
_NUMPY_NUMBERS = (np.number, np.bool_)
# Torch has no public name for these. Inside, a subclass is told of no operation; nor is a mode.
_WITHOUT_OVERRIDES = torch._C.DisableTorchFunctionSubclass
UNOBSERVED = torch._C.DisableTorchFunction
_DTYPE_NAMES = {
    getattr(torch, name): name
    for name in (
        *("bool", "uint8", "int8", "int16", "int32", "int64"),
        *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    )
}
Special = Callable[[Any, Callable[[Any], Any]], Any]
_HEADER = struct.Struct("<II")  # bytes of JSON, number of blobs
_LENGTH = struct.Struct("<Q")


@dataclass(frozen=True, eq=False)
class Array:
    """A tensor as it came back. `form` is "tensor", or says what it is instead of a plain one.

    array: its numbers (bfloat16 as float32), None where they cannot be had or are too many.
    """

    dtype: str
    shape: tuple[int, ...]
    array: np.ndarray[Any, Any] | None
    form: str = "tensor"


@dataclass(frozen=True)
class Foreign:
    """Something that is no tensor, number, string, list, tuple, set or dict: its class alone."""

    class_name: str


class Packer:
    """Turns one value into JSON and blobs; counts what it has seen so that it always ends."""

    def __init__(self) -> None:
        self.blobs: list[bytes] = []
        self.nodes = 0

    def to_bytes(self, value: Any) -> bytes:
        """The tree as JSON, then the blobs."""
        text = json.dumps(self.pack(value)).encode()
        blobs = b"".join(_LENGTH.pack(len(blob)) + blob for blob in self.blobs)
        return _HEADER.pack(len(text), len(self.blobs)) + text + blobs

    def pack(self, value: Any, depth: int = 0) -> dict[str, Any]:
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            return {"t": "foreign", "v": "a structure without end, or one too large to read"}
        kind = type(value)
        if value is None or kind in (bool, str):
            return {"t": "plain", "v": value[:MAX_TEXT] if kind is str else value}
        if kind is int:  # in hexadecimal, which has no limit of digits and is quick to write
            return {"t": "int", "v": hex(value)} if value.bit_length() < 4096 else _foreign("int")
        if kind is float:
            return {"t": "float", "v": value.hex()}
        if kind is list or kind is tuple:
            items = [self.pack(item, depth + 1) for item in value[:MAX_NODES]]
            return {"t": kind.__name__, "v": items}
        if kind is set or kind is frozenset:
            items = [self.pack(item, depth + 1) for item in list(value)[:MAX_NODES]]
            return {"t": "set", "v": items}
        if kind in _DICTIONARIES:
            return self._pack_dict(value, depth)
        if isinstance(value, torch.Tensor):
            return self._pack_tensor(value)
        if isinstance(value, _NUMPY_NUMBERS) and type(value).__module__ == "numpy":
            return self.pack(value.item(), depth + 1)
        if kind is np.ndarray and value.dtype.char == np.dtype(np.intp).char:
            value = value.astype(np.int64, copy=False)  # in a page they have 32 bits
        if kind is np.ndarray and str(value.dtype) in _DTYPE_NAMES.values():
            return self.pack_array(value, str(value.dtype), value.shape, "a NumPy array")
        if isinstance(value, tuple) and issubclass(kind, tuple):  # a named tuple
            return {"t": "tuple", "v": [self.pack(v, depth + 1) for v in tuple.__iter__(value)]}
        if value is Ellipsis:
            return {"t": "ellipsis"}
        return _foreign(kind.__name__)

    def _pack_dict(self, value: dict[Any, Any], depth: int) -> dict[str, Any]:
        pairs = [
            [self.pack(key, depth + 1), self.pack(item, depth + 1)]
            for key, item in list(dict.items(value))[:MAX_NODES]
        ]
        return {"t": "dict", "v": pairs}

    def _pack_tensor(self, value: torch.Tensor) -> dict[str, Any]:
        if type(value) not in _PLAIN_TENSORS:
            return _foreign(f"{type(value).__name__}, a subclass of Tensor")
        with _WITHOUT_OVERRIDES(), torch.no_grad():
            dtype = _DTYPE_NAMES.get(value.dtype)
            shape = tuple(int(size) for size in value.shape)
            if dtype is None:
                return _foreign(f"Tensor of {value.dtype}")
            if value.is_meta:
                return self.pack_array(
                    None, dtype, shape, "a tensor on the meta device (no numbers)"
                )
            if value.layout != torch.strided:
                return self.pack_array(None, dtype, shape, "a sparse tensor")
            if math.prod(shape) > MAX_ELEMENTS:
                return self.pack_array(None, dtype, shape, "tensor")
            plain = value.detach().cpu().resolve_conj().resolve_neg()
            if value.dtype == torch.bfloat16:
                plain = plain.to(torch.float32)
            return self.pack_array(plain.contiguous().numpy(), dtype, shape, "tensor")

    def pack_array(
        self, numbers: np.ndarray[Any, Any] | None, dtype: str, shape: tuple[int, ...], form: str
    ) -> dict[str, Any]:
        """An array as the number of its blob, which is -1 where the numbers do not cross."""
        blob = -1
        if numbers is not None and numbers.size <= MAX_ELEMENTS:
            blob = len(self.blobs)
            self.blobs.append(np.ascontiguousarray(numbers).tobytes())
        return {"t": "array", "dtype": dtype, "shape": list(shape), "blob": blob, "form": form}


def _foreign(class_name: str) -> dict[str, Any]:
    return {"t": "foreign", "v": str(class_name)[:200]}


def pack(value: Any) -> bytes:
    """A value as bytes: JSON with the structure, then the raw numbers of each tensor."""
    return Packer().to_bytes(value)


def unpack(data: bytes) -> Any:
    """Read what `pack` wrote. Raises ValueError where the bytes are not of that form."""
    return read_tree(data, _unknown_kind)


def read_tree(data: bytes, special: Special) -> Any:
    """`unpack`, where `special(tree, read)` reads the kinds that a subclass of `Packer` added."""
    try:
        text_length, blob_count = _HEADER.unpack_from(data)
        if text_length > MAX_TREE or blob_count > MAX_NODES:
            raise ValueError("damaged value: a structure too large to read")
        position = _HEADER.size + text_length
        tree = json.loads(data[_HEADER.size : position])
        blobs: dict[int, memoryview] = {}
        for number in range(blob_count):
            (length,) = _LENGTH.unpack_from(data, position)
            position += _LENGTH.size
            blobs[number] = memoryview(data)[position : position + length]
            position += length
        return _read(tree, blobs, 0, special)
    except (KeyError, IndexError, TypeError, struct.error, RecursionError, OverflowError) as error:
        raise ValueError(f"damaged value: {error}") from error


def _read(tree: Any, blobs: dict[int, memoryview], depth: int, special: Special) -> Any:
    if depth > MAX_DEPTH + 1:
        raise ValueError("damaged value: too deep")
    kind = tree["t"]
    if kind == "plain" and isinstance(tree["v"], (bool, str, type(None))):
        return tree["v"]
    if kind == "int":
        return int(tree["v"], 16)
    if kind == "float":
        return float.fromhex(tree["v"])
    if kind in ("list", "tuple"):
        items = [_read(item, blobs, depth + 1, special) for item in tree["v"]]
        return items if kind == "list" else tuple(items)
    if kind == "set":
        return {_hashable(_read(item, blobs, depth + 1, special)) for item in tree["v"]}
    if kind == "dict":
        return {
            _hashable(_read(key, blobs, depth + 1, special)): _read(item, blobs, depth + 1, special)
            for key, item in tree["v"]
        }
    if kind == "array":
        return _read_array(tree, blobs)
    if kind == "ellipsis":
        return Ellipsis
    if kind == "foreign":
        return Foreign(str(tree["v"]))
    return special(tree, lambda inner: _read(inner, blobs, depth + 1, special))


def _unknown_kind(_tree: Any, _read: Callable[[Any], Any]) -> Any:
    raise ValueError("damaged value: an unknown kind")


def _hashable(key: Any) -> Any:
    """A key, or an item of a set, as it can be looked up; what is no plain value as text."""
    try:
        hash(key)
    except TypeError:
        return str(key)
    return key


def _read_array(tree: dict[str, Any], blobs: dict[int, memoryview]) -> Array:
    """An array takes its blob away: none can be named twice, so a value is no larger than its
    bytes."""
    dtype, shape = str(tree["dtype"]), tuple(int(size) for size in tree["shape"])
    if dtype not in _DTYPE_NAMES.values():
        raise ValueError("damaged value: an unknown dtype")
    if len(shape) > MAX_DEPTH or any(size < 0 for size in shape):
        raise ValueError("damaged value: a shape that no tensor has")
    if tree["blob"] == -1:
        return Array(dtype, shape, None, str(tree["form"]))
    stored = np.dtype("float32" if dtype == "bfloat16" else dtype)
    if math.prod(shape) > MAX_ELEMENTS:
        raise ValueError("damaged value: more numbers than are ever sent")
    numbers = np.frombuffer(blobs.pop(int(tree["blob"])), dtype=stored).reshape(shape)
    return Array(dtype, shape, numbers, str(tree["form"]))


def to_plain(value: Any) -> Any:
    """`unpack(pack(value))` for values of our own, which cross no pipe: references, mistakes."""
    packer = Packer()
    tree = packer.pack(value)
    blobs = {number: memoryview(blob) for number, blob in enumerate(packer.blobs)}
    return _read(tree, blobs, 0, _unknown_kind)


def to_tensors(value: Any) -> Any:
    """Plain data as torch tensors in the structure they came in."""
    if isinstance(value, Array) and value.array is not None:
        return torch.from_numpy(value.array.copy()).to(getattr(torch, value.dtype))
    if isinstance(value, (list, tuple)):
        return type(value)(to_tensors(item) for item in value)
    if isinstance(value, dict):
        return {key: to_tensors(item) for key, item in value.items()}
    return value

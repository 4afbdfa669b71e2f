"""Listening to every operation that PyTorch runs, and the bytes that are alive meanwhile.

PyTorch calls such a listener a dispatch mode. It keeps it in private modules, which a release may
rename: they are imported here and nowhere else. What public names suffice for is in
`experiments.measurements`.
"""

import weakref
from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

__all__ = ["LiveBytes", "TorchDispatchMode", "peak_bytes", "tensors_in"]


def tensors_in(value: Any) -> list[Tensor]:
    """The tensors in what an operation takes or returns: nested tuples, lists, dictionaries."""
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, Tensor)]


def peak_bytes(function: Callable[..., Any], *inputs: Tensor) -> int:
    """The most bytes of tensors that `function(*inputs)` has alive at one time.

    Counted are the tensors that it makes, its result included and its inputs not; what autograd
    keeps for a backward pass is alive until that has run. What one operation of PyTorch needs
    within itself is not seen. On a CPU the count is exact and the same at every run; elsewhere it
    is made in the same way, of the operations that PyTorch chooses there.
    """
    with LiveBytes() as counter:
        function(*inputs)
    return counter.peak


class LiveBytes(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Inside `with`, the bytes of the tensors that are made.

    A storage is added when an operation returns it, and taken off when it is freed.

    Attributes:
        live: bytes of the tensors made inside that still live.
        peak: the largest that `live` has been.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.live = self.peak = 0
        self._known: set[int] = set()  # storages that are alive

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        for given in tensors_in((args, kwargs)):
            self._add(given, 0)  # one from outside counts nothing
        result = func(*args, **(kwargs or {}))
        for made in tensors_in(result):
            self._add(made, made.untyped_storage().nbytes())
        return result

    def _add(self, tensor: Tensor, size: int) -> None:
        storage = tensor.untyped_storage()  # a view has that of its original
        if storage._cdata not in self._known:
            self._known.add(storage._cdata)
            weakref.finalize(storage, self._remove, storage._cdata, size)
            self.live += size
            self.peak = max(self.peak, self.live)

    def _remove(self, identity: int, size: int) -> None:
        self._known.discard(identity)
        self.live -= size

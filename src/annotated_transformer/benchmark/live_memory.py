"""Memory measured without a GPU: what autograd keeps, and the most that lives at once."""

import weakref
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def kept_for_backward(
    function: Callable[[], Any], besides: Iterable[Tensor] = ()
) -> dict[torch.dtype, int]:
    """Bytes that autograd keeps of `function()` until the backward pass, by type.

    Tensors that share memory count once; those in `besides`, as the weights, do not count.
    """
    known = {tensor.untyped_storage().data_ptr() for tensor in besides}
    kept: dict[int, tuple[torch.dtype, int, Tensor]] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            # Held to the end, or its address would be given to another.
            kept[storage.data_ptr()] = (tensor.dtype, storage.nbytes(), tensor)
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        result = function()
    del result
    totals: dict[torch.dtype, int] = {}
    for dtype, size, _ in kept.values():
        totals[dtype] = totals.get(dtype, 0) + size
    return totals


class LiveMemory(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Inside `with`, the bytes of the tensors that are made: how many live, and the most at once.

    Attributes:
        now: bytes of the tensors made inside that still live.
        most: the largest that `now` has been.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now = self.most = 0
        self._known: set[int] = set()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:  # the signature is PyTorch's
        del types
        before = {
            leaf.untyped_storage()._cdata
            for leaf in tree_leaves((args, kwargs))
            if isinstance(leaf, Tensor)
        }
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, Tensor) and leaf.untyped_storage()._cdata not in before:
                self._add(leaf.untyped_storage())
        return result

    def _add(self, storage: torch.UntypedStorage) -> None:
        key = storage._cdata
        if key in self._known:
            return
        size = storage.nbytes()
        self._known.add(key)
        self.now += size
        self.most = max(self.most, self.now)
        weakref.finalize(storage, self._remove, key, size)

    def _remove(self, key: int, size: int) -> None:
        self._known.discard(key)
        self.now -= size

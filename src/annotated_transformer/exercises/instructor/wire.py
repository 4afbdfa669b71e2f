"""What crosses the socket between the marker and the process of a notebook: plain data.

A frame is a kind, the number of the check it belongs to, and bytes in the form of `grader.values`:
JSON and raw numbers. Nothing is ever unpickled, in either direction. Functions do not cross: an
argument that is one stays with the marker and is called from afar (`remote`).
"""

import os
import select
import struct
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.grader.values import (
    Packer,
    read_tree,
    to_tensors,
)

# Who may send what, and when.
#
#   marker  READY         once, first: the job, as JSON
#   worker  READY         once, before any cell: the walls that stand
#   worker  CELL_FAILED   between checks
#   worker  CHECK         begins a check and gives it the next number; then the marker leads:
#     marker LOOK, RUN      one at a time, each answered by REPLY; while it is being answered
#     worker CALL, BACKWARD may come, and the marker answers each by REPLY
#     marker FINISH         ends it, from the marker's side
#   worker  CHECKED       the candidate's process has ended, by itself or by FINISH
#   worker  DONE          once, after all cells
_FRAME = struct.Struct("<BIQ")  # kind, number of the check, bytes that follow
MAX_FRAME = 64 * 2**20
(
    READY,  # the walls stand: their names
    CHECK,  # a cell checks a candidate: exercise, seed
    CELL_FAILED,  # a cell raised: number, exception
    LOOK,  # what is the candidate? the starter goes with it
    RUN,  # call the candidate: dtype, gradients, how, arguments
    REPLY,  # to LOOK, RUN, CALL or BACKWARD
    CALL,  # the candidate calls a function that stayed with the marker
    BACKWARD,  # the gradient of such a call
    FINISH,  # no more runs of this candidate
    CHECKED,  # how the process of the candidate ended
    DONE,  # no more cells
) = range(1, 12)


class ClosedError(Exception):
    """The other side is gone."""


class TooLateError(Exception):
    """Nothing came in time."""


class Channel:
    """Frames over a socket's descriptor, bound to what it needs: a patched `os` is not asked.

    check: the number of the check in progress. Frames of an earlier one are left unread: what was
    sent to a candidate that has ended is not for the next one.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor, self.check = descriptor, 0
        self._read, self._write, self._clock = os.read, os.write, time.monotonic
        self._select = select.select

    def send(self, kind: int, payload: bytes = b"", deadline: float | None = None) -> None:
        """Send one frame. Raises ClosedError, TooLateError where the other side does not read."""
        data = memoryview(_FRAME.pack(kind, self.check, len(payload)) + payload)
        while data:
            try:
                data = data[self._write(self.descriptor, data) :]
            except BlockingIOError:  # a descriptor that does not block, which the marker's is
                left = None if deadline is None else max(deadline - self._clock(), 0.0)
                if not self._select([], [self.descriptor], [], left)[1]:
                    raise TooLateError from None
            except OSError as error:
                raise ClosedError(str(error)) from None

    def receive(self, deadline: float | None = None) -> tuple[int, bytes]:
        """The next frame; `deadline` by the monotonic clock. Raises ClosedError, TooLateError."""
        while True:
            kind, check, length = _FRAME.unpack(self._take(_FRAME.size, deadline))
            if length > MAX_FRAME or check > self.check + (kind == CHECK):
                raise ClosedError("damaged frames")
            payload = self._take(length, deadline)
            if kind == CHECK:
                self.check = check
            if check == self.check:
                return kind, payload

    def _take(self, length: int, deadline: float | None) -> bytes:
        parts, missing = [], length
        while missing:
            if deadline is not None:
                left = deadline - self._clock()
                if left <= 0 or not self._select([self.descriptor], [], [], left)[0]:
                    raise TooLateError
            try:
                block = self._read(self.descriptor, min(missing, 1 << 20))
            except OSError as error:
                raise ClosedError(str(error)) from None
            if not block:
                raise ClosedError("the end of the stream")
            parts.append(block)
            missing -= len(block)
        return b"".join(parts)


class ArgumentPacker(Packer):
    """Packs arguments: functions as numbers into `functions`, tensors with their strides."""

    def __init__(self, functions: list[Callable[..., Any]]) -> None:
        super().__init__()
        self.functions = functions

    def pack(self, value: Any, depth: int = 0) -> dict[str, Any]:
        if callable(value):
            self.functions.append(value)
            number = len(self.functions) - 1
            return {"t": "function", "v": number, "class": type(value).__name__}
        packed = super().pack(value, depth)
        if isinstance(value, Tensor) and not value.is_contiguous() and 0 not in value.stride():
            return {"t": "strided", "v": packed, "strides": list(value.stride())}
        return packed


def pack_arguments(value: Any, functions: list[Callable[..., Any]]) -> bytes:
    """Arguments as bytes; every function among them is appended to `functions`."""
    return ArgumentPacker(functions).to_bytes(value)


def unpack_arguments(data: bytes, function: Callable[[int, str], Any]) -> Any:
    """What `pack_arguments` wrote, as tensors; `function(number, class)` stands for a function."""

    def special(tree: dict[str, Any], read: Callable[[Any], Any]) -> Any:
        if tree["t"] == "function":
            return function(int(tree["v"]), str(tree["class"]))
        if tree["t"] == "strided":
            plain = to_tensors(read(tree["v"]))
            strided = torch.empty_strided(plain.shape, tree["strides"], dtype=plain.dtype)
            return strided.copy_(plain)
        raise ValueError("damaged value: an unknown kind")

    return to_tensors(read_tree(data, special))

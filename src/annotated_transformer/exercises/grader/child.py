"""The child's half of a check: run the cases, send each outcome as a frame of plain bytes.

A fork copies a kernel that has other threads; only this thread lives on, so nothing here may wait
for one of them: standard streams are replaced before anything is printed, torch runs on one thread,
and the process ends by `os._exit`, which runs nobody's clean-up.
"""

import contextlib
import faulthandler
import itertools
import linecache
import os
import struct
import sys
from collections.abc import Callable

from annotated_transformer.exercises.exercise import Candidate, Exercise
from annotated_transformer.exercises.grader.confinement import Limits, confine
from annotated_transformer.exercises.grader.outcomes import cases_of, run_case
from annotated_transformer.exercises.grader.pristine import torch_defaults

TOKEN_SIZE = 16
FRAME = struct.Struct(f"<{TOKEN_SIZE}sBIQ")  # token, kind, index of the case, bytes that follow
BEGUN, OUTCOME, FINISHED = KINDS = (1, 2, 3)
UNREADABLE_JOB = 84  # a new Python could not make the candidate again
READY = b"\x1e\n"  # what a new Python prints before this is not the learner's: its imports did
PRINTED_ON = "\x1e{}\n"  # stands before what is printed on each case
UNEXPECTED_END = 83  # exit status when our own code failed, a sign of patched libraries

Send = Callable[[int, int, bytes], None]


def close_all_but(*kept: int) -> None:
    """Close what the fork inherited: the kernel's sockets are none of the candidate's business."""
    faulthandler.disable()
    sys.settrace(None)
    sys.setprofile(None)
    borders = [2, *sorted(kept), 65536]
    for low, high in itertools.pairwise(borders):
        os.closerange(low + 1, high)


def work(
    exercise: Exercise,
    candidate: Candidate,
    limits: Limits,
    scratch: str,
    token: bytes,
    results: int,
    printed: int,
) -> None:
    """Run every case and end the process. Never returns."""
    if hasattr(os, "setsid"):
        with contextlib.suppress(OSError):  # a new Python was started in a session of its own
            os.setsid()
    send = _sender(token, results)
    confine(limits, scratch, printed)
    with torch_defaults():
        for index in range(len(cases_of(exercise))):
            send(BEGUN, index, b"")
            with contextlib.suppress(OSError):  # it may have closed what it was given
                os.write(printed, PRINTED_ON.format(index).encode())
            send(OUTCOME, index, run_case(exercise, index, candidate))
    send(FINISHED, 0, b"")
    os._exit(0)


def _sender(token: bytes, results: int) -> Send:
    """Writes frames; bound to what it needs, so that a patched `os` is not asked.

    A process forked by the candidate would come back here as well: it ends instead of sending.
    """
    write, getpid, leave, owner = os.write, os.getpid, os._exit, os.getpid()

    def send(kind: int, index: int, payload: bytes) -> None:
        if getpid() != owner:
            leave(0)
        data = memoryview(FRAME.pack(token, kind, index, len(payload)) + payload)
        while data:
            data = data[write(results, data) :]

    return send


def main() -> None:
    """A new Python as the child: the job arrives on standard input, frames leave on output."""
    import cloudpickle

    results, printed = os.dup(1), os.dup(2)
    os.dup2(2, 1)  # what an import prints must not stand between the frames
    (length,) = struct.unpack("<Q", sys.stdin.buffer.read(8))
    job = sys.stdin.buffer.read(length)
    os.write(printed, READY)
    try:
        exercise, candidate, limits, scratch, token, cells = cloudpickle.loads(job)
    except Exception as error:
        os.write(printed, f"{type(error).__name__}: {error}".encode())
        os._exit(UNREADABLE_JOB)
    for name, lines in cells.items():
        linecache.cache[name] = (sum(map(len, lines)), None, lines, name)
    work(exercise, candidate, limits, scratch, token, results, printed)

"""Run a candidate on every case in a process of its own, and collect what it sends.

On Linux the process is a fork of this one (a candidate may be anything, also what cannot be
pickled), elsewhere a new Python that receives the candidate by cloudpickle. Either way the parent
reads frames of plain bytes with a bound on their size, waits no longer than the limit and kills the
whole process group at the end. The verdict is never made in the child.
"""

import contextlib
import os
import secrets
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from types import FrameType

from annotated_transformer.exercises.exercise import Candidate, Exercise
from annotated_transformer.exercises.grader import child
from annotated_transformer.exercises.grader.confinement import Limits

MAX_FRAME = 2**32
# What torch says in a fork of a process that has used an accelerator: only a new Python will do.
_NO_FORK = (b"Unable to handle autograd's threading", b"Cannot re-initialize CUDA in forked")
# A new Python has to import torch before the clock starts, and on a busy machine that takes long.
STARTING_SECONDS = 180.0


@dataclass
class Run:
    """What came back.

    outcomes: bytes of each finished case. current: the case in progress at the end. printed: the
    start of what was printed, see `printed_on`. end: "finished", "time", "exited", "killed",
    "crashed", "damaged" (more than allowed, or bytes that are no frames), "unsendable" (cannot be
    copied elsewhere).
    """

    outcomes: dict[int, bytes] = field(default_factory=dict)
    end: str = ""
    current: int = 0
    printed: str = ""
    status: int = 0

    def printed_on(self, case: int) -> str:
        """What was printed on this case; once where it ran twice, for its gradient or dtype."""
        _, _, text = self.printed.partition(child.PRINTED_ON.format(case))
        text = text.partition("\x1e")[0]
        half = text[: len(text) // 2]
        return half if half + half == text else text


class _Reader(threading.Thread):
    """Reads a descriptor until it is closed; keeps the first `bound` bytes, reads on past them."""

    def __init__(self, descriptor: int, bound: int, news: threading.Event) -> None:
        super().__init__(daemon=True)
        self.descriptor, self.bound, self.news = descriptor, bound, news
        self.data = bytearray()
        self.overflowed = self.closed = False

    def run(self) -> None:
        with contextlib.suppress(OSError):
            while block := os.read(self.descriptor, 65536):
                room = self.bound - len(self.data)
                self.overflowed = self.overflowed or len(block) > room
                self.data += block[:room]
                self.news.set()
        self.closed = True
        self.news.set()


class _Frames:
    """The frames within the bytes read so far: case begun, case finished, all finished."""

    def __init__(self, token: bytes, run: Run) -> None:
        self.token, self.run, self.position = token, run, 0
        self.started = False

    def take(self, data: bytearray) -> None:
        """Read every complete frame that has arrived; sets `run.end` at the last or a bad one."""
        while not self.run.end and len(data) - self.position >= child.FRAME.size:
            token, kind, index, length = child.FRAME.unpack_from(data, self.position)
            if token != self.token or kind not in child.KINDS or length > MAX_FRAME:
                self.run.end = "damaged"
                return
            start = self.position + child.FRAME.size
            if len(data) < start + length:
                return
            self.position = start + length
            self.started = True
            if kind == child.BEGUN:
                self.run.current = index
            elif kind == child.OUTCOME:
                self.run.outcomes[index] = bytes(data[start : start + length])
            elif kind == child.FINISHED:
                self.run.end = "finished"


def run_isolated(
    exercise: Exercise,
    candidate: Candidate,
    limits: Limits | None = None,
    method: str | None = None,
) -> Run:
    """Run `candidate` on every case of `exercise` in a process of its own.

    method: "fork" or "spawn"; None takes the one that is right for this system. Raises only for
    what this machine lacks (no process can be started), never for what the candidate does.
    """
    limits = limits or Limits()
    method = method or ("fork" if sys.platform == "linux" else "spawn")
    left = contextlib.ExitStack()
    try:
        with interrupts_wait():
            scratch = tempfile.mkdtemp(prefix="annotated-transformer-")
            left.callback(shutil.rmtree, scratch, ignore_errors=True)
        if method == "fork":
            run = _run_forked(exercise, candidate, limits, scratch)
            if not any(sign in data for data in run.outcomes.values() for sign in _NO_FORK):
                return run
        return _run_spawned(exercise, candidate, limits, scratch)
    finally:
        with interrupts_wait():
            left.close()


@contextlib.contextmanager
def interrupts_wait() -> Iterator[None]:
    """An interrupt (Ctrl-C, a kernel's stop button) within the block is raised at its end.

    Between a folder, a pipe or a process that is made and the note that it is to be removed there
    must be none.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came: list[FrameType | None] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            before(signal.SIGINT, came[0])


def _run_forked(exercise: Exercise, candidate: Candidate, limits: Limits, scratch: str) -> Run:
    token = secrets.token_bytes(child.TOKEN_SIZE)
    ended: list[int] = []  # its status, once it is collected: then its number may be another's
    pid = 0

    def poll() -> int | None:
        if not ended:
            try:
                done, status = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:  # somebody else's handler has collected it
                done, status = pid, 0
            ended.extend([status] if done else [])
        return ended[0] if ended else None

    def kill() -> None:
        for stop in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if stop is os.killpg or not ended:  # what it started may outlive it
                    stop(pid, signal.SIGKILL)

    left = contextlib.ExitStack()
    try:
        with interrupts_wait(), contextlib.ExitStack() as ends:
            results, results_end = os.pipe()
            left.callback(os.close, results)
            ends.callback(os.close, results_end)
            printed, printed_end = os.pipe()
            left.callback(os.close, printed)
            ends.callback(os.close, printed_end)
            with warnings.catch_warnings():  # Python 3.12 warns of forking beside threads
                warnings.simplefilter("ignore", DeprecationWarning)
                pid = os.fork()
            if pid == 0:
                try:
                    child.close_all_but(results_end, printed_end)
                    child.work(
                        exercise, candidate, limits, scratch, token, results_end, printed_end
                    )
                finally:
                    os._exit(child.UNEXPECTED_END)
            left.callback(lambda: None if ended else _end(poll, kill))
        return _collect(results, printed, token, limits, _patience(limits), poll, kill)
    finally:
        with interrupts_wait():
            left.close()


def _run_spawned(exercise: Exercise, candidate: Candidate, limits: Limits, scratch: str) -> Run:
    from annotated_transformer.exercises.grader.by_value import dump, text_of_cells

    token = secrets.token_bytes(child.TOKEN_SIZE)
    try:
        asked = replace(exercise, mistakes=(), alternatives=())  # these are for the parent alone
        job = dump((asked, candidate, limits, scratch, token, text_of_cells()))
    except Exception as error:  # whatever the parts of the candidate raise when they are copied
        return Run(end="unsendable", printed=f"{type(error).__name__}: {error}"[:300])
    with interrupts_wait():
        process = subprocess.Popen(
            [sys.executable, "-c", f"from {child.__name__} import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)},
        )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with contextlib.suppress(OSError), process.stdin as stream:
        stream.write(struct.pack("<Q", len(job)) + job)

    def kill() -> None:
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()

    def poll() -> int | None:
        code = process.poll()
        return None if code is None else (-code if code < 0 else code << 8)

    try:
        descriptors = process.stdout.fileno(), process.stderr.fileno()
        run = _collect(*descriptors, token, limits, STARTING_SECONDS, poll, kill)
        before, ready, after = run.printed.partition(child.READY.decode())
        run.printed = after if ready else before
        return run
    finally:
        kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def _collect(
    results: int,
    printed: int,
    token: bytes,
    limits: Limits,
    starting_seconds: float,
    poll: Callable[[], int | None],
    kill: Callable[[], None],
) -> Run:
    """Read until the last frame, the end of the process or the limit; then kill what is left."""
    run, news = Run(), threading.Event()
    reader = _Reader(results, limits.result, news)
    listener = _Reader(printed, 8 * limits.printed, news)  # of all cases together
    frames = _Frames(token, run)
    deadline = time.monotonic() + starting_seconds
    status: int | None = None
    try:
        reader.start()
        listener.start()
        while not run.end:
            news.wait(0.02)
            news.clear()
            started = frames.started
            frames.take(reader.data)
            if frames.started and not started and starting_seconds == STARTING_SECONDS:
                deadline = time.monotonic() + _patience(limits)
            if run.end:
                break
            if reader.overflowed:
                run.end = "damaged"
            elif status is not None and (reader.closed or time.monotonic() > deadline):
                run.end = end_of(status)
            elif time.monotonic() > deadline:
                run.end = "time"
            elif status is None:
                status = poll()
                if status is not None:  # whatever it wrote is in the pipe: read that first
                    kill()
                    deadline = min(deadline, time.monotonic() + 0.5)
    finally:
        with interrupts_wait():
            ended = _end(poll, kill)
            status = ended if status is None else status
    listener.join(0.5)
    reader.join(0.5)
    run.status = status or 0
    run.printed = listener.data.decode("utf-8", "replace")
    return run


def _end(poll: Callable[[], int | None], kill: Callable[[], None]) -> int | None:
    """Kill what is left of it and collect its status; None where the system does not let go."""
    kill()
    status, stop = poll(), time.monotonic() + 5
    while status is None and time.monotonic() < stop:
        time.sleep(0.001)
        status = poll()
    return status


def _patience(limits: Limits) -> float:
    """Seconds to wait: more where many processes share the machine, since each gets less of it."""
    try:
        crowded = os.getloadavg()[0] > 2 * (os.cpu_count() or 1)
    except (OSError, AttributeError):  # Windows has no such figure
        crowded = False
    return limits.seconds * 1.4 if crowded else limits.seconds


def end_of(status: int) -> str:
    """Why a process ended that had not sent its last frame; `status` as of `os.waitpid`."""
    number = status & 0x7F
    if number == 0:
        names = {child.UNEXPECTED_END: "damaged", child.UNREADABLE_JOB: "unsendable"}
        return names.get(status >> 8, "exited")
    if number == getattr(signal, "SIGXCPU", None):
        return "time"
    crashes = {signal.SIGSEGV, signal.SIGABRT, signal.SIGILL, signal.SIGFPE}
    return "crashed" if number in {int(crash) for crash in crashes} else "killed"

"""A contestant in a process of its own, as everybody has it at home.

In one process ten models would share what belongs to one: the products that oneDNN keeps prepared,
the blocks of memory that the C library has at hand, the settings of both.
"""

import multiprocessing
import signal
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any, cast

import torch

from annotated_transformer.benchmark.contestants import Contestant, Entry, Task, Turn
from annotated_transformer.errors import WorkError
from annotated_transformer.training.settings import Precision

MISSING, FAILED, DONE = "missing", "failed", "done"  # what an answer begins with
PATIENCE = 5.0  # seconds that a process gets to end by itself


class OwnProcess:
    """A `Contestant` in another process; what it is asked, that one does.

    Raises:
        ImportError: of a peer that is not installed.
        WorkError: if it fails or its process ends, whatever it is asked.
    """

    def __init__(self, entry: Entry, task: Task) -> None:
        self.name = f"{entry.name} in {entry.precision}"
        context = multiprocessing.get_context("spawn")  # a fork would take our threads' locks along
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs,), daemon=True)
        with signals_held():
            self._process.start()
        theirs.close()  # so that a process that dies is noticed, also while it is sent its task
        try:
            self._ask(entry, task, torch.get_num_threads())
        except BaseException:
            self.close()
            raise

    def turn(self, numbers: Sequence[int]) -> list[Turn]:
        """As `Contestant.turn`."""
        return cast(list[Turn], self._ask("turn", numbers))

    def peak(self, precision: Precision) -> float:
        """As `Contestant.peak`."""
        return cast(float, self._ask("peak", precision))

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        self._process.join(PATIENCE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _ask(self, *what: Any) -> Any:
        try:
            self._connection.send(what)
        except OSError:
            raise self._ended() from None
        return self._answer()

    def _answer(self) -> Any:
        try:
            kind, answer = self._connection.recv()
        except (EOFError, OSError):
            raise self._ended() from None
        if kind == MISSING:
            raise ImportError(answer)
        if kind == FAILED:
            raise WorkError(f"{self.name} failed:\n{answer}")
        return answer

    def _ended(self) -> WorkError:
        self._process.join(PATIENCE)
        code = self._process.exitcode
        why = ""
        if code == -9:
            why = (
                " Somebody killed it: the system, if its memory was full. Give a smaller "
                "--max-tokens, or a smaller model by --sizes."
            )
        return WorkError(
            f"The process of {self.name} ended before it answered, with exit code {code}.{why}"
        )


HELD = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def signals_held() -> Iterator[None]:
    """What is started inside gets no signal to stop before it can ignore it, and neither do we.

    Such signals go to all processes of a terminal, and are for the one that asks.
    """
    if not hasattr(signal, "pthread_sigmask"):  # as on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HELD)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def serve(connection: Connection) -> None:
    """What the other process does: be a contestant, until nobody asks any more."""
    for number in HELD:
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD)
    with suppress(EOFError, OSError):  # whoever asks has gone
        entry, task, threads = connection.recv()
        torch.set_num_threads(threads)
        try:
            contestant = Contestant(entry, task)
        except ImportError as error:
            connection.send((MISSING, str(error)))
            return
        except Exception:
            connection.send((FAILED, traceback.format_exc()))
            return
        connection.send((DONE, None))
        while True:
            what, *given = connection.recv()
            try:
                answer = DONE, getattr(contestant, what)(*given)
            except Exception:
                answer = FAILED, traceback.format_exc()
            connection.send(answer)

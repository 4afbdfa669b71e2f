"""Which pairs make the batches of an epoch, planned while the epoch before it is trained on.

Where sentences share rows, a plan for the 4.5 million pairs of WMT 2014 should take Python twenty
seconds or more (ten times what 450,000 took), in which a GPU would wait. So where a GPU computes,
another process plans the next epoch; under torchrun each process has such a helper. (A thread would
take turns with the one that hands the GPU its work.) Only a run's first plans are waited for. A
plan is a function of the rule, the lengths and the epoch, whoever makes it; if the other process
fails or is slow, this one plans.
"""

import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

import numpy as np

from annotated_transformer.data import token_batches
from annotated_transformer.fast.shared_rows import RowShape, shared_row_batches
from annotated_transformer.training.settings import TrainingConfig

Lengths = Sequence[tuple[int, int]]
PROGRAM = """
import os, sys
answers = os.dup(1)  # what anybody prints goes where errors go
os.dup2(2, 1)
sys.path[:] = {path!r}
from {module} import serve
serve(answers)
"""


@dataclass(frozen=True)
class PlanRule:
    """How pairs are dealt to batches.

    Attributes:
        max_tokens: budget of a batch, a side.
        seed: of the run.
        shape: of rows that sentences share; None: each sentence has its own.
    """

    max_tokens: int
    seed: int
    shape: RowShape | None = None

    @classmethod
    def of(cls, settings: TrainingConfig, longest: int) -> "PlanRule":
        """That of a run.

        Args:
            longest: of all sentences, as model positions.

        Raises:
            CallError: where sentences share rows, and a row is larger than a batch.
        """
        budget = settings.max_tokens
        shape = RowShape.of(budget, longest) if settings.share_rows else None
        return cls(budget, settings.seed, shape)

    def plan(self, lengths: Lengths, epoch: int) -> list[list[int]]:
        """The batches of an epoch, in their order, as numbers of pairs."""
        if self.shape is not None:
            return shared_row_batches(lengths, self.shape, seed=self.seed, epoch=epoch)
        return token_batches(lengths, self.max_tokens, seed=self.seed, epoch=epoch)


class EpochPlans:
    """The batches of one epoch after the other.

    Args:
        rule: how they are planned.
        lengths_of: gives the lengths of an epoch's pairs.
    """

    def __init__(self, rule: PlanRule, lengths_of: Callable[[int], Lengths]) -> None:
        self.rule, self._lengths_of = rule, lengths_of
        self._planner: Planner | None = None
        self._seconds = 0.0  # that the last plan took us
        self._current: tuple[int, list[list[int]]] | None = None
        self._next: tuple[int, Future[list[list[int]]]] | None = None

    def plan_ahead(self) -> None:
        """From now on another process plans the next epoch, if it can be started."""
        if self._planner is None:
            with suppress(OSError):
                self._planner = Planner(self.rule)

    def batches(self, epoch: int) -> list[list[int]]:
        """The batches of an epoch. Where another process plans ahead, it begins with the next."""
        if self._current is None or self._current[0] != epoch:
            self._current = epoch, self._planned(epoch)
        if self._planner is not None and (self._next is None or self._next[0] != epoch + 1):
            following = self._planner.begin(self._lengths_of(epoch + 1), epoch + 1)
            self._next = epoch + 1, following
        return self._current[1]

    def _planned(self, epoch: int) -> list[list[int]]:
        if self._next is not None and self._next[0] == epoch:
            # Not longer than it would take us; and what is wrong with the pairs we find out too.
            with suppress(Exception):
                return self._next[1].result(self._seconds)
            self._next[1].cancel()  # what has not been begun
        began = time.monotonic()
        batches = self.rule.plan(self._lengths_of(epoch), epoch)
        self._seconds = time.monotonic() - began
        return batches

    def close(self) -> None:
        """End the other process; what is asked for afterwards is planned here."""
        if self._planner is not None:
            self._planner.close()
        self._planner = self._next = None


class Planner:
    """A process that plans.

    It ends when it is closed, and when this process has ended, however that came; then it still
    finishes the plan in hand.

    Raises:
        OSError: if it cannot be started.
    """

    def __init__(self, rule: PlanRule) -> None:
        self.rule = rule
        program = PROGRAM.format(path=sys.path, module=__name__)
        # A session of its own: Ctrl-C in the terminal is for us, and we end it.
        self._process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._pool = ThreadPoolExecutor(1, "plans")  # it waits; the pipes hold less than a plan

    def begin(self, lengths: Lengths, epoch: int) -> Future[list[list[int]]]:
        """Ask for the plan of an epoch; its future raises OSError or EOFError if none comes."""
        return self._pool.submit(self._ask, lengths, epoch)

    def _ask(self, lengths: Lengths, epoch: int) -> list[list[int]]:
        asked, answers = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answers is not None
        shape = self.rule.shape or RowShape(0, 0)
        how = [self.rule.max_tokens, self.rule.seed, shape.rows, shape.width, epoch]
        try:
            _write(asked, np.array(how), np.asarray(lengths))
            return _batches(_read(answers), _read(answers))
        except BaseException:
            self._process.kill()  # half an answer would be the next one's beginning
            raise

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        self._pool.shutdown(cancel_futures=True)
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # what was written and nobody has read
                if pipe is not None:
                    pipe.close()


def serve(answers: int) -> None:
    """What the other process does: plan what comes by standard input, until nothing comes.

    Args:
        answers: number of the file to write the plans to.
    """
    # Whoever asked has ended. Or the plan cannot be made: the asking process then plans itself, and
    # raises the error.
    with suppress(Exception), os.fdopen(answers, "wb") as pipe:
        while True:
            max_tokens, seed, rows, width, epoch = _read(sys.stdin.buffer).tolist()
            rule = PlanRule(max_tokens, seed, RowShape(rows, width) if rows else None)
            lengths = _read(sys.stdin.buffer).reshape(-1, 2)
            batches = rule.plan(lengths, epoch)  # type: ignore[arg-type]
            counts = np.array([len(batch) for batch in batches], dtype=np.int64)
            pairs = np.fromiter((pair for batch in batches for pair in batch), dtype=np.int64)
            _write(pipe, counts, pairs)


def _batches(counts: np.ndarray, pairs: np.ndarray) -> list[list[int]]:
    ends = counts.cumsum().tolist()
    flat = pairs.tolist()
    return [flat[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


def _write(pipe: IO[bytes], *arrays: np.ndarray) -> None:
    for array in arrays:
        numbers = np.ascontiguousarray(array, dtype=np.int64).ravel()
        pipe.write(struct.pack("q", numbers.nbytes))
        pipe.write(numbers.data.cast("B"))
    pipe.flush()


def _read(pipe: IO[bytes]) -> np.ndarray:
    """The next array, flat. Raises EOFError where the pipe has ended."""
    (size,) = struct.unpack("q", _exactly(pipe, 8))
    return np.frombuffer(_exactly(pipe, size), dtype=np.int64)


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    if len(read := pipe.read(size)) < size:
        raise EOFError
    return read

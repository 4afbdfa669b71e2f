"""Which pairs make the batches of an epoch, planned while the epoch before it is trained on.

For the 4.5 million pairs of WMT 2014 a plan takes some twenty seconds, in which a GPU would wait. So
where a GPU computes, another process plans the next epoch. (A thread of this one would take turns
with the one that hands the GPU its work.) A plan is a function of the lengths, the seed and the
epoch, whoever makes it.
"""

import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

import numpy as np

from annotated_transformer.data import token_batches
from annotated_transformer.data.shared_rows import RowShape, shared_row_batches
from annotated_transformer.training.settings import TrainingConfig

Lengths = Sequence[tuple[int, int]]
PATIENCE = 5.0  # seconds until a process that was killed is gone


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
        ahead: whether another process plans the next epoch.
    """

    def __init__(
        self, rule: PlanRule, lengths_of: Callable[[int], Lengths], ahead: bool = False
    ) -> None:
        self.rule, self._lengths_of = rule, lengths_of
        self._ahead = ahead
        self._planner: Planner | None = None  # started with the first epoch
        self._current: tuple[int, list[list[int]]] | None = None
        self._next: tuple[int, Future[list[list[int]]]] | None = None

    def batches(self, epoch: int) -> list[list[int]]:
        """Those of an epoch; the plan of the next one is begun."""
        if self._current is None or self._current[0] != epoch:
            self._current = epoch, self._planned(epoch)
            if self._ahead:
                self._planner = self._planner or Planner(self.rule)
                following = self._planner.begin(self._lengths_of(epoch + 1), epoch + 1)
                self._next = epoch + 1, following
        return self._current[1]

    def _planned(self, epoch: int) -> list[list[int]]:
        if self._next is not None and self._next[0] == epoch:
            with suppress(OSError, EOFError):  # the other process has ended: somebody killed it
                return self._next[1].result()
        return self.rule.plan(self._lengths_of(epoch), epoch)

    def close(self) -> None:
        """End the other process; what is asked for afterwards is planned when asked."""
        if self._planner is not None:
            self._planner.close()
        self._planner = self._next = None
        self._ahead = False


class Planner:
    """A process that plans; it ends with this one, also if this one is killed."""

    def __init__(self, rule: PlanRule) -> None:
        self.rule = rule
        # A session of its own: Ctrl-C in the terminal is for us, and we end it.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", f"from {__name__} import serve; serve()"],
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
        _write(asked, np.array(how), np.asarray(lengths))
        return _batches(_read(answers), _read(answers))

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait(PATIENCE)
        self._pool.shutdown(cancel_futures=True)
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # what was written and nobody has read
                if pipe is not None:
                    pipe.close()


def serve() -> None:
    """What the other process does: plan what comes by standard input, until nothing comes."""
    asked, answers = sys.stdin.buffer, sys.stdout.buffer
    # Whoever asked has ended; or what is asked cannot be done, and that one will find out itself.
    with suppress(Exception):
        while True:
            max_tokens, seed, rows, width, epoch = _read(asked).tolist()
            rule = PlanRule(max_tokens, seed, RowShape(rows, width) if rows else None)
            batches = rule.plan(_read(asked).reshape(-1, 2), epoch)  # type: ignore[arg-type]
            counts = np.array([len(batch) for batch in batches], dtype=np.int64)
            pairs = np.fromiter((pair for batch in batches for pair in batch), dtype=np.int64)
            _write(answers, counts, pairs)


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

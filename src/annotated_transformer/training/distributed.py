"""Several processes train one model: each takes its share of the batches of every step.

The gradients are summed over the processes, so all take the same step from the same weights, and
two processes do what one does in twice the time. `torchrun` starts them and tells each its place
in environment variables. A process that is alone, as usual, exchanges nothing.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import NoReturn, TypeVar

import torch
from torch import Tensor, distributed, nn

from annotated_transformer.errors import WorkError

T = TypeVar("T")

# How long a process waits for another. The others wait while the first reads and encodes the
# corpus, for WMT14 longer than the ten minutes that NCCL waits by itself (gloo: thirty). One that
# has died is known sooner: torchrun then ends the others.
LONGEST_WAIT = timedelta(hours=6)


@dataclass(frozen=True)
class Workers:
    """The processes of a run, as one of them sees it.

    Args:
        rank: which one this is, from 0. The first alone writes files and speaks.
        size: how many there are.
        device: where this one computes.
    """

    rank: int = 0
    size: int = 1
    device: torch.device | str = "cpu"

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def share(self, dealt: Sequence[T]) -> Sequence[T]:
        """Those of some things that are dealt to this process, like cards."""
        return dealt[self.rank :: self.size]

    def sum_numbers(self, numbers: Sequence[float]) -> list[float]:
        """The sums over all processes, the same for each of them.

        Raises:
            WorkError: if another process has ended.
        """
        if self.size == 1:
            return list(numbers)
        sums = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        _all_reduce(sums)
        return sums.tolist()

    def of_first(self, number: float) -> float:
        """The number that the first process gave. Raises WorkError as `sum_numbers` does."""
        return self.sum_numbers([number if self.is_first else 0.0])[0]

    def wait(self) -> None:
        """Go on when all are here. Raises WorkError as `sum_numbers` does."""
        self.sum_numbers([0.0])

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace every gradient by its sum over all processes.

        One that had no batch in the last, smaller step of an epoch has nothing to add.

        Raises:
            WorkError: if another process has ended.
        """
        if self.size == 1:
            return
        parameters = list(parameters)
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        together = torch.cat([gradient.reshape(-1) for gradient in gradients])  # one exchange
        _all_reduce(together)
        parts = torch.split(together, [parameter.numel() for parameter in parameters])
        for parameter, part in zip(parameters, parts, strict=True):
            parameter.grad = part.view_as(parameter)


ALONE = Workers()


def _all_reduce(values: Tensor) -> None:
    try:
        distributed.all_reduce(values)
    except RuntimeError as error:
        raise WorkError(
            "Another process of this run has ended, so this one cannot go on. The checkpoints "
            "written before are intact: start the same command again with --resume."
        ) from error


def processes_asked_for() -> int:
    """How many processes `torchrun` has started; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def own_device(device: torch.device) -> torch.device:
    """The one of this machine's GPUs that is this process's own; a CPU is shared."""
    if device.type == "cuda" and processes_asked_for() > 1:
        return torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    return device


@contextmanager
def joined(device: torch.device) -> Iterator[Workers]:
    """Meet the other processes that `torchrun` has started; without it, be alone.

    Processes that compute on GPUs exchange by NCCL, others by gloo.
    """
    if processes_asked_for() == 1:
        yield ALONE
        return
    if device.type == "cuda":
        torch.cuda.set_device(device)
    backend = "nccl" if device.type == "cuda" else "gloo"
    distributed.init_process_group(backend, timeout=LONGEST_WAIT)
    yield Workers(distributed.get_rank(), distributed.get_world_size(), device)
    distributed.destroy_process_group()  # after an error it could wait for what never comes


def leave(status: int) -> NoReturn:
    """End this process, one of several whose work is done, without taking Python down in order.

    While that is done, a thread of torch's that asks for the interpreter once more aborts the
    process. It is rare, but `torchrun` then says that the whole job has failed.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)

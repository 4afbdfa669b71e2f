"""The process between the marker and a notebook's own world: it waits, and counts who lives there.

The notebook sees nothing of it. The limit that the kernel puts on processes does not hold for root,
and that on memory is one of each process, so both are counted here for all of the world. Imports
nothing but the standard library and modules that do the same.
"""

import math
import os
import resource
import signal
import time
from collections.abc import Iterator

from annotated_transformer.exercises.instructor.endings import (
    KILLED,
    OUT_OF_TIME,
    TOO_MANY_PROCESSES,
    TOO_MUCH_MEMORY,
)
from annotated_transformer.exercises.instructor.walls import MAX_PROCESSES

MAX_MEMORY = 4 * 2**30  # bytes resident; what several processes share counts for each of them
_PAUSE = 0.02  # seconds
_PAGE = os.sysconf("SC_PAGE_SIZE")


def watch(first: int) -> int:
    """Wait for the first process of a world that we have made; the status to exit with.

    SIGXCPU does nothing to the first process of a world, but the kernel raises the limit by a
    second when it sends one, and kills where that second is used up too. The raised limit says
    that time is what ended it. What a process is said to have used is counted in another way and,
    on a busy machine, can be less than the limit.
    """
    limit, is_used_up = math.inf, False
    while True:
        now = processor_limit(first)
        is_used_up |= limit < now < math.inf
        limit = min(limit, now)
        done, status = os.waitpid(first, os.WNOHANG)
        if done:
            number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            if number == signal.SIGXCPU or (number == signal.SIGKILL and is_used_up):
                return OUT_OF_TIME
            return KILLED if number == signal.SIGKILL else 0  # nobody in there can send it that
        if exceeded := exceeded_limit(first):
            os.kill(first, signal.SIGKILL)  # and with it everybody there
            os.waitpid(first, 0)
            return exceeded
        time.sleep(_PAUSE)


def processor_limit(process: int) -> float:
    """Seconds of processor time that this process may use before it is told to stop."""
    try:
        soft, _ = resource.prlimit(process, resource.RLIMIT_CPU)
    except OSError:
        return math.inf
    return math.inf if soft == resource.RLIM_INFINITY else soft


def exceeded_limit(first: int) -> int:
    """The status to exit with where the world of this first process holds too much by now, or 0."""
    threads = memory = 0
    for process in inhabitants(first):
        try:
            threads += len(os.listdir(f"/proc/{process}/task"))
            with open(f"/proc/{process}/statm") as file:
                memory += int(file.read().split()[1]) * _PAGE
        except (OSError, IndexError):  # gone by now
            continue
    if threads > MAX_PROCESSES + 1:
        return TOO_MANY_PROCESSES
    return TOO_MUCH_MEMORY if memory > MAX_MEMORY else 0


def inhabitants(first: int) -> Iterator[str]:
    """The processes of that world, by their names in the /proc that we see.

    It is that world's as soon as it is mounted; there "self" names nobody, as we are not of it.
    Before, and where it cannot be mounted, it is ours: there they are the offspring of the first.
    """
    if not os.path.exists("/proc/self"):
        yield from filter(str.isdigit, os.listdir("/proc"))
        return
    waiting = [str(first)]
    while waiting:
        process = waiting.pop()
        yield process
        try:
            for thread in os.listdir(f"/proc/{process}/task"):
                with open(f"/proc/{process}/task/{thread}/children") as file:
                    waiting += file.read().split()
        except OSError:  # gone by now
            continue

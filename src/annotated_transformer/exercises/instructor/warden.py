"""The process between the marker and a notebook's own world: it waits, and counts who lives there.

The notebook sees nothing of it. The limit that the kernel puts on processes does not hold for root,
and that on memory is one of each process, so both are counted here for all of the world. Imports
the standard library only.
"""

import math
import os
import resource
import signal
import time
from collections.abc import Iterator

OUT_OF_TIME = 124  # the exit status where the limit on processor time ended the notebook
TOO_MUCH = 125  # processes, or memory
MAX_PROCESSES = 64  # threads are counted too
MAX_MEMORY = 4 * 2**30  # bytes resident; what several processes share counts for each of them
_PAUSE = 0.02  # seconds
_PAGE = os.sysconf("SC_PAGE_SIZE")


def watch(first: int) -> int:
    """Wait for the first process of a world that we have made; the status to exit with.

    SIGXCPU does nothing to the first process of a world; one second later the kernel kills it.
    """
    seconds = math.inf
    while True:
        done, status, usage = os.wait4(first, os.WNOHANG)
        if done:
            number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            used_up = usage.ru_utime + usage.ru_stime >= seconds
            killed_for_it = number == signal.SIGKILL and used_up
            return OUT_OF_TIME if killed_for_it or number == signal.SIGXCPU else 0
        seconds = min(seconds, processor_limit(first))  # the kernel raises it at each SIGXCPU
        if exceeds_limits(first):
            os.kill(first, signal.SIGKILL)  # and with it everybody there
            os.waitpid(first, 0)
            return TOO_MUCH
        time.sleep(_PAUSE)


def processor_limit(process: int) -> float:
    """Seconds of processor time that this process may use."""
    try:
        soft, _ = resource.prlimit(process, resource.RLIMIT_CPU)
    except OSError:
        return math.inf
    return math.inf if soft == resource.RLIM_INFINITY else soft


def exceeds_limits(first: int) -> bool:
    """Has the world of this first process too many processes, or too much memory, by now?"""
    threads = memory = 0
    for process in inhabitants(first):
        try:
            threads += len(os.listdir(f"/proc/{process}/task"))
            with open(f"/proc/{process}/statm") as file:
                memory += int(file.read().split()[1]) * _PAGE
        except (OSError, IndexError):  # gone by now
            continue
    return threads > MAX_PROCESSES + 1 or memory > MAX_MEMORY


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

"""What the process that runs a candidate may do: limits set in that process, before the candidate.

Self-check is friendly: these limits keep an accident or a prank from hurting the notebook, the
learner's files or the machine. What opens files below Python (`torch.save`, `torch.from_file`,
compiled code) is not seen, and they are no wall against a determined attacker, who runs as the same
user; instructor mode is the place for that.
"""

import builtins
import contextlib
import gc
import io
import math
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_STARTS_PROCESS = frozenset(
    (
        *("os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.startfile", "os.system"),
        *("os.exec", "subprocess.Popen", "pty.spawn"),
    )
)
_SIGNALS_OTHERS = frozenset(("os.kill", "os.killpg", "signal.pthread_kill"))
_TOUCHES_PATHS = frozenset(
    (
        *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.truncate", "os.chmod", "os.chown"),
        *(
            "os.utime",
            "os.setxattr",
            "os.removexattr",
            "os.link",
            "os.symlink",
            "shutil.rmtree",
            "shutil.move",
            "shutil.copyfile",
        ),
    )
)
_NETWORK = frozenset(
    (
        *("socket.connect", "socket.bind", "socket.sendto"),
        *("socket.getaddrinfo", "socket.gethostbyname"),
    )
)
_BELOW_PYTHON = frozenset(("ctypes.dlopen", "ctypes.dlsym", "ctypes.dlsym/handle"))
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@dataclass(frozen=True)
class Limits:
    """Of one check.

    seconds: for all cases, by the clock; of processor time where a notebook is graded. memory:
    bytes on top of what the process has already. file_size: bytes. result, printed: bytes that the
    parent reads at most.
    """

    seconds: float = 5.0
    memory: int = 2**30
    file_size: int = 16 * 2**20
    result: int = 64 * 2**20
    printed: int = 4000


def confine(
    limits: Limits,
    scratch: str,
    output: int,
    exempt: Callable[[], bool] = lambda: False,
    hidden: str | None = None,
) -> None:
    """Confine this process. `output` is the descriptor that printing goes to.

    exempt: true while this process itself starts or stops another. hidden: a folder whose files
    cannot be opened.

    Order matters: torch's thread pool did not survive the fork, so it goes first; the audit hook,
    which forbids what the lines above it do, comes last.
    """
    torch.set_num_threads(1)
    gc.disable()
    gc.freeze()  # objects of the parent (sockets, temporary folders) must not be finalised here
    _default_signals()
    _redirect(output)
    os.chdir(scratch)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = scratch  # some of torch's modules make it when imported
    sys.dont_write_bytecode = True
    if resource is not None:
        _set_limits(limits)
    sys.addaudithook(_audit_hook(scratch, exempt, hidden))


def _default_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGPIPE", None)):
        if number is not None:
            with contextlib.suppress(ValueError, OSError):  # not in the main thread
                signal.signal(number, signal.SIG_DFL)


def _redirect(output: int) -> None:
    """Nothing to read; standard output to `output`, standard error nowhere."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(nothing, 2)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - lives as long as we do
    sys.stdout = io.TextIOWrapper(
        open(1, "wb", buffering=0, closefd=False),  # noqa: SIM115
        write_through=True,
    )
    sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
    for name in ("stdin", "stdout", "stderr"):
        setattr(sys, f"__{name}__", getattr(sys, name))
    builtins.input = _no_input


def _no_input(*_args: Any) -> str:
    raise EOFError("a checked function cannot read from the keyboard")


def _set_limits(limits: Limits) -> None:
    limit_processor_time(int(limits.seconds) + 2)
    wanted = [
        (resource.RLIMIT_FSIZE, limits.file_size),
        (resource.RLIMIT_CORE, 0),
    ]
    size = address_space()
    if size is not None:
        wanted.append((resource.RLIMIT_AS, size + limits.memory))
    for which, value in wanted:
        _, hard = resource.getrlimit(which)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(which, (value, value))


def limit_processor_time(seconds: int) -> None:
    """So many seconds more for this process; SIGXCPU ends it, and if it ignores that, SIGKILL."""
    if resource is None:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = math.ceil(used.ru_utime + used.ru_stime) + seconds
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    most = soft + 1 if hard == resource.RLIM_INFINITY else min(soft + 1, hard)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (min(soft, most), most))


def address_space() -> int | None:
    """Bytes of address space this process has now; None where the system does not say (macOS)."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def _audit_hook(scratch: str, exempt: Callable[[], bool], hidden: str | None) -> Any:
    """A hook that cannot be taken off again: no processes, no network, writing in `scratch` only.

    What it needs is bound here, so that a candidate that patches `os` changes nothing.
    """
    realpath, getpid, inside = os.path.realpath, os.getpid, os.path.realpath(scratch)
    allowed_prefix, fsdecode, null = inside + os.sep, os.fsdecode, os.devnull

    def may_write(path: Any) -> bool:
        if isinstance(path, int):  # an open descriptor: it was checked when it was opened
            return True
        full = realpath(fsdecode(path))
        return full.startswith(allowed_prefix) or full in (inside, null)

    secret = os.path.realpath(hidden) + os.sep if hidden is not None else None

    def is_secret(path: Any) -> bool:
        if isinstance(path, int):
            return False
        return realpath(fsdecode(path)).startswith(str(secret))

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if secret is not None and is_secret(path):
                raise PermissionError("the solutions cannot be read while a notebook is graded")
            if isinstance(flags, int) and flags & _WRITES and not may_write(path):
                raise PermissionError(f"a checked function may not write to {path!r}")
        elif event in _STARTS_PROCESS:
            if exempt():
                return
            raise PermissionError("a checked function may not start another process")
        elif event in _SIGNALS_OTHERS:
            if exempt() or (event == "os.kill" and arguments[0] == getpid()):
                return
            raise PermissionError("a checked function may not signal another process")
        elif event in _BELOW_PYTHON:
            raise PermissionError("a checked function may not call into system libraries")
        elif event == "resource.setrlimit":
            if exempt():
                return
            raise PermissionError("a checked function may not change its limits")
        elif event in _NETWORK:
            raise PermissionError("a checked function may not use the network")
        elif event in _TOUCHES_PATHS:
            paths = [a for a in arguments if isinstance(a, (str, bytes, os.PathLike))]
            elsewhere = any(isinstance(a, int) and a >= 0 for a in arguments[len(paths) :][-2:])
            by_folder = event in ("os.remove", "os.rmdir") and elsewhere
            if by_folder or not all(may_write(path) for path in paths):
                raise PermissionError("a checked function may not change files")

    return hook

"""The process of one notebook, seen from the marker: started, stopped with all that it started."""

import contextlib
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from annotated_transformer.exercises.instructor.endings import ENDINGS

WORKER = Path(__file__).with_name("worker.py")
STARTING_SECONDS = 180.0  # importing torch takes a minute where the machine is very busy
GRACE = 2.0  # seconds, for what should come at once
SEND_BUFFER = 8192  # bytes: one who does not read what he asked for is soon noticed
_NUMBER = struct.Struct("<i")


class NotebookProcess:
    """A worker in a scratch folder of its own. `descriptor` is our end of the socket to it.

    Where there are namespaces the worker is the first process of its own world, and what it starts
    cannot outlive it. We hold on to it from before its first cell, so nothing that a cell does can
    keep us from ending it.
    """

    def __init__(self) -> None:
        self.scratch = tempfile.mkdtemp(prefix="annotated-transformer-")
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        self._socket, self.descriptor = ours, ours.fileno()
        told, tells = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(WORKER), str(theirs.fileno()), str(tells), self.scratch],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=[theirs.fileno(), tells],
            start_new_session=True,
            cwd=self.scratch,
            env=_environment(self.scratch),
        )
        theirs.close()
        os.close(tells)
        threading.Thread(target=self._drain, daemon=True).start()
        number = _number(told)
        os.close(told)
        self._inner = None if number is None else _held(number)
        self._pid = self._process.pid if number is None else number
        self._has_warden, self._stopped = number is not None, False

    def stop(self) -> None:
        """End it and all that it has started."""
        self._stopped = True
        if self._inner is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._inner, signal.SIGKILL)
            select.select([self._inner], [], [], GRACE)  # it ends after all others of its world
            os.close(self._inner)
            self._inner = None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """`stop`, and nothing of it is left."""
        self.stop()
        self._socket.close()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def ending(self) -> str:
        """Which limit has ended it, a word of ENDINGS; "" where none has that is known."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self._process.wait(GRACE)
            if not self._stopped and self._has_warden:
                return ENDINGS.get(status, "")
            if not self._stopped:
                return {-signal.SIGXCPU: "time", -signal.SIGKILL: "killed"}.get(status, "")
        return ""

    def processor_seconds(self) -> float | None:
        """Of processor time, used so far by the worker and all it has waited for; Linux only."""
        try:
            fields = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
            return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError):  # another system, or it has ended
            return None

    def _drain(self) -> None:
        """Read what the notebook prints and forget it, so that it never has to wait for us."""
        assert self._process.stdout is not None
        with contextlib.suppress(OSError, ValueError), self._process.stdout as stream:
            while os.read(stream.fileno(), 65536):
                pass


def _number(told: int) -> int | None:
    """The number of the first process of the new world; None where there is no such world."""
    ready, _, _ = select.select([told], [], [], STARTING_SECONDS)
    number = os.read(told, _NUMBER.size) if ready else b""
    return int(_NUMBER.unpack(number)[0]) if len(number) == _NUMBER.size else None


def _held(number: int) -> int | None:
    """A descriptor for this process."""
    with contextlib.suppress(OSError):  # it has ended already
        return os.pidfd_open(number)
    return None


def _environment(scratch: str) -> dict[str, str]:
    """Nothing of ours: no keys, no paths but those that Python needs to start."""
    kept = {name: os.environ[name] for name in ("LANG", "SYSTEMROOT") if name in os.environ}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    place = {"PATH": os.defpath, "HOME": scratch, "TMPDIR": scratch, "USER": "learner"}
    return {**kept, **threads, **place}

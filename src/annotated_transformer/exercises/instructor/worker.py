"""The process of one notebook: behind its walls it runs the cells and calls what they check.

Started as a script by `process` (`python -I worker.py SOCKET PIPE FOLDER`), never imported: it
loads the few modules of the grader that it needs from their files, so that neither the references
nor the rest of the package are ever in this process, or can be imported or read from then on.
"""

import contextlib
import importlib.util
import json
import linecache
import math
import os
import signal
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

EXERCISES_FOLDER = Path(__file__).resolve().parent.parent
PACKAGE_FOLDER = EXERCISES_FOLDER.parent


def load(name: str) -> Any:
    """The module `annotated_transformer.exercises.NAME` from its file, without its package."""
    parts = f"annotated_transformer.exercises.{name}".split(".")
    for length in range(1, len(parts)):
        parent = ModuleType(".".join(parts[:length]))
        parent.__path__ = []
        sys.modules.setdefault(parent.__name__, parent)
    file = EXERCISES_FOLDER.joinpath(*name.split(".")).with_suffix(".py")
    spec = importlib.util.spec_from_file_location(".".join(parts), file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def load_all() -> SimpleNamespace:
    """All that this process needs of the package, by the last part of its name."""
    grader = (
        *("failures", "pristine", "values", "arrays", "running"),
        *("stubs", "confinement", "watching"),
    )
    instructor = ("wire", "remote", "facade", "system_calls")
    found = {name: load(f"grader.{name}") for name in grader}
    return SimpleNamespace(**found, **{name: load(f"instructor.{name}") for name in instructor})


class Gate:
    """Open while this process itself does what a notebook may not: fork, kill.

    Like the rest of the audit hook it stands in the same interpreter as the cells, which can reach
    it: it is against accidents. The walls are the kernel's.
    """

    def __init__(self) -> None:
        self.is_open = False

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Open for the block."""
        self.is_open = True
        try:
            yield
        finally:
            self.is_open = False


class Worker:
    """Runs the cells in order; at each check the candidate is called in a fork of the moment."""

    def __init__(
        self, job: dict[str, Any], channel: Any, gate: Gate, modules: SimpleNamespace
    ) -> None:
        self.job, self.channel, self.gate, self.modules = job, channel, gate, modules
        self.fork = os.fork if sys.platform == "linux" else None
        # Bound here, while they are genuine, so that a careless patch of `os` breaks no check.
        self.wait4, self.kill, self.leave, self.getpid = os.wait4, os.kill, os._exit, os.getpid
        self.set_timer, self.set_signal = signal.setitimer, signal.signal
        self.clock, self.sleep, self.owner = time.monotonic, time.sleep, os.getpid()

    def run_cells(self, names: dict[str, Any]) -> None:
        """Run every cell; what one raises is told and the next one is run."""
        names["__name__"] = "__main__"
        for number, source in self.job["cells"]:
            file = f"<cell {number}>"
            linecache.cache[file] = (len(source), None, source.splitlines(True), file)
            try:
                exec(compile(source, file, "exec"), names)
            except BaseException as error:
                self.leave_if_not_owner()
                skipped = isinstance(error, self.modules.facade.NotHereError)
                told = [number, skipped, self.modules.failures.describe_failure(error)]
                self.channel.send(self.modules.wire.CELL_FAILED, self.modules.values.pack(told))
        self.leave_if_not_owner()
        self.channel.send(self.modules.wire.DONE)

    def leave_if_not_owner(self) -> None:
        """A process that a cell has forked comes back here as well: it has nothing to say."""
        if self.getpid() != self.owner:
            self.leave(0)

    def check(self, exercise_id: object, candidate: object = None, *, seed: object = 0) -> None:
        """What `check(...)` in a cell does here."""
        self.leave_if_not_owner()
        self.channel.check += 1
        name = exercise_id if type(exercise_id) is str else ""
        number = seed if type(seed) is int else 0
        self.channel.send(self.modules.wire.CHECK, self.modules.values.pack([name, number]))
        if self.fork is None:
            self.serve(candidate)
            self.channel.send(
                self.modules.wire.CHECKED, self.modules.values.pack(["exited", 0, 0.0])
            )
            return
        with self.gate.open():
            pid = self.fork()
        if pid == 0:
            try:
                self.owner = self.getpid()
                self.limit_time()
                self.serve(candidate)
            finally:
                self.leave(0)
        self.channel.send(self.modules.wire.CHECKED, self.modules.values.pack(self.wait_for(pid)))

    def limit_time(self) -> None:
        """Bound the processor time of this process, a candidate's; the clock's more generously.

        What else runs on the machine takes from the second, not from the first.
        """
        for number in (signal.SIGXCPU, signal.SIGALRM):
            self.set_signal(number, signal.SIG_DFL)
        with self.gate.open():
            self.modules.confinement.limit_processor_time(math.ceil(self.job["seconds"]))
        self.set_timer(signal.ITIMER_REAL, self.job["patience"])

    def wait_for(self, pid: int) -> list[Any]:
        """How the candidate's process ended: "time" where by the clock, its status, its seconds.

        The seconds are of processor time.
        """
        end, deadline = "exited", self.clock() + self.job["patience"] + 1
        while True:
            done, status, usage = self.wait4(pid, os.WNOHANG)
            if done:
                slow = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM
                return ["time" if slow else end, status, usage.ru_utime + usage.ru_stime]
            if end == "exited" and self.clock() > deadline:
                end = "time"
                with self.gate.open(), contextlib.suppress(OSError):  # no wall may let us
                    self.kill(pid, signal.SIGKILL)
            self.sleep(0.001)

    def serve(self, candidate: Any) -> None:
        """Answer what the marker asks of one candidate, until it has no more to ask."""
        while True:
            kind, data = self.channel.receive()
            if kind == self.modules.wire.LOOK:
                starter = self.modules.values.unpack(data)
                is_open = self.modules.stubs.is_stub(candidate) or self.modules.stubs.is_unchanged(
                    candidate, starter
                )
                told = [is_open, callable(candidate), type(candidate).__name__]
                self.channel.send(self.modules.wire.REPLY, self.modules.values.pack(told))
            elif kind == self.modules.wire.RUN:
                self.channel.send(self.modules.wire.REPLY, self.call(candidate, data))
            else:
                return

    def call(self, candidate: Any, data: bytes) -> bytes:
        """One call of the candidate; the result as `run_once` gives it, in bytes."""
        functions = self.modules.remote.remote_functions(self.channel)
        dtype, constants, is_watched, arrays, _ = self.modules.wire.unpack_arguments(
            data, functions
        )
        around = self.modules.watching.watched if is_watched else None

        def make() -> Any:
            args, kwargs = self.modules.wire.unpack_arguments(data, functions)[-1]
            return tuple(args), kwargs

        run_once = self.modules.running.run_once
        result = {"dtype": dtype, **run_once(candidate, make, constants, around, arrays)}
        with self.modules.pristine.original_libraries():
            packed: bytes = self.modules.values.pack(result)
            return packed


def main() -> None:
    """Put up the walls, read the job, run the cells."""
    walls = load("instructor.walls")
    channel_end, told, scratch = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    walls.die_with_parent()
    stands = ["namespaces"] if walls.enter_namespaces() else []
    if stands:
        pid = os.fork()
        if pid:
            os.write(told, struct.pack("<i", pid))
            os.close(told)
            os.close(channel_end)
            load("instructor.endings")  # which the warden imports
            os._exit(load("instructor.warden").watch(pid))
        walls.die_with_parent()
    os.close(told)
    walls.be_ended_first()
    if stands:
        stands += ["mounts"] if walls.freeze_mounts(scratch) else []
        walls.limit_processes()
    walls.give_up_powers()
    os.chdir(scratch)
    modules = load_all()
    wire = modules.wire
    channel = wire.Channel(channel_end)
    job = json.loads(channel.receive()[1])
    hidden = {PACKAGE_FOLDER, *(Path(root) / PACKAGE_FOLDER.name for root in sys.path if root)}
    own_proc = "mounts" in stands
    stands += ["files"] if walls.restrict_files(scratch, sorted(hidden), own_proc) else []
    freedom = "namespaces" in stands, "mounts" in stands
    stands += ["calls"] if modules.system_calls.deny_system_calls(*freedom) else []
    gate = Gate()
    limits = modules.confinement.Limits(**job["limits"])
    exempt = lambda: gate.is_open  # noqa: E731
    modules.confinement.confine(limits, scratch, 1, exempt, str(PACKAGE_FOLDER))
    worker = Worker(job, channel, gate, modules)
    notebook = ModuleType("__main__")
    names = vars(notebook)

    def run(source: str) -> None:
        exec(compile(source, "<cell>", "exec"), names)

    names.update(modules.facade.install(worker.check, run))
    sys.modules["__main__"] = notebook
    channel.send(wire.READY, modules.values.pack([*stands, "limits"]))
    worker.run_cells(names)
    os._exit(0)


if __name__ == "__main__":
    main()

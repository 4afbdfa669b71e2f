"""What the kernel keeps from a notebook that has found its way past Python's own hooks."""

import ctypes
import errno
import json
import os
import queue
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from annotated_transformer.exercises.catalogue import catalogue
from annotated_transformer.exercises.grader.confinement import Limits
from annotated_transformer.exercises.instructor import ALL_WALLS, process, system_calls, warden
from annotated_transformer.exercises.instructor.endings import ENDINGS, KILLED, OUT_OF_TIME
from annotated_transformer.exercises.instructor.markers import walls_here
from annotated_transformer.exercises.instructor.marking import Mark, mark_submission
from annotated_transformer.exercises.instructor.session import Checked, Session
from annotated_transformer.exercises.instructor.submission import Submission
from annotated_transformer.exercises.notebooks import IMPORTS, code_solved

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these walls are Linux's")
# The cells share an interpreter with the worker: they find it, and take Python's hook apart.
REACH = """
import os, sys, ctypes
frame = sys._getframe()
while type(frame.f_locals.get("self")).__name__ != "Worker":
    frame = frame.f_back
worker = frame.f_locals["self"]
hook = worker.modules.confinement
hook._BELOW_PYTHON = hook._NETWORK = hook._STARTS_PROCESS = frozenset()
hook._SIGNALS_OTHERS = hook._TOUCHES_PATHS = frozenset()
def tell(*what):
    raise ValueError("TOLD " + " ".join(map(str, what)))
# check(
"""
GOOD = code_solved(catalogue()["masks.causal"])
LAST = code_solved(catalogue()["masks.padding"])


def of_cells(*sources: str) -> dict[str, Any]:
    cells = [{"cell_type": "code", "metadata": {}, "source": source} for source in sources]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def attacked(attack: str, seconds: float = 20) -> Mark:
    """The mark of a notebook with a right answer, the attack, and another right answer."""
    notebook = of_cells(IMPORTS, GOOD, REACH + attack, LAST)
    return mark_submission(Submission("x.ipynb", json.dumps(notebook).encode()), seconds)


def told(mark: Mark) -> str:
    """What the attack says that it saw."""
    return " ".join(error for _, error in mark.failed_cells)


def needs(mark: Mark, *walls: str) -> None:
    missing = [wall for wall in walls if wall not in mark.walls]
    if missing:
        pytest.skip(f"this machine lets no wall of {missing} be put up")


def passed(mark: Mark) -> list[str]:
    return sorted(name for name, one in mark.verdicts.items() if one.state == "passed")


def alive(part_of_command: str) -> list[int]:
    """Processes whose command line holds this text."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if part_of_command.encode() in command and state != "Z":
                found.append(int(entry.name))
    return found


def left_of(part_of_command: str) -> list[int]:
    """Those that are still there after some seconds: what was killed needs a moment to end.

    Not so long that what runs on would meet its limit of processor time.
    """
    deadline = time.monotonic() + 10
    while (found := alive(part_of_command)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def with_another_worker(
    folder: Path, monkeypatch: pytest.MonkeyPatch, module: str, ours: str, other: str
) -> None:
    """Start notebooks from a copy of the worker in which `module` reads `other` for `ours`."""
    exercises = process.WORKER.parent.parent
    copy = folder / "annotated_transformer" / "exercises"
    for name in ("grader", "instructor"):
        shutil.copytree(exercises / name, copy / name, ignore=shutil.ignore_patterns("*.pyc"))
    file = copy / "instructor" / module
    assert file.read_text().count(ours) == 1
    file.write_text(file.read_text().replace(ours, other))
    monkeypatch.setattr(process, "WORKER", copy / "instructor" / "worker.py")


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[tuple[Path, list[bytes]]]:
    """Somebody who listens at a path outside, and what he has heard."""
    path, heard = tmp_path / "s", list[bytes]()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()

        def listen() -> None:
            try:
                while True:
                    heard.append(server.accept()[0].recv(100))
            except OSError:
                return

        threading.Thread(target=listen, daemon=True).start()
        yield path, heard


# --- the filter of system calls -------------------------------------------------------------------


def test_no_socket_leads_out(agent: tuple[Path, list[bytes]]) -> None:
    path, heard = agent
    mark = attacked(
        "import socket\ns = socket.socket(socket.AF_UNIX)\n"
        f"s.connect({str(path)!r})\ns.sendall(b'out')\n"
    )
    needs(mark, "calls")
    assert "PermissionError" in told(mark)
    assert heard == []
    assert passed(mark) == ["masks.causal", "masks.padding"]


CALLS = {
    "another's limits": "import resource\nresource.prlimit(os.getppid() or 1, 0, (1, 1))",
    "its parent's limits": (
        "if os.fork() == 0:\n"
        "    import resource\n"
        "    try:\n"
        "        resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))\n"
        "        open('done', 'w')\n"
        "    finally:\n"
        "        os._exit(0)\n"
        "os.wait()\n"
        "raise PermissionError if not os.path.exists('done') else ValueError"
    ),
    "a session of its own": "os.setsid()",
    "a group of its own": "os.setpgid(0, 0)",
    "a life after its parent": "c = ctypes.CDLL(None, use_errno=True)\n"
    "if c.prctl(1, 0, 0, 0, 0): raise OSError(ctypes.get_errno(), 'x')",
    "another program": "os.execv('/bin/true', ['true'])",
    "a new user": "c = ctypes.CDLL(None, use_errno=True)\n"
    "if c.unshare(0x10000000): raise OSError(ctypes.get_errno(), 'x')",
    "all at once": "import signal\nos.kill(-1, signal.SIGTERM)",
    "memory without a limit": "os.memfd_create('x')",
    "a pair of sockets": "import socket\nsocket.socketpair()",
}


def test_calls_that_no_exercise_needs_are_refused() -> None:
    cells = [REACH + attack for attack in CALLS.values()]
    notebook = json.dumps(of_cells(IMPORTS, *cells, LAST)).encode()
    mark = mark_submission(Submission("x.ipynb", notebook), 30)
    needs(mark, "calls")
    refused = dict(mark.failed_cells)
    went = {name: refused.get(n, "nothing") for n, name in enumerate(CALLS, 2)}
    assert not {name for name, how in went.items() if not how.startswith("PermissionError")}, went
    assert passed(mark) == ["masks.padding"]


def run(instructions: list[tuple[int, int, int, int]], machine: int, *call: int) -> int:
    """What the filter gives for a call: number and arguments, by the rules of classic BPF."""
    arguments = [*call[1:], *[0] * (7 - len(call))]
    data = struct.pack("<iIQ6Q", call[0], machine, 0, *arguments)
    accumulator, step = 0, 0
    while True:
        code, if_true, if_false, constant = instructions[step]
        assert max(if_true, if_false) < 256
        if code == 0x06:
            return constant
        if code == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, constant)
            step += 1
            continue
        holds = {
            0x15: accumulator == constant,
            0x45: bool(accumulator & constant),
            0x25: accumulator > constant,
        }[code]
        step += 1 + (if_true if holds else if_false)


@pytest.mark.parametrize(
    ("machine", "audit", "column"), [("x86_64", 0xC000003E, 0), ("aarch64", 0xC00000B7, 1)]
)
def test_the_filter_by_its_own_rules(machine: str, audit: int, column: int) -> None:
    allow, refuse, unknown, kill = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000
    program = system_calls.program(machine, True, True)
    assert len(program) < 4096
    for name, numbers in system_calls._DENIED.items():
        assert run(program, audit, numbers[column]) == refuse, name
    read, clone, prctl, signals, prlimit = [
        (0, 56, 157, 62, 302),
        (63, 220, 167, 129, 261),
    ][column]
    wanted = {
        (read, 3): allow,
        (clone, 17): allow,
        (clone, 0x10000000): refuse,
        (clone, 0x20000 | 17): refuse,
        (435,): unknown,
        (463,): unknown,
        (0x40000000,): unknown,
        (prctl, 1, 0): refuse,
        (prctl, 15, 0): allow,
        (prlimit, 0, 3): allow,
        (prlimit, 7, 3): refuse,
        (signals, 7, 9): allow,
        (signals, 0, 9): refuse,
        (signals, 2**32 - 1, 9): refuse,
    }
    assert {call: run(program, audit, *call) for call in wanted} == wanted
    assert run(program, 0x40000003, 1) == kill  # 32-bit x86
    silent = system_calls.program(machine, False, False)
    assert run(silent, audit, signals, 7, 9) == refuse
    chmod = (91, 52)[column]
    assert (run(program, audit, chmod), run(silent, audit, chmod)) == (allow, refuse)
    assert len(silent) < 4096


@pytest.mark.parametrize(
    ("header", "column"),
    [("x86_64-linux-gnu/asm/unistd_64.h", 0), ("asm-generic/unistd.h", 1)],
)
def test_the_numbers_are_the_kernels(header: str, column: int) -> None:
    """The second header is that of all newer architectures, aarch64 among them."""
    file = Path("/usr/include", header)
    if not file.is_file():
        pytest.skip("the kernel's headers are not here")
    found = re.findall(r"^#define __NR(?:3264)?_(\w+) (\d+)$", file.read_text(), re.MULTILINE)
    numbers = {name: int(number) for name, number in found}
    assert len(numbers) > 250
    for name, both in system_calls._DENIED.items():
        assert numbers.get(name, both[column]) == both[column], name


def test_queues_and_memory_that_others_have_made_cannot_be_had() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    segment = libc.shmget(0, 4096, 0o1600)
    if segment < 0:
        pytest.skip("no shared memory can be had here")
    try:
        child = os.fork()
        if child == 0:
            stands = system_calls.deny_system_calls(False, False)
            libc.shmat.restype = ctypes.c_void_p
            got = libc.shmat(segment, None, 0)
            refused = ctypes.get_errno() == errno.EPERM and got in (None, 2**64 - 1)
            kept = libc.shmctl(segment, 0, None) == -1
            os._exit(3 if not stands else 0 if refused and kept else 1)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        gone = libc.shmctl(segment, 0, None)
    if status == 3:
        pytest.skip("this machine lets no filter be put up")
    assert (status, gone) == (0, 0)


# --- nothing stays behind -------------------------------------------------------------------------


def test_nothing_outlives_a_notebook() -> None:
    attack = "for again in range(2):\n    if os.fork():\n        os._exit(0)\nwhile True:\n    pass"
    forks = REACH + "if os.fork() == 0:\n" + "".join(f"    {x}\n" for x in attack.splitlines())
    with Session([(1, forks)], Limits(), 20) as session:
        assert not list(session.events())
        name = session.process.scratch
    assert left_of(name) == []
    assert not Path(name).exists()


MARKER = """
from annotated_transformer.exercises.grader.confinement import Limits
from annotated_transformer.exercises.instructor.session import Session
check = "from annotated_transformer.exercises import check; check('masks.causal', print)"
session = Session([(1, check), (2, "while True:\\n    pass")], Limits(), 300)
for event in session.events():
    session.decline()
    print(session.process.scratch, flush=True)
"""


def test_a_worker_ends_with_its_marker() -> None:
    with subprocess.Popen([sys.executable, "-c", MARKER], stdout=subprocess.PIPE) as marker:
        assert marker.stdout is not None
        scratch = marker.stdout.readline().decode().strip()
        time.sleep(1)  # by now it is in its second cell, and talks with nobody
        assert alive(scratch)
        os.kill(marker.pid, signal.SIGKILL)
    assert left_of(scratch) == []


def test_processes_are_counted_also_for_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With more memory granted, since what they share counts for each of them."""
    with_another_worker(
        tmp_path, monkeypatch, "warden.py", "MAX_MEMORY = 4 * 2**30", "MAX_MEMORY = 2**50"
    )
    mark = attacked(
        "import time\n"
        "for _ in range(300):\n    if os.fork() == 0:\n"
        "        time.sleep(50)\n        os._exit(0)\n"
        "time.sleep(20)\ntell('forked all')"
    )
    needs(mark, "namespaces")
    assert "forked all" not in told(mark)
    assert "masks.causal" in passed(mark)
    if os.geteuid() == 0:  # to all others the kernel refuses the fork, and the notebook goes on
        assert mark.end == "processes"


@pytest.mark.slow
def test_a_loop_in_a_cell_ends_its_notebook_at_the_limit_of_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of processor time: the clock's, six seconds, could be over before on a busy machine."""
    monkeypatch.setattr("annotated_transformer.exercises.instructor.session.PATIENCE", 60.0)
    mark = attacked("while True:\n    pass", seconds=2)
    needs(mark, "limits")
    assert mark.end == "time"
    assert passed(mark) == ["masks.causal"]


LIMITED = "import resource as r; r.setrlimit(r.RLIMIT_CPU, (50, 60)); print(flush=True); input()"


@pytest.mark.parametrize(("limit", "status"), [(51, OUT_OF_TIME), (50, KILLED)])
def test_a_limit_of_time_is_known_by_what_the_kernel_did(
    limit: int, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It raises the limit when it is reached. Used seconds may be counted as fewer than that."""
    looks, given = queue.SimpleQueue[float](), warden.processor_limit

    def look(number: int) -> float:
        looks.put(found := given(number))
        return found

    monkeypatch.setattr(warden, "processor_limit", look)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", LIMITED], **pipes) as first:
        assert first.stdout is not None
        first.stdout.readline()
        with ThreadPoolExecutor() as pool:
            watching = pool.submit(warden.watch, first.pid)
            looks.get(timeout=60)
            resource.prlimit(first.pid, resource.RLIMIT_CPU, (limit, 60))
            for _ in range(looks.qsize() + 3):  # one begun before, one that sees it, one after it
                looks.get(timeout=60)
            os.kill(first.pid, signal.SIGKILL)
            assert watching.result(30) == status


def test_a_notebook_that_the_system_has_killed_is_called_so() -> None:
    """As the kernel does it where the machine's memory runs out."""
    cells = [(1, IMPORTS), (2, GOOD), (3, "while True:\n    pass")]
    with Session(cells, Limits(), 60) as session:
        for _ in session.events():  # the one check
            session.decline()
            os.kill(session.process._pid, signal.SIGKILL)
    assert session.end == "killed"


@pytest.mark.slow
def test_what_a_notebook_exits_with_is_no_limit() -> None:
    for status in ENDINGS:
        with Session([(1, f"import os\nos._exit({status})")], Limits(), 20) as session:
            assert not list(session.events())
        assert (status, session.end) == (status, "crashed")


def test_memory_is_counted_of_all_processes_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each keeps within the limit of a process; together they are over the notebook's."""
    with_another_worker(
        tmp_path, monkeypatch, "warden.py", "MAX_MEMORY = 4 * 2**30", "MAX_MEMORY = 900 * 2**20"
    )
    mark = attacked(
        "import time\n"
        "r, w = os.pipe()\n"
        "for _ in range(6):\n"
        "    if os.fork() == 0:\n"
        "        held = bytearray(b'x') * (200 * 2**20)\n"
        "        os.write(w, b'x')\n"
        "        time.sleep(50)\n"
        "        os._exit(0)\n"
        "got = b''\n"
        "while len(got) < 6:\n    got += os.read(r, 6)\n"
        "time.sleep(20)\ntell('held all')"
    )
    needs(mark, "namespaces")
    assert mark.end == "memory"
    assert told(mark) == ""
    assert passed(mark) == ["masks.causal"]


def test_where_memory_runs_out_a_notebook_goes_first() -> None:
    mark = attacked("tell('score', open('/proc/self/oom_score_adj').read())")
    assert "TOLD score 1000" in told(mark)


# --- where no namespaces can be made --------------------------------------------------------------


@pytest.fixture
def without_namespaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker as on a machine that lets none be made, as in most containers."""
    begin = '    if sys.platform != "linux":\n        return False\n    user, group'
    with_another_worker(tmp_path, monkeypatch, "walls.py", begin, f"    return False\n{begin}")


@pytest.mark.usefixtures("without_namespaces")
def test_without_namespaces_notebooks_are_still_kept_apart(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("x")
    before = outside.stat()
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"]) as other:
        attacks = (
            f"import signal\nos.kill({other.pid}, signal.SIGKILL)",
            f"import resource\nresource.prlimit({other.pid}, resource.RLIMIT_CPU, (0, 0))",
            f"os.killpg({other.pid}, 9)",
            f"tell(open('/proc/{other.pid}/environ').read())",
            f"os.chmod({str(outside)!r}, 0)",
            f"os.utime({str(outside)!r}, (0, 0))",
            "os.setsid()",
            "os.setuid(1)",
        )
        cells = [REACH + attack for attack in attacks]
        notebook = json.dumps(of_cells(IMPORTS, *cells, LAST)).encode()
        mark = mark_submission(Submission("x.ipynb", notebook), 30)
        assert other.poll() is None
        other.kill()
    assert "namespaces" not in mark.walls
    needs(mark, "files", "calls")
    how = [error for _, error in mark.failed_cells]
    assert len(how) == len(attacks), how
    assert all(error.startswith("PermissionError") for error in how), how
    assert (outside.stat().st_mode, outside.stat().st_mtime) == (before.st_mode, before.st_mtime)
    assert passed(mark) == ["masks.padding"]


@pytest.mark.usefixtures("without_namespaces")
def test_without_namespaces_a_slow_answer_costs_its_own_exercise_only() -> None:
    slow = "def causal_mask(n):\n    while True:\n        pass\ncheck('masks.causal', causal_mask)"
    left = REACH + "if os.fork() == 0:\n    while True:\n        pass"
    cells = [(1, IMPORTS), (2, slow), (3, left), (4, LAST)]
    states = {}
    with Session(cells, Limits(seconds=1), 30) as session:
        for event in session.events():
            if isinstance(event, Checked):
                report = session.grade(catalogue()[event.exercise_id])
                states[event.exercise_id] = report.passed, session.was_too_slow
        name = session.process.scratch
    assert states == {"masks.causal": (False, True), "masks.padding": (True, False)}
    assert left_of(name) == []


WRITING = """
import importlib.util, os, sys
spec = importlib.util.spec_from_file_location("walls", sys.argv[1])
walls = importlib.util.module_from_spec(spec)
spec.loader.exec_module(walls)
walls.enter_namespaces()
patient = walls.time.sleep
opened, has_opened = os.pipe()
freed, let_go = os.pipe()
if os.fork() == 0:
    os.read(opened, 1)
    def ask(seconds):  # the wall was refused once: now the file may be closed
        print("refused", flush=True)
        os.write(let_go, b".")
        patient(seconds)
    walls.time.sleep = ask
    print("stands" if walls.freeze_mounts(sys.argv[2]) else "does not stand", flush=True)
    os._exit(0)
with open(sys.argv[3], "w"):
    os.write(has_opened, b".")
    os.close(let_go)
    os.read(freed, 1)
os.wait()
"""


def test_a_file_that_is_being_written_only_delays_the_read_only_world(tmp_path: Path) -> None:
    """The kernel makes nothing read-only while anybody writes there: EBUSY, mount_setattr(2)."""
    if "mounts" not in walls_here():
        pytest.skip("this machine lets no such wall be put up")
    (tmp_path / "scratch").mkdir()
    walls_file = process.WORKER.parent / "walls.py"
    command = [sys.executable, "-c", WRITING, str(walls_file), str(tmp_path / "scratch")]
    command.append(str(tmp_path / "held"))
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    said = ran.stdout.split()
    assert (said[0], said[-1]) == ("refused", "stands"), ran.stderr


@pytest.mark.slow
def test_where_proc_stays_the_hosts_it_is_said_and_nobody_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where parts of the host's /proc are masked: the kernel lets no new one be mounted."""
    mounts = 'its_own = libc.mount(b"proc", b"/proc", b"proc", quiet | _READ_ONLY, None) == 0'
    with_another_worker(tmp_path, monkeypatch, "walls.py", mounts, "its_own = False")
    mark = attacked(
        "seen = []\n"
        "try:\n"
        "    seen += [name for name in os.listdir('/proc') if name.isdigit()]\n"
        "except OSError:\n"
        "    pass\n"
        f"for path in ['/proc/{os.getpid()}/status', '/proc/{os.getpid()}/cmdline']:\n"
        "    try:\n"
        "        seen.append(open(path).read())\n"
        "    except OSError:\n"
        "        pass\n"
        "import resource\n"
        "tell('seen', seen, resource.getrlimit(resource.RLIMIT_AS)[0] > 0)"
    )
    needs(mark, "namespaces", "files")
    assert "mounts" not in mark.walls
    assert "TOLD seen [] True" in told(mark)
    assert passed(mark) == ["masks.causal", "masks.padding"]
    mark = attacked(
        "import time\n"
        "for _ in range(300):\n    if os.fork() == 0:\n"
        "        time.sleep(50)\n        os._exit(0)\n"
        "time.sleep(20)\ntell('forked all')"
    )
    assert "forked all" not in told(mark)


# --- what can be read -----------------------------------------------------------------------------


def test_of_the_system_only_what_python_needs_can_be_read() -> None:
    hidden = ["/etc/shadow", "/etc/passwd", "/etc/hostname", "/dev/kmsg", "/proc/1/root/etc/shadow"]
    hidden += [str(path) for path in Path("/dev/pts").glob("*")] + ["/dev/loop0", "/dev/tty"]
    mark = attacked(
        "seen = []\n"
        f"for path in {hidden}:\n"
        "    try:\n"
        "        os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)\n"
        "        seen.append(path)\n"
        "    except OSError:\n"
        "        pass\n"
        "tell('opened', seen, len(open('/dev/urandom', 'rb').read(4)))"
    )
    needs(mark, "files")
    assert "TOLD opened [] 4" in told(mark)


def test_all_walls_have_a_name() -> None:
    with Session([], Limits(), 60) as session:
        assert not list(session.events())
    assert set(session.walls) <= set(ALL_WALLS)

"""Candidates that hang, crash, lie, forge and break things: each is reported and harms nothing."""

import builtins
import ctypes
import gc
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from annotated_transformer.exercises.exercise import Call, Case, Exercise, Report, call
from annotated_transformer.exercises.grader.confinement import Limits
from annotated_transformer.exercises.grader.grading import grade_exercise
from sampling import one_in

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="uses Linux's process functions")


def softmax(x: Tensor, dim: int = -1) -> Tensor:
    shifted = (x - x.amax(dim, keepdim=True)).exp()
    return shifted / shifted.sum(dim, keepdim=True)


def _case(rows: int, columns: int) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(torch.randn(rows, columns, generator=generator, dtype=dtype))

    return Case(f"x of shape ({rows}, {columns})", make)


EXERCISE = Exercise(
    id="test.softmax",
    title="Softmax",
    kind="code",
    difficulty=2,
    minutes=5,
    signature="softmax(x, dim=-1)",
    statement="",
    objective="",
    prerequisite="",
    hints=("", "", ""),
    reference=softmax,
    explanation="",
    cases=(_case(2, 3), _case(1, 1), _case(3, 5)),
    mistakes=(),
    alternatives=(),
    starter="",
)


def loops_for_ever(x: Tensor) -> None:
    while True:
        pass


def sleeps(x: Tensor) -> None:
    time.sleep(1000)


def stops_itself(x: Tensor) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def catches_everything(x: Tensor) -> None:
    while True:
        try:
            while True:
                time.sleep(0.01)
        except BaseException:
            continue


def ignores_signals(x: Tensor) -> None:
    for number in range(1, 65):
        try:
            signal.signal(number, lambda *a: None)
        except (OSError, ValueError):
            continue
    signal.setitimer(signal.ITIMER_REAL, 0)
    while True:
        pass


def exits(x: Tensor) -> None:
    os._exit(0)


def exits_with_our_status(x: Tensor) -> None:
    os._exit(83)


def leaves_python(x: Tensor) -> None:
    sys.exit(0)


def kills_itself(x: Tensor) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def aborts(x: Tensor) -> None:
    os.abort()


def reads_nowhere(x: Tensor) -> None:
    ctypes.string_at(0)


def recurses(x: Tensor) -> Any:
    return recurses(x)


def recurses_without_limit(x: Tensor) -> Any:
    sys.setrecursionlimit(10**9)

    def deeper(n: int) -> int:
        return max([n], key=lambda item: deeper(item + 1))

    return deeper(0)


def allocates_a_tensor(x: Tensor) -> Tensor:
    return torch.ones(10**12)


def allocates_step_by_step(x: Tensor) -> Any:
    kept = []
    while True:
        kept.append(bytearray(10**7))


def allocates_a_list(x: Tensor) -> Any:
    return [0] * 10**11


def a_giant_integer(x: Tensor) -> Any:
    return 1 << (8 * 10**8)


def prints_for_ever(x: Tensor) -> None:
    while True:
        print("spam " * 100)


def prints_on_errors(x: Tensor) -> None:
    while True:
        sys.stderr.write("spam " * 100)


def writes_to_every_descriptor(x: Tensor) -> Tensor:
    for descriptor in range(3, 256):
        try:
            os.write(descriptor, b"\x00forged" * 1000)
        except OSError:
            continue
    return softmax(x) * 2


def floods_the_results(x: Tensor) -> None:
    open_ones = []
    for descriptor in range(3, 256):
        try:
            os.fstat(descriptor)
            open_ones.append(descriptor)
        except OSError:
            continue
    while True:
        for descriptor in open_ones:
            try:
                os.write(descriptor, b"\x00" * 65536)
            except OSError:
                continue


def closes_everything(x: Tensor) -> Tensor:
    os.closerange(0, 4096)
    return softmax(x)


def forges_frames(x: Tensor) -> None:
    """Takes the token out of the grader's own frames and claims to have finished."""
    from annotated_transformer.exercises.grader import child

    token = None
    frame = sys._getframe()
    while frame is not None:
        token = frame.f_locals.get("token", token)
        results = frame.f_locals.get("results", None)
        if token is not None and results is not None:
            os.write(results, child.FRAME.pack(token, child.FINISHED, 0, 0))
            os._exit(0)
        frame = frame.f_back


def forks(x: Tensor) -> Tensor:
    os.fork()
    return softmax(x) * 2


def forks_below_python(x: Tensor) -> Tensor:
    ctypes.CDLL(None).fork()
    return softmax(x) * 2


def starts_a_process(x: Tensor) -> Tensor:
    subprocess.Popen(["sleep", "1000"])
    return softmax(x)


def starts_threads(x: Tensor) -> Tensor:
    for _ in range(20):
        threading.Thread(target=loops_for_ever, args=(x,), daemon=False).start()
    return softmax(x) * 2


def kills_the_parent(x: Tensor) -> Tensor:
    os.kill(os.getppid(), signal.SIGKILL)
    return softmax(x)


def uses_the_network(x: Tensor) -> Tensor:
    socket.create_connection(("127.0.0.1", 9))
    return softmax(x)


def reads_the_keyboard(x: Tensor) -> Any:
    return input("password: ")


def reads_standard_input(x: Tensor) -> Any:
    return sys.stdin.read()


def deletes_the_folder(x: Tensor) -> Tensor:
    for name in os.listdir("."):
        os.remove(name)
    shutil.rmtree(os.getcwd(), ignore_errors=True)
    return softmax(x) * 2


def fills_the_disk(x: Tensor) -> None:
    with open("file", "wb") as file:
        while True:
            file.write(b"\x00" * 10**7)


def patches_torch(x: Tensor) -> Tensor:
    torch.allclose = torch.equal = lambda *a, **k: True  # type: ignore[assignment]
    torch.Tensor.__eq__ = lambda *a: torch.tensor(True)  # type: ignore[method-assign,assignment]
    np.allclose = np.array_equal = lambda *a, **k: True  # type: ignore[assignment]
    torch.testing.assert_close = lambda *a, **k: None  # type: ignore[assignment]
    return softmax(x) * 2


def patches_builtins(x: Tensor) -> Tensor:
    builtins.all = lambda items: True  # type: ignore[assignment]
    builtins.len = lambda thing: 0  # type: ignore[assignment]
    builtins.isinstance = lambda *a: True  # type: ignore[assignment]
    builtins.abs = lambda thing: 0  # type: ignore[assignment]
    json.dumps = lambda *a, **k: "{}"  # type: ignore[assignment]
    os.write = lambda descriptor, data: len(data)  # type: ignore[assignment]
    return softmax(x) * 2


def patches_the_grader(x: Tensor) -> Tensor:
    for name, module in list(sys.modules.items()):
        if name.startswith("annotated_transformer.exercises") and module is not None:
            for key in list(vars(module)):
                if callable(vars(module)[key]):
                    setattr(module, key, lambda *a, **k: True)
    return softmax(x) * 2


def rewrites_the_reference(x: Tensor) -> Tensor:
    softmax.__code__ = (lambda x, dim=-1: x).__code__
    return x


def collects_everything(x: Tensor) -> Tensor:
    for thing in gc.get_objects():
        if isinstance(thing, dict) and "expected" in thing:
            thing.clear()
    gc.collect()
    return softmax(x) * 2


class Liar(Tensor):
    """Claims to be whatever it is compared with."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        name = getattr(func, "__name__", "")
        if name in ("allclose", "equal", "__eq__", "isclose"):
            return True
        if name in ("detach", "cpu", "numpy", "clone", "contiguous"):
            return softmax(torch.zeros(2, 3))
        return super().__torch_function__(func, types, args, kwargs or {})

    def __eq__(self, other: object) -> Any:
        return True


def lies(x: Tensor) -> Tensor:
    return (softmax(x) * 2).as_subclass(Liar)


class EqualsAll:
    """An object that says yes to everything and has every attribute."""

    def __eq__(self, other: object) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        return lambda *a, **k: True

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return np.zeros((2, 3))


class LyingList(list):  # type: ignore[type-arg]
    def __len__(self) -> int:
        return 10**12


def holds_itself(x: Tensor) -> Any:
    items: list[Any] = []
    items.append(items)
    return items


def nested_deeply(x: Tensor) -> Any:
    items: list[Any] = []
    for _ in range(100_000):
        items = [items]
    return items


def raises_a_hostile_exception(x: Tensor) -> Any:
    class HostileError(Exception):
        def __str__(self) -> str:
            raise SystemExit

        __repr__ = __str__

    raise HostileError


def prints_itself_for_ever(x: Tensor) -> Any:
    class EndlessError(Exception):
        def __str__(self) -> str:
            while True:
                pass

    raise EndlessError


def is_interrupted(x: Tensor) -> Any:
    raise KeyboardInterrupt


def changes_its_limits(x: Tensor) -> Any:
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return softmax(x)


def kills_the_parent_below_python(x: Tensor) -> Any:
    ctypes.CDLL(None).kill(os.getppid(), signal.SIGKILL)
    return softmax(x)


def writes_into_the_parent(x: Tensor) -> Any:
    with open(f"/proc/{os.getppid()}/mem", "r+b") as file:
        file.write(b"\x00")
    return softmax(x)


def forgets_all_modules(x: Tensor) -> Any:
    sys.modules.clear()
    return softmax(x) * 2


def leaves_a_mode_behind(x: Tensor) -> Any:
    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            return 3

    Mode().__enter__()
    return x


def switches_gradients_and_dtypes(x: Tensor) -> Any:
    torch.set_grad_enabled(False)
    torch.set_default_dtype(torch.float16)
    torch.manual_seed(3)
    return softmax(x) * 2


async def is_asynchronous(x: Tensor) -> Any:
    return softmax(x)


class HostileMeta(type):
    @property
    def __name__(cls) -> str:
        raise SystemExit

    def __instancecheck__(cls, instance: object) -> bool:
        return True


class HostileObject(metaclass=HostileMeta):
    @property
    def __class__(self) -> type:  # type: ignore[override]
        return Tensor


HOSTILE: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        *(loops_for_ever, sleeps, stops_itself, catches_everything, ignores_signals),
        *(exits, exits_with_our_status, leaves_python, kills_itself, aborts, reads_nowhere),
        *(recurses, recurses_without_limit, allocates_a_tensor, allocates_step_by_step),
        *(allocates_a_list, a_giant_integer, prints_for_ever, prints_on_errors),
        *(writes_to_every_descriptor, floods_the_results, closes_everything, forges_frames),
        *(forks, forks_below_python, starts_a_process, starts_threads, kills_the_parent),
        *(uses_the_network, reads_the_keyboard, reads_standard_input, deletes_the_folder),
        *(fills_the_disk, patches_torch, patches_builtins, patches_the_grader),
        *(rewrites_the_reference, collects_everything, lies, holds_itself, nested_deeply),
        *(raises_a_hostile_exception, prints_itself_for_ever, is_interrupted, changes_its_limits),
        *(kills_the_parent_below_python, writes_into_the_parent, forgets_all_modules),
        *(leaves_a_mode_behind, switches_gradients_and_dtypes, is_asynchronous),
    )
} | {
    "returns an object equal to all": lambda x: EqualsAll(),
    "returns an object of a hostile class": lambda x: HostileObject(),
    "returns a class": lambda x: EqualsAll,
    "returns a list that lies": lambda x: LyingList(),
    "returns a generator": lambda x: (row for row in x),
    "returns an endless iterator": lambda x: iter(int, 1),
    "returns a module": lambda x: torch,
    "returns NumPy": lambda x: softmax(x).numpy(),
    "returns a list of floats": lambda x: softmax(x).tolist(),
    "returns NaN": lambda x: x * float("nan"),
    "returns complex": lambda x: softmax(x).to(torch.complex128),
    "returns a sparse tensor": lambda x: softmax(x).to_sparse(),
    "returns a meta tensor": lambda x: softmax(x).to("meta"),
    "returns a 0-d tensor": lambda x: softmax(x).sum(),
    "returns float32": lambda x: softmax(x).float(),
    "returns half": lambda x: softmax(x).half(),
    "returns integers": lambda x: softmax(x).long(),
    "returns a huge expanded tensor": lambda x: x.new_zeros(1).expand(10**9, 10**9),
    "returns a big tensor": lambda x: torch.zeros(5000, 5000, dtype=x.dtype),
    "returns a quantised tensor": lambda x: torch.quantize_per_tensor(
        x.float(), 0.1, 0, torch.quint8
    ),
    "returns a nested tensor": lambda x: torch.nested.nested_tensor([x, x]),
    "returns a huge string": lambda x: "x" * 10**8,
    "returns a dict": lambda x: {x: x},
}


@pytest.fixture(autouse=True)
def whole_afterwards() -> Iterator[None]:
    """After every candidate a right one passes, this process is unchanged and nothing runs on."""
    folder, files = os.getcwd(), len(os.listdir("/proc/self/fd"))
    state, children = torch.get_rng_state(), _children()  # multiprocessing has helpers that stay
    yield
    assert os.getcwd() == folder
    assert torch.equal(torch.get_rng_state(), state)
    assert grade_exercise(EXERCISE, softmax).passed
    assert len(os.listdir("/proc/self/fd")) <= files
    assert set(_children()) <= set(children)


def _children() -> list[str]:
    listing = Path(f"/proc/self/task/{os.getpid()}/children")
    return listing.read_text().split() if listing.exists() else []


def _report(candidate: Callable[..., Any], limits: Limits | None = None) -> Report:
    began = time.monotonic()
    report = grade_exercise(EXERCISE, candidate, limits=limits)
    assert time.monotonic() - began < 60  # it ends, on a busy machine too; who sleeps sleeps 1,000
    return report


@pytest.mark.parametrize("name", one_in(3, HOSTILE))
def test_a_hostile_candidate_is_reported(name: str) -> None:
    report = _report(HOSTILE[name], Limits(seconds=2.0))  # a loop takes all of them
    assert not report.passed
    assert report.rung in ("returns", "type", "shape", "dtype", "finite", "values")
    assert len(report.message) < 3000
    assert report.message.isprintable() or "\n" in report.message


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("loops_for_ever", "had not returned after 5 seconds"),
        ("exits", "ended the whole Python process"),
        ("recurses", "calls itself without reaching an end"),
        ("allocates_a_tensor", "far more memory"),
        ("reads_nowhere", "crashed Python itself"),
        ("lies", "a subclass of Tensor"),
        ("returns NumPy", "a NumPy array"),
        ("returns a sparse tensor", "a sparse tensor"),
        ("returns a meta tensor", "meta device"),
        ("returns float32", "expected float64, got float32"),
        ("returns NaN", "NaN at 6 of 6 places"),
        ("patches_torch", "Every number is 2 times what it should be"),
        ("starts_a_process", "may not start another process"),
        ("kills_the_parent", "may not signal another process"),
        ("uses_the_network", "may not use the network"),
    ],
)
def test_the_report_says_what_happened(name: str, words: str) -> None:
    assert words in _report(HOSTILE[name]).message


def test_printing_is_bounded_and_shown() -> None:
    def candidate(x: Tensor) -> Tensor:
        print("scores", x.shape)
        return x

    assert (
        "Your code printed on this input: scores torch.Size([2, 3])" in _report(candidate).message
    )


def test_a_patch_in_the_notebook_itself_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "allclose", lambda *a, **k: True)
    monkeypatch.setattr(torch, "equal", lambda *a, **k: True)
    monkeypatch.setattr(np, "allclose", lambda *a, **k: True)
    monkeypatch.setattr(np, "isfinite", lambda *a, **k: np.True_)
    monkeypatch.setattr(Tensor, "exp", lambda self: self * 0, raising=False)
    monkeypatch.setattr(torch, "randn", lambda *a, **k: torch.zeros(2, 3, dtype=torch.float64))
    monkeypatch.setattr(builtins, "all", lambda items: True)
    wrong = grade_exercise(EXERCISE, lambda x: x)
    right = grade_exercise(EXERCISE, lambda x: x.softmax(-1))
    monkeypatch.undo()
    assert not wrong.passed
    assert right.passed


def test_torch_defaults_of_the_notebook_change_nothing() -> None:
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            assert grade_exercise(EXERCISE, softmax).passed
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_a_check_after_parallel_work_in_the_parent_does_not_hang() -> None:
    """The thread pool of the parent does not survive the fork: the child must not wait for it."""
    threads = torch.get_num_threads()
    torch.set_num_threads(4)
    large = torch.ones(800, 800)
    (large @ large).softmax(-1).sum()

    def candidate(x: Tensor) -> Tensor:
        assert torch.get_num_threads() == 1
        big = torch.ones(600, 600)
        assert (big @ big).sum() > 0
        return softmax(x)

    report = grade_exercise(EXERCISE, candidate)
    torch.set_num_threads(threads)
    assert report.passed, report.message


class _Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return softmax(x)

    def method(self, x: Tensor) -> Tensor:
        return softmax(x)


def _of_a_vanished_module() -> Callable[..., Any]:
    module = types.ModuleType("vanished")
    exec("import torch\ndef candidate(x):\n    return torch.softmax(x, -1)", module.__dict__)
    module.candidate.__module__ = "vanished"
    candidate: Callable[..., Any] = module.candidate
    return candidate


CALLABLES: dict[str, Callable[..., Any]] = {
    "function": softmax,
    "lambda": lambda x: x.softmax(-1),
    "module": _Module(),
    "method": _Module().method,
    "torch's module": torch.nn.Softmax(-1),
    "of a vanished module": _of_a_vanished_module(),
}


@pytest.mark.parametrize("name", CALLABLES)
def test_any_callable_can_be_a_candidate(name: str) -> None:
    report = grade_exercise(EXERCISE, CALLABLES[name], method="fork")
    assert report.passed, report.message


@pytest.mark.parametrize("name", ["method", "of a vanished module"])
@pytest.mark.slow
def test_a_new_python_takes_any_callable(name: str) -> None:
    report = grade_exercise(EXERCISE, CALLABLES[name], method="spawn")
    assert report.passed, report.message


@pytest.mark.parametrize("name", ["loops_for_ever", "exits", "lies"])
@pytest.mark.slow
def test_a_new_python_is_as_safe_as_a_fork(name: str) -> None:
    assert not grade_exercise(EXERCISE, HOSTILE[name], method="spawn").passed


def test_where_torch_cannot_work_in_a_fork_a_new_python_is_used() -> None:
    def candidate(x: Tensor) -> Tensor:
        if sys.argv[0] != "-c":  # the command of a new Python
            raise RuntimeError("Unable to handle autograd's threading in combination with fork")
        return softmax(x)

    assert grade_exercise(EXERCISE, candidate).passed


def test_what_cannot_be_sent_to_a_new_python_is_said() -> None:
    lock = threading.Lock()

    def candidate(x: Tensor) -> Tensor:
        with lock:
            return softmax(x)

    assert grade_exercise(EXERCISE, candidate, method="fork").passed
    report = grade_exercise(EXERCISE, candidate, method="spawn")
    assert not report.passed
    assert "cannot be copied" in report.message


def test_limits_of_this_process_are_as_before() -> None:
    before = resource.getrlimit(resource.RLIMIT_AS), resource.getrlimit(resource.RLIMIT_CPU)
    grade_exercise(EXERCISE, softmax)
    after = resource.getrlimit(resource.RLIMIT_AS), resource.getrlimit(resource.RLIMIT_CPU)
    assert before == after


def makes_torchs_cache(x: Tensor) -> Tensor:
    os.makedirs(os.path.join(os.environ["TORCHINDUCTOR_CACHE_DIR"], "dynamo"))
    return softmax(x)


def test_modules_of_torch_that_keep_a_cache_can_be_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`torch.utils.flop_counter` makes its folder when it is imported, on a new machine only."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "elsewhere"))
    alone = Exercise(**{**vars(EXERCISE), "cases": EXERCISE.cases[:1]})
    report = grade_exercise(alone, makes_torchs_cache)
    assert report.passed, report.message
    assert not (tmp_path / "elsewhere").exists()

"""What a check leaves behind in the process that asked for it: nothing."""

import gc
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from annotated_transformer.exercises import check, grade, hint
from annotated_transformer.exercises.grader import grading, pristine, sandbox
from annotated_transformer.exercises.learner.records import read_records
from sampling import one_in

linux = pytest.mark.skipif(sys.platform != "linux", reason="uses Linux's process functions")


@pytest.fixture(autouse=True)
def progress_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_PROGRESS", str(tmp_path / "progress.json"))


FIRST_CHECK = """
import random, sys
import numpy as np
import torch
{before}
torch.manual_seed(7), np.random.seed(7), random.seed(7)
{what}
print(float(torch.rand(())), float(np.random.rand()), random.random(), file=sys.stderr)
"""


def _numbers_after(what: str, before: str = "") -> str:
    source = FIRST_CHECK.format(what=what, before=before)
    command = [sys.executable, "-c", source]
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr


@pytest.mark.slow
def test_the_first_check_of_a_kernel_draws_none_of_its_numbers() -> None:
    """Some topics try their mistakes when they are imported, and one mistake is to draw."""
    check = "from annotated_transformer.exercises import check, grade"
    without = _numbers_after("")
    assert _numbers_after("grade('masks.causal', lambda n: n)", check) == without
    assert _numbers_after("check('masks.causal', lambda n: n)", check) == without
    topic = "import annotated_transformer.exercises.content.positional"
    assert _numbers_after(topic) == without


def right(n: int) -> Tensor:
    return torch.ones(n, n, dtype=torch.bool).tril()


def _state() -> list[Any]:
    """All that a check has to put back."""
    return [
        torch.get_rng_state().tolist(),
        str(np.random.get_state()),
        random.getstate(),
        torch.get_num_threads(),
        torch.get_default_dtype(),
        os.getcwd(),
        signal.getsignal(signal.SIGINT),
        list(pristine._active),
    ]


def test_random_states_and_threads_are_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a reference or a named mistake draws or sets while the bank is compared."""
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        torch.manual_seed(1), np.random.seed(1), random.seed(1)
        before = _state()
        given = grading.judge

        def judge(*arguments: Any) -> Any:
            assert torch.get_num_threads() == 1
            torch.rand(3), np.random.rand(3), random.random()
            return given(*arguments)

        monkeypatch.setattr(grading, "judge", judge)
        assert not grade("masks.causal", lambda n: ~right(n)).passed
        assert _state() == before
    finally:
        torch.set_num_threads(threads)


def test_checks_from_several_threads_do_not_disturb_each_other() -> None:
    torch.manual_seed(1)
    before = _state()
    verdicts: list[bool] = []

    def work() -> None:
        for _ in range(3):
            verdicts.append(grade("masks.causal", right).passed)
            verdicts.append(
                not grade("positional.sinusoidal", lambda n, d: torch.zeros(n, d)).passed
            )

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verdicts == [True] * 24
    assert _state() == before


def _children() -> str:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text()


@pytest.fixture
def interrupts() -> Iterator[None]:
    """As in a kernel; what was started in the background may ignore them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@linux
@pytest.mark.usefixtures("interrupts")
@pytest.mark.parametrize(
    "moment",
    one_in(4, ["fork", "mkdtemp", "pipe", "killpg", "judge", "waitpid", "rmtree", "start"]),
)
def test_an_interrupt_leaves_nothing_behind(
    moment: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It comes right after a folder, pipes or a process were made, or before they are removed."""
    grade("masks.causal", right)
    module: Any = {"mkdtemp": tempfile, "rmtree": shutil, "start": sandbox._Reader}.get(moment, os)
    module = grading if moment == "judge" else module
    given = getattr(module, moment)
    interrupted: list[str] = []

    def and_interrupts(*arguments: Any, **named: Any) -> Any:
        result = given(*arguments, **named)
        if result != 0 or moment != "fork":  # not in the child
            interrupted.append(moment)
            if len(interrupted) == 1:
                os.kill(os.getpid(), signal.SIGINT)
        return result

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    gc.collect()  # what earlier tests left open is not to be closed in between
    before, children = (_state(), len(os.listdir("/proc/self/fd"))), _children()
    monkeypatch.setattr(module, moment, and_interrupts)
    with pytest.raises(KeyboardInterrupt):
        grade("masks.causal", lambda n: ~right(n))
    monkeypatch.setattr(module, moment, given)
    assert interrupted
    assert (_state(), len(os.listdir("/proc/self/fd"))) == before
    assert _children() == children
    assert not list(tmp_path.iterdir())
    assert grade("masks.causal", right).passed


@linux
def test_a_scratch_folder_is_the_working_folder_and_is_removed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def tells(n: int) -> Tensor:
        Path("scratch").write_text("mine")
        raise ValueError(os.getcwd())

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    here = os.getcwd()
    message = grade("masks.causal", tells).message
    assert f"ValueError in line 3 (`raise ValueError(os.getcwd())`): {tmp_path}" in message
    assert os.getcwd() == here
    assert not list(tmp_path.iterdir())


# The first argument


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("masks.casual", right), "There is no exercise 'masks.casual'. Did you mean masks.causal"),
        (("x" * 10**6, right), f"There is no exercise '{'x' * 80}…'. progress()"),
        (
            (None, right),
            "an exercise is a string, such as 'warmup.pairwise_dot'; this is",
        ),
        ((right, "masks.causal"), "the other way round: the id of the exercise comes first"),
        ((right, "x" * 10**6), f'check("{"x" * 80}", my_function)'),
    ],
)
def test_what_is_no_id_is_said(arguments: tuple[Any, Callable[..., Any]], words: str) -> None:
    report = grade(*arguments)
    assert report.rung == "unknown exercise"
    assert words in report.message
    assert len(report.message) < 400
    assert len(report.exercise_id) <= 81


def test_spaces_around_an_id_do_not_matter() -> None:
    check(" masks.causal\n", right)
    hint("masks.causal ")
    records = read_records()
    assert list(records) == ["masks.causal"]
    assert (records["masks.causal"].attempts, records["masks.causal"].hints) == (1, 1)

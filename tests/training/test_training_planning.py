"""Plans that another process makes are those made here, and nothing is lost with that process."""

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotated_transformer.data import token_batches
from annotated_transformer.errors import CallError
from annotated_transformer.fast.shared_rows import RowShape, shared_row_batches
from annotated_transformer.training import TrainingConfig, load_run, planning
from annotated_transformer.training.planning import EpochPlans, Lengths, Planner, PlanRule
from toy_run import build_trainer, letters_corpus

SHAPE = RowShape(rows=4, width=64)


@pytest.fixture(scope="module", params=[None, SHAPE], ids=["own rows", "shared rows"])
def planner(request: pytest.FixtureRequest) -> Iterator[Planner]:
    with closing(Planner(PlanRule(256, 7, request.param))) as planner:
        yield planner


def plan_here(rule: PlanRule, lengths: Lengths, epoch: int) -> list[list[int]]:
    if rule.shape is None:
        return token_batches(lengths, rule.max_tokens, seed=rule.seed, epoch=epoch)
    return shared_row_batches(lengths, rule.shape, seed=rule.seed, epoch=epoch)


@settings(max_examples=40, deadline=None)
@given(
    lengths=st.lists(st.tuples(st.integers(1, 64), st.integers(1, 64)), max_size=80),
    epoch=st.integers(0, 1000),
)
@pytest.mark.slow
def test_another_process_plans_the_same(planner: Planner, lengths, epoch: int) -> None:
    assert planner.begin(lengths, epoch).result(60) == plan_here(planner.rule, lengths, epoch)


@pytest.mark.slow
def test_a_long_plan_does_not_get_stuck_in_the_pipe() -> None:
    lengths = np.random.default_rng(0).integers(2, 60, (200_000, 2))
    rule = PlanRule(4096, 0)
    with closing(Planner(rule)) as planner:
        asked = [planner.begin(lengths, epoch) for epoch in (0, 1)]  # type: ignore[arg-type]
        for epoch, plan in enumerate(asked):
            assert plan.result(60) == rule.plan(lengths, epoch)  # type: ignore[arg-type]


@contextmanager
def planned_ahead(rule: PlanRule, lengths_of: Callable[[int], Lengths]) -> Iterator[EpochPlans]:
    with closing(EpochPlans(rule, lengths_of)) as plans:
        plans.plan_ahead()
        yield plans


def let_it_finish(plans: EpochPlans) -> None:
    """Wait until the other process has planned the next epoch."""
    assert plans._next is not None
    plans._next[1].result(60)


def test_each_epoch_has_the_lengths_of_its_own_pairs() -> None:
    """With BPE dropout epochs take other copies of the pairs in turn."""
    copies: list[Lengths] = [[(5, 5)] * 30, [(9, 4)] * 30]
    rule = PlanRule(64, 1)
    with planned_ahead(rule, lambda epoch: copies[epoch % 2]) as plans:
        for epoch in (0, 1, 2, 2, 5, 4):  # also not in order
            assert plans.batches(epoch) == rule.plan(copies[epoch % 2], epoch)
            let_it_finish(plans)
    assert plans.batches(3) == rule.plan(copies[1], 3)  # closed: made here


@pytest.fixture
def planned_here(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The epochs that this process has planned."""
    epochs: list[int] = []
    plan = PlanRule.plan

    def watched(rule: PlanRule, lengths: Lengths, epoch: int) -> list[list[int]]:
        epochs.append(epoch)
        return plan(rule, lengths, epoch)

    monkeypatch.setattr(PlanRule, "plan", watched)
    return epochs


def test_the_next_epoch_is_planned_by_the_other_process(planned_here: list[int]) -> None:
    with planned_ahead(PlanRule(64, 0), lambda epoch: [(5, 5)] * 30) as plans:
        for epoch in range(3):
            expected = token_batches([(5, 5)] * 30, 64, seed=0, epoch=epoch)
            assert plans.batches(epoch) == expected
            let_it_finish(plans)
    assert planned_here == [0]


def test_unless_asked_to_plan_ahead_we_plan_and_start_nothing(planned_here: list[int]) -> None:
    with closing(EpochPlans(PlanRule(64, 0), lambda epoch: [(5, 5)] * 30)) as plans:
        for epoch in (0, 1, 1):
            plans.batches(epoch)
        assert plans._planner is None
    assert planned_here == [0, 1]


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no such signal here")
def test_nobody_waits_longer_than_planning_takes(planned_here: list[int]) -> None:
    """A process that starts slowly, or that somebody has stopped."""
    with planned_ahead(PlanRule(64, 0), lambda epoch: [(5, 5)] * 30) as plans:
        assert plans._planner is not None
        os.kill(plans._planner._process.pid, signal.SIGSTOP)
        began = time.monotonic()
        for epoch in range(3):
            plans.batches(epoch)
        assert time.monotonic() - began < 10
    assert planned_here == [0, 1, 2]


@pytest.mark.parametrize("planning", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_where_the_other_process_is_killed_we_plan_ourselves(planning: bool) -> None:
    rule, lengths = PlanRule(512, 0, RowShape(8, 64)), [(5, 6)] * 30_000
    with planned_ahead(rule, lambda epoch: lengths) as plans:
        plans.batches(0)
        let_it_finish(plans)
        assert plans._planner is not None
        if planning:
            plans.batches(1)  # so it has begun with the second
            time.sleep(0.02)
        plans._planner._process.kill()
        for epoch in (1, 2, 3):
            assert plans.batches(epoch) == rule.plan(lengths, epoch)


def test_where_no_process_can_be_started_we_plan_ourselves(
    monkeypatch: pytest.MonkeyPatch, planned_here: list[int]
) -> None:
    def refuse(*given, **options):
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with planned_ahead(PlanRule(64, 0), lambda epoch: [(5, 5)] * 30) as plans:
        plans.batches(0)
        plans.batches(1)
    assert planned_here == [0, 1]


def test_a_mistake_in_the_pairs_is_told_by_this_process(capfd: pytest.CaptureFixture[str]) -> None:
    plans = EpochPlans(PlanRule(256, 0), lambda epoch: [(5, 300)] if epoch else [(5, 5)])
    with closing(plans):
        plans.plan_ahead()
        plans.batches(0)
        assert plans._next is not None
        with pytest.raises(EOFError):  # it ends, and says nothing
            plans._next[1].result(60)
        with pytest.raises(CallError, match="the longest sentence has 300"):
            plans.batches(1)
    assert capfd.readouterr().err == ""


def test_what_is_printed_there_is_no_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is a module of the folder that training is started in taken for one of Python's."""
    (tmp_path / "struct.py").write_text("raise RuntimeError('not this one')\n")
    monkeypatch.chdir(tmp_path)
    program = planning.PROGRAM.replace("from {module}", "print('hello')\nfrom {module}")
    monkeypatch.setattr(planning, "PROGRAM", program)
    with closing(Planner(PlanRule(64, 0))) as planner:
        assert planner.begin([(5, 5)] * 30, 4).result(60) == planner.rule.plan([(5, 5)] * 30, 4)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
@pytest.mark.parametrize("asked", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_no_process_is_left_when_ours_is_killed(asked: bool) -> None:
    program = (
        "import sys, time\n"
        "from annotated_transformer.training.planning import Planner, PlanRule\n"
        "planner = Planner(PlanRule(64, 0))\n"
        f"if {asked}: planner.begin([(5, 5)] * 30, 0).result()\n"
        "print(planner._process.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    ours = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert ours.stdout is not None
    theirs = int(ours.stdout.readline())
    os.kill(theirs, 0)  # it is there
    ours.kill()
    ours.wait(30)
    for _ in range(300):
        if not is_running(theirs):
            return
        time.sleep(0.1)
    pytest.fail("the process that plans is still there after 30 seconds")


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"  # ended, and nobody waits for it


class Patient:
    """Plans ahead, each next one finished before anybody goes on."""

    def __init__(self, plans: EpochPlans) -> None:
        self.plans, self.rule, self.close = plans, plans.rule, plans.close

    def batches(self, epoch: int) -> list[list[int]]:
        batches = self.plans.batches(epoch)
        let_it_finish(self.plans)
        return batches


def test_a_run_planned_ahead_ends_with_the_same_bits(
    tmp_path: Path, planned_here: list[int]
) -> None:
    found, before = [], set(threading.enumerate())
    for name, ahead in (("here", False), ("ahead", True)):
        trainer = build_trainer(tmp_path / name, letters_corpus(), steps=None, epochs=3)
        planned_here.clear()
        if ahead:
            trainer.plans.plan_ahead()
            trainer.plans = Patient(trainer.plans)
        assert trainer.run()
        assert planned_here == ([0] if ahead else [0, 1, 2])
        assert set(threading.enumerate()) <= before  # nothing is left waiting
        found.append(load_run(tmp_path / name)[0].state_dict())
    assert all((found[0][name] == found[1][name]).all() for name in found[0])


def test_half_an_answer_is_not_taken_for_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rule, lengths = PlanRule(64, 0), [(5, 5)] * 30
    with planned_ahead(rule, lambda epoch: lengths) as plans:
        read, reads = planning._read, itertools.count()

        def failing(pipe):
            if next(reads) == 1:
                raise MemoryError
            return read(pipe)

        monkeypatch.setattr(planning, "_read", failing)
        plans.batches(0)
        assert plans._next is not None
        with pytest.raises(MemoryError):
            plans._next[1].result(60)
        for epoch in (1, 2, 3):
            assert plans.batches(epoch) == rule.plan(lengths, epoch)


def test_a_run_that_fails_ends_the_process_that_plans(tmp_path: Path) -> None:
    trainer = build_trainer(tmp_path, letters_corpus(), steps=None, epochs=3)
    trainer.plans.plan_ahead()
    assert trainer.plans._planner is not None
    process = trainer.plans._planner._process
    broken = mock.patch.object(trainer.gradients, "start", side_effect=MemoryError)
    with broken, pytest.raises(MemoryError):
        trainer.run()
    assert process.returncode is not None


def test_the_rule_is_that_of_the_settings() -> None:
    how = TrainingConfig(steps=1, max_tokens=300, seed=3)
    assert PlanRule.of(how, longest=60) == PlanRule(300, 3)
    shared = TrainingConfig(steps=1, max_tokens=300, seed=3, share_rows=True)
    assert PlanRule.of(shared, longest=60) == PlanRule(300, 3, RowShape(4, 64))
    with pytest.raises(CallError, match="may hold 300 tokens"):
        PlanRule.of(shared, longest=301)

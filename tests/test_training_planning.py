"""Plans that another process makes are those made here, and nothing is lost with that process."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotated_transformer.data import token_batches
from annotated_transformer.data.shared_rows import RowShape, shared_row_batches
from annotated_transformer.errors import CallError
from annotated_transformer.training import TrainingConfig, load_run
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
def test_another_process_plans_the_same(planner: Planner, lengths, epoch: int) -> None:
    assert planner.begin(lengths, epoch).result(60) == plan_here(planner.rule, lengths, epoch)


def test_a_long_plan_does_not_get_stuck_in_the_pipe() -> None:
    lengths = np.random.default_rng(0).integers(2, 60, (200_000, 2))
    rule = PlanRule(4096, 0)
    with closing(Planner(rule)) as planner:
        asked = [planner.begin(lengths, epoch) for epoch in (0, 1)]  # type: ignore[arg-type]
        for epoch, plan in enumerate(asked):
            assert plan.result(60) == rule.plan(lengths, epoch)  # type: ignore[arg-type]


def test_each_epoch_has_the_lengths_of_its_own_pairs() -> None:
    """With BPE dropout epochs take other copies of the pairs in turn."""
    copies: list[Lengths] = [[(5, 5)] * 30, [(9, 4)] * 30]
    rule = PlanRule(64, 1)
    with closing(EpochPlans(rule, lambda epoch: copies[epoch % 2], ahead=True)) as plans:
        for epoch in (0, 1, 2, 2, 5, 4):  # also not in order
            assert plans.batches(epoch) == rule.plan(copies[epoch % 2], epoch)
    assert plans.batches(3) == rule.plan(copies[1], 3)  # closed: made here


def test_the_next_epoch_is_planned_by_the_other_process(monkeypatch: pytest.MonkeyPatch) -> None:
    here: list[int] = []
    plan = PlanRule.plan

    def watched(rule: PlanRule, lengths: Lengths, epoch: int) -> list[list[int]]:
        here.append(epoch)
        return plan(rule, lengths, epoch)

    monkeypatch.setattr(PlanRule, "plan", watched)
    for ahead, made_here in ((False, [0, 1, 2]), (True, [0])):
        here.clear()
        with closing(EpochPlans(PlanRule(64, 0), lambda epoch: [(5, 5)] * 30, ahead)) as plans:
            for epoch in range(3):
                plans.batches(epoch)
        assert here == made_here


@pytest.mark.parametrize("pairs", [50, 60_000], ids=["has planned", "is planning"])
def test_where_the_other_process_is_killed_we_plan_ourselves(pairs: int) -> None:
    rule, lengths = PlanRule(512, 0, RowShape(8, 64)), [(5, 6)] * pairs
    with closing(EpochPlans(rule, lambda epoch: lengths, ahead=True)) as plans:
        plans.batches(0)
        assert plans._planner is not None
        if pairs == 50:
            assert plans._next is not None
            plans._next[1].result(60)
        plans._planner._process.kill()
        for epoch in (1, 2):
            assert plans.batches(epoch) == rule.plan(lengths, epoch)


def test_a_mistake_in_the_pairs_is_told_by_this_process() -> None:
    rule = PlanRule(256, 0)
    plans = EpochPlans(rule, lambda epoch: [(5, 300)] if epoch else [(5, 5)], ahead=True)
    with closing(plans):
        plans.batches(0)
        with pytest.raises(CallError, match="the longest sentence has 300"):
            plans.batches(1)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
@pytest.mark.parametrize("asked", [False, True])
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
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")  # one that nobody waits for stays there, ended
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")


def test_a_run_planned_ahead_ends_with_the_same_bits(tmp_path: Path) -> None:
    found, before = [], set(threading.enumerate())
    for name, ahead in (("here", False), ("ahead", True)):
        trainer = build_trainer(tmp_path / name, letters_corpus(), steps=None, epochs=3)
        rule, lengths_of = trainer.plans.rule, trainer.plans._lengths_of
        trainer.plans = EpochPlans(rule, lengths_of, ahead)
        assert trainer.run()
        assert set(threading.enumerate()) <= before  # nothing is left waiting
        found.append(load_run(tmp_path / name)[0].state_dict())
    assert all((found[0][name] == found[1][name]).all() for name in found[0])


def test_the_rule_is_that_of_the_settings() -> None:
    how = TrainingConfig(steps=1, max_tokens=300, seed=3)
    assert PlanRule.of(how, longest=60) == PlanRule(300, 3)
    shared = TrainingConfig(steps=1, max_tokens=300, seed=3, share_rows=True)
    assert PlanRule.of(shared, longest=60) == PlanRule(300, 3, RowShape(4, 64))
    with pytest.raises(CallError, match="may hold 300 tokens"):
        PlanRule.of(shared, longest=301)

"""book/recipe_study.md: what the plan asked, what the records say, and what is still to do."""

from dataclasses import replace
from pathlib import Path

import pytest

from annotated_transformer.ablation.plan import Plan, Task, load_plan
from annotated_transformer.ledger.recorded_runs import RecordedRun, RecordedScore
from annotated_transformer.ledger.study_page import (
    make_study_page,
    missing_tasks,
    problems_of_study,
    runs_by_row,
    scores_by_row,
)

SIGNATURE = "nrefs:1|case:lc|eff:no|tok:moses|smooth:exp|version:2.6.0"


def record(task: Task, bleu: float | None, loss: float = 2.0) -> RecordedRun:
    scores = ()
    if bleu is not None:
        scores = (RecordedScore("valid", "lower-tokenised", bleu, SIGNATURE, 1),)
    return RecordedRun(
        name=task.name,
        title=task.row.says,
        status="failed" if bleu is None else "finished",
        command=task.commands()[0],
        configuration={},
        seeds={"training": task.seed},
        data={"sha256": "0"},
        code_version={"commit": "1"},
        hardware={},
        software={},
        cost={"process_cpu_seconds": 600.0, "wall_seconds": 700.0},
        what_went_badly=["It diverged."] if bleu is None else [],
        evaluation_commands=[task.commands()[1]],
        metrics=({"event": "valid", "step": 1, "loss": loss},),
        scores=scores,
    )


@pytest.fixture(scope="module")
def plan() -> Plan:
    return load_plan("recipe")


def test_without_records_the_page_is_the_plan(plan: Plan) -> None:
    page = make_study_page(plan, [])
    assert "None of these runs has been recorded yet" in page
    assert all(row.expect in page for row in plan.rows)


def test_means_differences_failures_and_what_is_missing(plan: Plan) -> None:
    base = plan.choose(["base"], 3)
    (slow,) = plan.choose(["rate-1e-3"], None)
    (wild,) = plan.choose(["post-norm"], None)
    runs = [record(task, bleu) for task, bleu in zip(base, (34.0, 34.2, 34.4), strict=True)]
    runs += [record(slow, 30.0), record(wild, None)]
    page = make_study_page(plan, runs)
    assert "**34.20** (34.00, 34.20, 34.40)\n" in page
    # spread 0.2, two degrees of freedom: 4.303 * 0.2 * sqrt(1 + 1/3) = 0.99
    assert "standard deviation of 0.20 (2 degrees of freedom, 1 row" in page
    assert "**30.00**; −4.20 ± 0.99\n" in page
    assert "  - 1 of 1 failed\n" in page
    assert SIGNATURE in page
    assert len(missing_tasks(plan, runs)) == len(plan.choose(None, None)) - 5
    assert "`rate-2e-3_s0`" in page
    assert "`rate-1e-3_s0`" not in page
    assert scores_by_row(plan, runs_by_row(plan, runs))["rate-1e-3"] == [30.0]


def test_a_small_difference_is_called_chance(plan: Plan) -> None:
    base = plan.choose(["base"], 3)
    (slow,) = plan.choose(["rate-1e-3"], None)
    runs = [record(task, bleu) for task, bleu in zip(base, (34.0, 34.2, 34.4), strict=True)]
    assert "−0.90 ± 0.99, may be chance" in make_study_page(plan, [*runs, record(slow, 33.3)])
    alone = make_study_page(plan, [runs[0], record(slow, 33.3)])
    assert "nothing tells how much of a difference is chance" in alone
    assert "−0.70\n" in alone


def test_a_record_of_another_command_is_noticed(plan: Plan) -> None:
    (task,) = plan.choose(["dropout-0.1"], None)
    run = record(task, 34.0)
    assert problems_of_study(plan, [run]) == []
    (problem,) = problems_of_study(plan, [replace(run, command=run.command + " --clip-norm 1")])
    assert "another command than the plan's" in problem
    (problem,) = problems_of_study(plan, [replace(run, name="other_s0")])
    assert "not in the plan" in problem


def test_the_committed_page_names_every_row() -> None:
    page = (Path(__file__).resolve().parent.parent / "book" / "recipe_study.md").read_text("utf-8")
    assert "annotated-transformer ablate --plan recipe" in page

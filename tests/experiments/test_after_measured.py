"""The costs of the study's rows: the record's counts are made again, and a round is timed."""

from statistics import median

import pytest

from annotated_transformer.evidence.ablation.plan import BASE, load_plan
from annotated_transformer.experiments.after_measured import (
    PLAN,
    Step,
    load_record,
    measure,
    steps_of_their_own,
)

ROWS = load_record()["rows"]


def test_the_record_has_every_row_of_the_plan_that_is_a_step_of_its_own() -> None:
    assert [*ROWS] == steps_of_their_own()


def test_rows_at_equal_time_have_as_many_steps_as_fit_into_the_bases() -> None:
    plan = load_plan(PLAN)
    shorter = [row for row in plan.rows if "steps" in row.change]
    dearer = {name for name, row in ROWS.items() if median(row["time"]) >= 1.1}
    ask_of_something_else = {"experts-8-1-even", "qk-gain-1", "pre-qk-fast"}
    assert {row.name.removesuffix("-time") for row in shorter} == dearer - ask_of_something_else
    assert ask_of_something_else < dearer
    for row in shorter:
        steps = int(row.change["steps"])
        ratio = median(ROWS[row.name.removesuffix("-time")]["time"])
        assert steps == pytest.approx(plan.options["steps"] / ratio, abs=10), row.name
        assert f"{steps:,} steps" in row.says


@pytest.mark.parametrize("row", [*ROWS])
def test_counts_come_out_as_recorded(row: str) -> None:
    step = Step(row)
    counted = step.counted()
    assert counted == {name: ROWS[row][name] for name in counted}
    assert counted["parameters"] == step.model.num_parameters()


def test_what_is_known_of_the_counts() -> None:
    """The base by hand; what adds no product costs none; SwiGLU is as large as equation 2."""
    base = ROWS[BASE]
    tokens, d = 34 * 15, 64  # of each side
    of_a_token = 3 * (4 * d * d + 2 * d * 256) + 3 * (8 * d * d + 2 * d * 256)  # both, a layer each
    pairs = tokens * 15 * 2 * d * (3 + 3 + 3)
    logits = tokens * d * 4000
    assert base["multiply_adds"] == tokens * of_a_token + pairs + logits
    for name in ("gelu", "rope", "alibi", "qk-norm", "window-4", "cosine", "muon"):
        assert ROWS[name]["multiply_adds"] == base["multiply_adds"], name
    assert ROWS["swiglu"]["parameters"] == pytest.approx(base["parameters"], rel=0.002)


def test_a_round_is_timed_against_the_base() -> None:
    found = measure([BASE, "gelu"], rounds=2, steps=1)
    assert found[BASE]["time"] == [1.0, 1.0]
    assert len(found["gelu"]["time"]) == 2
    assert all(0.1 < ratio < 10 for ratio in found["gelu"]["time"])

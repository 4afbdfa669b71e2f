"""Expectations held against outcomes: what is held, what is open, what was wrong."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from annotated_transformer.evidence.ablation.judgement import (
    Judged,
    failures_of,
    figure_of,
    judge,
    name_of,
    range_in_words,
)
from annotated_transformer.evidence.ablation.plan import Plan, Range, load_plan, read_plan
from annotated_transformer.evidence.ablation.study import Outcome, Study, load_study

BASE = {"name": "base", "says": "nothing", "change": {}, "expect": "a base", "seeds": 3}


def plan_of(*ranges: dict) -> Plan:
    rows = [
        BASE,
        {**BASE, "name": "other", "change": {"dropout": 0.2}},
        {**BASE, "name": "row", "change": {"dropout": 0.3}, "ranges": list(ranges)},
    ]
    values = {"title": "Small", "question": "What?", "data": "copy", "split": "valid", "beam": 1}
    return read_plan("small", {**values, "more_beams": [4], "options": {}, "rows": rows})


def outcomes(row: str, scores: Sequence[float | None], gain: float = 0.0) -> list[Outcome]:
    return [
        Outcome(
            *(row, seed, score is not None),
            {} if score is None else {1: score, 4: score + gain},
            *(None, None if score is None else score / 10, 1.0, "c0ffee", False, "a processor"),
        )
        for seed, score in enumerate(scores)
    ]


def judged(scores: Sequence[float | None], **one: object) -> Judged:
    """A row with these scores; the base has 59, 60, 61 and the other row 49, 50, 51."""
    runs = [
        *outcomes("base", (59.0, 60.0, 61.0), gain=1.0),
        *outcomes("other", (49.0, 50.0, 51.0)),
        *outcomes("row", scores, gain=3.0),
    ]
    [judged] = judge(Study(plan_of(one), tuple(runs)))
    return judged


@pytest.mark.parametrize(
    ("scores", "judgement", "whole"),
    [
        ((69.9, 70.0, 70.1), "held", True),  # 10 ± 2.1
        ((64.9, 65.0, 65.1), "held", False),  # 5 ± 2.1: the border
        ((63.0, 64.0, 65.0), "open", False),  # 4 ± 2.3
        ((61.9, 62.0, 62.1), "wrong", False),  # 2 ± 2.1
        ((79.0, 80.0, 81.0), "wrong", False),  # 20 ± 2.3
        ((75.0, 76.0, 77.0), "open", False),  # 16 ± 2.3
    ],
)
def test_a_mean_in_its_range_a_part_of_the_interval_and_neither(
    scores: Sequence[float], judgement: str, whole: bool
) -> None:
    one = judged(scores, low=5, high=15)
    assert (one.judgement, one.whole) == (judgement, whole)


def test_a_difference_to_another_row_has_its_own_interval() -> None:
    one = judged((59.0, 60.0, 61.0), low=9, high=11, against="other")
    assert one.found == 10
    assert one.margin == pytest.approx(2.776 * (2 / 3) ** 0.5, rel=1e-3)
    assert one.judgement == "held"
    assert not one.whole


@pytest.mark.parametrize(
    ("one", "found"),
    [
        ({"figure": "score"}, 40.0),
        ({"figure": "beam 4"}, 43.0),
        ({"figure": "gain of beam 4"}, 3.0),
        ({"figure": "perplexity"}, 4.0),
        ({"of": "lowest"}, 38.0),
        ({"of": "highest"}, 42.0),
    ],
)
def test_a_figure_itself_has_no_interval(one: dict, found: float) -> None:
    result = judged((38.0, 40.0, 42.0), against="", low=0, **one)
    assert (result.found, result.margin) == (pytest.approx(found), 0)


def test_the_gain_of_a_beam_is_compared_as_a_score_is() -> None:
    assert judged((38.0, 40.0, 42.0), figure="gain of beam 4", high=0).found == pytest.approx(2.0)


def test_runs_that_failed_are_counted_and_those_without_figures_not_judged() -> None:
    one = judged((0.0, None, None), against="", high=0, of="highest")
    assert (one.judgement, one.missing) == ("held", 2)
    runs = (*outcomes("base", (59.0, 60.0, 61.0)), *outcomes("row", (None, None, None)))
    assert judge(Study(plan_of({"high": 0}), runs)) == []
    assert judge(Study(plan_of({"high": 0, "against": "other"}), runs)) == []


def test_failed_runs_are_counted_of_a_difference_too() -> None:
    one = judged((60.0, None, 62.0), low=0)
    assert (one.missing, failures_of(one)) == (1, "1 of 3 runs failed")
    assert failures_of(judged((60.0, 61.0, 62.0), low=0)) == ""


def test_one_run_against_another_row_is_not_judged() -> None:
    """Nothing would tell how much seeds differ; against the base all rows together tell."""
    plan, other = plan_of({"low": 9, "against": "other"}), outcomes("other", (49.0, 50.0, 51.0))
    assert judge(Study(plan, (*other, *outcomes("row", (60.0,))))) == []
    runs = (*outcomes("base", (59.0, 61.0)), *outcomes("row", (60.0,)))
    [one] = judge(Study(plan_of({"low": 9}), runs))
    assert one.margin > 0


def test_a_border_that_the_interval_touches_is_open() -> None:
    one = judged((60.0, 61.0, 62.0), low=5)
    touching = replace(one, expected=Range(one.found + one.margin, None))
    assert touching.judgement == "open"
    assert replace(one, expected=Range(one.found + one.margin + 1e-9, None)).judgement == "wrong"
    touching = replace(one, expected=Range(None, one.found - one.margin))
    assert touching.judgement == "open"


def test_a_gain_is_that_over_the_plans_own_search() -> None:
    plan = replace(plan_of(), beam=4, more_beams=(1,))
    [outcome] = outcomes("row", (40.0,), gain=3.0)
    assert figure_of(plan, "gain of beam 1")(outcome) == -3.0


def test_in_words() -> None:
    assert range_in_words(Range(-2, -0.3)) == "-2 to -0.3"
    assert range_in_words(Range(-10, 10)) == "-10 to +10"
    assert range_in_words(Range(-10, 0)) == "-10 to 0"
    assert range_in_words(Range(None, -5)) == "-5 or less"
    assert range_in_words(Range(8, None)) == "+8 or more"
    assert range_in_words(Range(2, None, "perplexity", "")) == "2 or more"
    assert name_of(Range(-2, 3)) == ""
    assert name_of(Range(2, None, "perplexity")) == "perplexity"
    assert name_of(Range(2, None, "perplexity", "", "lowest")) == "lowest perplexity itself"
    assert name_of(Range(2, None, against="heads-1")) == "score against heads-1"


def test_rows_of_the_grammar_that_were_expected_otherwise() -> None:
    """Read off the records with a pencil: dropout gained 13.5 points, no positions has 22 %."""
    of_row: dict[str, list[str]] = {}
    for one in judge(load_study("table3_grammar")):
        of_row.setdefault(one.row.name, []).append(one.judgement)
    assert of_row["dropout-0"] == ["held"]
    assert of_row["no-positions"] == ["wrong", "wrong"]
    assert of_row["d-model-32"] == ["held", "open"]  # perplexity higher by 0.375, not by 0.4
    expecting = {row.name for row in load_plan("table3_grammar").rows if row.ranges}
    assert set(of_row) == expecting

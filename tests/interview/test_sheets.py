"""Numbers, problems, boxes and plans: each claim is held, each known mistake is another number."""

import math

import pytest

import interview
from annotated_transformer.exercises.catalogue import ids
from annotated_transformer.interview import sheets
from annotated_transformer.interview.bank import Claim, questions
from evidence import is_there, strays
from numbers_in_prose import numbers_in

CLAIMS = [  # each with the task that gives numbers
    *((number.condition, "") for number in sheets.numbers()),
    *((problem.answer, problem.statement) for problem in sheets.problems().values()),
    *((box.measured, "") for box in sheets.boxes()),
]


@pytest.mark.parametrize(("claim", "given"), CLAIMS)
def test_what_is_said_has_evidence_that_holds_its_numbers(claim: Claim, given: str) -> None:
    assert claim.evidence
    assert [one for one in claim.evidence if not is_there(one)] == []
    assert strays(claim.text, claim.evidence, given) == []


def test_each_number_to_carry_is_held_too() -> None:
    for number in sheets.numbers():
        assert strays(number.text, number.condition.evidence) == []
    assert len(sheets.numbers()) == 20


@pytest.mark.parametrize("problem", sheets.problems().values(), ids=lambda problem: problem.id)
def test_a_known_mistake_is_another_number_and_says_something_else(problem: sheets.Problem) -> None:
    assert {*problem.trains} <= {*ids()}
    if problem.value is None:
        return
    said = numbers_in(problem.answer.text)
    shares = (1, 100, 1e-7)  # as per cent, or behind 10⁻⁷
    assert any(
        math.isclose(one * share, problem.value, rel_tol=max(problem.tolerance, 1e-9))
        for one in said
        for share in shares
    ), "its answer says the number that is right"
    numbers = [problem.value, *(number for number, _ in problem.wrong)]
    for place, one in enumerate(numbers):
        for other in numbers[place + 1 :]:
            assert not math.isclose(one, other, rel_tol=max(1e-5, 2 * problem.tolerance))
    assert len({sentence for _, sentence in problem.wrong}) == len(problem.wrong) >= 2


def test_the_boxes_are_those_of_figure_1() -> None:
    stacks = [box.stack for box in sheets.boxes()]
    assert (stacks.count("encoder"), stacks.count("decoder")) == (6, 10)


def test_45_minutes_are_45_minutes() -> None:
    (route,) = (plan for plan in sheets.plans() if plan.title == "The paper in 45 minutes")
    assert 44 <= sum(map(interview.minutes_of, route.steps)) <= 46


def test_every_plan_has_steps_that_are_there() -> None:
    for plan in sheets.plans():
        assert plan.steps
        assert all(interview.minutes_of(step) > 0 for step in plan.steps), plan.title
        for step in plan.steps:
            if step.kind == "page":
                assert (interview.BOOK / f"{step.target.partition('#')[0]}.md").is_file(), step


def test_every_skill_has_what_its_levels_ask_for() -> None:
    shown = interview.self_assessment()
    assert shown.count('class="skill"') == len(interview.SKILLS)
    assert "checked by .<" not in shown, "a skill whose derivation nothing checks"


def test_every_work_that_is_cited_has_a_name() -> None:
    cited = [one for q in questions().values() for c in q.claims for one in c.evidence]
    names = {interview.work(one.target) for one in cited if one.kind == "cite"}
    assert "Gu and Dao, 2023" in names
    assert not [name for name in names if "{" in name or "\\" in name]

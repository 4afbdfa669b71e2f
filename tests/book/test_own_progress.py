"""What a page keeps of a reader's progress against what a notebook keeps: the same, day for day."""

import datetime
import json
import random
from dataclasses import asdict
from typing import Any

import pytest

import page_program
from annotated_transformer.exercises.learner.progress import due_again, is_question
from annotated_transformer.exercises.learner.records import Record, as_bytes, merge_records, parse
from annotated_transformer.interview.bank import questions
from page_program import STATIC

FIRST = datetime.date(2026, 2, 20)
NAMES = ["masks.causal", "attention.softmax", "encoder.layer_norm"]
MISTAKES = ["overflow", "no-scale", "d_k"]


def ask(question: str, given: Any) -> Any:
    """What the page's program answers; `question` is a function's body, of it and `given`."""
    programs = [STATIC / "own_progress.js"]
    return page_program.ask(programs, f"const progress = globalThis.OwnProgress; {question}", given)


def lives(count: int) -> list[list[tuple[int, bool, list[str]]]]:
    """Attempts at one exercise: days after the one before, whether right, what was named."""
    draw = random.Random(0)
    return [
        [
            (
                draw.choice([0, 0, 1, 2, 3, 4, 7, 14, 30]),
                draw.random() < 0.7,
                draw.sample(MISTAKES, draw.randint(0, 2)),
            )
            for _ in range(draw.randint(1, 12))
        ]
        for _ in range(count)
    ]


def lived(life: list[tuple[int, bool, list[str]]]) -> Record:
    record, day = Record(), FIRST
    for later, passed, mistakes in life:
        day += datetime.timedelta(days=later)
        record.update(passed, day, mistakes)
    return record


LIVES = lives(60)


def as_tree(records: dict[str, Record]) -> dict[str, Any]:
    return {name: asdict(record) for name, record in records.items()}


def test_attempts_count_as_in_a_notebook() -> None:
    question = f"""
return given.map((life) => {{
  let record = undefined, day = "{FIRST}";
  for (const [later, passed, mistakes] of life) {{
    day = progress.after(day, later);
    record = progress.attempted(record, passed, day, mistakes);
  }}
  return record;
}});"""
    told = lives(300)
    for life, record in zip(told, ask(question, told), strict=True):
        assert record == asdict(lived(life)), life


def test_two_sets_of_records_are_merged_as_in_a_notebook() -> None:
    draw = random.Random(1)
    pairs = []
    for _ in range(200):
        one, other = (
            {name: lived(draw.choice(LIVES)) for name in draw.sample(NAMES, draw.randint(0, 3))}
            for _ in range(2)
        )
        pairs.append((one, other))
    given = [[as_tree(one), as_tree(other)] for one, other in pairs]
    found = ask("return given.map(([one, other]) => progress.merged(one, other));", given)
    for (one, other), merged in zip(pairs, found, strict=True):
        assert merged == as_tree(merge_records(one, other))


def test_a_file_goes_from_the_one_to_the_other() -> None:
    mine = {name: lived(life) for name, life in zip(NAMES, LIVES, strict=False)}
    text = as_bytes(mine).decode()
    assert ask("return progress.parse(given);", text) == as_tree(mine)
    back = ask("return progress.asText(progress.parse(given));", text)
    assert parse(back.encode()) == mine


@pytest.mark.parametrize(
    "entry",
    [
        {"attempts": 3, "solved": "2026-01-05", "last": "2026-01-06", "level": 5, "due": None},
        {"attempts": 3, "solved": "2026-01-05", "level": 9, "due": "2026-05-01"},
        {"attempts": 1, "level": 3, "due": "2026-01-02"},
        {"solved": "2026-01-05", "level": 1, "due": None},
        {"mistakes": ["b", "a", "b"]},
        {"unknown": 1},
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_what_a_file_leaves_out_or_has_of_old_is_read_in_the_same_way(
    version: int, entry: dict[str, Any]
) -> None:
    text = json.dumps({"version": version, "exercises": {"masks.causal": entry}})
    assert ask("return progress.parse(given);", text) == as_tree(parse(text.encode()))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        '{"version": 2}',
        '{"version": 2, "exercises": []}',
        '{"version": 3, "exercises": {}}',
        '{"version": "2", "exercises": {}}',
        '{"version": true, "exercises": {}}',
        '{"version": 2, "exercises": {"a": []}}',
        '{"version": 2, "exercises": {"a": {"attempts": -1}}}',
        '{"version": 2, "exercises": {"a": {"attempts": 1.5}}}',
        '{"version": 2, "exercises": {"a": {"attempts": true}}}',
        '{"version": 2, "exercises": {"a": {"solved": "2026-02-30"}}}',
        '{"version": 2, "exercises": {"a": {"solved": 5}}}',
        '{"version": 2, "exercises": {"a": {"solution_seen": 1}}}',
        '{"version": 2, "exercises": {"a": {"mistakes": [1]}}}',
        '{"version": 2, "exercises": {"a": {"mistakes": "no-scale"}}}',
    ],
)
def test_what_is_no_progress_is_refused_by_both(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(text.encode())
    question = "try { progress.parse(given); return null; } catch (error) { return error.message; }"
    assert ask(question, text)


def test_questions_of_the_interview_and_their_days_are_the_same() -> None:
    """Every question of the bank is one; a follow-up, a problem, an exercise are none."""
    asked = [f"interview.{name}" for name in questions()]
    others = ["interview.problem.x", f"{asked[0]}.deep", "interview.drawing", NAMES[0]]
    names = [*asked, *others]
    ours = [is_question(name) for name in names]
    assert ours == [True] * len(asked) + [False] * len(others)
    assert ask("return given.map(progress.isQuestion);", names) == ours
    days = [(FIRST + datetime.timedelta(days=n)).isoformat() for n in range(8)]
    given = [[asdict(lived(life)), day] for life in LIVES for day in days]
    answers = ask("return given.map(([record, day]) => progress.dueAgain(record, day));", given)
    assert answers == [due_again(lived(life), day) for life in LIVES for day in days]
    assert {*answers} == {True, False}

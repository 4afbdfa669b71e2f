"""A round drawn from a seed: long enough, no skill twice before all, the same in the page."""

import json
from pathlib import Path

import pytest

import interview
import page_program
from annotated_transformer.interview import rounds
from annotated_transformer.interview.bank import ROLES, SKILLS, questions

SEEDS = ["amber-1", "", "ß≠🙂", *map(str, range(30))]


@pytest.mark.parametrize("minutes", rounds.MINUTES)
@pytest.mark.parametrize("role", ROLES)
def test_a_round_fills_its_time_and_asks_each_skill_once_before_any_twice(
    minutes: int, role: str
) -> None:
    for seed in SEEDS:
        drawn = rounds.draw(seed, minutes, role)
        took = sum(map(rounds.seconds_of, drawn))
        assert 60 * minutes - 200 < took <= 60 * minutes + rounds.OVER
        assert len(drawn) >= rounds.LEAST
        first = [question.skill for question in drawn[: len(SKILLS)]]
        assert len({*first}) == len(first)
        assert len({question.id for question in drawn}) == len(drawn)
        assert all(question.role in ROLES[role] for question in drawn)


def test_seeds_draw_different_rounds() -> None:
    drawn = {tuple(one.id for one in rounds.draw(str(seed), 20)) for seed in range(50)}
    assert len(drawn) == 50
    asked = {one for each in drawn for one in each}
    assert len(asked) > 40, "most questions come up"


def test_the_page_draws_the_same(tmp_path: Path) -> None:
    bank = tmp_path / "bank.js"
    bank.write_text(interview.bank_script(), encoding="utf-8")
    ask = """
    globalThis.document = undefined;
    const { draw, chain, numberOf } = globalThis.Interview, bank = globalThis.BOOK_INTERVIEW;
    return given.map(([seed, minutes, role]) => draw(bank, seed, minutes, role)
      .map((one) => [one.id, chain(one, seed).map(([text]) => text), numberOf(seed)]));
    """
    given = [[seed, minutes, role] for seed in SEEDS for minutes in (5, 45) for role in ROLES]
    static = page_program.STATIC
    told = page_program.ask([bank, static / "own_progress.js", static / "interview.js"], ask, given)
    for (seed, minutes, role), answer in zip(given, told, strict=True):
        ours = [
            [
                question.id,
                [interview.as_html(one.question) for one in rounds.chain(question, str(seed))],
                rounds.number_of(str(seed)),
            ]
            for question in rounds.draw(str(seed), int(minutes), str(role))
        ]
        assert answer == ours


def test_the_page_judges_a_number() -> None:
    check = {
        "unit": "GB",
        "value": 42.95,
        "tolerance": 0.01,
        "wrong": [[343.6, "The query heads are counted."]],
    }
    given = ["42.9", " 43 GB", "4.29e1", "42,95", "343.6", "41", "x", "", "4.29·10¹", "42.9 %"]
    ask = f"return given.map((text) => globalThis.Interview.judge(text, {json.dumps(check)}"
    static = page_program.STATIC
    told = page_program.ask(
        [static / "own_progress.js", static / "interview.js"], f"{ask}));", given
    )
    assert [one["right"] for one in told] == [
        *(True, True, True, True, False, False, False, False, True, True)
    ]
    assert told[4]["text"] == "The query heads are counted."
    assert told[5]["text"].startswith("Close")
    assert [one["counts"] for one in told[6:8]] == [False, False]


def test_the_page_reads_a_number_with_its_unit() -> None:
    """And a product as no number, instead of as a power of ten."""
    check = {"unit": "· 10¹⁸", "value": 3.28, "tolerance": 0.01, "wrong": []}
    given = ["3.28 · 10¹⁸", "3.28·10^18", "3.28", "4*1000", "3·10^0"]
    ask = f"return given.map((text) => globalThis.Interview.judge(text, {json.dumps(check)}));"
    static = page_program.STATIC
    told = page_program.ask([static / "own_progress.js", static / "interview.js"], ask, given)
    assert [one["right"] for one in told] == [True, True, True, False, False]
    assert [one["counts"] for one in told] == [True, True, True, False, True]


def test_the_page_scores_as_we_do(tmp_path: Path) -> None:
    bank = tmp_path / "bank.js"
    bank.write_text(interview.bank_script(), encoding="utf-8")
    (question, *_) = questions().values()
    given = [[said, sunk] for said in range(len(question.points) + 1) for sunk in range(3)]
    ask = """
    const { score, well } = globalThis.Interview, bank = globalThis.BOOK_INTERVIEW;
    const [question] = bank.questions;
    return given.map(([said, sunk]) => [
      score(bank, said, sunk), well(bank, question, said, sunk)]);
    """
    static = page_program.STATIC
    told = page_program.ask([bank, static / "own_progress.js", static / "interview.js"], ask, given)
    ours = [
        [rounds.score(said, sunk), rounds.survived(question, said, sunk)] for said, sunk in given
    ]
    assert told == ours


def test_what_sinks_costs_more_than_what_is_missed() -> None:
    (question, *_) = questions().values()
    every = len(question.points)
    assert rounds.score(every, 1) == every - rounds.SINKS < rounds.score(every - 1, 0)
    assert rounds.score(1, 3) == 0
    assert rounds.survived(question, every, 0)
    assert not rounds.survived(question, every, 1)
    assert not rounds.survived(question, every // 2, 0)


def test_a_sentence_that_sinks_is_told_from_its_reason() -> None:
    for question in questions().values():
        for sink in question.sinks:
            sentence, why = rounds.sinking(sink)
            assert sentence, sink.text
            assert why, sink.text

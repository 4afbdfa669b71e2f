"""The page by symptom leads to every exhibit, in four questions at most."""

import re

from annotated_transformer.museum.bugs import BUGS
from annotated_transformer.museum.seen import QUOTES, SEEN
from annotated_transformer.museum.symptoms import FIRST, MOST_QUESTIONS, Question, ways


def test_every_exhibit_is_reached_once() -> None:
    ends = [way.end for way in ways() if isinstance(way.end, str)]
    assert sorted(ends) == sorted(bug.name for bug in BUGS)


def test_there_are_four_questions_at_most() -> None:
    assert max(len(way.answers) for way in ways()) <= MOST_QUESTIONS


def test_a_question_has_a_choice_and_no_two_answers_are_alike() -> None:
    def look(question: Question) -> None:
        texts = [answer.text for answer in question.answers]
        assert len(texts) == len(set(texts)) >= 2
        assert question.text.endswith("?")
        for answer in question.answers:
            if isinstance(answer.leads, Question):
                look(answer.leads)

    look(FIRST)


def test_people_are_led_to_what_they_had() -> None:
    ends = {way.end for way in ways()}
    assert len(QUOTES) >= 5
    assert {quote.bug for quote in QUOTES} <= ends
    assert sum(quote.sure for quote in QUOTES) >= 3


def test_where_a_bug_was_seen_is_an_address() -> None:
    assert SEEN.keys() == {bug.name for bug in BUGS} - {"positions-too-late"}  # nobody's, so far
    for place in (*SEEN.values(), *QUOTES):
        assert re.fullmatch(r"https://[\w.]+/[\w./-]+", place.address)

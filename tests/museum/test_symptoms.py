"""The page by symptom leads to every exhibit, in four questions at most."""

import re

import pytest
import torch

from annotated_transformer.data import ParallelCorpus, Vocabulary
from annotated_transformer.inspection import recording_attention
from annotated_transformer.museum.bugs import BUGS, bug_named
from annotated_transformer.museum.seen import QUOTES, SEEN
from annotated_transformer.museum.symptoms import FIRST, LEAK, Question, ways
from annotated_transformer.museum.system import System
from museum_systems import system


def test_every_exhibit_is_reached_once() -> None:
    ends = [way.end for way in ways() if isinstance(way.end, str)]
    assert sorted(ends) == sorted(bug.name for bug in BUGS)


def test_there_are_four_questions_at_most() -> None:
    assert max(len(way.answers) for way in ways()) <= 4


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


@torch.no_grad()
def answers_of(asked: System) -> list[int]:
    """What the questions of a leak measure in a model that nobody has trained: answers by place."""
    model, n = asked.model.eval(), 12
    tgt = torch.randint(3, 1000, (1, n + 1))
    read, labels = asked.recipe.read_and_labels(tgt)
    if torch.equal(read, labels):
        return [0]
    src, other = tgt[:, :5], read.clone()
    other[:, -1] += 1
    with recording_attention(model) as recorded:
        scores = model(src, read)
    weights = recorded["decoder.layers.0.self_attention"][0, 0]
    moves = (model(src, other) - scores)[0, :-1].abs().amax(-1) > 1e-5
    if not moves.any():
        cut_off = (model(src, read[:, :7]) - scores[:, :7]).abs().max()
        return [1, 1] if cut_off > 1e-3 else [1, 2]
    if moves.nonzero().flatten().tolist() == list(range(n - 1))[-asked.config.num_layers :]:
        return [1, 0]
    assert moves.sum() >= n - 2
    if weights.triu(1).any():
        return [1, 3, 0]
    rows_add_up = torch.allclose(weights.sum(-1), torch.ones(n))
    assert rows_add_up != torch.allclose(weights.sum(-2), torch.ones(n))
    return [1, 3, 2] if rows_add_up else [1, 3, 1]


def test_where_nothing_leaks_it_is_said(corpus: ParallelCorpus, vocabulary: Vocabulary) -> None:
    assert answers_of(system(bug_named("right").recipe, corpus, vocabulary)) == [1, 2]


@pytest.mark.parametrize("name", [way.end for way in ways(LEAK) if isinstance(way.end, str)])
def test_a_leak_that_is_measured_is_the_one_at_the_end(
    name: str, corpus: ParallelCorpus, vocabulary: Vocabulary
) -> None:
    question: Question | object = LEAK
    for place in answers_of(system(bug_named(name).recipe, corpus, vocabulary)):
        assert isinstance(question, Question)
        question = question.answers[place].leads
    assert question == name

"""The few lines of each bug fail on it and pass on what is right."""

import inspect
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch

from annotated_transformer.data import ParallelCorpus, Vocabulary
from annotated_transformer.museum import exhibit, recipe
from annotated_transformer.museum.bugs import BUGS, Bug
from annotated_transformer.museum.five_lines import CAUGHT_BY, Test
from annotated_transformer.museum.recipe import Recipe
from annotated_transformer.museum.system import System
from museum_systems import system

TESTS = list(dict.fromkeys(CAUGHT_BY.values()))
MOST = 14  # lines, without the head


def given(test: Test, asked: System) -> None:
    """Run a test on a system."""
    torch.manual_seed(0)
    everything = {
        "model": asked.model.eval(),
        "recipe": asked.recipe,
        "pairs": asked.pairs,
        "vocabulary": asked.vocabulary,
        "log": asked.log,
    }
    test(**{name: everything[name] for name in inspect.signature(test).parameters})


def test_each_bug_has_one() -> None:
    assert list(CAUGHT_BY) == [bug.name for bug in BUGS]


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.__name__)
def test_it_passes_on_what_is_right(
    test: Test, corpus: ParallelCorpus, vocabulary: Vocabulary
) -> None:
    given(test, system(Recipe(), corpus, vocabulary))
    assert len(inspect.getsource(test).splitlines()) <= MOST


@pytest.mark.parametrize(
    "bug", [b for b in BUGS if b.name != "average-of-strangers"], ids=lambda b: b.name
)
def test_it_fails_on_its_bug(
    bug: Bug, corpus: ParallelCorpus, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipe, "corpus", lambda: corpus)  # of which the other vocabulary is made
    with pytest.raises(AssertionError):
        given(CAUGHT_BY[bug.name], system(bug.recipe, corpus, vocabulary))


@pytest.mark.slow  # only training shows it: two runs of 150 steps
@pytest.mark.usefixtures("tiny")
def test_strangers_averaged_are_caught(tmp_path: Path) -> None:
    bug, test = exhibit.bug_named("average-of-strangers"), CAUGHT_BY["average-of-strangers"]
    for one, caught in ((bug, True), (exhibit.RIGHT, False)):
        trained = exhibit.trained_with(one, 0, tmp_path, steps=150)
        with pytest.raises(AssertionError) if caught else nullcontext():
            given(test, exhibit.system_of(one.recipe, trained))

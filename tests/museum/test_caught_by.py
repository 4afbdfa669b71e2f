"""The few lines of each bug fail on it and pass on what is right."""

import inspect
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch

from annotated_transformer.data import ParallelCorpus, Vocabulary
from annotated_transformer.museum import exhibit, recipe
from annotated_transformer.museum.bugs import BUGS, Bug, bug_named
from annotated_transformer.museum.recipe import Recipe
from annotated_transformer.museum.system import System
from museum_systems import system

Test = Callable[..., None]
TESTS = list(dict.fromkeys(bug.test for bug in BUGS if bug.test))
MOST = 14  # lines


def given(test: Test | None, asked: System) -> None:
    """Run a test on a system."""
    assert test is not None
    torch.manual_seed(0)
    everything = {
        "model": asked.model.eval(),
        "recipe": asked.recipe,
        "pairs": asked.pairs,
        "vocabulary": asked.vocabulary,
        "log": asked.log,
    }
    test(**{name: everything[name] for name in inspect.signature(test).parameters})


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
        given(bug.test, system(bug.recipe, corpus, vocabulary))


@pytest.mark.slow  # only training shows it: two runs of 150 steps
@pytest.mark.usefixtures("tiny")
def test_strangers_averaged_are_caught(tmp_path: Path) -> None:
    bug = bug_named("average-of-strangers")
    for one, caught in ((bug, True), (bug_named("right"), False)):
        trained = exhibit.trained_with(one, 0, tmp_path, steps=150)
        with pytest.raises(AssertionError) if caught else nullcontext():
            given(bug.test, exhibit.system_of(one.recipe, trained))

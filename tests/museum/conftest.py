"""A corpus small enough to train on in moments, and its vocabulary."""

import pytest

from annotated_transformer.data import ParallelCorpus, Vocabulary
from annotated_transformer.data.grammar.corpus import generate_corpus
from annotated_transformer.museum import exhibit, recipe
from annotated_transformer.museum.recipe import CONFIG


@pytest.fixture(scope="module")
def corpus() -> ParallelCorpus:
    return generate_corpus(0, 2000, 20, 20)


@pytest.fixture(scope="module")
def vocabulary(corpus: ParallelCorpus) -> Vocabulary:
    train = corpus["train"]
    return Vocabulary.train([*train.source, *train.target], CONFIG.vocab_size)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, corpus: ParallelCorpus, vocabulary: Vocabulary) -> None:
    """A museum that trains in moments."""
    monkeypatch.setattr(recipe, "corpus", lambda: corpus)
    monkeypatch.setattr(recipe, "vocabulary", lambda: vocabulary)
    monkeypatch.setattr(exhibit, "ASKED", 10)
    monkeypatch.setattr(recipe, "MAX_TOKENS", 512)

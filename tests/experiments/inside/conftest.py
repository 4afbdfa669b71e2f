"""The shipped translator and sentences whose words are known."""

import pytest

from annotated_transformer.data import Vocabulary
from annotated_transformer.experiments.inside.looks import Looks, look
from annotated_transformer.experiments.inside.sentences import Sentences, of_grammar
from annotated_transformer.shipped import load_shipped
from annotated_transformer.transformer import Transformer


@pytest.fixture
def translator() -> Transformer:
    return load_shipped()[0]


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    return load_shipped()[1]


@pytest.fixture(scope="session")
def asked() -> Sentences:
    return of_grammar("test", 60)


@pytest.fixture(scope="session")
def seen(asked: Sentences, vocabulary: Vocabulary) -> list[Looks]:
    return list(look(load_shipped()[0], vocabulary, asked.split))

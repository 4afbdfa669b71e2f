"""Exchanges of a thing: the grammar's own German says what the pronoun has to be."""

import pytest
import torch

from annotated_transformer.data.grammar.corpus import said_in, say, tokens
from annotated_transformer.errors import CallError
from annotated_transformer.experiments.inside.antecedents import (
    PARTS,
    Exchange,
    exchanges,
    preference,
    side_of,
    turned,
    with_kitchen,
)

FORMS = {"er", "ihn", "sie", "es"}


@pytest.fixture(scope="module")
def some(vocabulary):
    return list(exchanges(said_in("test")[:500], vocabulary))


def test_both_sentences_differ_in_the_thing_and_in_its_pronoun(some, vocabulary):
    assert len(some) > 40
    for exchange in some:
        one, two = (tokens(side.pair.source) for side in (exchange.this, exchange.other))
        differ = [(a, b) for a, b in zip(one, two, strict=True) if a != b]
        assert 1 <= len(differ) <= 2  # the noun, and at times a for an
        for side in (exchange.this, exchange.other):
            assert vocabulary.decode([side.pronoun]) in FORMS
            assert vocabulary.decode([side.source[n] for n in side.it]) == "it"
            assert side.pair.target.startswith(vocabulary.decode(side.written))
            thing = vocabulary.decode([side.source[n] for n in side.thing])
            assert thing in {a for pair in differ for a in pair}


def test_everything_exchanged_is_the_other_sentence(translator, some):
    for exchange in some[:10]:
        back = Exchange(exchange.other, exchange.this)
        assert preference(translator, exchange, PARTS) == pytest.approx(
            -preference(translator, back), abs=1e-3
        )


def test_the_parts_of_the_source_are_all_of_it(translator, some):
    """The three parts of the memory together are the other memory."""
    exchange = some[0]
    with torch.no_grad():
        memory = translator.encode(torch.tensor([exchange.other.source]))
        written = torch.tensor([exchange.this.written])
        logits = translator.project(translator.decode(memory, written)[0, -1])
    wanted = logits[exchange.this.pronoun] - logits[exchange.other.pronoun]
    found = preference(translator, exchange, PARTS[:3])
    assert found == pytest.approx(float(wanted), abs=1e-3)


def test_the_shipped_model_turns_with_the_word_it(translator, some):
    some = some[:25]
    assert not any(turned(translator, some))
    assert sum(turned(translator, some, ["it"])) > 0.7 * len(some)
    assert sum(turned(translator, some, ["every other word"])) < 0.2 * len(some)


@pytest.mark.parametrize("wrong", ["it", ["It"], ["the thing", "thing"]])
def test_parts_that_are_none_are_refused(translator, some, wrong):
    with pytest.raises(CallError, match="expected a list"):
        preference(translator, some[0], wrong)


def test_the_kitchen_stands_between_the_thing_and_it(vocabulary):
    changed = [(pair, kitchen) for said, pair in said_in("test") if (kitchen := with_kitchen(said))]
    assert len(changed) > 5
    for pair, kitchen in changed:
        told = say(kitchen)
        words = tokens(told.source)
        assert [w for w in words if w not in ("in", "kitchen")].count("the") == 1 + [
            *tokens(pair.source)
        ].count("the")
        assert words.index("kitchen") < words.index("it")
        side = side_of(kitchen, told, vocabulary)
        thing = tokens(pair.source)[vocabulary.word_indices(told.source)[side.thing[0]]]
        assert words.index(thing) < words.index("kitchen")
        assert vocabulary.decode([side.pronoun]) in {"ihn", "es"}  # never the kitchen's own

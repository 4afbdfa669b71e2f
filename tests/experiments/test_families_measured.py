"""Three ways to train one stack: the losses, the guesses, the probe, and the record."""

from typing import get_args

import pytest
import torch
from torch.nn.functional import cross_entropy

from annotated_transformer.data import TRAVELLING_SENTENCE
from annotated_transformer.data.grammar.corpus import tokens
from annotated_transformer.experiments import families_measured as families
from annotated_transformer.experiments.families_measured import Objective

TEXTS = families.load_texts(trained=200, asked=30)
ROWS = TEXTS.encode(TEXTS.asked[:6])
objectives = pytest.mark.parametrize("objective", get_args(Objective))


def model_for(objective: Objective) -> families.OneStack:
    torch.manual_seed(1)
    return families.build(objective, len(TEXTS.words)).eval()


def test_no_question_is_in_what_is_learned() -> None:
    asked = {pair.target for pair in TEXTS.asked}
    assert len(asked) == 30
    assert not asked & {pair.target for pair in TEXTS.trained}


def test_the_causal_loss_is_that_of_the_next_word() -> None:
    model, draw = model_for("causal"), torch.Generator().manual_seed(0)
    ours = families.loss_of(model, "causal", ROWS, draw)
    one_by_one = []
    for row in ROWS:
        words = row[row != families.PAD]
        for place in range(1, len(words)):
            logits = model.read(
                words[None, :place], families.mask_of("causal", words[None, :place])
            )
            one_by_one.append(cross_entropy(logits[0, -1], words[place]))
    torch.testing.assert_close(ours, torch.stack(one_by_one).mean())


def test_a_prefix_is_seen_by_all_and_not_asked_for() -> None:
    mask = families.mask_of("prefix", ROWS[:1, :6], prefix=3)[0, 0]
    assert mask[:, :3].all()
    assert torch.equal(mask[:, 3:], torch.ones(6, 6, dtype=torch.bool).tril()[:, 3:])
    model = model_for("prefix")
    for seed in range(5):
        draw = torch.Generator().manual_seed(seed)
        prefix = int(torch.randint(1, 8, (), generator=torch.Generator().manual_seed(seed)))
        seen = families.mask_of("prefix", ROWS[:, :-1], prefix)
        logits = model.read(ROWS[:, :-1], seen)[:, prefix - 1 :]
        labels = ROWS[:, prefix:]
        expected = cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=families.PAD)
        torch.testing.assert_close(families.loss_of(model, "prefix", ROWS, draw), expected)


def test_hidden_words_are_guessed_from_both_sides_and_not_from_themselves() -> None:
    model = model_for("masked")
    guessed = families.guesses(model, "masked", ROWS)
    place = 3
    other_word = ROWS.clone()
    other_word[:, place] = 7
    assert torch.equal(families.guesses(model, "masked", other_word)[:, place], guessed[:, place])
    with torch.no_grad():
        hidden = ROWS[:1].clone()
        hidden[0, place] = families.HIDDEN
        logits = model.read(hidden, families.mask_of("masked", hidden))
    assert guessed[0, place] == logits[0, place].argmax()


def test_a_causal_guess_knows_nothing_of_what_follows() -> None:
    model = model_for("causal")
    guessed = families.guesses(model, "causal", ROWS)
    changed = ROWS.clone()
    changed[:, 4:] = 9
    assert torch.equal(families.guesses(model, "causal", changed)[:, :5], guessed[:, :5])


def test_articles_are_found_and_relative_pronouns_are_not() -> None:
    texts = families.Texts(TEXTS.trained, [TRAVELLING_SENTENCE])
    (row,) = families.articles(texts.asked, texts)
    words = ["<bos>", *tokens(TRAVELLING_SENTENCE.target)]
    assert [words[i] for i in row.nonzero()[:, 0]] == ["den", "das"]  # not "der das Buch liest"
    assert len(row) == len(words) + 1


@objectives
def test_features_are_of_the_words_and_of_the_full_stop(objective: Objective) -> None:
    model = model_for(objective)
    at_end = families.features(model, objective, ROWS, last=True)
    mean = families.features(model, objective, ROWS)
    for n, row in enumerate(ROWS):
        words = row[row != families.PAD][None]  # bos, words, eos
        assert TEXTS.words[words[0, -2]] == "."
        with torch.no_grad():
            mask = families.mask_of(objective, words)
            hidden = model.encoder(model.source_embedding(words), mask)[0]
        torch.testing.assert_close(at_end[n], hidden[-2])
        torch.testing.assert_close(mean[n], hidden[1:-1].mean(0))


def test_the_probe_finds_what_is_there_and_nothing_else() -> None:
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(700, 20, generator=draw)
    assert families.probe(x, x[:, 3] > 0) > 0.9
    assert families.probe(x, torch.randn(700, generator=draw) > 0) == pytest.approx(0.5, abs=0.08)


@objectives
def test_what_is_written_has_words_and_an_end(objective: Objective) -> None:
    written = families.write(model_for(objective), objective, TEXTS, 0)
    assert all(word > families.HIDDEN for row in written for word in row)
    assert all(len(row) <= families.LONGEST for row in written)


def test_pairs_of_the_text_are_known_and_others_not() -> None:
    rows = TEXTS.encode(TEXTS.trained[:10]).tolist()
    sentences = [row[1 : row.index(families.EOS)] for row in rows]
    assert families.known_pairs(sentences, TEXTS) == 1
    assert families.known_pairs([row[::-1] for row in sentences], TEXTS) == 0


def test_the_record_is_of_these_objectives_and_seeds() -> None:
    found = families.load_record()["found"]
    assert found.keys() == {*get_args(Objective), "besides"}
    for objective in get_args(Objective):
        assert len(found[objective]) == len(families.SEEDS)


@pytest.mark.slow
def test_a_stack_learns_what_the_record_says() -> None:
    torch.set_num_threads(1)
    texts = families.load_texts()
    model = families.train("causal", texts, 0)
    recorded = families.load_record()["found"]["causal"][0]
    assert families.ask(model, "causal", texts, 0)["any word"] == pytest.approx(
        recorded["any word"], abs=0.03
    )

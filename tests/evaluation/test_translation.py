"""From sentences to sentences, in Python."""

import logging

import pytest
import torch

from annotated_transformer.decoding import length_penalty
from annotated_transformer.errors import CallError, WorkError
from annotated_transformer.evaluation.translation import (
    MAX_EXTRA,
    check_room,
    cross_attention,
    longest_source,
    nbest_translations,
    source_ids,
    translate_sentences,
)
from annotated_transformer.inspection import recording_attention
from annotated_transformer.training import load_run
from toy_run import write_corpus, write_run

SENTENCES = ["two dogs run .", "a dog", "", "two dogs run . a dog runs .", "dog"]


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("translation")
    return write_run(folder / "run", write_corpus(folder / "corpus"))


@pytest.fixture(scope="module")
def trained(run_dir):
    model, vocabulary, _ = load_run(run_dir)
    return model.double(), vocabulary


def test_translations_keep_the_order_and_do_not_depend_on_the_batches(trained):
    together = translate_sentences(*trained, SENTENCES)
    one_by_one = [translate_sentences(*trained, [sentence])[0] for sentence in SENTENCES]
    small_batches = translate_sentences(*trained, SENTENCES, batch_tokens=1)
    assert together == one_by_one == small_batches
    assert together[2] == ""
    assert len(set(together)) > 2


def test_progress_is_told_until_the_end(trained):
    told = []
    translate_sentences(
        *trained, SENTENCES, batch_tokens=4, progress=lambda done, total: told.append((done, total))
    )
    assert told[-1] == (4, 4)  # the empty sentence is not searched
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert len(told) > 1


def test_the_nbest_are_different_and_best_first(trained):
    for translations in nbest_translations(*trained, SENTENCES[:2], nbest=3):
        assert len({translation.tokens for translation in translations}) == 3
        scores = [translation.score for translation in translations]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("batch_tokens", [1, 2048])
def test_translations_begin_with_their_prefix(trained, batch_tokens):
    asked = {"batch_tokens": batch_tokens, "nbest": 2}
    free = nbest_translations(*trained, SENTENCES, **asked)
    for translations in nbest_translations(*trained, SENTENCES, prefix="zwei Hunde", **asked):
        assert all(translation.text.startswith("zwei Hunde") for translation in translations)
    prefixes = ["", "zwei", "ein", "", "laufen ."]
    found = nbest_translations(*trained, SENTENCES, prefix=prefixes, **asked)
    assert found[2] == []  # an empty sentence has no translation
    for text, translations in zip(prefixes, found, strict=True):
        assert all(translation.text.startswith(text) for translation in translations)
    assert [found[row][0].text for row in (0, 3)] == [free[row][0].text for row in (0, 3)]


def test_prefixes_for_another_number_of_sentences_are_a_sentence(trained):
    with pytest.raises(CallError, match="1 prefixes were given for 2 sentences"):
        nbest_translations(*trained, ["a dog", "dog"], prefix=["ein"])


@pytest.mark.parametrize("words", [0, 1, 8])
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_prefix_as_long_as_its_translation_may_be_leaves_the_sentence_empty(
    trained, caplog, words, more
):
    """One token fewer and there is room for the end."""
    _, vocabulary = trained
    source = "dog " * words
    may = len(vocabulary.encode(source)) + 1 + MAX_EXTRA
    prefix = "ein" + "." * (may + more - len(vocabulary.encode("ein")))
    assert len(vocabulary.encode(prefix)) == may + more
    with caplog.at_level(logging.WARNING):
        found, other = nbest_translations(*trained, [source, "a dog"], prefix=[prefix, ""])
    assert other
    assert bool(found) == (words > 0 and more < 0)
    assert ("left empty" in caplog.text) == (words > 0 and more >= 0)


@pytest.mark.parametrize("extra", [0, 3])
def test_no_translation_is_longer_than_the_limit_allows(trained, extra):
    _, vocabulary = trained
    sources = [ids for ids in source_ids(vocabulary, SENTENCES) if len(ids) > 1]
    found = nbest_translations(*trained, SENTENCES, max_extra=extra, alpha=5.0)
    generated = [len(best.tokens) - 1 for [best] in filter(None, found)]  # bos is not
    # So high an alpha makes every translation as long as it may be.
    assert generated == [len(ids) + extra for ids in sources]


def test_a_lower_limit_lets_learned_positions_translate_longer_sentences(tmp_path):
    run_dir = write_run(
        tmp_path / "run", tmp_path, positions="learned", max_positions=60, num_layers=1
    )
    model, vocabulary, _ = load_run(run_dir)
    assert longest_source(model, 20) == 40
    assert longest_source(model, 61) == 0
    sentence = "dog " * 20
    assert 10 < len(source_ids(vocabulary, [sentence])[0]) <= 40
    assert nbest_translations(model, vocabulary, [sentence]) == [[]]
    check_room(model, 58)
    with pytest.raises(CallError, match="max_extra 59 leaves a source no token: the model has a"):
        check_room(model, 59)
    assert nbest_translations(model, vocabulary, [sentence], max_extra=20)[0]


def test_a_sentence_too_long_is_left_empty_with_a_word_and_the_rest_goes_on(trained, caplog):
    model, _ = trained
    too_long = "dog " * (longest_source(model) + 1)
    with caplog.at_level(logging.WARNING):
        found = translate_sentences(*trained, ["a dog", too_long, "dog"])
    assert found[1] == ""
    assert found[0]
    assert found[2]
    assert "line 2 has" in caplog.text
    assert "at most 1024 can be translated: it is left empty" in caplog.text


def test_learned_positions_shorten_what_can_be_translated(tmp_path):
    run_dir = write_run(
        tmp_path / "run", tmp_path, positions="learned", max_positions=60, num_layers=1
    )
    model, vocabulary, _ = load_run(run_dir)
    assert longest_source(model) == 10
    assert translate_sentences(model, vocabulary, ["dog " * 8, "dog " * 30])[1] == ""


def test_a_sentence_of_exactly_the_longest_length_is_translated(tmp_path, caplog):
    run_dir = write_run(
        tmp_path / "run", tmp_path, positions="learned", max_positions=60, num_layers=1
    )
    model, vocabulary, _ = load_run(run_dir)
    sentences = [" ".join(["dog"] * words) for words in range(1, 30)]
    lengths = [len(ids) for ids in source_ids(vocabulary, sentences)]
    at_limit = sentences[lengths.index(longest_source(model))]
    beyond = sentences[lengths.index(longest_source(model) + 1)]
    found = translate_sentences(model, vocabulary, [at_limit, beyond])
    assert found[0]
    assert found[1] == ""
    assert "line 1" not in caplog.text


def test_weights_that_are_not_numbers_are_a_sentence(run_dir):
    model, vocabulary, _ = load_run(run_dir)
    with torch.no_grad():
        model.projection.weight.fill_(float("nan"))
    with pytest.raises(WorkError, match="output is not a number"):
        translate_sentences(model, vocabulary, ["a dog"])


def test_cross_attention_belongs_to_the_pieces_as_they_are_predicted(trained):
    """Row t is that of the position that reads piece t - 1, and predicts piece t."""
    model, vocabulary = trained
    [[translation]] = nbest_translations(model, vocabulary, ["two dogs run ."])
    found = torch.tensor(cross_attention(model, vocabulary, "two dogs run .", translation).weights)
    source = torch.tensor(source_ids(vocabulary, ["two dogs run ."]))
    reads, shifted = translation.tokens[:-1], translation.tokens[1:]
    for read in (reads, shifted):
        with recording_attention(model) as recorded:
            model(source, torch.tensor([read]))
        weights = recorded["decoder.layers.0.cross_attention"][0]
        assert torch.allclose(found[0], weights.float(), atol=1e-6) == (read == reads)


def test_cross_attention_is_without_dropout(run_dir):
    model, vocabulary, _ = load_run(run_dir)
    [[translation]] = nbest_translations(model, vocabulary, ["a dog"])
    expected = cross_attention(model, vocabulary, "a dog", translation)
    model.train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.5
    assert cross_attention(model, vocabulary, "a dog", translation) == expected
    assert model.training


def test_cross_attention_has_a_distribution_for_every_piece(trained):
    model, vocabulary = trained
    [[translation]] = nbest_translations(model, vocabulary, ["two dogs run ."])
    attention = cross_attention(model, vocabulary, "two dogs run .", translation)
    weights = torch.tensor(attention.weights)
    assert weights.shape == (2, 2, len(attention.target), len(attention.source))
    assert attention.source[-1] == "</s>"
    assert len(attention.target) == len(translation.tokens) - 1
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))


def test_the_length_penalty_divides_the_scores_of_a_translation(trained):
    model, vocabulary = trained
    for alpha in (0.0, 1.7):
        [[found]] = nbest_translations(model, vocabulary, ["two dogs run ."], alpha=alpha)
        penalty = length_penalty(len(found.tokens) - 1, alpha)
        assert found.score == pytest.approx(found.log_probability / penalty)

"""From sentences to sentences, in Python and on the command line."""

import io
import json
import logging

import pytest
import torch

from annotated_transformer.cli import main
from annotated_transformer.decoding import length_penalty
from annotated_transformer.errors import WorkError
from annotated_transformer.training import load_run
from annotated_transformer.translation import (
    cross_attention,
    longest_source,
    nbest_translations,
    source_ids,
    translate_sentences,
)
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


@pytest.fixture
def typed(monkeypatch):
    """Put bytes on standard input."""

    def put(data: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))

    return put


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


def test_cross_attention_has_a_distribution_for_every_piece(trained):
    model, vocabulary = trained
    [[translation]] = nbest_translations(model, vocabulary, ["two dogs run ."])
    attention = cross_attention(model, vocabulary, "two dogs run .", translation)
    weights = torch.tensor(attention.weights)
    assert weights.shape == (2, 2, len(attention.target), len(attention.source))
    assert attention.source[-1] == "</s>"
    assert len(attention.target) == len(translation.tokens) - 1
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))


# Command line


def test_sentences_of_the_call(run_dir, trained, capsys):
    assert main(["translate", "--run-dir", str(run_dir), *SENTENCES]) == 0
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == len(SENTENCES)
    assert captured.out.splitlines()[2] == ""


def test_standard_input_line_by_line_and_an_empty_line_stays_empty(run_dir, capsys, typed):
    typed("two dogs run .\r\n\nUnbekanntes Wörtchen!\n".encode())
    assert main(["translate", "--run-dir", str(run_dir)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[1] == ""
    assert lines[0]


def test_standard_input_that_is_not_utf_8_is_a_sentence(run_dir, capsys, typed):
    typed("a dog .\nläuft\n".encode("latin-1"))
    assert main(["translate", "--run-dir", str(run_dir)]) == 2
    said = capsys.readouterr()
    assert "line 2 of standard input is not UTF-8" in said.err
    assert len(said.out.splitlines()) == 1


@pytest.mark.parametrize("options", [[], ["--format", "json"]])
def test_the_lines_before_one_that_is_not_utf_8_are_translated(run_dir, capsys, typed, options):
    call = ["translate", "--run-dir", str(run_dir), *options]
    typed(b"a dog .\n\ntwo dogs run .\n")
    assert main(call) == 0
    good = capsys.readouterr().out
    typed(b"a dog .\n\ntwo dogs run .\nl\xe4uft\na dog .\n")
    assert main(call) == 2
    said = capsys.readouterr()
    assert said.out == good
    assert "line 4 of standard input is not UTF-8" in said.err


def test_beam_and_alpha_reach_the_search(run_dir, capsys, monkeypatch):
    asked = []

    def search(model, vocabulary, lines, *, beam_size, alpha, nbest, first_line):
        asked.append((beam_size, alpha, nbest, first_line))
        return [[] for _ in lines]

    monkeypatch.setattr("annotated_transformer.cli.translate.nbest_translations", search)
    options = ["--beam", "7", "--alpha", "1.1", "--nbest", "2"]
    assert main(["translate", "--run-dir", str(run_dir), *options, "a dog"]) == 0
    assert asked == [(7, 1.1, 2, 1)]


def test_the_length_penalty_divides_the_scores_of_a_translation(trained):
    model, vocabulary = trained
    for alpha in (0.0, 1.7):
        [[found]] = nbest_translations(model, vocabulary, ["two dogs run ."], alpha=alpha)
        penalty = length_penalty(len(found.tokens) - 1, alpha)
        assert found.score == pytest.approx(found.log_probability / penalty)


def test_several_translations_have_number_score_and_text(run_dir, capsys):
    assert main(["translate", "--run-dir", str(run_dir), "--nbest", "2", "a dog", "dog"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == ["1", "1", "2", "2"]
    assert float(rows[0][1]) >= float(rows[1][1])


def test_attention_comes_as_one_json_object(run_dir, capsys):
    assert main(["translate", "--run-dir", str(run_dir), "--attention", "a dog", ""]) == 0
    report = json.loads(capsys.readouterr().out)
    first, empty = report["translations"]
    attention = first["attention"]
    assert len(attention["weights"][0][0]) == len(attention["target"])
    assert empty == {"source": "", "hypotheses": [], "attention": None}


@pytest.mark.parametrize(
    "options",
    [
        *(["--beam", value] for value in ("0", "2000000", "9" * 20)),
        *(["--alpha", value] for value in ("-1", "1e9", "nan", "inf")),
        *(["--threads", value] for value in ("0", "99999999999", "9" * 20)),
        ["--nbest", "many"],
    ],
)
def test_a_search_without_meaning_is_a_wrong_call(run_dir, options, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["translate", "--run-dir", str(run_dir), *options, "a dog"])
    assert stopped.value.code == 2
    assert options[0] in capsys.readouterr().err


def test_a_folder_without_a_run_is_a_sentence(tmp_path, capsys):
    assert main(["translate", "--run-dir", str(tmp_path), "a dog"]) == 2
    assert "holds no run" in capsys.readouterr().err

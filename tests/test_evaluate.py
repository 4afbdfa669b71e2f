"""`evaluate`: every number of a report can be traced to the run and the split."""

import json
import math
import re
from pathlib import Path

import pytest

from annotated_transformer.cli import main
from annotated_transformer.cli.evaluate import ALPHAS
from annotated_transformer.scoring import score_corpus
from annotated_transformer.training import load_run
from annotated_transformer.translation import translate_sentences
from toy_run import SPLITS, write_corpus, write_run


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluate")
    return write_run(folder / "run", write_corpus(folder / "corpus"))


def evaluate(run_dir, capsys, *options: str) -> dict:
    assert main(["evaluate", "--run-dir", str(run_dir), "--format", "json", *options]) == 0
    report: dict = json.loads(capsys.readouterr().out)
    return report


def test_the_report_is_that_of_the_translations(run_dir, capsys, tmp_path):
    report = evaluate(run_dir, capsys, "--output", str(tmp_path / "out.de"))
    translations = (tmp_path / "out.de").read_text("utf-8").splitlines()
    model, vocabulary, _ = load_run(run_dir)
    sources, references = zip(*SPLITS["test"], strict=True)
    assert translations == translate_sentences(model, vocabulary, sources)
    expected = score_corpus(translations, references)
    assert [score["value"] for score in report["scores"]] == [score.value for score in expected]
    assert all(score["signature"] for score in report["scores"])
    assert report["perplexity"] == pytest.approx(math.exp(report["loss"]))
    pieces = vocabulary.encode_batch(list(references))
    assert report["tokens"] == sum(len(ids) + 1 for ids in pieces)
    assert report["sentences"] == 3
    assert report["sentences_per_second"] == pytest.approx(3 / report["seconds"])
    assert (report["beam"], report["alpha"], report["tuning"]) == (4, 0.6, None)


def test_alpha_can_be_chosen_on_another_split_and_says_so(run_dir, capsys):
    report = evaluate(run_dir, capsys, "--alpha-from", "valid")
    tried = {one["alpha"]: one["score"] for one in report["tuning"]}
    assert tuple(tried) == ALPHAS
    assert tried[report["alpha"]] == max(tried.values())
    assert report["alpha_chosen_on"] == "valid"


@pytest.fixture
def searches(monkeypatch):
    """Every search that `evaluate` asks for, and a translator that is right at alpha 1.2 alone."""
    asked = []

    def translate(model, vocabulary, sentences, *, beam_size, alpha, **others):
        asked.append((list(sentences), beam_size, alpha))
        known = dict(pair for pairs in SPLITS.values() for pair in pairs)
        return [known[line] if alpha == 1.2 else "falsch" for line in sentences]

    monkeypatch.setattr("annotated_transformer.cli.evaluate.translate_sentences", translate)
    return asked


def test_alpha_is_chosen_on_the_sentences_and_references_of_the_split_that_was_named(
    run_dir, capsys, searches
):
    report = evaluate(run_dir, capsys, "--alpha-from", "train", "--beam", "3")
    train, test = ([source for source, _ in SPLITS[name]] for name in ("train", "test"))
    assert searches == [*((train, 3, alpha) for alpha in ALPHAS), (test, 3, 1.2)]
    assert {one["alpha"]: round(one["score"]) for one in report["tuning"]} == {
        alpha: 100 if alpha == 1.2 else 0 for alpha in ALPHAS
    }


def test_beam_and_alpha_reach_the_search(run_dir, capsys, searches):
    report = evaluate(run_dir, capsys, "--beam", "7", "--alpha", "1.1")
    assert [search[1:] for search in searches] == [(7, 1.1)]
    assert (report["beam"], report["alpha"]) == (7, 1.1)


def test_the_text_report_shows_what_the_choice_of_alpha_was_between(run_dir, capsys, monkeypatch):
    found = [{"alpha": 0.6, "score": 20.0}, {"alpha": 1.2, "score": 30.0}]
    monkeypatch.setattr("annotated_transformer.cli.evaluate.try_alphas", lambda *_: found)
    assert main(["evaluate", "--run-dir", str(run_dir), "--alpha-from", "valid"]) == 0
    assert "alpha 1.2 (chosen on valid: 0.6: 20.00, 1.2: 30.00)" in capsys.readouterr().out


def test_the_alpha_that_did_best_elsewhere_is_used(run_dir, capsys, monkeypatch):
    found = [{"alpha": a, "score": s} for a, s in ((0.6, 20.0), (1.2, 30.0), (1.4, 25.0))]
    monkeypatch.setattr("annotated_transformer.cli.evaluate.try_alphas", lambda *_: found)
    assert evaluate(run_dir, capsys, "--alpha-from", "valid")["alpha"] == 1.2


def test_alpha_is_not_chosen_on_the_split_that_is_scored(run_dir, capsys):
    assert main(["evaluate", "--run-dir", str(run_dir), "--alpha-from", "test"]) == 2
    assert "split that is scored" in capsys.readouterr().err


def test_the_text_report_names_every_score(run_dir, capsys):
    assert main(["evaluate", "--run-dir", str(run_dir)]) == 0
    report = capsys.readouterr().out
    for word in ("cased", "lower-tokenised", "chrf", "exact-match", "perplexity", "|tok:13a|"):
        assert word in report


def test_another_folder_can_be_evaluated(run_dir, capsys, tmp_path):
    folder = write_corpus(tmp_path / "other")
    (folder / "test.de").write_text("ein Hund .\nein Hund .\nein Hund .\n", encoding="utf-8")
    assert (
        evaluate(run_dir, capsys, "--data-dir", str(folder))["scores"]
        != (evaluate(run_dir, capsys)["scores"])
    )


def test_an_unknown_split_names_those_there_are(run_dir, capsys):
    assert main(["evaluate", "--run-dir", str(run_dir), "--split", "tset"]) == 2
    assert "no split 'tset'; it has train, valid, test" in capsys.readouterr().err


@pytest.mark.parametrize("output", ["missing/out.de", "."])
def test_an_output_that_cannot_be_written_is_said_before_anything_is_translated(
    run_dir, capsys, tmp_path, searches, output
):
    assert main(["evaluate", "--run-dir", str(run_dir), "--output", str(tmp_path / output)]) == 1
    assert "translations cannot be written to" in capsys.readouterr().err
    assert searches == []


def test_trying_the_output_changes_nothing(run_dir, capsys, tmp_path):
    old = tmp_path / "old.de"
    old.write_text("precious\n")
    for output in (old, tmp_path / "new.de"):
        call = ["evaluate", "--run-dir", str(run_dir), "--output", str(output)]
        assert main([*call, "--split", "tset"]) == 2
    assert old.read_text() == "precious\n"
    assert not (tmp_path / "new.de").exists()


def test_an_output_lost_on_the_way_loses_neither_scores_nor_translations(
    run_dir, capsys, tmp_path, monkeypatch
):
    folder = tmp_path / "folder"
    folder.mkdir()

    def translate(model, vocabulary, sentences, **others):
        folder.rmdir()
        return ["ein Hund ."] * len(sentences)

    monkeypatch.setattr("annotated_transformer.cli.evaluate.translate_sentences", translate)
    output = folder / "out.de"
    assert main(["evaluate", "--run-dir", str(run_dir), "--output", str(output)]) == 1
    said = capsys.readouterr()
    assert "|tok:13a|" in said.out
    rescued = Path(re.search(r"They are in (\S+) instead", said.err)[1])
    assert rescued.read_text("utf-8") == "ein Hund .\n" * 3
    rescued.unlink()


def test_alpha_is_not_chosen_on_the_scored_sentences_under_another_name(
    run_dir, capsys, tmp_path, searches
):
    folder = write_corpus(tmp_path / "corpus")
    for language in ("en", "de"):
        lines = (folder / f"test.{language}").read_text("utf-8").splitlines()
        (folder / f"test_again.{language}").write_text(
            "\n".join([*reversed(lines), "one more"]) + "\n", "utf-8"
        )
    options = ["--data-dir", str(folder), "--alpha-from", "test_again"]
    assert main(["evaluate", "--run-dir", str(run_dir), *options]) == 2
    assert "all 3 sentences of test, which is scored, also stand in" in capsys.readouterr().err
    assert searches == []


def test_sentences_that_stand_in_both_splits_are_counted(run_dir, capsys, searches):
    call = ["evaluate", "--run-dir", str(run_dir), "--format", "json", "--alpha-from", "valid"]
    assert main(call) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["sentences_also_there"] == 2
    assert "2 of the 3 sentences of test also stand in valid" in said.err

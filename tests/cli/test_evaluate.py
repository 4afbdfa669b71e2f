"""`evaluate`: every number of a report can be traced to the run and the split."""

import json
import math
import re
import shutil
from dataclasses import asdict
from functools import partial
from pathlib import Path
from tarfile import ReadError
from typing import ClassVar
from urllib.error import URLError

import pytest
from sacrebleu.dataset import DATASETS

from annotated_transformer.cli import main
from annotated_transformer.cli.options import ALPHAS
from annotated_transformer.cli.report import wrapped
from annotated_transformer.cli.scores import length_ratio
from annotated_transformer.cli.translation_files import refuse_to_overwrite, write_lines
from annotated_transformer.cli.tuning import try_searches
from annotated_transformer.data import ParallelCorpus, Split
from annotated_transformer.evaluation.forensics import score_under_every_protocol
from annotated_transformer.evaluation.scoring import (
    TriedSearch,
    count_sentences,
    lower_tokenised_bleu,
    score_corpus,
)
from annotated_transformer.evaluation.significance import bootstrap_interval
from annotated_transformer.evaluation.translation import translate_sentences
from annotated_transformer.training import load_run
from annotated_transformer.training.checkpoints import load_tensors
from toy_run import SPLITS, write_corpus, write_run


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluate")
    return write_run(folder / "run", write_corpus(folder / "corpus"))


def evaluate(run_dir, capsys, *options: str) -> dict:
    assert main(["evaluate", "--run-dir", str(run_dir), "--format", "json", *options]) == 0
    report: dict = json.loads(capsys.readouterr().out)
    return report


def test_an_interval_of_another_count_is_refused(run_dir, capsys, monkeypatch):
    """As if a release of sacreBLEU cut words otherwise than this package counts them."""
    scoring = "annotated_transformer.evaluation.scoring"
    monkeypatch.setattr(f"{scoring}.words_13a", list)  # letters for words
    assert main(["evaluate", "--run-dir", str(run_dir)]) == 1
    said = capsys.readouterr().err
    assert "cased: sacreBLEU" in said
    assert "--bootstrap 0" in said
    assert main(["evaluate", "--run-dir", str(run_dir), "--bootstrap", "0"]) == 0


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
    assert report["max_extra"] == 50


def test_alpha_can_be_chosen_on_another_split_and_says_so(run_dir, capsys):
    report = evaluate(run_dir, capsys, "--alpha-from", "valid")
    tried = {one["alpha"]: one["score"] for one in report["tuning"]}
    assert tuple(tried) == ALPHAS
    assert tried[report["alpha"]] == max(tried.values())
    assert report["alpha_chosen_on"] == "valid"


@pytest.fixture
def searches(monkeypatch):
    """Every search that `evaluate` asks for.

    The translator is right at alpha 1.2 with at most 7 or 50 tokens more, and there alone.
    """
    asked = []

    def translate(model, vocabulary, sentences, *, beam_size, alpha, max_extra, **others):
        asked.append((list(sentences), beam_size, alpha, max_extra))
        known = dict(pair for pairs in SPLITS.values() for pair in pairs)
        right = alpha == 1.2 and max_extra in (7, 50)
        return [known[line] if right else "falsch" for line in sentences]

    monkeypatch.setattr("annotated_transformer.cli.evaluate_run.translate_sentences", translate)
    return asked


def test_alpha_is_chosen_on_the_sentences_and_references_of_the_split_that_was_named(
    run_dir, capsys, searches
):
    report = evaluate(run_dir, capsys, "--alpha-from", "train", "--beam", "3")
    train, test = ([source for source, _ in SPLITS[name]] for name in ("train", "test"))
    assert searches == [*((train, 3, alpha, 50) for alpha in ALPHAS), (test, 3, 1.2, 50)]
    assert {one["alpha"]: round(one["score"]) for one in report["tuning"]} == {
        alpha: 100 if alpha == 1.2 else 0 for alpha in ALPHAS
    }


@pytest.mark.parametrize("extra", [0, 1000])
def test_beam_and_alpha_reach_the_search(run_dir, capsys, searches, extra):
    report = evaluate(run_dir, capsys, "--beam", "7", "--alpha", "1.1", "--max-extra", str(extra))
    assert [search[1:] for search in searches] == [(7, 1.1, extra)]
    assert (report["beam"], report["alpha"], report["max_extra"]) == (7, 1.1, extra)


def test_the_limit_of_length_is_chosen_together_with_alpha(run_dir, capsys, searches):
    options = ["--alpha-from", "train", "--max-extra", "3", "7", "60"]
    report = evaluate(run_dir, capsys, *options)
    grid = [(alpha, extra) for extra in (3, 7, 60) for alpha in ALPHAS]
    assert [search[2:] for search in searches] == [*grid, (1.2, 7)]
    assert [(one["alpha"], one["max_extra"]) for one in report["tuning"]] == grid
    assert (report["alpha"], report["max_extra"]) == (1.2, 7)
    assert main(["evaluate", "--run-dir", str(run_dir), *options]) == 0
    said = capsys.readouterr().out
    assert "alpha 1.2, at most source + 7 tokens (chosen on train: at most source + 3" in said
    assert "at most source + 7 tokens, 0.4: 0.00," in said


def test_a_learned_table_of_positions_is_evaluated_whole(tmp_path, capsys):
    """Less room than the limit asks for is said before the work; references need none of it."""
    folder = write_corpus(tmp_path / "corpus")
    run_dir = write_run(tmp_path / "run", folder, positions="learned", max_positions=30)
    assert main(["evaluate", "--run-dir", str(run_dir)]) == 2
    assert "max_extra 50 leaves a source no token: the model has a table of 30" in (
        capsys.readouterr().err
    )
    report = evaluate(run_dir, capsys, "--max-extra", "5")
    assert report["left_out_of_likelihood"] == 0


def test_a_sentence_too_long_for_the_model_is_said_once_for_all_searches(tmp_path, caplog):
    folder = write_corpus(tmp_path / "corpus")
    run_dir = write_run(tmp_path / "run", folder, positions="learned", max_positions=30)
    model, vocabulary, _ = load_run(run_dir)
    too_long = Split(["a b " * 20, "a b"], ["x", "y"])
    translate = partial(translate_sentences, model, vocabulary, beam_size=1)
    for _ in range(2):  # what was said is forgotten with the choice
        try_searches(translate, [(0.2, 5), (0.6, 5), (1.0, 5)], too_long, "de")
    assert [record.getMessage().startswith("line 1 ") for record in caplog.records] == [True] * 2


def test_several_limits_need_a_split_to_choose_on(run_dir, capsys, searches):
    call = ["evaluate", "--run-dir", str(run_dir), "--max-extra", "5", "50"]
    assert main(call) == 2
    assert "--max-extra was given 2 numbers, and nothing says which" in capsys.readouterr().err
    assert searches == []


@pytest.mark.parametrize("number", ["-1", "1001", "ten"])
def test_a_limit_that_is_none_is_a_sentence(run_dir, capsys, number):
    with pytest.raises(SystemExit) as ended:
        main(["evaluate", "--run-dir", str(run_dir), "--max-extra", number])
    assert ended.value.code == 2
    assert "a whole number from 0 to 1,000 is expected" in capsys.readouterr().err


def test_the_text_report_shows_what_the_choice_of_alpha_was_between(run_dir, capsys, monkeypatch):
    found = [TriedSearch(0.6, 20.0), TriedSearch(1.2, 30.0)]
    monkeypatch.setattr("annotated_transformer.cli.evaluate_run.try_searches", lambda *_: found)
    assert main(["evaluate", "--run-dir", str(run_dir), "--alpha-from", "valid"]) == 0
    assert "alpha 1.2 (chosen on valid: 0.6: 20.00, 1.2: 30.00)" in capsys.readouterr().out


def test_the_alpha_that_did_best_elsewhere_is_used(run_dir, capsys, monkeypatch):
    found = [TriedSearch(*tried) for tried in ((0.6, 20.0), (1.2, 30.0), (1.4, 25.0))]
    monkeypatch.setattr("annotated_transformer.cli.evaluate_run.try_searches", lambda *_: found)
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


def test_an_output_that_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    output = tmp_path / "ours.de"
    refuse_to_overwrite(output)
    output.write_text("somebody else's\n")
    problem = write_lines(output, ["ein Hund"])
    assert output.read_text() == "somebody else's\n"
    assert "somebody has written it meanwhile" in str(problem)
    kept = Path(re.search(r"They are in (\S+) instead", str(problem))[1])
    assert kept.read_text() == "ein Hund\n"
    kept.unlink()


def test_an_output_that_is_there_is_not_overwritten(run_dir, capsys, tmp_path, searches):
    references = tmp_path / "test.de"
    references.write_text("precious\n")
    call = ["evaluate", "--run-dir", str(run_dir), "--output", str(references)]
    assert main(call) == 2
    assert "test.de is there already and nothing is overwritten" in capsys.readouterr().err
    assert references.read_text() == "precious\n"
    assert searches == []


def test_the_ratio_of_lengths_is_below_1_where_translations_are_short():
    assert length_ratio(["ein Hund"], ["ein Hund läuft fort"]) == 0.5


def test_empty_translations_are_counted_and_said(tmp_path, capsys):
    corpus, ours = tmp_path / "corpus", tmp_path / "ours.de"
    corpus.mkdir()
    (corpus / "test.en").write_text("a\nb\n\nc\n")
    (corpus / "test.de").write_text("ein Hund\nzwei\n\ndrei\n")
    ours.write_text("ein\n \n\ndrei\n")
    call = ["evaluate", "--hypotheses", str(ours), "--data-dir", str(corpus)]
    assert main([*call, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["empty"] == 1
    assert main(call) == 0
    said = "0.500   words for each word of the references; 1 translation empty"
    assert said in capsys.readouterr().out
    ours.write_text("ein\nzwei\n\ndrei\n")
    assert main(call) == 0
    assert "where the reference is not" not in capsys.readouterr().out


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

    monkeypatch.setattr("annotated_transformer.cli.evaluate_run.translate_sentences", translate)
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


# Why is the score low?


def test_the_causes_of_a_low_score_are_told_if_asked_for_and_else_not_looked_for(
    run_dir, capsys, monkeypatch
):
    report = evaluate(run_dir, capsys, "--explain")["explanation"]
    known = [cause["name"] for cause in report["causes"]]
    assert set(report) == {"causes", "nothing_seen"}
    assert known[-4:] == ["averaging", "training length", "data", "a bug"]
    assert "search" in [*known, *report["nothing_seen"]]
    assert "2 pairs were trained on" in report["causes"][-2]["found"]
    assert f"diagnose --run-dir {run_dir}`" in report["causes"][-1]["advice"]
    gone = "annotated_transformer.cli.evaluate_run.explain"
    monkeypatch.setattr(gone, lambda *_: pytest.fail("it was not asked for"))
    assert evaluate(run_dir, capsys)["explanation"] is None


def test_to_explain_a_score_the_weights_are_read_once(run_dir, capsys, monkeypatch):
    read = []
    there = "annotated_transformer.training.run_directory.load_tensors"
    monkeypatch.setattr(there, lambda *given: read.append(given) or load_tensors(*given))
    evaluate(run_dir, capsys, "--explain")
    assert [path for path, *_ in read] == [run_dir / "model.safetensors"]


def test_the_causes_of_a_file_are_a_numbered_list_with_gains(given, capsys):
    (given / "ours.de").write_text("Ein hund läuft .\nZwei hunde .\n\n", "utf-8")
    call = ["evaluate", "--hypotheses", str(given / "ours.de"), "--data-dir"]
    call += [str(given / "corpus"), "--explain"]
    assert main([*call, "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)["explanation"]
    measured = [cause for cause in report["causes"] if cause["gain"] is not None]
    assert measured == report["causes"]  # a file has no model
    assert {"empty translations", "length"} <= {cause["name"] for cause in measured}
    assert main(call) == 0
    said = capsys.readouterr().out.partition("why the cased score is not higher")[2]
    for number, cause in enumerate(measured, 1):
        assert f"\n{number}. {cause['name']}: {cause['gain']:+.2f} BLEU. " in said
    assert "asked, and no cause found: " in said
    assert max(map(len, said.splitlines())) <= 100


def test_a_command_in_a_cause_stays_on_one_line():
    command = "`annotated-transformer diagnose --run-dir " + "folder/" * 8 + "run`"
    lines = wrapped(f"1. a bug: {'word ' * 12}{command} asks for them.")
    assert [line for line in lines if command in line]


# Intervals, other outputs, files of translations

TRANSLATIONS = ["ein Hund läuft .", "zwei Hunde laufen .", "ein Hund ."]
OTHERS = ["ein Hund rennt .", "Hunde .", "ein Hund ."]


@pytest.fixture
def given(run_dir, tmp_path):
    """The corpus of the run, and two files of translations of its test split."""
    write_corpus(tmp_path / "corpus")
    (tmp_path / "ours.de").write_text("".join(line + "\n" for line in TRANSLATIONS), "utf-8")
    (tmp_path / "theirs.de").write_text("".join(line + "\n" for line in OTHERS), "utf-8")
    return tmp_path


def score_file(given, capsys, *options: str) -> dict:
    call = ["evaluate", "--hypotheses", str(given / "ours.de"), "--data-dir"]
    assert main([*call, str(given / "corpus"), "--format", "json", *options]) == 0
    report: dict = json.loads(capsys.readouterr().out)
    return report


REFERENCES = [target for _, target in SPLITS["test"]]


def test_a_file_is_scored_without_a_model(given, capsys):
    report = score_file(given, capsys)
    expected = [asdict(score) for score in score_corpus(TRANSLATIONS, REFERENCES)]
    intervals = [score.pop("interval") for score in report["scores"]]
    assert report["scores"] == expected
    assert report["run_dir"] is None
    assert report["hypotheses"] == str(given / "ours.de")
    assert (report["beam"], report["alpha"]) == (None, None)
    assert "perplexity" not in report
    for interval, score in zip(intervals, expected, strict=True):
        counted = count_sentences(TRANSLATIONS, REFERENCES, score["name"], "de")
        assert interval == asdict(bootstrap_interval(counted))


def test_a_file_and_the_run_that_wrote_it_have_the_same_scores(run_dir, given, capsys):
    (given / "ours.de").unlink()
    first = evaluate(run_dir, capsys, "--output", str(given / "ours.de"))
    assert score_file(given, capsys)["scores"] == first["scores"]


def test_the_number_of_resamples_can_be_chosen_and_0_leaves_them_out(run_dir, given, capsys):
    report = score_file(given, capsys, "--bootstrap", "77")
    assert {score["interval"]["resamples"] for score in report["scores"]} == {77}
    report = score_file(given, capsys, "--bootstrap", "0")
    assert {score["interval"] for score in report["scores"]} == {None}
    assert main(["evaluate", "--run-dir", str(run_dir)]) == 0
    said = capsys.readouterr().out
    assert re.search(
        r"^cased +\d+\.\d\d  \[\d+\.\d\d, \d+\.\d\d\] +nrefs:1\|case:mixed", said, re.M
    )
    assert "95% of 1,000 test sets drawn from this one" in said
    assert main(["evaluate", "--run-dir", str(run_dir), "--bootstrap", "0"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^cased +\d+\.\d\d   nrefs:1\|case:mixed", said, re.M)
    assert "drawn from" not in said


@pytest.mark.parametrize("few", ["1", "39", "-1"])
def test_too_few_resamples_for_an_interval_are_refused(given, capsys, few):
    call = ["evaluate", "--hypotheses", str(given / "ours.de"), "--data-dir", str(given / "corpus")]
    with pytest.raises(SystemExit) as ended:
        main([*call, "--bootstrap", few])
    assert ended.value.code == 2
    assert f"{few} was given; 0 leaves the intervals out, and one of 95% needs at least 40" in (
        capsys.readouterr().err
    )
    assert score_file(given, capsys, "--bootstrap", "40")["scores"][0]["interval"]


@pytest.mark.parametrize(("asked", "drawn"), [("77", 77), ("0", 1000)])
def test_a_comparison_draws_as_often_as_asked(given, capsys, asked, drawn):
    report = score_file(given, capsys, "--against", str(given / "theirs.de"), "--bootstrap", asked)
    assert {one["bootstrap"]["trials"] for one in report["against"]["scores"]} == {drawn}


def test_a_language_is_scored_by_its_own_rules(given, capsys):
    """French is tokenised at its apostrophes, German is not: alpha, score and interval know it."""
    ours, theirs = ["l'homme court ."] * 3, ["l'ami court ."] * 3
    for ending, lines in (("fr", theirs), ("en", ["a dog ."] * 3)):
        (given / f"test.{ending}").write_text("\n".join(lines) + "\n", "utf-8")
    (given / "hypotheses").write_text("\n".join(ours) + "\n", "utf-8")
    call = ["evaluate", "--hypotheses", str(given / "hypotheses"), "--data-dir", str(given)]
    call += ["--target", "fr", "--format", "json"]
    assert main(call) == 0
    report = json.loads(capsys.readouterr().out)
    [found] = [one for one in report["scores"] if one["name"] == "lower-tokenised"]
    assert found["value"] == lower_tokenised_bleu(ours, theirs, "fr").value
    assert found["value"] != lower_tokenised_bleu(ours, theirs, "de").value
    counted = count_sentences(ours, theirs, "lower-tokenised", "fr")
    assert counted.score == pytest.approx(found["value"])
    assert found["interval"]["low"] == pytest.approx(found["value"])  # three equal sentences
    [tuned] = {
        one.score
        for one in try_searches(lambda *_, **__: ours, [(0.6, 50)], Split(theirs, theirs), "fr")
    }
    assert tuned == found["value"]


def test_pairs_that_the_loss_leaves_out_are_counted(run_dir, capsys, tmp_path):
    shutil.copytree(run_dir.parent / "corpus", tmp_path / "corpus")
    for ending, word in (("en", "dog"), ("de", "Hund")):
        with (tmp_path / "corpus" / f"test.{ending}").open("a", encoding="utf-8") as file:
            file.write(f"{word} " * 1500 + "\n")
    folder = ["--data-dir", str(tmp_path / "corpus")]
    assert evaluate(run_dir, capsys, *folder)["left_out_of_likelihood"] == 1
    assert main(["evaluate", "--run-dir", str(run_dir), *folder]) == 0
    assert re.search(
        r"^loss .* tokens; 1 pair too long for the model left out$", capsys.readouterr().out, re.M
    )
    assert main(["evaluate", "--run-dir", str(run_dir)]) == 0
    assert "left out" not in capsys.readouterr().out


def test_another_output_is_compared_sentence_by_sentence(given, capsys):
    report = score_file(given, capsys, "--against", str(given / "theirs.de"))
    assert report["against"]["file"] == str(given / "theirs.de")
    ours = {score["name"]: score["value"] for score in report["scores"]}
    expected = {score.name: score.value for score in score_corpus(OTHERS, REFERENCES)}
    for one in report["against"]["scores"]:
        assert one["theirs"] == expected[one["name"]]
        difference = ours[one["name"]] - one["theirs"]
        assert one["bootstrap"]["difference"] == pytest.approx(difference)
        assert one["randomisation"]["difference"] == pytest.approx(difference)
        assert 0 < one["bootstrap"]["p_value"] <= 1
        assert one["bootstrap"]["trials"] == 1000
        assert one["randomisation"]["trials"] == 10_000
    assert [one["name"] for one in report["against"]["scores"]] == list(expected)


def test_the_text_names_the_difference_its_interval_and_both_p_values(run_dir, given, capsys):
    call = ["evaluate", "--run-dir", str(run_dir), "--against", str(given / "theirs.de")]
    assert main(call) == 0
    said = capsys.readouterr().out
    assert "ours minus theirs, 1,000 resamples, 10,000 random exchanges" in said
    assert re.search(
        r"^cased +[+-]\d+\.\d\d  \[[+-]\d+\.\d\d, [+-]\d+\.\d\d\] +p = \d\.\d{4} \(bootstrap\), "
        r"\d\.\d{4} \(randomisation\), theirs \d+\.\d\d$",
        said,
        re.M,
    )


def test_every_protocol_on_request(run_dir, given, capsys):
    expected = [asdict(score) for score in score_under_every_protocol(TRANSLATIONS, REFERENCES)]
    assert score_file(given, capsys)["every_protocol"] is None
    assert score_file(given, capsys, "--every-protocol")["every_protocol"] == expected
    assert main(["evaluate", "--run-dir", str(run_dir), "--every-protocol"]) == 0
    said = capsys.readouterr().out
    for score in expected:
        assert score["signature"] in said
    assert "get_ende_bleu.sh of tensor2tensor" in said


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"a\nb\n", r"ours.de has 2 lines and the split test 3: line n has to be"),
        (b"", r"ours.de has 0 lines and the split test 3"),
        (b"a\nb\nl\xe4uft\n", r"line 3 of \S+ours.de is not UTF-8"),
        (None, r"there is no file \S+ours.de: name a file of translations"),
    ],
)
@pytest.mark.parametrize("option", ["--hypotheses", "--against"])
def test_a_file_that_cannot_be_scored_is_a_sentence(given, capsys, option, content, complaint):
    path = given / "ours.de"
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    files = {"--hypotheses": str(given / "theirs.de"), option: str(path)}
    options = [word for pair in files.items() for word in pair]
    assert main(["evaluate", "--data-dir", str(given / "corpus"), *options]) == 2
    assert re.search(complaint, capsys.readouterr().err)


def test_a_byte_order_mark_and_windows_lines_are_no_text(given, capsys):
    expected = score_file(given, capsys)["scores"]
    text = "\ufeff" + "\r\n".join(TRANSLATIONS)
    (given / "ours.de").write_text(text, "utf-8", newline="")
    assert score_file(given, capsys)["scores"] == expected


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--run-dir", "x"], "--run-dir belongs to a model"),
        (["--output", "x"], "--output belongs to a model"),
        (["--beam", "7"], "no search is made, so leave out --beam"),
        (["--max-extra", "7"], "no search is made, so leave out --beam, --alpha and --max-extra"),
        (["--max-extra", "7", "8"], "no search is made, so leave out --beam"),
        (["--alpha-from", "valid"], "--alpha-from belongs to a model"),
        ([], "--hypotheses needs the references"),
    ],
)
def test_what_belongs_to_a_model_does_not_go_with_a_file(given, capsys, options, complaint):
    assert main(["evaluate", "--hypotheses", str(given / "ours.de"), *options]) == 2
    assert complaint in capsys.readouterr().err


def test_without_a_run_the_shipped_model_is_evaluated_on_its_corpus(capsys, monkeypatch):
    few = {name: Split(["The man sleeps."], ["Der Mann schläft."]) for name in ("test", "valid")}
    corpus = ParallelCorpus("grammar", "en", "de", few)
    asked = []
    monkeypatch.setattr(
        "annotated_transformer.cli.evaluate_run.load_corpus",
        lambda name, **options: asked.append((name, options["data_dir"])) or corpus,
    )
    assert main(["evaluate", "--format", "json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["run_dir"] == "shipped"
    assert asked == [("grammar", None)]
    assert "the small model that comes with the package" in said.err


def test_other_languages_can_be_named(given, capsys):
    for language in ("en", "de"):
        path = given / "corpus" / f"test.{language}"
        path.rename(given / "corpus" / f"test.{language}x")
    assert score_file(given, capsys, "--source", "enx", "--target", "dex")["target"] == "dex"


def test_progress_is_written_now_and_then_into_a_log(run_dir, capsys, monkeypatch):
    monkeypatch.setattr("annotated_transformer.cli.sentences.SAY_EVERY", 0.0)
    assert main(["evaluate", "--run-dir", str(run_dir), "--alpha-from", "valid"]) == 0
    said = capsys.readouterr().err
    assert re.search(r"^validation, alpha 1\.4: 2 of 2 lines, \S+ a second, 0:00 left$", said, re.M)
    assert re.search(r"^test: 3 of 3 lines, \S+ a second, 0:00 left$", said, re.M)


# Test sets that sacreBLEU knows


class FakeSet:
    """What is used of a test set of sacreBLEU."""

    name = "fake24"
    langpairs: ClassVar = {"en-de": [], "cs-uk": []}

    def __init__(self, folder: Path, references: int = 1, error: BaseException | None = None):
        self.folder, self.references, self.error = folder, references, error

    def get_source_file(self, pair: str) -> str:
        if self.error is not None:
            raise self.error
        return str(self.folder / "test.en")

    def get_reference_files(self, pair: str) -> list[str]:
        return [str(self.folder / "test.de")] * self.references


@pytest.fixture
def known(given, monkeypatch):
    """Let sacreBLEU know a set of the test's own."""

    def put(**options) -> None:
        monkeypatch.setitem(DATASETS, "fake24", FakeSet(given / "corpus", **options))

    put()
    return put


def test_a_test_set_of_sacrebleu_is_scored_by_its_name(run_dir, given, known, capsys):
    report = evaluate(run_dir, capsys, "--data", "sacrebleu:fake24")
    assert report["data"] == "sacrebleu:fake24"
    assert report["scores"] == evaluate(run_dir, capsys)["scores"]


@pytest.mark.parametrize(
    ("name", "options", "complaint", "status"),
    [
        ("fake23", {}, "knows no test set 'fake23'; it knows", 2),
        ("fake24", {"references": 2}, "fake24 has 2 references a sentence", 2),
        (
            "fake24",
            {"error": URLError("no route")},
            r"fake24 is not on this machine and cannot be fetched (no route): connect, or give",
            1,
        ),
        ("fake24", {"error": TimeoutError("too slow")}, "cannot be fetched (too slow)", 1),
        ("fake24", {"error": ReadError("cut off")}, "cannot be read (cut off): delete it from", 1),
        ("fake24", {"error": SystemExit(1)}, "sacreBLEU could not fetch fake24", 1),
    ],
)
def test_a_test_set_that_cannot_be_had_is_a_sentence(
    run_dir, known, capsys, name, options, complaint, status
):
    known(**options)
    call = ["evaluate", "--run-dir", str(run_dir), "--data", f"sacrebleu:{name}"]
    assert main(call) == status
    assert complaint in capsys.readouterr().err


def test_languages_that_a_test_set_lacks_are_a_sentence(run_dir, known, capsys):
    call = ["evaluate", "--run-dir", str(run_dir), "--data", "sacrebleu:fake24"]
    assert main([*call, "--target", "fr"]) == 2
    assert "has no en-fr; it has cs-uk, en-de: give --source" in capsys.readouterr().err
    assert main([*call, "--data-dir", "x"]) == 2
    assert "leave out --data-dir" in capsys.readouterr().err
    assert main([*call, "--split", "valid"]) == 2
    assert "has no split 'valid'; it has test" in capsys.readouterr().err


def test_the_papers_test_set_is_known():
    assert "en-de" in DATASETS["wmt14/full"].langpairs
    assert "en-fr" in DATASETS["wmt14/full"].langpairs

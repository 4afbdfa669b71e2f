"""The ledger: every fact has a row, our figures come from data, and tampering is noticed."""

import itertools
import json
import math
import re
import shutil
import sys
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotated_transformer.cli import parse_command
from annotated_transformer.cli.train_run import configuration_of
from annotated_transformer.config import TransformerConfig
from annotated_transformer.errors import CallError, WorkError
from annotated_transformer.evaluation.scoring import TriedSearch
from annotated_transformer.evidence.ledger import checks, findings_numbers
from annotated_transformer.evidence.ledger.cells import (
    LedgerCell,
    contains_assert,
    find_ledger_cells,
)
from annotated_transformer.evidence.ledger.curve import (
    Line,
    draw_curve,
    draw_points,
    round_ticks,
    thin_out,
)
from annotated_transformer.evidence.ledger.facts import Fact, load_facts, scientific, table_2_value
from annotated_transformer.evidence.ledger.filled import filled, filled_score, problems_of_filled
from annotated_transformer.evidence.ledger.ledger_page import anchor_of, cells_of, make_ledger_page
from annotated_transformer.evidence.ledger.page_parts import (
    capital,
    plain,
    wrap_command,
)
from annotated_transformer.evidence.ledger.recipes import by_recipe, departures
from annotated_transformer.evidence.ledger.recorded_runs import (
    Example,
    RecordedRun,
    RecordedScore,
    Tuning,
    load_run_record,
    load_run_records,
    problems_of_run,
)
from annotated_transformer.evidence.ledger.recording import Request, choose_lines, record_run
from annotated_transformer.evidence.ledger.rescoring import corpus_of, problems_of_scores
from annotated_transformer.evidence.ledger.rows import Finding, Reason, Row, Treatment
from annotated_transformer.evidence.ledger.rows_experiments import all_rows
from annotated_transformer.evidence.ledger.run_page import make_run_page
from annotated_transformer.evidence.table3 import TABLE_3
from annotated_transformer.training.settings import TrainingConfig

ROOT = Path(__file__).resolve().parents[2]
BLEU_SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"


# --- facts ----------------------------------------------------------------------------------------


def test_facts_are_read_and_complete() -> None:
    facts = load_facts()
    assert facts["s3_2_2.h"].value == 8
    assert facts["s5_3.adam"].value == {"beta1": 0.9, "beta2": 0.98, "epsilon": 1e-9}
    assert table_2_value("transformer_big", "bleu_en_fr") == 41.8
    assert table_2_value("transformer_big", "bleu_en_fr_nips_proceedings") == 41.0
    for row in TABLE_3:
        assert facts[f"table_3.{row.preset}.bleu"].value == row.bleu
        assert facts[f"table_3.{row.preset}.ppl"].value == row.perplexity
    assert sum(name.startswith("table_1.") for name in facts) == 12
    assert sum(name.startswith("table_4.") for name in facts) == 12
    assert all(fact.says.endswith((".", "”")) for fact in facts.values())


def test_scientific_notation() -> None:
    assert scientific(3.3e18) == "3.3·10¹⁸"
    assert scientific(1.2e20) == "1.2·10²⁰"


def test_anchors_of_facts_are_distinct() -> None:
    anchors = {anchor_of(fact) for fact in load_facts()}
    assert len(anchors) == len(load_facts())


# --- rows -----------------------------------------------------------------------------------------


def test_every_fact_has_one_row() -> None:
    assert checks.problems_of_rows(all_rows(), load_facts()) == []


def test_a_fact_without_a_row_is_noticed() -> None:
    facts = {**load_facts(), "s9.new": Fact("s9.new", "Section 9", "Something new.")}
    (problem,) = checks.problems_of_rows(all_rows(), facts)
    assert "s9.new" in problem
    assert "has no row" in problem


def finding() -> Finding:
    return Finding("1")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (Row(("b",), Treatment.EXACT, finding), "is no fact"),
        (Row(("a", "a"), Treatment.EXACT, finding), "stands in 2 rows"),
        (Row(("a",), Treatment.NOT_DONE), "does not say what it would take"),
        (Row(("a",), Treatment.NOT_DONE, missing="a year"), "what it would take, or why"),
        (Row(("a",), Treatment.EXACT, finding, reason=Reason.GPU), "a reason why it is not"),
        (Row(("a",), Treatment.EXACT), "neither a function nor a chapter"),
    ],
)
def test_unsound_rows_are_noticed(row: Row, words: str) -> None:
    assert any(words in problem for problem in checks.problems_of_rows([row], ["a"]))


def test_a_difference_needs_a_reason() -> None:
    differs = Row(("a",), Treatment.EXACT, lambda: Finding("7", agrees=False))
    (problem,) = checks.problems_of_findings([differs])
    assert "does not say why" in problem
    assert checks.problems_of_findings([replace(differs, because="of a reason")]) == []


def test_a_wrong_default_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    preset = TransformerConfig.preset
    monkeypatch.setattr(
        TransformerConfig, "preset", lambda name, size: preset(name, size, num_heads=16)
    )
    rows = [row for row in all_rows() if row.facts[0] in ("s3_2_2.h", "s3_2_2.d_k")]
    problems = checks.problems_of_findings(rows)
    assert [problem.partition(":")[0] for problem in problems] == ["s3_2_2.h", "s3_2_2.d_k"]


def test_numbers_that_everybody_quotes() -> None:
    assert "63,045,632" in findings_numbers.parameters_by_part().text
    assert findings_numbers.training_flops("base", "12 h", 12)().agrees
    assert findings_numbers.training_flops("big", "3.5 d", 84)().agrees
    assert not findings_numbers.training_flops("base", "3.5 d", 84)().agrees
    assert findings_numbers.paper_gpu_hours("base") == 96
    assert "1.3769" in findings_numbers.smoothing_floor().text
    assert "6.988e-04" in findings_numbers.peak_learning_rates().text


# --- cells ----------------------------------------------------------------------------------------


def write_notebook(folder: Path, source: str, ledger: Any, printed: str = "done\n") -> None:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "## Why divide by the root\n\nText."},
        {
            "cell_type": "code",
            "metadata": {"ledger": ledger},
            "source": source,
            "outputs": [{"output_type": "stream", "name": "stdout", "text": [printed]}],
        },
    ]
    (folder / "02_attention.ipynb").write_text(json.dumps({"cells": cells}))


def test_ledger_cells_are_found(tmp_path: Path) -> None:
    write_notebook(tmp_path, "%matplotlib inline\nassert 1 + 1 == 2", "s3_2_1.variance", "a\nb\n")
    (cell,) = find_ledger_cells(tmp_path)
    assert cell == LedgerCell(
        "02_attention", 1, ("s3_2_1.variance",), "Why divide by the root", True, "a\nb"
    )
    row = Row(("s3_2_1.variance",), Treatment.MEASURED, chapter="02_attention")
    assert cells_of(row, [cell]) == [cell]
    page = make_ledger_page([("Section", [row])], [], [cell], [])
    assert "[Chapter 2](../notebooks/02_attention.ipynb), “Why divide by the root”" in page
    assert "prints:\n\n    ~~~text\n    a\n    b\n    ~~~" in page


def test_unsound_cells_are_noticed(tmp_path: Path) -> None:
    write_notebook(tmp_path, "print(1)", ["s3_2_1.variance", "s9.nothing"])
    problems = checks.problems_of_cells([], find_ledger_cells(tmp_path), load_facts())
    assert any("s9.nothing" in problem for problem in problems)
    assert any("without an assert" in problem for problem in problems)


def test_a_chapter_without_the_cell_is_noticed() -> None:
    row = Row(("s3_2_1.variance",), Treatment.MEASURED, chapter="02_attention")
    (problem,) = checks.problems_of_cells([row], [], load_facts())
    assert "has no cell" in problem


def test_an_assert_must_be_code() -> None:
    assert contains_assert("x = 1\nassert x")
    assert not contains_assert("# assert x\nprint('assert x')")


# --- tests and pages ------------------------------------------------------------------------------


def test_missing_tests_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("def test_there():\n    pass\n")
    rows = [
        Row(("a",), Treatment.EXACT, finding, test=name)
        for name in ("test_a.py", "test_a.py::test_there", "test_a.py::test_gone", "test_b.py")
    ]
    problems = checks.problems_of_tests(rows, tmp_path)
    assert len(problems) == 2
    assert "test_gone" in problems[0]
    assert "test_b.py" in problems[1]


def test_a_page_out_of_date_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "ledger.md"
    assert "is missing" in checks.problems_of_pages({page: "text"})[0]
    page.write_text("typed by hand")
    assert "is out of date" in checks.problems_of_pages({page: "text"})[0]
    said: list[str] = []
    checks.write_pages({page: "text"}, said.append)
    checks.write_pages({page: "text"}, said.append)
    assert checks.problems_of_pages({page: "text"}) == []
    assert [line.rpartition(" ")[2] for line in said] == ["written.", "date."]


def test_scores_without_a_run_are_noticed() -> None:
    text = "We reach 39.9 BLEU. The paper: 27.3 BLEU, and BLEU of 31.25 elsewhere, BLEU: 27.3."
    problems = checks.unsupported_scores("a.md", text, {"27.3"})
    assert len(problems) == 2
    assert "39.9" in problems[0]
    assert "31.25" in problems[1]


@pytest.mark.parametrize(
    "every", [8, pytest.param(1, marks=pytest.mark.slow)], ids=["a few scored again", "all"]
)
def test_the_ledger_of_this_repository_holds(every: int, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = itertools.cycle([problems_of_scores, *[lambda *_: []] * (every - 1)])
    monkeypatch.setattr(checks, "problems_of_scores", lambda *told: next(turns)(*told))
    repository = checks.find_repository(ROOT)
    assert load_run_records(repository.results)  # else there would be nothing to hold
    assert find_ledger_cells(repository.notebooks)
    assert checks.check_repository(repository, configuration_of) == []


def copy_of_record(name: str, folder: Path, **changed: float) -> RecordedRun:
    """A record of this repository in which the figures of some protocols are others."""
    shutil.copytree(ROOT / "results" / name, folder / name)
    file = folder / name / "scores.json"
    scores = json.loads(file.read_text("utf-8"))
    for score in scores:
        score["value"] = changed.get(score["protocol"].replace("-", "_"), score["value"])
    file.write_text(json.dumps(scores), "utf-8")
    return load_run_record(folder / name)


@pytest.mark.parametrize("protocol", ["cased", "lower_tokenised", "chrf", "exact_match"])
def test_a_changed_score_does_not_pass(tmp_path: Path, protocol: str) -> None:
    run = copy_of_record("grammar_tiny", tmp_path, **{protocol: 99.99})
    (problem,) = problems_of_scores(run, tmp_path / run.name)
    assert f"its {protocol.replace('_', '-')} score is 99.99, and its translations give" in problem


def test_changed_translations_do_not_pass(tmp_path: Path) -> None:
    run = copy_of_record("grammar_tiny", tmp_path)
    assert problems_of_scores(run, tmp_path / run.name) == []
    file = tmp_path / run.name / "translations.test.txt"
    lines = file.read_text("utf-8").splitlines()
    file.write_text("\n".join([*lines[1:], lines[0]]) + "\n", "utf-8")
    assert len(problems_of_scores(run, tmp_path / run.name)) == 4
    file.write_text("\n".join(lines[1:]) + "\n", "utf-8")
    (problem,) = problems_of_scores(run, tmp_path / run.name)
    assert "cannot be scored again: there are 999 translations and 1000 references" in problem


def test_translations_of_a_named_search_are_held_to_the_scores_of_that_search(
    tmp_path: Path,
) -> None:
    run = copy_of_record("grammar_tiny", tmp_path)
    [kept] = (tmp_path / run.name).glob("translations.*.txt")
    beams = {score.beam for score in run.scores if score.protocol == "cased"}
    of_search = [beam for beam in beams if beam is not None]
    found = {}
    for beam in (*of_search, 99):
        kept = kept.rename(kept.with_name(f"translations.test.beam{beam}.txt"))
        found[beam] = problems_of_scores(run, tmp_path / run.name)
    assert found[99] == ["results/grammar_tiny: test.beam99 has translations and no score."]
    assert [] in (found[beam] for beam in of_search)


def test_translations_of_the_chosen_search_are_held_to_its_scores(tmp_path: Path) -> None:
    run = copy_of_record("grammar_tiny", tmp_path)
    [split] = {path.name.split(".")[1] for path in (tmp_path / run.name).glob("translations.*.txt")}
    of_split = [one for one in run.scores if (one.split, one.protocol) == (split, "cased")]
    beam, extra = max(one.beam or 0 for one in of_split), 50
    tuning = Tuning(split, beam, "valid", "cased", (TriedSearch(9.9, 1.0, extra),))
    invented = replace(of_split[0], beam=beam, alpha=9.9, max_extra=extra, value=99.5)
    other = replace(run, scores=(*run.scores, invented), tuning=(tuning,))
    [problem] = problems_of_scores(other, tmp_path / run.name)
    assert "its cased score is 99.50, and its translations give" in problem


def test_a_signature_of_another_way_of_scoring_does_not_pass(tmp_path: Path) -> None:
    run = copy_of_record("grammar_tiny", tmp_path)
    other = [replace(s, signature=s.signature.replace("13a", "intl")) for s in run.scores]
    (problem,) = problems_of_scores(replace(run, scores=tuple(other)), tmp_path / run.name)
    assert "has not the signature" in problem


@pytest.mark.parametrize(
    "name", sorted(path.name for path in (ROOT / "results").glob("multi30k_*"))
)
@pytest.mark.slow
def test_scores_on_multi30k_are_those_of_the_translations(
    tmp_path: Path, corpora_dir: Path, name: str
) -> None:
    run = load_run_record(ROOT / "results" / name)
    assert problems_of_scores(run, ROOT / "results" / name, corpora_dir) == []
    run = copy_of_record(name, tmp_path, chrf=70.0)
    problems = problems_of_scores(run, tmp_path / name, corpora_dir)
    assert problems
    assert all("its chrf score is 70.00, and its translations give" in one for one in problems)


def test_a_sentence_does_not_begin_with_a_greek_capital() -> None:
    assert capital("β₁ = 0.9") == "β₁ = 0.9"
    assert [capital(text) for text in ("d_k is", "n = 3", "mean")] == ["d_k is", "n = 3", "Mean"]


def test_a_duration_that_the_printed_steps_do_not_give_differs() -> None:
    base = findings_numbers.training_time("base", "hours", 3600)()
    assert "= 11.1 hours" in base.text
    assert not base.agrees
    assert findings_numbers.training_time("big", "days", 86400)().agrees


def test_how_the_settings_were_chosen_stands_with_the_scores() -> None:
    page = make_run_page([a_run(settings_chosen="By looking at the test set.")])
    assert page.index("**12.34**") < page.index("By looking") < page.index("### Curve")
    both = [a_run(name=f"multi30k_{x}", settings_chosen="By looking.") for x in "ab"]
    page = make_run_page(both)
    side_by_side = page[page.index("side by side") : page.index("```text")]
    pointed_at, scores, said = (
        side_by_side.index(words) for words in ("in a fold below", "**12.34**", "By looking.")
    )
    assert pointed_at < scores < said
    assert page.count("By looking.") == 1
    assert "in a fold below" not in make_run_page([a_run(name=f"multi30k_{x}") for x in "ab"])
    page = make_run_page([*both, a_run(name="multi30k_c", title="the third", settings_chosen="X.")])
    assert "- *The third.* X." in page


def a_seed(seed: int, value: float, alpha: float = 0.6) -> RecordedRun:
    training = TrainingConfig(steps=20, seed=seed).to_dict()
    configuration = {**a_run().configuration, "training": training}
    return a_run(
        name=f"multi30k_s{seed}",
        seeds={"training": seed},
        configuration=configuration,
        scores=a_score(value=value, alpha=alpha),
        cost={**a_run().cost, "process_cpu_seconds": 60.0 * (seed + 1)},
    )


def test_an_older_record_that_names_fewer_options_stands_with_its_seeds() -> None:
    newer, older = a_seed(0, 40.0), a_seed(1, 39.0)
    configuration = json.loads(json.dumps(older.configuration))
    del configuration["training"]["init_gain"], configuration["model"]["residual"]
    older = replace(older, configuration=configuration)
    assert by_recipe([newer, older]) == [[newer, older]]


def test_runs_that_differ_in_the_seed_stand_together_with_their_mean() -> None:
    seeds = [a_seed(0, 40.0), a_seed(1, 10.0, 1.4), a_seed(2, 39.0)]
    other = a_run(
        name="multi30k_z",
        configuration={**a_run().configuration, "training": TrainingConfig(steps=30).to_dict()},
        scores=a_score(value=41.0),
    )
    assert [[run.name for run in group] for group in by_recipe([*seeds, other])] == [
        ["multi30k_s0", "multi30k_s1", "multi30k_s2"],
        ["multi30k_z"],
    ]
    page = make_run_page([*seeds, other])
    beside = page[: page.index("## An example")]
    assert "**29.67** BLEU, cased, detokenised, on test, mean of 40.00, 10.00, 39.00: " in beside
    assert "2.0 minutes of processor time, median of 3 seeds" in beside
    assert "α = 0.6, chosen on valid; beam 4, α = 1.4, chosen on valid; `nrefs" in beside
    assert "**41.00** BLEU, cased, detokenised, on test: beam 4" in beside
    assert page.count("### The same with seed") == 2
    assert page.count("## An example") == 2


def test_a_title_has_room_in_the_picture() -> None:
    assert max(len(run.title) for run in load_run_records(ROOT / "results")) <= 65


def test_the_picture_marks_the_score_in_print_also_where_no_run_reaches_it() -> None:
    low = [
        a_run(name=f"multi30k_{x}", title=x, scores=a_score(protocol="lower-tokenised"))
        for x in "ab"
    ]
    low[1] = replace(
        low[1],
        configuration=a_seed(0, 1.0).configuration
        | {"training": TrainingConfig(steps=30).to_dict()},
    )
    page = make_run_page(low)
    (mark,) = re.findall(r'class="goal" x1="([0-9.]+)"', page[: page.index("</svg>")])
    (dot, _) = re.findall(r'cx="([0-9.]+)"', page[: page.index("</svg>")])
    assert float(dot) < float(mark) <= 420
    assert "The broken line is 41.02" in page


def test_outside_a_clone_there_is_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(CallError, match="not in a clone"):
        checks.find_repository(tmp_path)


# --- recorded runs --------------------------------------------------------------------------------


def a_run(**changes: Any) -> RecordedRun:
    values: dict[str, Any] = {
        "name": "multi30k_example",
        "title": "An example",
        "status": "finished",
        "command": "annotated-transformer train --run-dir runs/a --data multi30k --steps 20",
        "configuration": {
            "model": TransformerConfig.preset("tiny", 100).to_dict(),
            "training": TrainingConfig(steps=20).to_dict(),
        },
        "seeds": {"training": 0},
        "data": {"name": "multi30k", "files": {"train.en": {"sha256": "0" * 64, "lines": 3}}},
        "code_version": {"commit": "abc", "changed": False},
        "hardware": {"processor": "a processor", "cores": 2, "memory_gib": 8.0},
        "software": {"python": "3.11"},
        "cost": {
            "process_cpu_seconds": 90.0,
            "wall_seconds": 60.0,
            "steps": 20,
            "parameters": 1234,
        },
        "what_went_badly": ["It was slow at first."],
        "evaluation_commands": [],
        "metrics": (
            {"event": "train", "step": 10, "loss": 4.25},
            {"event": "train", "step": 20, "loss": 3.5},
            {"event": "valid", "step": 20, "loss": 3.0},
        ),
        "scores": (RecordedScore("test", "cased", 12.34, BLEU_SIGNATURE, 4, 0.6, "valid"),),
    }
    return RecordedRun(**{**values, **changes})


def test_a_sound_run_has_no_problem() -> None:
    assert problems_of_run(a_run(), configuration_of) == []


def a_score(**changes: Any) -> tuple[RecordedScore, ...]:
    return (replace(a_run().scores[0], **changes),)


def a_tuning(tried: list[tuple[Any, ...]], split: str = "test") -> Tuning:
    return Tuning(split, 4, "valid", "lower-tokenised", tuple(TriedSearch(*one) for one in tried))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"status": "splendid"}, "is none of"),
        ({"command": "annotated-transformer train --old-option"}, "no longer understood"),
        ({"evaluation_commands": ["annotated-transformer score"]}, "no longer understood"),
        ({"command": a_run().command + " --seed 7"}, "seed is 0, and the command trains with 7"),
        ({"command": a_run().command + " --norm pre"}, "norm is 'post', and the command"),
        ({"command": a_run().command + " --precision bf16"}, "precision is 'fp32', and the"),
        ({"command": a_run().command + " --vocab-size 50"}, "vocab_size is 10000, and the"),
        ({"command": a_run().command.replace("multi30k", "copy")}, "name is 'multi30k', and the"),
        ({"scores": a_score(protocol="made-up")}, "there is no such protocol"),
        ({"status": "failed", "what_went_badly": []}, "does not say what went badly"),
        ({"metrics": ()}, "has no curve"),
        ({"scores": ()}, "has no scores"),
        ({"code_version": {}}, "does not name the commit"),
        ({"data": {"name": "multi30k"}}, "no file with its sha256"),
        ({"cost": {"wall_seconds": 1.0}}, "process_cpu_seconds"),
        ({"scores": a_score(signature="")}, "has no signature"),
        ({"scores": a_score(signature="BLEU")}, "is not sacreBLEU's"),
        ({"scores": a_score(beam=None)}, "with which beam"),
        ({"scores": a_score(alpha_chosen_on="")}, "where its length penalty was chosen"),
        ({"scores": a_score(alpha_chosen_on="test")}, "on the test set itself"),
        *(
            ({"scores": a_score(protocol=protocol, **changes)}, words)
            for protocol in ("lower-tokenised", "chrf", "exact-match")
            for changes, words in (
                ({"alpha_chosen_on": "test"}, "on the test set itself"),
                ({"alpha_chosen_on": ""}, "where its length penalty was chosen"),
                ({"beam": None}, "with which beam"),
            )
        ),
        ({"tuning": (a_tuning([(0.6, 20.0), (1.0, 21.0)]),)}, "is 0.6, but 1.0 scored best"),
        ({"tuning": (a_tuning([(0.6, 20.0)], split="another"),)}, "not in scores.json"),
        (
            {"tuning": (a_tuning([(0.6, 20.0, 9)]),)},
            "is 0.6, but 0.6, at most source + 9 tokens scored best",
        ),
        (
            {
                "tuning": (a_tuning([(0.6, 20.0), (0.6, 19.0, 0)]),),
                "scores": a_score(max_extra=0),
            },
            "is 0.6, at most source + 0 tokens, but 0.6 scored best on valid",
        ),
        (
            {
                "tuning": (replace(a_tuning([(0.6, 20.0, 5), (0.6, 19.0)]), beam=1),),
                "scores": a_score(beam=1, alpha=None, alpha_chosen_on=""),
            },
            "is greedy, but 0.6, at most source + 5 tokens scored best",
        ),
    ],
)
def test_unsound_runs_are_noticed(changes: dict[str, Any], words: str) -> None:
    problems = problems_of_run(a_run(**changes), configuration_of)
    assert any(words in problem for problem in problems), problems


def test_equally_good_alphas_are_no_problem() -> None:
    tied = a_tuning([(0.4, 20.0), (0.6, 20.0)])
    assert problems_of_run(a_run(tuning=(tied,)), configuration_of) == []


def test_a_greedy_search_has_no_alpha_that_could_be_wrong() -> None:
    tuning = replace(a_tuning([(0.4, 20.0, 5), (0.6, 20.0, 5), (0.4, 19.0)]), beam=1)
    scores = a_score(beam=1, alpha=None, alpha_chosen_on="", max_extra=5)
    assert problems_of_run(a_run(tuning=(tuning,), scores=scores), configuration_of) == []
    page = make_run_page([a_run(tuning=(tuning,), scores=scores)])
    assert "greedy, at most source + 5 tokens; " in page


def test_a_run_page_shows_the_alphas_that_were_tried() -> None:
    assert "tried on" not in make_run_page([a_run()])
    page = make_run_page([a_run(tuning=(a_tuning([(0.4, 19.876), (0.6, 20.0)]),))])
    assert "tried on valid with beam 4" in page
    assert "0.4: 19.88, 0.6: 20.00." in page


def test_a_run_page_shows_the_limits_that_were_tried() -> None:
    tried = a_tuning([(0.4, 19.0, 10), (0.6, 20.0, 10), (0.4, 18.0)])
    page = make_run_page([a_run(tuning=(tried,), scores=a_score(max_extra=10))])
    assert "α = 0.6, at most source + 10 tokens, chosen on valid; " in page
    assert (
        "at most source + 10 tokens, 0.4: 19.00, 0.6: 20.00; at most source + 50 tokens, 0.4: "
        "18.00." in page
    )


def test_a_run_page_shows_every_figure() -> None:
    page = make_run_page([a_run()])
    for shown in ("**12.34**", BLEU_SIGNATURE, "1.5 minutes", "a processor", "It was slow", "<svg"):
        assert shown in page
    failed = make_run_page([a_run(status="failed", scores=())])
    assert "This run failed" in failed
    assert "No run on this corpus" in make_run_page([])


def test_only_the_translations_of_the_run_to_read_first_are_open() -> None:
    shown = (Example(1, "a dog", "ein Hund"),)
    recipes = [
        {**a_run().configuration, "training": TrainingConfig(steps=20, warmup=warmup).to_dict()}
        for warmup in (10, 20)
    ]
    page = make_run_page(
        [
            a_run(name=f"multi30k_{place}", configuration=recipe, examples=shown)
            for place, recipe in enumerate(recipes)
        ]
    )
    before, between, _ = page.split("ein Hund")
    assert before.count("<details>") == before.count("</details>")
    assert between.count("<details>") == between.count("</details>") + 1


def test_departures_from_the_paper_are_named() -> None:
    configuration = {
        "model": TransformerConfig.preset("tiny", 100, norm="pre").to_dict(),
        "training": {"steps": 9, "decay": 0.2, "label_smoothing": 0.1, "lowercase": True},
    }
    assert departures(configuration) == ["norm = pre", "decay = 0.2", "lowercase = True"]
    training = TrainingConfig(steps=9, clip_norm=1.0, final="best", stop_after=3)
    configuration["training"] = training.to_dict()
    assert departures(configuration) == [
        *("norm = pre", "clip_norm = 1.0", "final = best", "stop_after = 3")
    ]
    assert departures(a_run().configuration) == []


def test_wrapped_commands_are_the_same_command() -> None:
    command = "annotated-transformer train --data multi30k --run-dir runs/a " + "--epochs 50 " * 9
    wrapped = wrap_command(command.strip())
    assert len(wrapped.splitlines()) == 3
    assert max(map(len, wrapped.splitlines())) <= 74
    assert wrapped.replace("\\\n", " ").split() == command.split()
    assert wrap_command("annotated-transformer doctor") == "annotated-transformer doctor"


def test_sentences_are_not_read_as_markdown() -> None:
    assert plain("a *b* costs $5 <now> [x]_") == r"a \*b\* costs \$5 \<now\> \[x\]\_"


def make_run_dir(folder: Path) -> Request:
    run_dir = folder / "run"
    run_dir.mkdir()
    config = {
        "model": TransformerConfig.preset("tiny", 100).to_dict(),
        "training": {"seed": 3, "label_smoothing": 0.1, "precision": "fp32"},
        "data": {
            "name": "multi30k",
            "data_dir": "/home/somebody/multi30k",
            "origin": {"files": {"train.en": {"sha256": "0" * 64, "lines": 3}}},
        },
    }
    (run_dir / "config.json").write_text(json.dumps(config))
    lines = [{"event": "train", "step": 7, "loss": 2.0, "cpu_seconds": 9.5, "wall_seconds": 5.0}]
    (run_dir / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    report = {
        "split": "test",
        "beam": 5,
        "alpha": 1.0,
        "alpha_chosen_on": "valid",
        "scores": [{"name": "cased", "value": 12.3456, "signature": BLEU_SIGNATURE}],
        "perplexity": 5.678,
    }
    (folder / "scores.json").write_text(json.dumps(report))
    (folder / "ours.txt").write_text("eins\nzwei\n")
    (folder / "source.en").write_text("one\ntwo\n")
    return Request(
        run_dir=run_dir,
        folder=folder / "results" / "multi30k_a",
        title="A run",
        command="annotated-transformer train --run-dir runs/a --data multi30k --seed 3",
        score_files=[folder / "scores.json"],
        translations={"test": folder / "ours.txt"},
        sources={"test": folder / "source.en"},
    )


def test_a_record_is_made_and_read_again(tmp_path: Path) -> None:
    request = make_run_dir(tmp_path)
    run = record_run(request, configuration_of)
    assert run == load_run_record(request.folder)
    assert run.seeds == {"training": 3}
    assert run.cost["process_cpu_seconds"] == 9.5
    assert run.cost["parameters"] > 100_000
    assert "torch" in run.software
    assert run.scores[0] == RecordedScore("test", "cased", 12.35, BLEU_SIGNATURE, 5, 1.0, "valid")
    assert run.scores[1].protocol == "perplexity"
    assert [example.source for example in run.examples] == ["one", "two"]
    assert "/home/somebody" not in (request.folder / "run.json").read_text()
    assert (request.folder / "translations.test.txt").read_text() == "eins\nzwei\n"
    with pytest.raises(CallError, match="never overwritten"):
        record_run(request, configuration_of)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"command": "annotated-transformer train --data-dir /home/a"}, "a path of this machine"),
        ({"command": "annotated-transformer train --old-option"}, "no longer understood"),
        ({"score_files": []}, "has no scores"),
        ({"sources": {"test": Path(__file__)}}, "must be the source of line n"),
        ({"run_dir": Path("nowhere")}, "is missing"),
        ({"commit": "no-such-commit"}, "has no such commit"),
    ],
)
def test_an_unsound_record_is_refused_and_leaves_nothing(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    request = replace(make_run_dir(tmp_path), **changes)
    with pytest.raises((CallError, WorkError), match=words):
        record_run(request, configuration_of)
    assert not request.folder.exists()


def test_a_record_keeps_the_alphas_that_were_tried(tmp_path: Path) -> None:
    request = make_run_dir(tmp_path)
    file = Path(request.score_files[0])
    report = json.loads(file.read_text())
    tuning = [{"alpha": 0.8, "score": 9.8765}, {"alpha": 1.0, "score": 10.0}]
    file.write_text(json.dumps({**report, "tuning": tuning}))
    run = record_run(request, configuration_of)
    tried = (TriedSearch(0.8, 9.88), TriedSearch(1.0, 10.0))
    assert run.tuning == (Tuning("test", 5, "valid", "lower-tokenised", tried),)
    kept = json.loads((request.folder / "tuning.json").read_text())
    assert kept[0]["tried"] == [
        {"alpha": 0.8, "score": 9.88, "max_extra": 50},
        {"alpha": 1.0, "score": 10.0, "max_extra": 50},
    ]


def test_a_record_keeps_the_limit_that_was_chosen(tmp_path: Path) -> None:
    request = make_run_dir(tmp_path)
    file = Path(request.score_files[0])
    tuning = [
        {"alpha": 1.0, "max_extra": 50, "score": 9.0},
        {"alpha": 1.0, "max_extra": 10, "score": 10.0},
    ]
    report = {**json.loads(file.read_text()), "max_extra": 10, "tuning": tuning}
    file.write_text(json.dumps(report))
    run = record_run(request, configuration_of)
    assert run == load_run_record(request.folder)
    assert [one.max_extra for one in run.tuning[0].tried] == [50, 10]
    assert (run.scores[0].max_extra, run.scores[1].max_extra) == (10, None)
    shutil.rmtree(request.folder)
    file.write_text(json.dumps({**report, "max_extra": 50}))
    with pytest.raises(WorkError, match=r"is 1\.0, but 1\.0, at most source \+ 10 tokens"):
        record_run(request, configuration_of)


def test_the_papers_alpha_with_another_limit_is_not_the_papers_search(tmp_path: Path) -> None:
    request = make_run_dir(tmp_path)
    file = Path(request.score_files[0])
    given = {**json.loads(file.read_text()), "alpha": 0.6, "alpha_chosen_on": None}
    file.write_text(json.dumps({**given, "max_extra": 10}))
    with pytest.raises(WorkError, match="does not say where its length penalty was chosen"):
        record_run(request, configuration_of)
    file.write_text(json.dumps({**given, "max_extra": 50}))
    assert record_run(request, configuration_of).scores[0].alpha_chosen_on == "the paper"


def test_a_record_whose_alpha_was_not_the_best_is_refused(tmp_path: Path) -> None:
    request = make_run_dir(tmp_path)
    file = Path(request.score_files[0])
    report = json.loads(file.read_text())
    tuning = [{"alpha": 0.8, "score": 11.0}, {"alpha": 1.0, "score": 10.0}]
    file.write_text(json.dumps({**report, "tuning": tuning}))
    with pytest.raises(WorkError, match=r"is 1\.0, but 0\.8 scored best on valid"):
        record_run(request, configuration_of)
    assert not request.folder.exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tuning": [{"alpha": 0.8}]}, "a search in .*scores.json .* score is missing"),
        ({"tuning": 7}, "tuning is 7"),
        ({"tuning": [{"alpha": 1.0, "score": 10.0}], "beam": None}, "beam is null"),
        ({"tuning": [{"alpha": 1.0, "score": 10.0}], "alpha_chosen_on": None}, "_on is null"),
        ({"scores": [{"name": "cased", "value": "12", "signature": ""}]}, 'value is "12"'),
        ({"perplexity": "much"}, 'perplexity is "much"'),
        ({"split": 1}, "split is 1"),
    ],
)
def test_what_is_no_report_of_scores_is_refused(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    request = make_run_dir(tmp_path)
    file = Path(request.score_files[0])
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))
    with pytest.raises(WorkError, match=f"{words}.*give that"):
        record_run(request, configuration_of)
    assert not request.folder.exists()


def test_scores_of_a_file_are_not_recorded_as_a_models(tmp_path: Path) -> None:
    request = make_run_dir(tmp_path)
    file = Path(request.score_files[0])
    file.write_text(json.dumps({**json.loads(file.read_text()), "run_dir": None}))
    with pytest.raises(CallError, match="which any model may have written"):
        record_run(request, configuration_of)
    assert not request.folder.exists()


def test_a_damaged_record_is_refused(tmp_path: Path) -> None:
    request = make_run_dir(tmp_path)
    record_run(request, configuration_of)
    values = json.loads((request.folder / "run.json").read_text())
    (request.folder / "run.json").write_text(json.dumps({**values, "surprise": 1}))
    with pytest.raises(WorkError, match="unknown fields: surprise"):
        load_run_record(request.folder)
    del values["hardware"]
    (request.folder / "run.json").write_text(json.dumps(values))
    with pytest.raises(WorkError, match="hardware is missing"):
        load_run_record(request.folder)
    (request.folder / "run.json").write_text("{")
    with pytest.raises(WorkError, match="is not JSON"):
        load_run_record(request.folder)


@pytest.mark.parametrize("name", ["run.json", "metrics.jsonl", "scores.json"])
@pytest.mark.parametrize("content", [b"\xff{}\n", b"[[]\n", b"7\n"])
def test_a_damaged_file_of_a_record_is_named(tmp_path: Path, name: str, content: bytes) -> None:
    request = make_run_dir(tmp_path)
    record_run(request, configuration_of)
    (request.folder / name).write_bytes(content)
    with pytest.raises(WorkError, match=name):
        load_run_record(request.folder)


ROW = {"split": "test", "beam": 5, "chosen_on": "valid", "protocol": "lower-tokenised"}


@pytest.mark.parametrize(
    ("name", "rows", "words"),
    [
        ("tuning.json", [{**ROW, "tried": []}], "tried is empty"),
        ("tuning.json", [{**ROW, "tried": [{"alpha": 1.0}]}], "score is missing"),
        ("tuning.json", [{**ROW, "tried": [{"alpha": 1.0, "score": 2.0}], "x": 1}], "no field x"),
        ("tuning.json", [ROW], "tried is missing"),
        ("scores.json", [{"split": "test", "protocol": "chrf", "value": 1.0}], "signature is"),
        ("scores.json", [{"split": 1, "protocol": "", "value": 1.0, "signature": ""}], "split is"),
    ],
)
def test_an_odd_row_of_a_record_is_named(
    tmp_path: Path, name: str, rows: list[dict[str, Any]], words: str
) -> None:
    request = make_run_dir(tmp_path)
    record_run(request, configuration_of)
    (request.folder / name).write_text(json.dumps(rows))
    with pytest.raises(WorkError, match=f"{name}.*{words}"):
        load_run_record(request.folder)


@pytest.mark.parametrize(
    "name", ["run/config.json", "run/metrics.jsonl", "scores.json", "ours.txt"]
)
def test_no_record_is_made_from_a_damaged_file(tmp_path: Path, name: str) -> None:
    request = make_run_dir(tmp_path)
    (tmp_path / name).write_bytes(b"\xff{}\n")
    with pytest.raises(WorkError, match=Path(name).name):
        record_run(request, configuration_of)
    assert not request.folder.exists()


def test_the_scores_of_another_run_are_refused(tmp_path: Path) -> None:
    request = make_run_dir(tmp_path)
    file = Path(request.score_files[0])
    report = json.loads(file.read_text())
    file.write_text(json.dumps({**report, "run_dir": "runs/mine_s1"}))
    with pytest.raises(CallError, match=r"has the scores of runs/mine_s1, and .*run is recorded"):
        record_run(request, configuration_of)
    file.write_text(json.dumps({**report, "run_dir": "elsewhere/run/"}))  # copied, and scored there
    record_run(request, configuration_of)


def test_a_line_ends_at_a_line_feed_alone(tmp_path: Path) -> None:
    request = make_run_dir(tmp_path)
    for name in ("ours.txt", "source.en"):
        (tmp_path / name).write_text("a\u2028b\x85c\rd\n\ne", "utf-8")
    record_run(request, configuration_of)
    kept = (request.folder / "translations.test.txt").read_bytes().decode("utf-8")
    assert kept == "a\u2028b\x85c\rd\n\ne\n"


def test_a_record_lies_in_a_folder_of_its_name(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "results" / "grammar_tiny", tmp_path / "another")
    with pytest.raises(WorkError, match="is the record 'grammar_tiny'"):
        load_run_record(tmp_path / "another")


def test_corpora_that_are_not_there_are_not_passed_over(tmp_path: Path) -> None:
    repository = checks.find_repository(ROOT)
    with pytest.raises(CallError, match="holds no folder multi30k or tatoeba"):
        checks.check_repository(repository, configuration_of, tmp_path)
    said = checks.scored_again(repository)
    assert re.search(r"Of \d+ records \d+ were scored again, \d+ on multi30k, \d+ on tatoeba", said)


def test_examples_are_spread_evenly() -> None:
    assert choose_lines(1000) == [1, 167, 334, 501, 667, 834]
    assert choose_lines(2) == [1, 2]
    assert choose_lines(0) == []


def test_commands_are_parsed_by_the_program_itself() -> None:
    assert parse_command("annotated-transformer ledger check").action == "check"
    with pytest.raises(ValueError, match="unrecognized arguments"):
        parse_command("annotated-transformer ledger check --gently")
    with pytest.raises(ValueError, match="does not begin"):
        parse_command("python train.py")


def test_commands_are_read_in_several_threads_and_nothing_is_printed(capfd):
    before = sys.stderr, sys.stdout
    with ThreadPoolExecutor(4) as pool:
        for wrong in ("ledger check --gently", "train --seed x", "train --help"):
            line = f"annotated-transformer {wrong}"
            tried = [pool.submit(parse_command, line) for _ in range(10)]
            assert all(isinstance(one.exception(), ValueError) for one in tried)
    assert (sys.stderr, sys.stdout) == before
    assert capfd.readouterr() == ("", "")


def test_numbers_of_close_points_stand_on_either_side() -> None:
    drawing = draw_points([(0.35, 38.83), (0.35, 39.08), (0.35, 36.0)], 41.0, "x", "y", "three")
    sides = re.findall(r'y="[\d.]+"( text-anchor="end")?>([123])</text>', drawing)
    assert sides == [("", "1"), (' text-anchor="end"', "2"), ("", "3")]


# --- the curve ------------------------------------------------------------------------------------


def test_a_curve_is_well_formed_and_described() -> None:
    lines = [Line("training", "a", [(1, 5.0), (100, 2.0)]), Line("validation", "b", [(100, 2.5)])]
    drawing = draw_curve(lines, "step", 'loss < "10"', "From 5 to 2 & a bit")
    root = ElementTree.fromstring(drawing)
    assert root.attrib["aria-label"] == "From 5 to 2 & a bit"
    assert [child.attrib["class"] for child in root if child.tag == "polyline"] == [
        "training",
        "validation",
    ]
    with pytest.raises(ValueError, match="nothing to draw"):
        draw_curve([Line("training", "a", [])], "step", "loss", "")


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_are_round_and_enclose(low: float, width: float) -> None:
    ticks = round_ticks(low, low + width)
    rounding = 1e-6 * (abs(low) + width)
    assert ticks[0] <= low + rounding
    assert ticks[-1] >= low + width - rounding
    assert 2 <= len(ticks) <= 8
    steps = {round((b - a) / (ticks[1] - ticks[0]), 3) for a, b in itertools.pairwise(ticks)}
    assert steps == {1.0}


@given(st.integers(1, 3000))
def test_thinning_keeps_the_ends(count: int) -> None:
    points = [(float(x), math.sin(x)) for x in range(count)]
    kept = thin_out(points)
    assert kept[0] == points[0]
    assert kept[-1] == points[-1]
    assert len(kept) <= 242


# --- empty lines filled ---------------------------------------------------------------------------


def test_empty_lines_are_filled_from_another_search() -> None:
    assert filled(["ein Hund", "", " ", "x"], ["a", "b", "c", ""]) == ["ein Hund", "b", "c", "x"]


def test_what_a_filled_output_scores_is_computed_again(tmp_path: Path) -> None:
    run = copy_of_record("grammar_tiny", tmp_path)
    folder = tmp_path / run.name
    ours = (folder / "translations.test.txt").read_text("utf-8").splitlines()
    corpus = corpus_of(run)
    assert corpus is not None
    references = corpus["test"]
    gaps = ["" if number % 2 else line for number, line in enumerate(ours)]
    (folder / "translations.test.gaps.txt").write_text("\n".join([*gaps, ""]), "utf-8")
    (folder / "reference.txt").write_text("\n".join([*references.target, ""]), "utf-8")
    right = sum(
        line == reference or number % 2
        for number, (line, reference) in enumerate(zip(ours, references.target, strict=True))
    )
    signature = next(s.signature for s in run.scores if s.protocol == "exact-match")

    def problems(**changed: object) -> list[str]:
        said = {"split": "test", "translations": "translations.test.gaps.txt"}
        said |= {"empty_from": "reference.txt", "protocol": "exact-match"}
        values = {**said, "value": right / 10, "signature": signature, **changed}
        (folder / "filled.json").write_text(json.dumps(values), "utf-8")
        return problems_of_filled(run, folder)

    assert problems() == []
    assert filled_score(folder) == right / 10
    (problem,) = problems(value=99.9)
    assert f"filled.json says 99.9, and its translations give {right / 10}." in problem
    (problem,) = problems(signature="another")
    assert "has not the signature" in problem
    (problem,) = problems(empty_from="nowhere.txt")
    assert "cannot be computed again" in problem
    (folder / "reference.txt").write_text("one line\n", "utf-8")
    (problem,) = problems()
    assert "names two files of as many lines" in problem
    assert problems_of_filled(run, tmp_path) == []


def test_filled_outputs_of_captions_are_computed_again(corpora_dir: Path) -> None:
    records = ROOT / "results" / "ablations" / "table3_multi30k"
    folders = [path.parent for path in records.glob("*/filled.json")]
    assert len(folders) == 7
    for folder in folders:
        assert problems_of_filled(load_run_record(folder), folder, corpora_dir) == []

"""book/PLAN_study.md: what the plan asked, what the records say, and what is still to do."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from annotated_transformer.data.grammar import generate_corpus
from annotated_transformer.errors import CallError
from annotated_transformer.evidence.ablation import study
from annotated_transformer.evidence.ablation.plan import Plan, Task, load_plan, plan_names
from annotated_transformer.evidence.ablation.study import load_study
from annotated_transformer.evidence.ledger.checks import Repository, load_studies
from annotated_transformer.evidence.ledger.outcomes import study_of
from annotated_transformer.evidence.ledger.recorded_runs import RecordedRun, RecordedScore
from annotated_transformer.evidence.ledger.study_page import (
    make_study_page,
    missing_tasks,
    problems_of_study,
)

ROOT = Path(__file__).resolve().parents[2]
SIGNATURE = "nrefs:1|case:lc|eff:no|tok:moses|smooth:exp|version:2.6.0"


def record(task: Task, bleu: float | None, loss: float = 2.0) -> RecordedRun:
    scores = ()
    if bleu is not None:
        scores = (RecordedScore("valid", "lower-tokenised", bleu, SIGNATURE, 1),)
    return RecordedRun(
        name=task.name,
        title=task.row.says,
        status="failed" if bleu is None else "finished",
        command=task.commands()[0],
        configuration={},
        seeds={"training": task.seed},
        data={"sha256": "0"},
        code_version={"commit": "1"},
        hardware={},
        software={},
        cost={"process_cpu_seconds": 600.0, "wall_seconds": 700.0},
        what_went_badly=["It diverged."] if bleu is None else [],
        evaluation_commands=[task.commands()[1]],
        metrics=({"event": "valid", "step": 1, "loss": loss},),
        scores=scores,
    )


@pytest.fixture(scope="module")
def plan() -> Plan:
    return load_plan("recipe")


def test_without_records_the_page_is_the_plan(plan: Plan) -> None:
    page = make_study_page(study_of(plan, []))
    assert "None of these runs has been recorded yet" in page
    assert all(row.expect in page for row in plan.rows)


def test_means_differences_failures_and_what_is_missing(plan: Plan) -> None:
    base = plan.choose(["base"], 3)
    (slow,) = plan.choose(["rate-1e-3"], None)
    (wild,) = plan.choose(["post-norm"], None)
    runs = [record(task, bleu) for task, bleu in zip(base, (34.0, 34.2, 34.4), strict=True)]
    runs += [record(slow, 30.0), record(wild, None)]
    page = make_study_page(study_of(plan, runs))
    assert "**34.20** (34.00, 34.20, 34.40)\n" in page
    # spread 0.2, two degrees of freedom: 4.303 * 0.2 * sqrt(1 + 1/3) = 0.99
    assert "standard deviation of 0.20 (2 degrees of freedom, 1 row" in page
    assert "**30.00**; −4.20 ± 0.99\n" in page
    assert "  - 1 of 1 failed\n" in page
    assert SIGNATURE in page
    assert len(missing_tasks(study_of(plan, runs))) == len(plan.choose(None, None)) - 5
    recorded, _, planned = page.partition("Rows that are planned and not yet recorded:")
    waiting = [row for row in plan.rows if row.name not in ("base", "rate-1e-3", "post-norm")]
    assert waiting
    assert all(row.expect in planned for row in waiting)
    assert all(row.expect in recorded for row in plan.rows if row not in waiting)
    assert "Runs that are planned and not yet recorded: `base_s3`, `base_s4`." in recorded
    assert study_of(plan, runs).scores(beam=1)["rate-1e-3"] == [30.0]


def test_a_small_difference_is_called_chance(plan: Plan) -> None:
    base = plan.choose(["base"], 3)
    (slow,) = plan.choose(["rate-1e-3"], None)
    runs = [record(task, bleu) for task, bleu in zip(base, (34.0, 34.2, 34.4), strict=True)]
    assert "−0.90 ± 0.99, may be chance" in make_study_page(
        study_of(plan, [*runs, record(slow, 33.3)])
    )
    alone = make_study_page(study_of(plan, [runs[0], record(slow, 33.3)]))
    assert "nothing tells how much of a difference is chance" in alone
    assert "−0.70\n" in alone


def test_the_commits_that_trained_are_named(plan: Plan) -> None:
    base, slow = plan.choose(["base", "rate-1e-3"], 1)
    later = {"commit": "2" * 40, "changed": True}
    runs = [record(base, 34.0), replace(record(slow, 30.0), code_version=later)]
    page = make_study_page(study_of(plan, runs))
    assert "of commit `1` (base); `2222222` with changes (rate-1e-3)." in page
    assert "Minutes are to be compared only between rows of one of these." in page


def test_a_record_of_another_command_is_noticed(plan: Plan) -> None:
    (task,) = plan.choose(["dropout-0.1"], None)
    run = record(task, 34.0)
    assert problems_of_study(plan, [run]) == []
    (problem,) = problems_of_study(plan, [replace(run, command=run.command + " --clip-norm 1")])
    assert "another command than the plan's" in problem
    (problem,) = problems_of_study(plan, [replace(run, name="other_s0")])
    assert "not in the plan" in problem


def test_a_search_that_was_planned_later_and_has_no_score_is_named(plan: Plan) -> None:
    more = replace(plan, more_beams=(8,))
    (task,) = plan.choose(["base"], 1)
    assert "  - not scored\n" in make_study_page(study_of(more, [record(task, 34.0)]))
    (problem,) = problems_of_study(more, [record(task, 34.0)])
    assert "base_s0 lacks the planned score of its beam-8 translations" in problem


# --- a plan that mirrors Table 3 ------------------------------------------------------------------


@pytest.fixture(scope="module")
def table3() -> Plan:
    return load_plan("table3_grammar")


def scored(plan: Plan, name: str, figures: list[tuple[float, float, float]]) -> list[RecordedRun]:
    """Records of a row, each with (exact match greedy, by beam 4, perplexity)."""
    runs = []
    for task, (greedy, beam, perplexity) in zip(
        plan.choose([name], len(figures)), figures, strict=True
    ):
        scores = (
            RecordedScore("valid", "exact-match", greedy, "whole-lines", 1),
            RecordedScore("valid", "exact-match", beam, "whole-lines", 4, 0.6, "the paper"),
            RecordedScore("valid", "cased", 99.0, SIGNATURE, 1),
            RecordedScore("valid", "perplexity", perplexity, "per token"),
        )
        runs.append(replace(record(task, 1.0), scores=scores))
    return runs


def test_a_plan_of_table_3_shows_the_papers_figures_beside_what_is_expected(table3: Plan) -> None:
    page = make_study_page(study_of(table3, []))
    assert "None of these runs has been recorded yet" in page
    assert table3.chosen in page
    assert all(row.expect in page for row in table3.rows)
    assert "  - 5.29 (+0.37); 24.9 (−0.9)\n" in page  # row A1 of the paper
    assert "  - 4.92; 25.8\n" in page  # its base
    assert page.count("  - not there\n") == sum(not row.table3 for row in table3.rows)


def test_an_outcome_keeps_sacrebleus_default_beside_the_plans_score(table3: Plan) -> None:
    study = study_of(table3, scored(table3, "base", [(50.0, 52.0, 1.4)]))
    (outcome,) = study.outcomes
    assert (outcome.scores, outcome.bleu) == ({1: 50.0, 4: 52.0}, {1: 99.0})
    assert outcome.curve == ((1, 2.0),)
    assert (study.signatures, study.bleu_signatures) == (("whole-lines",), (SIGNATURE,))


def test_where_a_seed_failed_the_others_get_no_difference(table3: Plan) -> None:
    """They are a choice of the lucky."""
    base = scored(table3, "base", [(50.0, 52.0, 1.4), (51.0, 53.0, 1.4)])
    lucky = scored(table3, "no-norm", [(20.0, 21.0, 2.0), (22.0, 23.0, 2.0)])
    failed = record(table3.choose(["no-norm"], 3)[2], None)
    page = make_study_page(study_of(table3, [*base, *lucky, failed]))
    assert "  - **21.00** (20.00, 22.00) where it ended well; 1 of 3 failed\n" in page
    assert "−29.5" not in page


def test_what_the_margin_stands_for_follows_from_the_records(table3: Plan) -> None:
    base = scored(table3, "base", [(50.0, 52.0, 1.4), (51.0, 53.0, 1.4)])
    one = scored(table3, "heads-4", [(50.0, 52.0, 1.4)])
    two = scored(table3, "heads-1", [(40.0, 42.0, 1.4), (43.0, 44.0, 1.4)])
    words = make_study_page(study_of(table3, [*base, *one])).split()
    assert "spread is assumed everywhere" in " ".join(words)
    assert "where it has one" in make_study_page(study_of(table3, [*base, *one, *two]))
    assert "by Welch's formula" in make_study_page(study_of(table3, [*base, *two]))


def test_what_an_expectation_says_in_figures_is_judged(table3: Plan) -> None:
    runs = scored(table3, "base", [(50.0, 52.0, 1.40), (52.0, 54.0, 1.50)])
    runs += scored(table3, "d-model-32", [(10.0, 12.0, 1.70), (12.0, 14.0, 1.80)])
    page = make_study_page(study_of(table3, runs))
    assert "*Came out:* held; perplexity: open." in page  # 39 lower; 0.3 and not 0.4 higher
    assert "*held* if the mean" in page
    assert "*held* if the mean" not in make_study_page(load_study("recipe"))  # no ranges there


def test_empty_translations_are_counted_where_they_are_kept(table3: Plan, tmp_path: Path) -> None:
    runs = scored(table3, "base", [(50.0, 52.0, 1.40), (52.0, 54.0, 1.50)])
    for name, lines in (("base_s0", "ein Hund\n \n\n"), ("base_s1", "ein Hund\n\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "translations.valid.beam4.txt").write_text(lines, "utf-8")
    page = make_study_page(study_of(table3, runs, tmp_path))
    assert "  - **51.00** (50.00, 52.00)\n" in page  # of the greedy search none is kept
    assert '"Empty" counts the translations' in page
    assert "  - **53.00** (52.00, 54.00); empty: 2, 1\n" in page


def test_each_search_perplexity_and_the_paper_have_a_column(table3: Plan) -> None:
    runs = scored(table3, "base", [(50.0, 52.0, 1.40), (52.0, 54.0, 1.50)])
    runs += scored(table3, "heads-1", [(20.0, 30.0, 2.00), (20.2, 30.0, 2.20)])
    [failed] = table3.choose(["no-norm"], 1)
    page = make_study_page(study_of(table3, [*runs, record(failed, None)]))
    headings = ["Score, difference", "The same, beam-4", "Perplexity"]
    headings += ["The paper: perplexity; BLEU", "CPU minutes"]
    assert "* - What is changed\n" + "".join(f"  - {one}\n" for one in headings) in page
    # Welch: 12.706 * sqrt(2 / 2 + 0.02 / 2) = 12.77; by beam 4 the row spreads not at all
    cells = ["**20.10** (20.00, 20.20); −30.90 ± 12.77", "**30.00** (30.00, 30.00); −23.00 ± 12.71"]
    cells += ["2.10", "5.29 (+0.37); 24.9 (−0.9)", "10.0"]
    assert "".join(f"  - {cell}\n" for cell in cells) in page
    assert "**51.00** (50.00, 52.00)\n" in page
    assert "  - 1 of 1 failed\n  - 1 of 1 failed\n  - none\n  - not there\n" in page
    assert "standard deviation of 1.41 (2 seeds)" in page
    assert "the row's own seeds and those of the base" in page.replace("\n", " ")
    assert "All scores on valid, greedy and beam-4: `whole-lines`" in page


# --- the pages that are committed -----------------------------------------------------------------


@pytest.mark.parametrize("name", plan_names())
def test_the_committed_table_is_computed_again_from_the_files(name: str) -> None:
    """The means of the page, with nothing of the package but the plan."""
    plan = load_plan(name)
    page = (ROOT / "book" / f"{name}_study.md").read_text("utf-8")
    assert f"annotated-transformer ablate --plan {name}" in page
    assert f"book/{name}_study" in (ROOT / "_toc.yml").read_text("utf-8")
    recorded = 0
    for row in plan.rows:
        for beam in (plan.beam, *plan.more_beams):
            values = []
            for path in sorted((ROOT / "results" / "ablations" / name).glob(f"{row.name}_s*")):
                scores = json.loads((path / "scores.json").read_text("utf-8"))
                values += [
                    score["value"]
                    for score in scores
                    if (score["split"], score["protocol"]) == (plan.split, plan.protocol)
                    and score["beam"] == beam
                ]
            if values:
                recorded += 1
                assert row.expect in page
                assert f"**{sum(values) / len(values):.2f}**" in page
    assert ("None of these runs has been recorded yet" in page) == (recorded == 0)


@pytest.mark.parametrize("name", plan_names())
def test_what_chapters_read_of_a_study_is_what_was_recorded(name: str) -> None:
    repository = Repository(ROOT)
    [(plan, runs)] = [one for one in load_studies(repository) if one[0].name == name]
    assert load_study(name) == study_of(plan, runs, repository.ablations / name)


def test_a_study_goes_through_its_file_unchanged(
    table3: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = scored(table3, "base", [(50.0, 52.0, 1.40), (52.0, 54.0, 1.50)])
    [failed] = table3.choose(["no-norm"], 1)
    written = study_of(table3, [*runs, record(failed, None)])
    monkeypatch.setattr(study, "OUTCOMES", tmp_path)
    (tmp_path / "table3_grammar.json").write_text(written.as_json())
    read = load_study("table3_grammar")
    assert read == written
    assert [outcome.finished for outcome in read.outcomes] == [True, True, False]
    assert read.effects(4)["base"].mean == 53.0
    assert read.effects()["base"].mean == 51.0
    assert read.perplexity("base") == pytest.approx(1.45)
    assert read.perplexity("no-norm") is None
    assert read.loss("base") == 2.0


def test_a_plan_without_outcomes_is_an_empty_study(
    table3: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study, "OUTCOMES", tmp_path)
    assert load_study("table3_grammar") == study_of(table3, [])
    with pytest.raises(CallError, match="there is no plan 'table4'; choose from "):
        load_study("table4")


def test_which_kept_translations_are_right_is_told_by_sentence(
    table3: Plan, tmp_path: Path
) -> None:
    corpus = generate_corpus(3, train=1, valid=4)
    said = [*corpus["valid"].target]
    said[1], said[2] = said[1].lower(), ""
    [run] = scored(table3, "base", [(50.0, 52.0, 1.40)])
    run = replace(run, data={"name": "grammar", "origin": {"seed": 3, "valid": 4}})
    (tmp_path / "base_s0").mkdir()
    (tmp_path / "base_s0" / "translations.valid.txt").write_text("\n".join([*said, ""]))
    [outcome] = study_of(table3, [run], tmp_path).outcomes
    assert outcome.right == "1001"
    begun = sum(
        ours.split()[:1] == theirs.split()[:1]
        for ours, theirs in zip(said, corpus["valid"].target, strict=True)
    )
    assert (outcome.different, outcome.begun_right) == (len({*said}), begun) == (4, 2)
    assert outcome.empty == {1: 1}
    (tmp_path / "base_s0" / "translations.valid.beam4.txt").write_text("ein Hund\n \n\n\n")
    [outcome] = study_of(table3, [run], tmp_path).outcomes
    assert outcome.empty == {1: 1, 4: 3}
    [outcome] = study_of(table3, [run]).outcomes
    assert outcome.right == ""
    assert outcome.empty == {}

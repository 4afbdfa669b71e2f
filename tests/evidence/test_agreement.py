"""Table 3 beside a study: which rows point the same way, and which cannot be told."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from annotated_transformer.evidence.ablation.agreement import Comparison, compare_with_table_3
from annotated_transformer.evidence.ablation.plan import load_plan
from annotated_transformer.evidence.ablation.study import Outcome, Study
from annotated_transformer.evidence.ledger import findings_study


def outcomes(row: str, scores: Sequence[float], perplexity: float) -> list[Outcome]:
    return [
        Outcome(
            *(row, seed, True, {1: score}, None, perplexity, 1.0, "c0ffee", False, "a processor"),
            bleu={1: 50 + score / 2},
        )
        for seed, score in enumerate(scores)
    ]


@pytest.fixture
def rows() -> dict[str, Comparison]:
    plan = load_plan("table3_grammar")
    runs = [
        *outcomes("base", (60.0, 61.0, 62.0), 1.30),
        *outcomes("heads-1", (50.0, 51.0, 52.0), 1.40),  # A1, -0.9 BLEU in the paper
        *outcomes("heads-4", (60.0, 61.0, 62.0), 1.31),  # A2, -0.3: not read
        *outcomes("heads-16", (60.5, 61.5, 62.0), 1.31),  # A3, no difference there
        *outcomes("d-k-2", (59.0, 61.0, 62.0), 1.30),  # B1, -0.7
        *outcomes("dropout-0", (80.0, 81.0, 82.0), 1.20),  # D1, -1.2
        *outcomes("learned-positions", (40.0, 41.0, 42.0), 1.60),  # E, no difference
        *outcomes("no-positions", (1.0, 2.0, 3.0), 3.0),  # in no row of the paper
    ]
    return {one.effect.row.name: one for one in compare_with_table_3(Study(plan, tuple(runs)))}


def test_only_rows_of_the_table_that_were_run(rows: dict[str, Comparison]) -> None:
    assert list(rows) == [
        "heads-1",
        "heads-4",
        "heads-16",
        "d-k-2",
        "dropout-0",
        "learned-positions",
    ]


def test_differences_to_either_base(rows: dict[str, Comparison]) -> None:
    one = rows["heads-1"]
    assert (one.printed.preset, one.bleu, one.perplexity) == ("A1", -0.9, 0.37)
    assert one.effect.difference == pytest.approx(-10)
    assert one.perplexity_effect is not None
    assert one.bleu_effect is not None
    assert one.perplexity_effect.difference == pytest.approx(0.1)
    assert one.bleu_effect.difference == pytest.approx(-5)
    assert one.bleu_effect.margin == pytest.approx(2.776 * (2 * 0.25 / 3) ** 0.5, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "papers", "ours", "verdict"),
    [
        ("heads-1", "worse", "worse", "same"),
        ("heads-4", "no difference", "no difference", "neither"),
        ("heads-16", "no difference", "no difference", "neither"),
        ("d-k-2", "worse", "no difference", "only there"),
        ("dropout-0", "worse", "better", "opposite"),
        ("learned-positions", "no difference", "worse", "only here"),
    ],
)
def test_verdicts(
    rows: dict[str, Comparison], name: str, papers: str, ours: str, verdict: str
) -> None:
    one = rows[name]
    assert (one.papers_direction(), one.our_direction, one.verdict()) == (papers, ours, verdict)


def test_a_single_run_decides_nothing() -> None:
    runs = (*outcomes("base", (60.0,), 1.3), *outcomes("learned-positions", (5.0,), 1.6))
    (one,) = compare_with_table_3(Study(load_plan("table3_grammar"), runs))
    assert (one.effect.margin, one.our_direction, one.verdict()) == (
        None,
        "no difference",
        "neither",
    )


def test_a_row_of_which_a_training_failed_is_left_out() -> None:
    runs = [*outcomes("base", (60.0, 61.0), 1.3), *outcomes("heads-1", (50.0, 51.0), 1.4)]
    failed = Outcome("heads-1", 2, False, {}, None, None, 1.0, "c0ffee", False, "a processor")
    assert compare_with_table_3(Study(load_plan("table3_grammar"), (*runs, failed))) == []


def test_the_ledgers_sentence_says_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = load_plan("table3_grammar")
    runs = [
        *outcomes("base", (60.0, 61.0, 62.0), 1.30),
        *outcomes("heads-1", (50.0, 51.0, 52.0), 1.40),
        *outcomes("dropout-0", (80.0, 81.0, 82.0), 1.20),
        *(replace(one, perplexity=None) for one in outcomes("layers-1", (20.0, 21.0), 2.0)),
    ]
    monkeypatch.setattr(findings_study, "load_study", lambda name: Study(plan, tuple(runs)))
    same, other = findings_study.in_small("A1")(), findings_study.in_small("D1")()
    assert same.agrees
    assert not other.agrees
    assert same.text == (
        "in small, on the grammar corpus: -10.0 ± 2.3 points of exact match and perplexity +0.10 "
        "to the base (3 seeds); the paper has 24.9 BLEU against 25.8 and perplexity 5.29 against "
        "4.92: the same direction"
    )
    assert other.text.endswith("the opposite direction")
    assert findings_study.in_small("C1")().text.count("perplexity") == 1  # the paper's
    assert "61.0 %" in findings_study.in_small("base")().text
    with pytest.raises(LookupError, match="no whole row A2"):
        findings_study.in_small("A2")()


def test_without_a_base_nothing_is_compared() -> None:
    runs = outcomes("heads-1", (50.0, 51.0), 1.4)
    assert compare_with_table_3(Study(load_plan("table3_grammar"), tuple(runs))) == []


def test_rows_that_get_nothing_right_keep_their_scores() -> None:
    """0 is a score: left out, a row's mean would be that of the lucky."""
    runs = (*outcomes("base", (60.0, 61.0), 1.3), *outcomes("no-positions", (0.0, 0.0, 3.0), 9.0))
    study = Study(load_plan("table3_grammar"), runs)
    assert study.scores(1)["no-positions"] == [0.0, 0.0, 3.0]
    assert study.effects()["no-positions"].mean == 1.0


def test_bleu_is_compared_by_the_plans_search() -> None:
    plan = replace(load_plan("table3_grammar"), beam=4, more_beams=())
    runs = [
        replace(one, scores={4: 50.0}, bleu={1: 10.0, 4: 70.0 if one.row == "base" else 60.0})
        for one in (*outcomes("base", (1.0, 2.0), 1.3), *outcomes("heads-1", (1.0, 2.0), 1.3))
    ]
    [one] = compare_with_table_3(Study(plan, tuple(runs)))
    assert one.bleu_effect is not None
    assert one.bleu_effect.difference == -10


def test_a_row_at_the_border_is_read_where_the_border_is_lower(rows: dict[str, Comparison]) -> None:
    one = replace(rows["heads-4"], effect=replace(rows["heads-4"].effect, difference=-9.0))
    assert one.bleu == -0.3
    assert (one.verdict(), one.verdict(0.2)) == ("only here", "same")
    assert (one.papers_direction(), one.papers_direction(0.2)) == ("no difference", "worse")

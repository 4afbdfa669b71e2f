"""One recorded output under every protocol, for chapter 9: how it is scored, and the record."""

import json
from pathlib import Path

import pytest

from annotated_transformer.data import Split
from annotated_transformer.evaluation.forensics import PROTOCOLS_IN_USE
from annotated_transformer.evaluation.scoring import cased_bleu
from annotated_transformer.experiments import forensics_measured as measured

RESULTS = Path(__file__).resolve().parents[2] / "results"
REFERENCES = ["Ein Hund läuft durch den Wald.", "Zwei T-Shirts hängen an der Leine."] * 5
OURS = ["Ein Hund läuft durch den Park.", "Zwei T-Shirts hängen an der Leine."] * 5

SEARCH = {"beam": 3, "alpha": 0.8, "alpha_chosen_on": "valid"}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for run in (measured.RUN, *measured.OTHERS):
        (tmp_path / run).mkdir()
        lines = OURS if run == measured.RUN else [line.replace("an der", "in") for line in OURS]
        text = "".join(line + "\n" for line in lines)
        (tmp_path / run / f"translations.{measured.SPLIT}.txt").write_text(text, "utf-8")
        score = {"split": measured.SPLIT, "protocol": "cased", **SEARCH}
        (tmp_path / run / "scores.json").write_text(json.dumps([score]), "utf-8")
    return tmp_path


def test_scores_intervals_and_leads(results: Path) -> None:
    found = measured.measure(results, REFERENCES)
    assert found["sentences"] == 10
    assert found["hyphens"] == 5
    assert found["hyphen_signs"] == {"ours": 5, "references": 5, "matched": 5}
    cased = round(cased_bleu(OURS, REFERENCES).value, 2)
    assert {score["name"]: score["value"] for score in found["scores"]}["13a"] == cased
    low, high = found["interval"]
    assert low <= cased <= high
    assert set(found["searches"]) == {measured.RUN, *measured.OTHERS}
    assert all(search == SEARCH for search in found["searches"].values())
    for lead in found["against"].values():
        assert lead["difference"] > 0
        assert lead["low"] <= lead["difference"] <= lead["high"]


def test_the_record_is_of_the_recorded_outputs() -> None:
    record = measured.load_record()
    assert (record["command"], record["run"], record["split"]) == (
        measured.COMMAND,
        measured.RUN,
        measured.SPLIT,
    )
    names = [score["name"] for score in record["scores"]]
    assert names == [*(protocol.name for protocol in PROTOCOLS_IN_USE), "lower-tokenised"]
    found = {score["name"]: score for score in record["scores"]}

    def recorded(run: str, protocol: str) -> float:
        scores = json.loads((RESULTS / run / "scores.json").read_text("utf-8"))
        return next(
            float(score["value"])
            for score in scores
            if (score["split"], score["protocol"]) == (measured.SPLIT, protocol)
        )

    assert found["13a"]["value"] == recorded(measured.RUN, "cased")
    assert found["lower-tokenised"]["value"] == recorded(measured.RUN, "lower-tokenised")
    for run, lead in record["against"].items():
        behind = recorded(measured.RUN, "cased") - recorded(run, "cased")
        assert lead["difference"] == pytest.approx(behind, abs=0.011)
    assert set(record["against"]) == set(measured.OTHERS)
    for run, search in record["searches"].items():
        assert search == measured.search_of(RESULTS, run)


def test_a_record_is_written_as_it_is_read(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = {measured.SPLIT: Split(REFERENCES, REFERENCES)}
    monkeypatch.setattr(measured, "load_corpus", lambda name, data_dir: corpus)
    monkeypatch.setattr(measured, "RECORD", tmp_path / "record.json")
    measured.make_record(results, path=tmp_path / "record.json")
    assert measured.load_record()["sentences"] == 10

"""Scores of parsers as they are recorded, and silver trees that go on where they were cut off."""

from pathlib import Path

import pytest

from annotated_transformer.data.gum import read_splits
from annotated_transformer.data.trees import in_brackets, parse
from annotated_transformer.errors import CallError
from annotated_transformer.experiments import parsing_measured as measured
from annotated_transformer.experiments.parsing import silver
from annotated_transformer.shipped import PARSER

GUM = """\
(ROOT (S (NP (PRP he)) (VP (VBD ate) (NP (NN soup))) (. .)))
(ROOT (S (NP (PRP she)) (VP (VBD slept)) (. .)))
(ROOT (NP (NN soup)))
"""
TEXT = "She ate soup.\nHe slept and slept and slept.\nHe ate soup.\nToo short.\n"


def test_brackets_are_added_up_by_sentence_and_by_label() -> None:
    gold = [parse(line) for line in GUM.splitlines()]
    found = [gold[0], parse("(ROOT (S (NP (PRP she)) (NP (VBD slept)) (. .)))"), None]
    figures = measured.in_figures(zip(gold, found, strict=True), sentences=True)
    assert (figures["matched"], figures["found"]) == ([4, 2, 0], [4, 3, 0])
    assert figures["f1"] == round(200 * 6 / (8 + 7), 2)
    assert figures["labels"]["NP"] == [3, 4, 4]
    assert figures["labels"]["VP"] == [1, 2, 1]
    assert figures["complete"] == 33.3


def test_neighbours_under_one_root() -> None:
    first, second, last = (parse(line) for line in GUM.splitlines())
    two, alone = silver.joined([first, second, last])
    assert list(two.words()) == ["he", "ate", "soup", ".", "she", "slept", "."]
    assert (two.children, alone) == ((*first.children, *second.children), last)


def test_silver_goes_on_where_it_was_cut_off(tmp_path: Path) -> None:
    folder, text = tmp_path / "gum", tmp_path / "text.txt"
    folder.mkdir()
    text.write_text(TEXT)
    for name in ("train", "dev", "test"):
        (folder / f"{name}.ptb").write_text(GUM)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    silver.make_silver(whole, [text], folder, jobs=1)
    trees = [in_brackets(tree) for tree in read_splits(whole)["train"][0]]
    assert trees[-2] == "(ROOT (S (NP (PRP She)) (VP (VBD ate) (NP (NN soup))) (. .)))"
    assert len(trees) == 3 + 3 + 2 + 1 + 2  # twice alone, twice joined, and two of silver
    silver.make_silver(broken, [text], folder, jobs=1)
    (broken / "train.ptb").unlink()
    lines = (whole / "silver.txt").read_text()
    (broken / "silver.txt").write_text(lines[: lines.index("\n") + 9])  # within the second
    silver.make_silver(broken, [text], folder, jobs=1)
    for name in ("silver.txt", "train.ptb", "dev.ptb"):
        assert (broken / name).read_bytes() == (whole / name).read_bytes()
    with pytest.raises(CallError, match="trees of other texts"):
        silver.make_silver(broken, [text, text], folder, jobs=1)
    (folder / "train.ptb").write_text(GUM + GUM)  # the same texts, another grammar
    with pytest.raises(CallError, match="trees of other texts"):
        silver.make_silver(broken, [text], folder, jobs=1)
    with pytest.raises(CallError, match="is not there; expected a text file"):
        silver.make_silver(broken, [tmp_path / "none"], folder, jobs=1)


@pytest.mark.parametrize(
    "arguments", [[], ["run"], ["run", "silver"], ["widths"], ["silver", "out"], ["ship"]]
)
def test_what_is_missing_is_said_and_the_record_stays(arguments: list[str]) -> None:
    record = Path(measured.__file__).with_name("record.json")
    before = record.read_bytes()
    with pytest.raises(SystemExit) as ended:
        measured.main(arguments)
    assert ended.value.code == 2
    assert record.read_bytes() == before


def test_trainings_stand_in_the_order_of_their_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = {Path("a"): 2, Path("b"): 0}
    monkeypatch.setattr(measured, "measure_run", lambda run, _: {"seed": seeds[run]})
    assert [run["seed"] for run in measured.measure_runs([*seeds], None)] == [0, 2]
    with pytest.raises(CallError, match="have one seed"):
        measured.measure_runs([Path("a"), Path("a")], None)


def test_a_shipped_parser_says_nothing_of_a_machine(tmp_path: Path) -> None:
    measured.ship(PARSER, tmp_path / "parser")
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        assert (tmp_path / "parser" / name).read_bytes() == (PARSER / name).read_bytes()

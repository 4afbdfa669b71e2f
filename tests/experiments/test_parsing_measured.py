"""Scores of parsers as they are recorded, and silver trees that go on where they were cut off."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
import torch

from annotated_transformer.data.gum import as_rows, read_splits
from annotated_transformer.data.trees import in_brackets, parse
from annotated_transformer.errors import CallError, WorkError
from annotated_transformer.experiments import parsing_measured as measured
from annotated_transformer.experiments.parsing import silver
from annotated_transformer.experiments.parsing.parser import Parser
from annotated_transformer.shipped import FOLDER, PARSER
from annotated_transformer.training.run_directory import RunDirectory

GUM = """\
(ROOT (S (NP (PRP he)) (VP (VBD ate) (NP (NN soup))) (. .)))
(ROOT (S (NP (PRP she)) (VP (VBD slept)) (. .)))
(ROOT (NP (NN soup)))
"""
TEXT = "She ate soup.\nHe slept and slept and slept.\nHe ate soup.\nToo short.\n"


def write_trees(folder: Path, train: str = GUM, dev: str = GUM, test: str = GUM) -> Path:
    """A folder like that of GUM."""
    folder.mkdir()
    for name, trees in (("train", train), ("dev", dev), ("test", test)):
        (folder / f"{name}.ptb").write_text(trees)
    return folder


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
    folder, text = write_trees(tmp_path / "gum"), tmp_path / "text.txt"
    text.write_text(TEXT)
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
    with pytest.raises(CallError, match="is not empty and nothing is overwritten"):
        silver.make_silver(folder, [text], folder, jobs=1)
    assert (folder / "train.ptb").read_text() == GUM + GUM
    with pytest.raises(CallError, match="is not there; expected a text file"):
        silver.make_silver(broken, [tmp_path / "none"], folder, jobs=1)


def test_sentences_of_4_to_35_words_become_silver(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("".join("w " * n + "\n" for n in range(50)))
    assert [len(words) for words in silver.sentences_of([text])] == list(range(4, 36))


def test_of_a_long_text_lines_from_all_over_it_are_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(silver, "LINES", 20)
    short, long = (tmp_path / name for name in ("short.txt", "long.txt"))
    for text, n in ((short, 20), (long, 100)):
        text.write_text("".join(f"this is line {line}\n" for line in range(n)))

    def numbers(*texts: Path) -> list[int]:
        return [int(words[-1]) for words in silver.sentences_of(texts)]

    drawn = Random(0).sample(range(100), 20)
    assert numbers(short, long, long) == [*range(20), *drawn, *drawn]


def test_the_curve_is_of_one_tree_in_two_and_in_four(tmp_path: Path) -> None:
    sentence, noun, junk = (
        "(ROOT (S (NP (PRP he)) (VP (VBD slept))))\n",
        "(ROOT (NP (NN soup)))\n",
        "(ROOT (X (NP (A a)) (Y (B b))))\n",
    )
    train = noun + junk + sentence + junk + noun
    folder = write_trees(tmp_path / "gum", train, dev=sentence + noun)
    # From two nouns one of four brackets of dev is found, the sentence's three have no tree.
    assert measured.measure_curve(folder) == {"3": 100.0, "2": round(200 * 1 / (4 + 1), 2)}


def test_without_labels_only_what_a_phrase_spans_has_to_be_right() -> None:
    gold = [parse(line) for line in GUM.splitlines()]
    chain = parse("(ROOT (S (NP (PRP he)) (X (VBD ate) (S (NN soup))) (. .)))")
    assert measured.f1_unlabelled(gold[:1], [chain]) == 100.0
    assert measured.in_figures([(gold[0], chain)])["f1"] == 50.0
    moved = parse("(ROOT (S (NP (PRP he) (VBD ate)) (NP (NN soup)) (. .)))")
    assert measured.f1_unlabelled([gold[0], gold[2]], [moved, None]) == round(200 * 2 / 8, 2)


def test_the_grammar_counts_what_it_has_drawn_beside_its_treebank(tmp_path: Path) -> None:
    folder = write_trees(tmp_path / "gum", train="(ROOT (NP (NN soup)))\n", test=GUM)
    drawn = tmp_path / "silver"
    drawn.mkdir()
    (drawn / "silver.txt").write_text("(ROOT (S (NP (PRP she)) (VP (VBD slept)) (. .)))\n\n")
    found = measured.measure_own_silver(drawn, folder)
    # Two of three trees, of which the first has words that nobody has seen.
    assert found == {"trees": 1, "f1": round(200 * 4 / (8 + 4), 2)}


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, float]]:
    """Beam and penalty of all searches.

    What they find are GUM's rows, if for trees and without a penalty, or free and with one; else
    nothing.
    """
    asked: list[tuple[int, float]] = []
    right = as_rows([parse(line) for line in GUM.splitlines()], set()).target

    def rows(_: Parser, sentences: object, *, beam_size: int, alpha: float = 0.0) -> list[str]:
        asked.append((beam_size, alpha))
        return [""] * len(right) if alpha else right

    def free(_: Parser, sentences: object, *, beam_size: int, alpha: float = 0.3) -> list[str]:
        asked.append((beam_size, alpha))
        return right if alpha else [""] * len(right)

    monkeypatch.setattr(Parser, "rows", rows)
    monkeypatch.setattr(Parser, "free_rows", free)
    return asked


def test_a_run_is_recorded_as_it_ended(tmp_path: Path, searched: list[tuple[int, float]]) -> None:
    run = RunDirectory(shutil.copytree(PARSER, tmp_path / "run"))
    for step, loss in ((10, 0.5), (20, 0.25), (30, 0.75)):
        line = {"step": step, "epoch": 1, "loss": loss, "cpu_seconds": 60.0 * step}
        run.append_metrics({"event": "train", **line, "loss": 1.0})
        run.append_metrics({"event": "valid", **line, "perplexity": 1.0})
    found = measured.measure_run(run.path, write_trees(tmp_path / "gum"))
    assert found["steps"] == 30
    assert found["validation_loss"] == 0.75
    assert {beam for beam, _ in searched} == {4}
    for scores in (found["dev"]["trees_only"], found["test"]["trees_only"], found["test"]["free"]):
        assert (scores["f1"], scores["well_formed"]) == (100, 3)
    assert found["test"]["free"]["empty_without_penalty"] == 3


def test_each_width_is_searched_with_its_own_penalty(
    tmp_path: Path, searched: list[tuple[int, float]]
) -> None:
    found = measured.measure_widths(PARSER, write_trees(tmp_path / "gum"))
    assert [(of["beam"], of["alpha"]) for of in found] == searched == list(measured.WIDTHS)
    assert [of["f1"] for of in found] == [0.0 if of["alpha"] else 100.0 for of in found]


def test_what_the_record_says_twice_agrees() -> None:
    record = measured.load_record()
    (beam_of_runs,) = [of["f1"] for of in record["widths"] if of["beam"] == measured.BEAM]
    (shipped,) = [run for run in record["runs"]["silver"] if run["seed"] == 0]
    assert beam_of_runs == shipped["dev"]["trees_only"]["f1"]
    trees = range(record["rivals"]["sizes"]["train"][0])
    assert list(record["curve"]) == [str(len(trees[::every])) for every in (2, 4)]


@pytest.mark.parametrize(
    "arguments",
    [[], ["run"], ["run", "silver"], ["widths"], ["own_silver"], ["silver", "out"], ["ship"]],
)
def test_what_is_missing_is_said_and_the_record_stays(arguments: list[str]) -> None:
    record = Path(measured.__file__).with_name("record.json")
    before = record.read_bytes()
    with pytest.raises(SystemExit) as ended:
        measured.main(arguments)
    assert ended.value.code == 2
    assert record.read_bytes() == before


@pytest.fixture
def trained(tmp_path: Path) -> Callable[..., Path]:
    """Makes a folder of the shipped parser's run as it might have been trained."""

    def make(name: str, **training: object) -> Path:
        run = shutil.copytree(PARSER, tmp_path / name)
        config = json.loads((run / "config.json").read_text("utf-8"))
        config["training"] |= training
        config["data"]["data_dir"] = "/home/somebody/gum"
        (run / "config.json").write_text(json.dumps(config), "utf-8")
        return run

    return make


def test_trainings_stand_in_the_order_of_their_seeds_in_which_alone_they_differ(
    trained: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[str] = []

    def measure(run: Path, _: Path | None) -> dict[str, int]:
        searched.append(run.name)
        return {"seed": RunDirectory(run).read_config().training.seed}

    monkeypatch.setattr(measured, "measure_run", measure)
    two, zero, longer = trained("two", seed=2), trained("zero"), trained("longer", seed=1, epochs=9)
    assert [run["seed"] for run in measured.measure_runs([two, zero], None)] == [0, 2]
    searched.clear()
    with pytest.raises(CallError, match="have one seed"):
        measured.measure_runs([zero, zero], None)
    with pytest.raises(CallError, match=r"longer differs from .*zero in more than its seed"):
        measured.measure_runs([longer, zero], None)
    assert not searched  # it is said before the work begins


def test_a_run_that_does_not_say_how_it_was_trained_is_not_searched(
    tmp_path: Path, searched: list[tuple[int, float]]
) -> None:
    with pytest.raises(CallError, match="does not say how it was trained"):
        measured.measure_run(PARSER, write_trees(tmp_path / "gum"))
    assert not searched


def test_each_command_leaves_what_the_others_have_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = tmp_path / "__init__.py"
    monkeypatch.setattr(measured, "__file__", str(beside))
    monkeypatch.setattr(measured, "measure_curve", lambda _: {"3": 1.0})
    monkeypatch.setattr(measured, "measure_runs", lambda runs, _: [{"seed": len(runs)}])
    measured.main(["run", "gum", "a"])
    measured.main(["curve"])
    measured.main(["run", "half", "a", "b"])
    measured.main(["run", "gum", "a", "b", "c"])
    record = measured.load_record()
    assert record["curve"] == {"3": 1.0}
    assert record["runs"] == {"gum": [{"seed": 3}], "half": [{"seed": 2}]}


def test_a_shipped_parser_says_nothing_of_a_machine_and_has_weights_of_16_bits(
    trained: Callable[..., Path], tmp_path: Path
) -> None:
    run, shipped = RunDirectory(trained("run")), RunDirectory(tmp_path / "parser")
    wide = {name: tensor.float() for name, tensor in run.load_model().items()}
    run.save_model(wide, run.made_from())
    measured.ship(run.path, shipped.path)
    for name in ("config.json", "tokenizer.json"):
        assert (shipped.path / name).read_bytes() == (PARSER / name).read_bytes()
    assert shipped.made_from() == RunDirectory(PARSER).made_from()
    weights = shipped.load_model()
    assert {tensor.dtype for tensor in weights.values()} == {torch.float16}
    torch.testing.assert_close(weights, RunDirectory(PARSER).load_model(), rtol=0, atol=0)


def test_what_cannot_be_shipped_leaves_the_parser_that_was_there(
    trained: Callable[..., Path], tmp_path: Path
) -> None:
    there = shutil.copytree(PARSER, tmp_path / "there")
    not_ended = trained("run", seed=7)
    (not_ended / "model.safetensors").unlink()
    for run in (not_ended, FOLDER):
        with pytest.raises((CallError, WorkError)):
            measured.ship(run, there)
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        assert (there / name).read_bytes() == (PARSER / name).read_bytes()

"""What is measured of a corpus, against counts by hand; the record of Multi30k against itself."""

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotated_transformer.data import Split, Vocabulary, generate_corpus, padding_waste
from annotated_transformer.experiments import corpora_measured as measured
from annotated_transformer.experiments.corpora_measured import __main__ as command

RESULTS = Path(__file__).resolve().parents[2] / "results"
LENGTHS = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=60)
SMALL = Split(["a cat", "a dog", "a cat"], ["eine Katze", "ein Hund", "die Katze"])


def test_words_and_repeats_are_counted_by_side() -> None:
    found = measured.measure_text(SMALL)
    assert found == {
        "pairs": 3,
        "words": [6, 6],
        "distinct_words": [3, 5],
        "characters": [15, 27],
        "repeated_sources": 1,
    }


def test_a_vocabulary_is_measured_as_the_model_sees_it() -> None:
    vocabulary = Vocabulary.train([*SMALL.source, *SMALL.target], 1_000)  # every word is a piece
    found = measured.measure_vocabulary(SMALL, vocabulary)
    assert found["pieces_a_word"] == [1.0, 1.0]
    assert found["positions"] == [3.0, 3.0]  # two words and the end sign
    assert found["used"] == [3, 0, 5]
    characters = set("".join([*SMALL.source, *SMALL.target]).replace(" ", "")) | {"\u2581"}
    assert found["pieces"] == found["merges"] + len(characters) + 4
    assert found["rare"] == found["pieces"] - 4  # the most frequent piece, "a", comes 3 times


@given(LENGTHS, st.integers(1, 20))
def test_sentence_batches_hold_each_index_once(lengths: measured.Lengths, size: int) -> None:
    order = measured.by_length(lengths)
    batches = measured.sentence_batches(order, size)
    assert [index for batch in batches for index in batch] == order
    assert sorted(order) == list(range(len(lengths)))
    assert all(len(batch) == size for batch in batches[:-1])
    assert 1 <= len(batches[-1]) <= size
    in_order = [lengths[index] for index in order]
    assert in_order == sorted(in_order)


@given(LENGTHS, st.integers(1, 20))
def test_batches_are_measured_as_loops_would(lengths: measured.Lengths, size: int) -> None:
    batches = measured.sentence_batches(range(len(lengths)), size)
    found = measured.measure_batches(lengths, batches)
    filled, padded, tensors = [0, 0], [0, 0], []
    for batch in batches:
        longest = [max(lengths[index][side] for index in batch) for side in (0, 1)]
        tensors.append((len(batch) * max(longest), sum(lengths[index][1] for index in batch)))
        for side in (0, 1):
            filled[side] += sum(lengths[index][side] for index in batch)
            padded[side] += len(batch) * longest[side]
    assert found["waste"] == pytest.approx([1 - filled[s] / padded[s] for s in (0, 1)])
    if len(tensors) > 1:
        tensors.remove(min(tensors))  # what was left over
    assert found["positions"] == [min(tensors)[0], max(tensors)[0]]
    mean = sum(tokens for _, tokens in tensors) / len(tensors)
    variance = sum((tokens - mean) ** 2 for _, tokens in tensors) / len(tensors)
    assert found["spread"] == pytest.approx(variance**0.5 / mean)
    assert found["batches"] == len(batches)
    assert found["sentences"] == [min(map(len, batches)), max(map(len, batches))]


@given(LENGTHS, st.integers(1, 20))
def test_sorting_never_wastes_more_of_the_source(lengths: measured.Lengths, size: int) -> None:
    sorted_batches = measured.sentence_batches(measured.by_length(lengths), size)
    as_they_come = measured.sentence_batches(range(len(lengths)), size)
    if len(lengths) % size == 0:  # else the smaller last batch may be the one of long sentences
        best = padding_waste(lengths, sorted_batches).source
        assert best <= padding_waste(lengths, as_they_come).source + 1e-12


def test_the_ways_have_the_names_and_the_budgets_that_the_chapter_reads() -> None:
    lengths = [(5 + i % 20, 5 + i % 23) for i in range(2_000)]
    ways = measured.ways_to_batch(lengths)
    assert list(ways) == list(measured.load_record()["batches"])
    for budget in measured.BUDGETS:
        assert ways[f"{budget:,} tokens"]["positions"][1] <= budget


def test_a_corpus_is_measured_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "VOCABULARY_SIZES", (200, 300))
    monkeypatch.setattr(measured, "BATCH_VOCABULARY", 300)
    corpus = generate_corpus(train=300, valid=20, test=20)
    found = measured.measure_corpus(corpus)
    record = measured.load_record()
    assert found.keys() == record.keys() - {"command", "software"}
    assert [row["pieces"] for row in found["vocabularies"]] == [200, 300]
    assert found["sources_known_from_training"] == {"valid": 0, "test": 0}
    copied = Split(corpus["train"].source[:20], corpus["train"].target[:20])
    corpus.splits["test"] = copied
    leaking = measured.measure_corpus(corpus)["sources_known_from_training"]
    assert leaking == {"valid": 0, "test": 20}
    json.dumps(found)


def test_the_record_agrees_with_itself() -> None:
    record = measured.load_record()
    pairs = record["splits"]["train"]["pairs"]
    for side, name in enumerate(("source", "target")):
        histogram = record["lengths"][name]
        assert sum(sentences for _, sentences in histogram) == pairs
        mean = sum(length * sentences for length, sentences in histogram) / pairs
        row = next(
            row for row in record["vocabularies"] if row["asked"] == record["batch_vocabulary"]
        )
        assert mean == pytest.approx(row["positions"][side])
    rows = record["vocabularies"]
    assert [row["asked"] for row in rows] == list(measured.VOCABULARY_SIZES)
    assert len({row["pieces"] - row["merges"] for row in rows}) == 1  # characters and specials
    for row, larger in itertools.pairwise(rows):
        assert sum(row["used"]) <= row["pieces"]
        assert all(a > b for a, b in zip(row["pieces_a_word"], larger["pieces_a_word"]))  # noqa: B905
    for budget in measured.BUDGETS:
        assert record["batches"][f"{budget:,} tokens"]["positions"][1] <= budget


def test_the_record_is_of_the_files_that_the_recorded_run_trained_on() -> None:
    run = json.loads((RESULTS / "multi30k_tiny_postnorm" / "run.json").read_text("utf-8"))
    checksums = {
        name: file["sha256"] for name, file in measured.load_record()["origin"]["files"].items()
    }
    text = json.dumps(run)
    assert checksums
    for name, checksum in checksums.items():
        assert checksum in text, name


def test_the_command_writes_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "measure_corpus", lambda corpus: {"corpus": corpus})
    monkeypatch.setattr(command, "load_corpus", lambda name, data_dir: f"{name} of {data_dir}")
    target = tmp_path / "record.json"
    monkeypatch.setattr("sys.argv", ["-m", "--data-dir", "folder", "--output", str(target)])
    command.main()
    written = json.loads(target.read_text("utf-8"))
    assert written["corpus"] == "multi30k of folder"
    assert written["command"] == measured.load_record()["command"]
    assert str(target) in capsys.readouterr().out

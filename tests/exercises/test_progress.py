"""What a learner keeps: review days, the file and its versions, copies, the table, cards."""

import contextlib
import copy
import io
import json
import re
import sqlite3
import sys
import types
import zipfile
from datetime import date, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotated_transformer.cli import main
from annotated_transformer.errors import CallError, WorkError
from annotated_transformer.exercises import check, load_progress, save_progress
from annotated_transformer.exercises.catalogue import catalogue, chapter_of
from annotated_transformer.exercises.learner import anki
from annotated_transformer.exercises.learner.progress import (
    chapters,
    due_rows,
    progress_card,
    progress_rows,
    progress_tree,
)
from annotated_transformer.exercises.learner.records import (
    Record,
    as_bytes,
    change_record,
    change_records,
    merge_records,
    parse,
    read_records,
)
from annotated_transformer.exercises.learner.schedule import REVIEW_DAYS

START = date(2026, 1, 1)
VERSION_1 = {
    "version": 1,
    "exercises": {
        "masks.causal": {
            "attempts": 3,
            "solved": "2026-01-01",
            "last": "2026-01-12",
            "hints": 1,
            "solution_seen": True,
            "level": 4,
            "due": "2026-02-02",
        },
        "masks.padding": {"attempts": 9, "solved": "2025-01-01", "level": 6, "due": "2026-05-01"},
        "masks.target": {"attempts": 2, "solved": None, "last": "2026-01-02", "due": None},
        "an.exercise_of_old": {"attempts": 7, "solved": "2026-01-01", "level": 1, "due": None},
    },
}


@pytest.fixture(autouse=True)
def progress_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "learner" / "progress.json"
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_PROGRESS", str(path))
    monkeypatch.chdir(tmp_path)
    return path


def solve(exercise_id: str, day: date) -> None:
    change_record(exercise_id, lambda record: record.update(True, day))


# review days


def test_whoever_comes_every_day_reviews_on_days_0_3_7_14_and_21_and_is_done() -> None:
    record, climbed = Record(), []
    for number in range(60):
        before = record.level
        record.update(True, START + timedelta(number))
        if record.level > before:
            climbed.append(number)
    assert climbed == [0, 3, 7, 14, 21] == list(REVIEW_DAYS)
    assert record.done
    assert record.due is None
    assert record.attempts == 60


def test_a_late_review_counts_from_its_own_day() -> None:
    record = Record()
    record.update(True, START)
    record.update(True, START + timedelta(30))
    assert (record.level, record.due) == (2, (START + timedelta(34)).isoformat())


def test_a_failed_review_starts_the_ladder_again_on_that_day() -> None:
    record = Record()
    record.update(True, START)
    record.update(True, START + timedelta(3))
    record.update(False, START + timedelta(8))
    assert (record.level, record.due) == (0, (START + timedelta(8)).isoformat())
    assert record.solved == START.isoformat()
    record.update(True, START + timedelta(8))
    assert (record.level, record.due) == (1, (START + timedelta(11)).isoformat())


@pytest.mark.parametrize("passed", [True, False])
def test_an_attempt_before_the_day_is_practice_and_moves_nothing(passed: bool) -> None:
    record = Record()
    record.update(True, START)
    for day in (0, 1, 2):
        record.update(passed, START + timedelta(day))
    assert (record.level, record.due) == (1, (START + timedelta(3)).isoformat())
    assert record.attempts == 4


attempts = st.lists(st.tuples(st.integers(0, 120), st.booleans()), max_size=25)


@settings(deadline=None)
@given(attempts)
def test_the_schedule_holds_for_attempts_in_any_order(made: list[tuple[int, bool]]) -> None:
    """Also for days that run backwards, as when a clock was wrong."""
    record = Record()
    for count, (number, passed) in enumerate(made, 1):
        day, before = START + timedelta(number), copy.copy(record)
        record.update(passed, day)
        moved = (record.level, record.due) != (before.level, before.due)
        was_review = before.solved is None or (
            before.due is not None and before.due <= day.isoformat()
        )
        assert record.attempts == count
        assert record.level in (before.level, before.level + 1, 0)
        assert record.level <= len(REVIEW_DAYS)
        assert (record.solved is None) == (not any(right for _, right in made[:count]))
        assert record.done == (record.level == len(REVIEW_DAYS))
        if moved:
            assert was_review
            assert record.due is None or record.due >= day.isoformat()
        if before.solved is not None:
            assert record.solved == before.solved
        if was_review and passed:
            assert record.level == before.level + 1
        if was_review and not passed and before.solved is not None:
            assert (record.level, record.due) == (0, day.isoformat())


@settings(deadline=None)
@given(attempts)
def test_on_days_in_order_the_next_review_never_comes_sooner(made: list[tuple[int, bool]]) -> None:
    record = Record()
    for number, passed in sorted(made):
        before = record.due
        record.update(passed, START + timedelta(number))
        if before is not None and record.due is not None:
            assert record.due >= before


# the file


def test_a_file_of_version_1_is_read_whole_and_written_as_version_2(progress_file: Path) -> None:
    progress_file.parent.mkdir()
    progress_file.write_text(json.dumps(VERSION_1))
    records = read_records()
    assert set(records) == set(VERSION_1["exercises"])  # type: ignore[arg-type]
    causal = records["masks.causal"]
    assert (causal.attempts, causal.hints, causal.solution_seen) == (3, 1, True)
    assert (causal.level, causal.due) == (4, "2026-02-02")  # the day that was promised
    assert records["masks.padding"].done
    assert (records["masks.target"].attempts, records["masks.target"].solved) == (2, None)
    assert records["an.exercise_of_old"].due == "2026-01-01"

    assert change_record("masks.target", lambda record: None) is None
    assert json.loads(progress_file.read_text())["version"] == 2
    assert read_records() == records
    assert [path.name for path in progress_file.parent.iterdir() if "damaged" in path.name] == []


@pytest.mark.parametrize(
    "entry",
    [
        {"attempts": -1},
        {"attempts": True},
        {"due": "soon"},
        {"solved": 20260101},
        {"mistakes": "transposed"},
        {"mistakes": [1]},
        {"solution_seen": 1},
        "solved",
    ],
)
def test_a_record_that_makes_no_sense_is_none(entry: object) -> None:
    with pytest.raises(ValueError, match=r"masks\.causal"):
        parse(json.dumps({"version": 2, "exercises": {"masks.causal": entry}}).encode())


def test_depth_without_end_is_no_file() -> None:
    with pytest.raises(ValueError, match="no JSON"):
        parse(b'{"exercises":' + b"[" * 200_000)


def test_the_table_says_that_a_file_was_damaged(progress_file: Path) -> None:
    progress_file.parent.mkdir()
    progress_file.write_bytes(b"{")
    assert "cannot be read (it is no JSON)" in progress_card().text
    solve("masks.causal", START)
    assert "could not be read is kept as" in progress_card().text


def test_the_mistakes_that_were_made_are_kept() -> None:
    import torch

    check("masks.causal", lambda n: torch.ones(n, n, dtype=torch.bool).triu())
    check("masks.causal", lambda n: torch.ones(n, n, dtype=torch.bool).tril(-1))
    assert read_records()["masks.causal"].mistakes == ["strict-diagonal", "transposed"]


# copies


def record_of(rungs: int, made: list[tuple[int, bool]], hints: int, mistakes: set[str]) -> Record:
    record = Record(hints=hints, solution_seen=hints == 3, mistakes=sorted(mistakes))
    for number, passed in [*((day, True) for day in REVIEW_DAYS[:rungs]), *made]:
        record.update(passed, START + timedelta(number))
    return record


few = st.lists(st.tuples(st.integers(0, 60), st.booleans()), max_size=4)
records = st.builds(
    record_of, st.integers(0, 5), few, st.integers(0, 3), st.sets(st.sampled_from("ab"))
)
files = st.dictionaries(st.sampled_from(["masks.causal", "gone"]), records)


@settings(deadline=None)  # a busy machine is no failure
@given(files, files, files)
def test_merging_loses_nothing_in_any_order(
    one: dict[str, Record], other: dict[str, Record], third: dict[str, Record]
) -> None:
    both = merge_records(one, other)
    assert both == merge_records(other, one)
    assert merge_records(both, other) == both == merge_records(both, both)
    assert merge_records(both, third) == merge_records(one, merge_records(other, third))
    assert merge_records(one, {}) == one
    assert parse(as_bytes(both)) == both
    for part in (one, other):
        for name, theirs in part.items():
            merged = both[name]
            assert merged.attempts >= theirs.attempts
            assert merged.hints >= theirs.hints
            assert merged.solution_seen >= theirs.solution_seen
            assert merged.level >= theirs.level
            assert set(merged.mistakes) >= set(theirs.mistakes)
            assert (merged.last or "") >= (theirs.last or "")
            if theirs.solved:
                assert merged.solved is not None
                assert merged.solved <= theirs.solved
            if merged.level == theirs.level and merged.due:
                assert merged.due >= (theirs.due or "")


def test_a_copy_comes_back_whole(progress_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    solve("masks.causal", START)
    saved = read_records()
    save_progress("copy.json")
    with pytest.raises(CallError, match=r"there already; .* overwrite=True"):
        save_progress("copy.json")
    save_progress("copy.json", overwrite=True)
    progress_file.unlink()
    solve("masks.target", START)
    load_progress("copy.json")
    assert read_records() == {**saved, "masks.target": saved["masks.causal"]}
    assert "1 exercises, 1 solved, in copy.json: 1 added or moved on" in capsys.readouterr().out
    before = progress_file.read_bytes()
    load_progress("copy.json")
    assert progress_file.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"[]", b'{"version": 3, "exercises": {}}'])
def test_what_is_no_copy_is_refused(progress_file: Path, tmp_path: Path, content: bytes) -> None:
    solve("masks.causal", START)
    before = progress_file.read_bytes()
    (tmp_path / "other.json").write_bytes(content)
    with pytest.raises(
        WorkError, match=r"other\.json is no progress file: it .*nothing was changed"
    ):
        load_progress("other.json")
    assert progress_file.read_bytes() == before
    with pytest.raises(CallError, match=r"there is no file nowhere\.json"):
        load_progress("nowhere.json")


def test_a_damaged_file_is_not_saved_as_an_empty_one(progress_file: Path) -> None:
    progress_file.parent.mkdir()
    progress_file.write_bytes(b"{")
    with pytest.raises(WorkError, match="cannot be read"):
        save_progress("copy.json")


def test_on_colab_the_browser_takes_the_copy_and_brings_it(
    monkeypatch: pytest.MonkeyPatch, progress_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    downloaded: dict[str, bytes] = {}
    files = types.ModuleType("google.colab.files")
    vars(files).update(
        download=lambda path: downloaded.update({Path(path).name: Path(path).read_bytes()}),
        upload=lambda: downloaded,
    )
    for name in ("google", "google.colab"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, "google.colab.files", files)

    solve("masks.causal", START)
    saved = read_records()
    save_progress()
    assert list(downloaded) == ["annotated-transformer-progress.json"]
    progress_file.unlink()
    load_progress()
    assert read_records() == saved
    downloaded.clear()
    load_progress()
    assert "No file was chosen" in capsys.readouterr().out


def test_the_command_line_saves_and_loads(
    progress_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    solve("masks.causal", START)
    assert main(["progress", "--export", "copy.json"]) == 0
    assert main(["progress", "--export", "copy.json"]) == 2
    assert "--force" in capsys.readouterr().err
    assert main(["progress", "--export", "copy.json", "--force"]) == 0
    progress_file.unlink()
    assert main(["progress", "--import", "copy.json"]) == 0
    assert read_records()["masks.causal"].solved == "2026-01-01"
    Path("copy.json").write_text("no")
    assert main(["progress", "--import", "copy.json"]) == 1


# the table


def test_what_is_due_is_said_by_name_the_longest_overdue_first() -> None:
    solve("masks.causal", START)
    solve("attention.softmax", START - timedelta(5))
    solve("masks.target", START + timedelta(1))
    rows = progress_rows(START + timedelta(3))
    assert [(row.id, row.overdue) for row in due_rows(rows)] == [
        ("attention.softmax", 5),
        ("masks.causal", 0),
    ]
    text = progress_card(START + timedelta(3)).text
    assert text.startswith(
        "Redo today: attention.softmax (A stable softmax), due since 2025-12-30, 5 days\n"
        "Redo today: masks.causal (The causal mask), due today\n"
    )
    assert "\nRedo today: attention.softmax, masks.causal\n" in text  # where a terminal ends
    assert progress_card(START).text.startswith(
        "Redo today: attention.softmax (A stable softmax), due since 2025-12-30, 2 days"
    )
    text = progress_card(START - timedelta(3)).text
    assert text.startswith("Nothing is due today. Next: attention.softmax (A stable softmax) on")


def test_chapters_count_what_is_solved_tried_open_and_due() -> None:
    solve("masks.causal", START)
    solve("masks.target", START - timedelta(50))
    change_record("masks.padding", lambda record: record.update(False, START))
    tree = progress_tree(START)
    assert tree["due"] == ["masks.target"]
    every = chapters(progress_rows(START))
    assert [c.chapter for c in every] == list(dict.fromkeys(map(chapter_of, catalogue())))
    for chapter in every:
        assert chapter.exercises == chapter.solved + chapter.tried + chapter.open
    attention = next(c for c in every if c.chapter == "02_attention")
    assert attention.title == "Chapter 2, attention"
    assert "Chapter 3, multi-head" in [c.title for c in every]
    assert (attention.solved, attention.due, attention.tried) == (2, 1, 1)
    text = progress_card(START).text
    assert f"Chapter 2, attention: 2 of {attention.exercises} solved, 1 due, 1 tried" in text


def test_an_exercise_that_is_done_says_so() -> None:
    for day in REVIEW_DAYS:
        solve("masks.causal", START + timedelta(day))
    row = next(row for row in progress_rows() if row.id == "masks.causal")
    assert (row.state, row.done, row.reviews, row.due) == ("solved", True, 4, None)
    assert "done, all 4" in progress_card().text


class Nesting(HTMLParser):
    """Fails where tags are not closed in order; collects the headers of tables."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.scopes: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("br", "hr", "wbr"):
            self.open.append(tag)
        if tag == "th":
            self.scopes.append(dict(attrs).get("scope"))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_card_is_sound_html_with_named_columns_and_rows() -> None:
    solve("masks.causal", START)
    markup = progress_card(START).markup
    parser = Nesting()
    parser.feed(markup)
    assert parser.open == []
    assert parser.scopes.count("row") == len(catalogue())
    assert None not in parser.scopes
    assert markup.count("<details") == len(chapters(progress_rows()))
    assert markup.count('<details class="at-chapter" open>') == 1  # what was begun


# cards for Anki


def notes_in(data: bytes, folder: Path) -> dict[str, tuple[str, str]]:
    """The notes of an .apkg: guid to (fields, tags), each with one card."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        path = Path(archive.extract("collection.anki2", folder))
    with contextlib.closing(sqlite3.connect(path)) as collection:
        assert collection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = collection.execute("SELECT guid, flds, tags FROM notes").fetchall()
        assert collection.execute("SELECT count(*) FROM cards").fetchone() == (len(rows),)
        assert collection.execute("SELECT count(distinct nid) FROM cards").fetchone() == (
            len(rows),
        )
    notes = {guid: (fields, tags) for guid, fields, tags in rows}
    assert len(notes) == len(rows)
    return notes


def test_every_exercise_makes_a_card_and_the_same_notes_at_every_export(tmp_path: Path) -> None:
    made = anki.cards(list(catalogue().values()), {})
    assert len({card.identity for card in made}) == len(made)
    assert len({card.front for card in made}) == len(made)
    assert sum(card.identity[0] == "exercise" for card in made) == len(catalogue())
    first = notes_in(anki.package(made, 1e9), tmp_path)
    again = notes_in(anki.package(made), tmp_path)
    assert len(first) == len(made)
    assert first == again
    for card in made:
        for side in (card.front, card.back):
            parser = Nesting()
            parser.feed(side)
            assert parser.open == []
            assert "http" not in side
            assert "src=" not in side
    fields = next(fields for fields, tags in first.values() if "masks::causal" in tags)
    assert "<pre><code>def causal_mask(n):" in fields


def test_a_mistake_asks_on_the_front_and_tells_on_the_back() -> None:
    exercise = catalogue()["attention.scaled_dot_product"]
    made = anki.cards([exercise], {})
    mistakes = [card for card in made if card.identity[0] == "mistake"]
    assert len(mistakes) == anki.MISTAKES
    for card in mistakes:
        assert "What is wrong here, and why?" in card.front
        assert card.back not in card.front
    assert [c.identity[0] for c in anki.cards([exercise], {}, mistakes=0)] == ["exercise"]
    own = [exercise.mistakes[30].name, exercise.mistakes[40].name + "+another"]
    chosen = anki.cards([exercise], {exercise.id: Record(mistakes=own)}, mistakes=0)
    assert {card.identity[2] for card in chosen[1:]} <= {own[0], exercise.mistakes[40].name}
    assert len(chosen) > 1


def test_answers_to_a_question_make_no_card_of_their_own() -> None:
    assert len(anki.cards([catalogue()["attention.predict_shapes"]], {}, mistakes=99)) == 1


def test_the_command_writes_cards_and_never_over_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    solve("masks.causal", START)
    change_record("masks.target", lambda record: record.update(False, START))
    write = ["progress", "--anki", "cards.apkg", "--topic", "masks"]
    count = len(anki.cards([e for e in catalogue().values() if e.id.startswith("masks.")], {}))
    assert main(write) == 0
    assert capsys.readouterr().out.startswith(f"{count} cards in cards.apkg: 6 exercises")
    path = tmp_path / "cards.apkg"
    before = path.read_bytes()
    assert len(notes_in(before, tmp_path)) == count
    assert main(write) == 2
    assert "cards.apkg is there already; give another name, or --force" in capsys.readouterr().err
    assert path.read_bytes() == before
    for only, wanted in (("tried", "target"), ("solved", "causal"), ("due", "causal")):
        assert main([*write, "--only", only, "--mistakes", "0", "--force"]) == 0
        ((_, tags),) = notes_in(path.read_bytes(), tmp_path).values()
        assert f"masks::{wanted}" in tags


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (
            ["--anki", "x.apkg", "--topic", "mask"],
            "there is no topic or exercise 'mask'. Did you mean masks",
        ),
        (["--topic", "masks"], "--topic chooses cards"),
        (["--force"], "--force replaces a file"),
    ],
)
def test_wrong_calls_are_refused(
    options: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["progress", *options]) == 2
    assert complaint in capsys.readouterr().err


def test_no_file_is_written_when_nothing_is_due(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["progress", "--anki", "x.apkg", "--only", "due"]) == 1
    assert "no exercise is due, so no file was written" in capsys.readouterr().err
    assert not Path("x.apkg").exists()


def test_without_genanki_a_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "genanki", None)
    assert main(["progress", "--anki", "x.apkg", "--topic", "masks"]) == 2
    assert re.search(r"genanki, which is not installed: pip install", capsys.readouterr().err)


def test_a_change_of_all_records_is_stored(progress_file: Path) -> None:
    assert change_records(lambda records: {**records, "masks.causal": Record(attempts=2)}) is None
    assert read_records()["masks.causal"].attempts == 2

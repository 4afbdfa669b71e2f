"""`annotated-transformer interview`: a round in a terminal, asked, ticked and kept."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from annotated_transformer.cli import main
from annotated_transformer.exercises.learner.progress import asked
from annotated_transformer.exercises.learner.records import read_records, today
from annotated_transformer.interview import rounds

SEED = "amber-1"
DRAWN = rounds.draw(SEED, 5)


@pytest.fixture(autouse=True)
def own_progress_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_PROGRESS", str(tmp_path / "progress.json"))


def interview(monkeypatch: pytest.MonkeyPatch, typed: list[str], *options: str) -> int:
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in typed)))
    return main(["interview", "--minutes", "5", "--seed", SEED, *options])


def answers(said: int, sunk: int, deep: int) -> list[str]:
    """What is typed at the first question: how much of it was said."""
    (question, *_) = DRAWN
    ticks = ["y" if number < said else "" for number in range(len(question.points))]
    sinks = ["yes" if number < sunk else "n" for number in range(len(question.sinks))]
    chain = [line for number in range(rounds.DEPTH) for line in ("", "y" if number < deep else "")]
    return ["", *ticks, *sinks, *chain]


def test_list_names_the_questions_and_asks_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert interview(monkeypatch, [], "--list") == 0
    printed = capsys.readouterr().out
    assert all(question.id in printed for question in DRAWN)
    assert read_records() == {}


@pytest.mark.parametrize(
    ("said", "sunk", "well"), [(9, 0, True), (9, 1, False), (2, 0, False), (0, 0, False)]
)
def test_an_answer_is_scored_and_kept_when_the_round_is_left(
    said: int,
    sunk: int,
    well: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert interview(monkeypatch, answers(said, sunk, 3)) == 0  # and then the input ends
    (question, *_) = DRAWN
    record = read_records()[rounds.PREFIX + question.id]
    assert record.attempts == 1
    assert bool(record.solved) == well
    assert record.mistakes == ([f"sinks-{place + 1}" for place in range(sunk)])
    assert read_records()[f"{rounds.PREFIX}{question.id}.deep"].solved
    assert f"--seed {SEED}" in capsys.readouterr().out
    assert asked().asked == 1
    assert asked().survived == well


def test_what_would_not_do_is_due_from_the_next_day_on(monkeypatch: pytest.MonkeyPatch) -> None:
    interview(monkeypatch, answers(0, 0, 0))
    assert asked().due == 0
    assert asked(today().fromordinal(today().toordinal() + 1)).due == 1


def test_a_round_to_its_end_names_the_weakest_skill_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = answers(9, 0, 3)
    for question in DRAWN[1:]:
        typed += ["", *[""] * (len(question.points) + len(question.sinks) + 2 * rounds.DEPTH)]
    assert interview(monkeypatch, typed) == 0
    lines = capsys.readouterr().out.splitlines()
    most = len(DRAWN[0].points)
    assert lines[-2].startswith(f"  {most:2} of {most:2}")
    assert any(line.startswith("   0 of ") for line in lines)


def test_what_is_neither_yes_nor_no_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = answers(9, 0, 3)
    interview(monkeypatch, [typed[0], "perhaps", *typed[1:]])
    assert "y for yes" in capsys.readouterr().out
    assert read_records()[rounds.PREFIX + DRAWN[0].id].solved


@pytest.mark.parametrize(
    "options",
    [
        ["--seed", " "],
        ["--seed", "\udcff"],
        ["--seed", "x" * 41],
        ["--minutes", "7"],
        ["--role", "king"],
    ],
)
def test_what_cannot_be_meant_is_refused(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main(["interview", *options])
    except SystemExit as stop:
        status = int(stop.code or 0)
    assert status == 2
    assert options[0] in capsys.readouterr().err


def test_a_round_holds_its_formulas_on_a_terminal_of_any_letters(tmp_path: Path) -> None:
    """Every question of a long round is shown and left; nothing asked for is UTF-8."""
    environment = {
        **os.environ,
        "PYTHONIOENCODING": "ascii",
        "ANNOTATED_TRANSFORMER_PROGRESS": str(tmp_path / "progress.json"),
    }
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "annotated_transformer.cli", "interview", "--seed", "d"),
            *("--minutes", "45", "--role", "researcher"),
        ],
        env=environment,
        input=b"\n" * 2000,
        capture_output=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-500:]
    assert b"Points by skill" in ended.stdout
    assert "ω".encode() in ended.stdout

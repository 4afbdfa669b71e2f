"""The learner's tools where something is off: newer files, full disks, misspelled names."""

from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from annotated_transformer.cli import main
from annotated_transformer.errors import CallError, WorkError
from annotated_transformer.exercises.learner import lessons
from annotated_transformer.exercises.learner.exchange import merge_in
from annotated_transformer.exercises.learner.records import (
    Record,
    as_bytes,
    change_record,
    remark_on_file,
    today,
)


def test_a_file_of_a_newer_version_is_left_alone(tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "newer.json"
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_PROGRESS", str(path))
    newer = b'{"version": 3, "exercises": {"masks.causal": {"stars": 5}}}'
    path.write_bytes(newer)
    remark = change_record("masks.causal", lambda record: record.update(True, today(), ()))
    assert remark is not None
    assert "stays as it is: it is of version 3, written by a newer" in remark
    assert "nothing is stored" in (remark_on_file() or "")
    with pytest.raises(WorkError, match="is left as it is"):
        merge_in("theirs.json", as_bytes({"masks.causal": Record(attempts=1)}))
    assert path.read_bytes() == newer
    assert [entry.name for entry in tmp_path.iterdir() if "damaged" in entry.name] == []


def test_hints_go_on_where_nothing_can_be_stored(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.setattr(lessons, "_hints_given", {})
    monkeypatch.setattr(lessons, "_remarks_made", set())
    monkeypatch.setattr(lessons, "change_record", lambda *_: "Your progress could not be stored.")
    shown: list[str] = []
    monkeypatch.setattr(lessons, "show", lambda card: shown.append(card.text.split(" for ")[0]))
    for _ in range(4):
        lessons.hint("masks.causal")
    lessons.hint("masks.causal", step=1)
    lessons.hint("masks.causal")
    assert [text.split()[1] for text in shown] == ["1", "2", "3", "3", "1", "3"]
    assert capsys.readouterr().out == "Your progress could not be stored.\n"  # once
    with pytest.raises(CallError, match=r"step = 4: masks\.causal has hints 1 to 3"):
        lessons.hint("masks.causal", step=4)


def test_a_notebook_shows_the_sentence_instead_of_a_traceback() -> None:
    shell = InteractiveShell()
    with capture_output() as captured:
        shell.run_cell(
            "from annotated_transformer.exercises import hint\nhint('masks.casual')",
        )
    assert "CallError: There is no exercise 'masks.casual'. Did you mean masks.causal" in (
        captured.stdout
    )
    assert "Traceback" not in captured.stdout


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (["workbook", "tokenisation", "--output", "x.ipynb"], "Did you mean tokenization"),
        (["workbook", "masks", "--output", "x.txt"], "give it a name on .ipynb"),
        (["progress", "--anki", "x.apkg", "--topic", "decoding.gredy"], "mean decoding.greedy"),
        (["progress", "--anki", "x.txt"], "give it a name on .apkg"),
    ],
)
def test_what_is_misspelled_is_named(call: list[str], sentence: str, capsys: Any) -> None:
    assert main(call) == 2
    assert sentence in capsys.readouterr().err

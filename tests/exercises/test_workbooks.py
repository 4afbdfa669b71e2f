"""Notebooks in two states from one source: as given each cell runs, solved each check is green."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from annotated_transformer.cli import main
from annotated_transformer.exercises import topics
from annotated_transformer.exercises.catalogue import catalogue, chapter_of
from annotated_transformer.exercises.notebooks import (
    Notebook,
    as_markdown,
    exercise_cells,
    refreshed,
    solution_source,
    solved,
    workbook,
)
from annotated_transformer.exercises.topics import TOPICS

EXERCISES = list(catalogue().values())
CHAPTERS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))


@pytest.fixture(autouse=True)
def own_progress_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_PROGRESS", str(tmp_path / "progress.json"))


def executed(notebook: Notebook, folder: Path) -> Notebook:
    """The notebook after all its cells have run; the first that raises fails the test."""
    tree = nbformat.reads(json.dumps(notebook), as_version=4)  # type: ignore[no-untyped-call]
    resources = {"metadata": {"path": str(folder)}}
    patience = {"timeout": 1200, "startup_timeout": 300}  # a busy machine's
    NotebookClient(tree, kernel_name="python3", resources=resources, **patience).execute()
    fresh: Notebook = json.loads(json.dumps(tree))
    return fresh


def states(notebook: Notebook) -> dict[str, str]:
    """What the card of each exercise says."""
    found = {}
    for _, code in exercise_cells(notebook):
        texts = ["".join(o["data"]["text/plain"]) for o in code["outputs"] if "data" in o]
        (state,) = [m[1] for text in texts if (m := re.match(r".*\): (.+)", text))]
        found[code["metadata"]["exercise_id"]] = state
    return found


@pytest.mark.slow
@pytest.mark.parametrize("state", ["as given", "solved"])
def test_every_exercise_runs_in_a_workbook(state: str, tmp_path: Path) -> None:
    book = workbook(EXERCISES, "All exercises")
    if state == "solved":
        book = solved(book)
    wanted = {"as given": "to do", "solved": "passed"}[state]
    assert states(executed(book, tmp_path)) == {e.id: wanted for e in EXERCISES}


def without_what_lies_between(chapter: Notebook) -> Notebook:
    """The chapter's first two cells of code, set-up and imports, and its exercises."""
    code = [cell for cell in chapter["cells"] if cell["cell_type"] == "code"]
    kept = [*code[:2], *(cell for pair in exercise_cells(chapter) for cell in pair)]
    return {**chapter, "cells": kept}


def all_passed(chapter: Notebook) -> dict[str, str]:
    """What the cards have to say."""
    asked = [cell["metadata"].get("exercise_id") for cell in chapter["cells"]]  # may be none
    return {exercise_id: "passed" for exercise_id in asked if exercise_id}


@pytest.mark.parametrize(
    "chapters",
    [CHAPTERS[2::4], pytest.param(CHAPTERS, marks=pytest.mark.slow)],
    ids=["a few", "all"],
)
def test_every_chapters_exercises_solved_are_green(chapters: list[Path]) -> None:
    """Each with its chapter's imports alone; one after the other in one kernel, wiped between."""
    wipe = {"cell_type": "code", "source": "%reset -f", "metadata": {}, "outputs": []}
    cells: list[dict[str, Any]] = []
    for path in chapters:
        chapter = solved(json.loads(path.read_text(encoding="utf-8")))
        cells += [*without_what_lies_between(chapter)["cells"], wipe | {"execution_count": None}]
    run = {**chapter, "cells": [{**cell, "id": f"cell-{n}"} for n, cell in enumerate(cells)]}
    assert states(executed(run, CHAPTERS[0].parent)) == all_passed(run)
    stems = {path.stem for path in chapters}
    assert set(all_passed(run)) == {e.id for e in EXERCISES if chapter_of(e.id) in stems}


@pytest.mark.slow
@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_solved_chapter_runs_with_every_check_green(path: Path) -> None:
    chapter = solved(json.loads(path.read_text(encoding="utf-8")))
    assert states(executed(chapter, path.parent)) == all_passed(chapter)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_is_in_step_with_the_catalogue(path: Path) -> None:
    chapter = json.loads(path.read_text(encoding="utf-8"))
    assert refreshed(chapter) == chapter, "run tools/refresh_chapters.py"


def test_refreshing_brings_back_what_was_changed() -> None:
    book = workbook(EXERCISES[:2], "Two")
    changed = copy.deepcopy(book)
    changed["cells"][3]["source"] = ["### Exercise 1: Something else\n"]
    changed["cells"][4]["source"] = ["def something_else(): ..."]
    assert refreshed(changed) == book


def test_a_solution_has_the_head_of_a_stub() -> None:
    source = solution_source(catalogue()["masks.causal"])
    assert source.startswith("def causal_mask(n):\n")
    assert "# (n, n); the diagonal is kept" in source


def test_a_statement_becomes_markdown() -> None:
    text = "Words.\n\ndef f(x):\n    return x\n\na: one\nb: two"
    assert (
        as_markdown(text)
        == "Words.\n\n```python\ndef f(x):\n    return x\n```\n\n- a: one\n- b: two"
    )


def test_a_workbook_introduces_each_topic_once() -> None:
    cells = workbook(EXERCISES, "All")["cells"]
    heads = ["".join(c["source"]).split("\n")[0] for c in cells if c["cell_type"] == "markdown"]
    topics = [head for head in heads if head.startswith("## ")]
    assert [text.split("\n")[0] for text in TOPICS.values()] == topics
    assert list(TOPICS) == list(dict.fromkeys(e.id.split(".")[0] for e in EXERCISES))


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_ends_with_the_chapters_of_its_exercises(topic: str) -> None:
    chapters = sorted({chapter_of(e.id) for e in EXERCISES if e.id.startswith(f"{topic}.")})
    where = topics.introduction(topic).removeprefix(f"{TOPICS[topic]}\n")
    assert re.findall(r"\d+", where) == [str(int(chapter[:2])) for chapter in chapters]


def test_a_workbook_is_a_valid_notebook() -> None:
    nbformat.validate(nbformat.from_dict(workbook(EXERCISES, "All")))  # type: ignore[no-untyped-call]


def workbook_command(*arguments: str | Path) -> int:
    return main(["workbook", *map(str, arguments)])


def test_a_topic_is_written_and_never_overwritten(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "masks.ipynb"
    assert workbook_command("masks", "attention.softmax", "masks.causal", "--output", path) == 0
    names = [c["metadata"]["exercise_id"] for _, c in exercise_cells(json.loads(path.read_text()))]
    assert sorted(names) == sorted(
        {*(i for i in catalogue() if i[:6] == "masks."), "attention.softmax"}
    )
    before = path.read_bytes()
    assert workbook_command("masks", "--output", path) == 2
    assert "is there already" in capsys.readouterr().err
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["mask", "masks.causa", "multi_head"])
def test_an_unknown_exercise_is_said(name: str, tmp_path: Path, capsys: Any) -> None:
    assert workbook_command("masks", name, "--output", tmp_path / "x.ipynb") == 2
    assert repr(name) in capsys.readouterr().err
    assert not list(tmp_path.glob("*.ipynb"))


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path, capsys: Any) -> None:
    assert workbook_command("masks", "--output", tmp_path / "none" / "x.ipynb") == 1
    assert "cannot be written" in capsys.readouterr().err

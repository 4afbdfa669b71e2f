"""The exercises in the chapters are the catalogue's: same statement, hints, stub and solution."""

import ast
import itertools
import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from annotated_transformer.exercises.catalogue import catalogue, chapter_of
from annotated_transformer.exercises.notebooks import solution_source, with_formulas

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
CHAPTERS = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
PRINTED = [one for one in catalogue() if chapter_of(one) in CHAPTERS]


@dataclass(frozen=True)
class Printed:
    """An exercise as a chapter prints it: the Markdown cell, and the code cell below it."""

    text: str
    code: str


def exercises_of(chapter: str) -> dict[str, Printed]:
    """Every exercise cell of a chapter by its id, in order."""
    cells = json.loads((NOTEBOOKS / f"{chapter}.ipynb").read_text(encoding="utf-8"))["cells"]
    found = {}
    for before, cell in itertools.pairwise(cells):
        metadata = cell["metadata"]
        if "exercise" in metadata.get("tags", []):
            assert before["cell_type"] == "markdown"
            assert metadata["exercise_id"] not in found
            found[metadata["exercise_id"]] = Printed(
                "".join(before["source"]), "".join(cell["source"])
            )
    return found


def words(text: str) -> str:
    """The words alone: without fences, list marks, backticks and line breaks."""
    return " ".join(re.sub(r"^(```\w*|- )|`", "", text, flags=re.MULTILINE).split())


@pytest.mark.parametrize("exercise_id", PRINTED)
def test_a_chapter_prints_the_exercise_as_it_is(exercise_id: str) -> None:
    exercise = catalogue()[exercise_id]
    printed = exercises_of(chapter_of(exercise_id))[exercise_id]

    head, facts = printed.text.splitlines()[0], printed.text.splitlines()[2]
    assert re.fullmatch(rf"### Exercise \d+\.\d+: {re.escape(exercise.title)}", head)
    assert facts.replace("`", "") == (
        f"{exercise.id} · {exercise.kind} · difficulty {exercise.difficulty} of 5"
        f" · {exercise.minutes} minutes · comes after: {exercise.prerequisite}"
    )
    solution = solution_source(exercise)
    for part in (exercise.statement, *exercise.hints, exercise.explanation, solution):
        shown = with_formulas(part) if part != solution else part
        assert words(shown) in words(printed.text), f"not as in the catalogue: {part[:60]}"
    assert printed.text.count("<details>") == printed.text.count("</details>") == 4

    # Code is compared as code: the notebooks are formatted for narrower lines.
    stub = ast.parse(exercise.starter)
    *written, call = ast.parse(printed.code).body
    assert ast.dump(ast.Module(written, [])) == ast.dump(stub)
    name = next(node.name for node in stub.body if isinstance(node, ast.FunctionDef))
    assert ast.unparse(call) == f"check({exercise.id!r}, {name})"


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_numbers_its_own_exercises(chapter: str) -> None:
    """Each number once. Not in the order of the page: the core has one, the lanes beside it others,
    and a number is part of an address that others have written down."""
    printed = exercises_of(chapter)
    own = {i for i in catalogue() if chapter_of(i) == chapter}
    assert printed.keys() == own
    numbers = [re.match(r"### Exercise (\d+)\.(\d+):", one.text) for one in printed.values()]
    expected = [(int(chapter[:2]), place) for place in range(1, len(own) + 1)]
    assert sorted((int(n[1]), int(n[2])) for n in numbers if n) == expected


def bound_at_the_top(tree: ast.Module) -> set[str]:
    """The names that a cell defines, imports or assigns."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.Assign):
            stored = (n for target in node.targets for n in ast.walk(target))
            names |= {n.id for n in stored if isinstance(n, ast.Name)}
    return names


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_function_that_the_reader_writes_keeps_its_name(chapter: str) -> None:
    """A later import of torch's layer_norm would break what calls the reader's own."""
    cells = json.loads((NOTEBOOKS / f"{chapter}.ipynb").read_text(encoding="utf-8"))["cells"]
    own: set[str] = set()
    other: set[str] = set()
    for cell in cells:
        if cell["cell_type"] == "code":
            names = bound_at_the_top(ast.parse("".join(cell["source"])))
            (own if "exercise" in cell["metadata"].get("tags", []) else other).update(names)
    assert not own & other

"""A directive that lists every exercise of the catalogue, chapter by chapter.

    ```{exercise-catalogue}
    ```

What it lists is read from the package, so the page cannot fall behind it.
"""

import itertools
import json
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from annotated_transformer.exercises.catalogue import catalogue, chapter_of
from annotated_transformer.exercises.exercise import Exercise
from annotated_transformer.exercises.notebooks import (
    code_as_given,
    exercise_cells,
    source_of,
    text_of,
)
from jupyter_anchors import slug
from solve_here import cell

NOTEBOOKS = Path(__file__).resolve().parent.parent.parent / "notebooks"


def listing() -> str:
    """The whole catalogue as Markdown: a heading and a table for each chapter."""
    parts = []
    in_order = sorted(catalogue().values(), key=lambda exercise: chapter_of(exercise.id))
    for chapter, exercises in itertools.groupby(in_order, lambda e: chapter_of(e.id)):
        parts.append(_of_chapter(chapter, list(exercises)))
    return "\n\n".join(parts)


def headings(chapter: str) -> dict[str, str]:
    """The heading of each exercise of a chapter by its id."""
    notebook = json.loads((NOTEBOOKS / f"{chapter}.ipynb").read_text(encoding="utf-8"))
    return {
        code["metadata"]["exercise_id"]: source_of(text).partition("\n")[0].lstrip("# ")
        for text, code in exercise_cells(notebook)
    }


def _of_chapter(chapter: str, exercises: list[Exercise]) -> str:
    number, _, name = chapter.partition("_")
    title = f"### {int(number)}. {name.replace('_', ' ').capitalize()}"
    there = headings(chapter)
    rows = "\n".join(_row(e, f"{chapter}.ipynb#{slug(there[e.id])}") for e in exercises)
    return (
        f"{title}\n\nIn [the chapter](../notebooks/{chapter}.ipynb).\n\n"
        "```{list-table}\n:header-rows: 1\n:class: map-table\n\n"
        f"* - Exercise\n  - You will be able to\n  - Difficulty, minutes\n{rows}\n```"
    )


def _row(exercise: Exercise, place: str) -> str:
    objective = exercise.objective[0].lower() + exercise.objective[1:].rstrip(".")
    return (
        f"* - [{exercise.title}](<../notebooks/{place}>)\n\n    `{exercise.id}`\n"
        f"  - {objective}\n"
        f"  - {exercise.difficulty} of 5, {exercise.minutes} min"
    )


def _whole(exercise: Exercise, number: str) -> str:
    """An exercise as a chapter has it: its text, and its cell."""
    text = text_of(exercise, number).replace("### ", "#### ", 1)
    return f"{text}\n\n```{{exercise-cell}} {exercise.id}\n```"


class ExerciseCell(SphinxDirective):
    """The cell of one exercise, as it is given."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        return [cell(code_as_given(catalogue()[self.arguments[0]]))]


class ExerciseWhole(SphinxDirective):
    """The text of one exercise without its heading, and its cell: `exercise-whole` ID NUMBER."""

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        name, number = self.arguments
        _, _, text = _whole(catalogue()[name], number).partition("\n")
        container = nodes.container()
        lines = StringList(text.strip().splitlines(), source=name)
        self.state.nested_parse(lines, self.content_offset, container)
        return container.children


class ExerciseCatalogue(SphinxDirective):
    """Writes the listing where it stands."""

    def run(self) -> list[nodes.Node]:
        container = nodes.section()
        container.document = self.state.document
        self.state.nested_parse(
            StringList(listing().splitlines(), source="the catalogue of exercises"),
            self.content_offset,
            container,
            match_titles=True,
        )
        return container.children


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("exercise-catalogue", ExerciseCatalogue)
    app.add_directive("exercise-cell", ExerciseCell)
    app.add_directive("exercise-whole", ExerciseWhole)
    return {"parallel_read_safe": True}

"""A directive that lists every exercise of the catalogue, chapter by chapter.

    ```{exercise-catalogue}
    ```

What it lists is read from the package, so the page cannot fall behind it.
"""

import itertools
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from annotated_transformer.exercises.catalogue import catalogue, chapter_of
from annotated_transformer.exercises.exercise import Exercise

NOTEBOOKS = Path(__file__).resolve().parent.parent.parent / "notebooks"


def listing() -> str:
    """The whole catalogue as Markdown: a heading and a table for each chapter."""
    parts = []
    in_order = sorted(catalogue().values(), key=lambda exercise: chapter_of(exercise.id))
    for chapter, exercises in itertools.groupby(in_order, lambda e: chapter_of(e.id)):
        parts.append(_of_chapter(chapter, list(exercises)))
    return "\n\n".join(parts)


def _of_chapter(chapter: str, exercises: list[Exercise]) -> str:
    number, _, name = chapter.partition("_")
    title = f"{int(number)}. {name.replace('_', ' ').capitalize()}"
    topics = " ".join(dict.fromkeys(exercise.id.split(".")[0] for exercise in exercises))
    where = (
        f"In [the chapter](../notebooks/{chapter}.ipynb)."
        if (NOTEBOOKS / f"{chapter}.ipynb").is_file()
        else "The chapter is being written; a notebook of its exercises is made by\n"
        f"`annotated-transformer workbook {topics} --output exercises.ipynb`."
    )
    rows = "\n".join(_row(exercise) for exercise in exercises)
    return (
        f"### {title}\n\n{where}\n\n"
        "```{list-table}\n:header-rows: 1\n:class: map-table\n\n"
        f"* - Exercise\n  - You will be able to\n  - Difficulty, minutes\n{rows}\n```"
    )


def _row(exercise: Exercise) -> str:
    objective = exercise.objective[0].lower() + exercise.objective[1:].rstrip(".")
    return (
        f"* - {exercise.title}\n\n    `{exercise.id}`\n"
        f"  - {objective}\n"
        f"  - {exercise.difficulty} of 5, {exercise.minutes} min"
    )


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
    return {"parallel_read_safe": True}

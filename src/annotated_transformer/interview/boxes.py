"""The box "In an interview" of a chapter, as its notebook has it: made from the bank."""

import re
from typing import Any

from annotated_transformer.exercises.notebooks import source_of, with_formulas
from annotated_transformer.interview.bank import Question, questions

HEAD = "> **In an interview:"
_BOX = re.compile(rf"{re.escape(HEAD)}.*?(?=\n\n|\Z)", re.DOTALL)


def box(question: Question) -> str:
    """A block quote: the answer, what they ask next, what sinks you."""
    asked = "\n".join(f"> - *{one.question}* {one.answer.text}" for one in question.follow_ups)
    sinks = " ".join(sink.text for sink in question.sinks)
    return with_formulas(
        f'{HEAD} "{question.text}"**\n>\n> **In {question.seconds} seconds.** '
        f"{question.answer.text}\n>\n> **They will ask next.**\n>\n{asked}\n>\n"
        f"> **What sinks you.** {sinks}"
    )


def with_box(notebook: dict[str, Any], chapter: str) -> dict[str, Any]:
    """The notebook with its box as the bank has it; the bank may have none for it.

    Args:
        notebook: as JSON; it is changed.
        chapter: its two digits.

    Raises:
        ValueError: where the bank has a box and the notebook no place for it.
    """
    own = [question for question in questions().values() if question.box == chapter]
    for question in own:
        cells = [cell for cell in notebook["cells"] if HEAD in source_of(cell)]
        if len(cells) != 1:
            raise ValueError(f"chapter {chapter} has {len(cells)} cells with {HEAD!r}, not one")
        text = _BOX.sub(lambda _: box(question), source_of(cells[0]), count=1)  # noqa: B023
        cells[0]["source"] = text.splitlines(keepends=True)
    return notebook

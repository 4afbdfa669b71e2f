"""Multiple-choice quizzes of folds: no script, no server, a word for every option.

An option is a ``<details>`` element that opens on its feedback. It works wherever HTML is shown, by
mouse, by touch and from the keyboard, and its output is the same at every run.
"""

import html
import json
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from IPython.display import display

from annotated_transformer.exercises.notebooks import FORMULA

STYLE = """<style>
.at-quiz{margin:.4em 0 1.4em}.at-quiz p{margin:.3em 0 .5em;font-weight:600}
.at-quiz details{border:1px solid rgba(128,128,128,.5);border-radius:4px;margin:.3em 0;
padding:.35em .8em;background:transparent;color:inherit}
.at-quiz summary{cursor:pointer;min-height:1.6em;font-weight:400}
.at-quiz details[open]{border-left-width:5px}
.at-quiz details.at-right[open]{border-left-color:#2f9e5b}
.at-quiz details.at-wrong[open]{border-left-color:#d1603d}
.at-quiz div{margin:.3em 0 .2em}
</style>"""


LANES = {"core": "", "evidence": "(From the evidence.) ", "deeper": "(From going deeper.) "}


def checked_questions(questions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The questions, after making sure that each can be answered and that every option answers.

    Args:
        questions: each with "question" (plain text) and "answers", a list of
            {"answer": text, "correct": bool, "feedback": text}; and "lane", "evidence" or "deeper",
            where the core alone does not tell.

    Raises:
        ValueError: a question has not exactly one right answer, or an option has no feedback.
    """
    for number, question in enumerate(questions, start=1):
        answers = question["answers"]
        right = sum(bool(answer["correct"]) for answer in answers)
        if right != 1:
            raise ValueError(
                f"Question {number} has {right} right answers; a multiple-choice question needs "
                'exactly one: set "correct" to True at one option.'
            )
        for answer in answers:
            if not answer.get("feedback", "").strip():
                raise ValueError(
                    f"Question {number}, option {answer['answer']!r} has no feedback: say why it "
                    "is right or wrong."
                )
    return list(questions)


def typeset(text: str) -> str:
    """Plain text as HTML, with symbols such as d_k, W^O and sqrt(d_k) as the paper prints them."""
    return FORMULA.sub(lambda found: _as_html(found[0]), html.escape(text, quote=False))


def _as_html(symbol: str) -> str:
    base, power, exponent = symbol.partition("^")
    if power:
        return f"{base}<sup>{exponent.strip('()').replace('-', '−')}</sup>"
    symbol = re.sub(r"sqrt\((.+)\)", r"√\1", symbol)
    return re.sub(r"([a-zA-Z])_(\w+)", r"<i>\1</i><sub>\2</sub>", symbol)


def _option(answer: dict[str, Any], group: str) -> str:
    state, verdict = ("right", "✓ Right.") if answer["correct"] else ("wrong", "✗ Not this one.")
    # One name for all options of a question: opening one closes the others.
    return (
        f'<details class="at-{state}" name="{group}">'
        f"<summary>{typeset(answer['answer'])}</summary>"
        f"<div><strong>{verdict}</strong> {typeset(answer['feedback'])}</div>"
        "</details>"
    )


def quiz_markup(questions: Sequence[dict[str, Any]]) -> str:
    """The questions as HTML, each a group of folds."""
    parts = [STYLE]
    for number, question in enumerate(checked_questions(questions), start=1):
        lane = LANES[question.get("lane", "core")]
        text = f"{lane}{typeset(question['question'])}"
        options = "".join(_option(answer, f"at-quiz-{number}") for answer in question["answers"])
        parts.append(
            f'<div class="at-quiz" role="group" aria-label="Question {number}">'
            f"<p>{number}. {text}</p>{options}</div>"
        )
    return "".join(parts)


def load_quiz(topic: str) -> list[dict[str, Any]]:
    """The questions of a chapter, from ``quizzes/<topic>.json`` beside this module.

    Raises:
        FileNotFoundError: no chapter of this name has a quiz.
    """
    place = files("annotated_transformer.figures") / "quizzes" / f"{topic}.json"
    questions: list[dict[str, Any]] = json.loads(place.read_text(encoding="utf-8"))
    return questions


def show_quiz(topic: str) -> None:
    """Show the questions of a chapter; choosing an option opens its feedback."""
    questions = load_quiz(topic)
    bundle = {
        "text/html": quiz_markup(questions),
        "text/plain": f"A quiz of {len(questions)} questions.",
    }
    display(bundle, raw=True)  # type: ignore[no-untyped-call]

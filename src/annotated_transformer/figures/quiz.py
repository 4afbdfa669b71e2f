"""Multiple-choice quizzes in the page, with a word for every option (jupyterquiz)."""

from collections.abc import Sequence
from typing import Any

from jupyterquiz import display_quiz

# White text on each of these has a contrast of at least 4.5 : 1.
QUIZ_COLOURS = {
    "--jq-multiple-choice-bg": "#2F3E6B",
    "--jq-mc-button-bg": "#fafafa",
    "--jq-mc-button-border": "#75757580",
    "--jq-incorrect-color": "#B3261E",
    "--jq-correct-color": "#1B6E3C",
    "--jq-text-color": "#ffffff",
    "--jq-link-color": "#C9D6FF",
}


def checked_questions(questions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The questions in jupyterquiz's form, after making sure that each can be answered.

    Args:
        questions: each with "question" (plain text) and "answers", a list of
            {"answer": text, "correct": bool, "feedback": text}.

    Raises:
        ValueError: a question has not exactly one right answer, or an option has no feedback.
    """
    checked = []
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
        checked.append({**question, "type": "multiple_choice"})
    return checked


def show_quiz(questions: Sequence[dict[str, Any]]) -> None:
    """Show the questions; every option answers with its own feedback.

    The ids in the output are random, so a cell that shows a quiz is tagged
    ``nbval-ignore-output``.
    """
    display_quiz(
        checked_questions(questions),
        shuffle_answers=False,
        border_radius=6,
        max_width=720,
        colors=QUIZ_COLOURS,
    )

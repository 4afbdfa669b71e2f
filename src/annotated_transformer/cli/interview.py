"""`annotated-transformer interview`: a round of questions, aloud, ticked by yourself."""

import argparse
import secrets
import shlex
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from annotated_transformer.cli.options import print_lines
from annotated_transformer.errors import CallError

if TYPE_CHECKING:
    from annotated_transformer.interview.bank import Question

WIDTH = 90


def register(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    from annotated_transformer.interview.bank import ROLES
    from annotated_transformer.interview.rounds import MINUTES, USUAL

    parser.description = (
        "A round of interview questions about the paper: answer aloud, see what must be said, tick "
        "it. The same word, minutes and role ask the same questions, here and on the book's page."
    )
    add = parser.add_argument
    add("--minutes", type=int, choices=MINUTES, help="how long (default %(default)s)")
    add("--role", choices=ROLES, help="as whom you are asked (default %(default)s)")
    add("--seed", metavar="WORD", help="what the questions are drawn from (default: a new word)")
    add("--list", action="store_true", help="print the questions of the round and ask nothing")
    parser.set_defaults(run=run, **USUAL)


def run(arguments: argparse.Namespace) -> int:
    """Ask, and keep what came of it."""
    from annotated_transformer.interview.rounds import LONGEST, draw

    seed = (secrets.token_hex(3) if arguments.seed is None else arguments.seed).strip()
    if not 0 < len(seed) <= LONGEST or not seed.isprintable():
        raise CallError(f"--seed takes a word of 1 to {LONGEST} characters, or leave it out")
    drawn = draw(seed, arguments.minutes, arguments.role)
    call = f"--minutes {arguments.minutes} --role {arguments.role} --seed {shlex.quote(seed)}"
    print(f"{len(drawn)} questions, {arguments.minutes} minutes: {call}")
    if arguments.list:
        for question in drawn:
            _say(f"{question.id}: {question.text}", "  ")
        return 0
    try:
        _ask_all(drawn, seed)
    except (EOFError, KeyboardInterrupt):
        print(f"\nEnded; questions answered to the end are kept. The same questions: {call}")
    return 0


def _ask_all(drawn: "Sequence[Question]", seed: str) -> None:
    from annotated_transformer.interview.bank import SKILLS
    from annotated_transformer.interview.rounds import (
        PREFIX,
        chain,
        evidence_of,
        score,
        sinking,
        survived,
    )

    got: dict[str, tuple[int, int]] = {}
    for number, question in enumerate(drawn, start=1):
        print()
        _say(f"{number} of {len(drawn)}. {question.text}")
        input(f"Answer aloud ({question.seconds} s). Then press Enter. ")
        said = sum([_ticked(f"Said? {point.text}") for point in question.points])
        sentences = [sinking(sink) for sink in question.sinks]
        sunk = [
            place
            for place, (sentence, why) in enumerate(sentences, start=1)
            if _ticked(f"Said that too? “{sentence}” {why}")
        ]
        _say(question.answer.text, "    ")
        deep = []
        for follow_up in chain(question, seed):
            _say(f"They ask: {follow_up.question}")
            input("Aloud. Then press Enter. ")
            _say(follow_up.answer.text, "    ")
            deep.append(_ticked("Did you say that?"))
        _say(f"See {'; '.join(evidence_of(question.points))}.", "    ")
        _keep(PREFIX + question.id, survived(question, said, len(sunk)), sunk)
        _keep(f"{PREFIX}{question.id}.deep", all(deep), [])
        points, most = got.get(question.skill, (0, 0))
        got[question.skill] = (
            points + score(said, len(sunk)),
            most + len(question.points),
        )
    print("\nPoints by skill, the weakest first:")
    for skill, (points, most) in sorted(got.items(), key=lambda item: item[1][0] / item[1][1]):
        print(f"  {points:2} of {most:2}  {SKILLS[skill]}")
    print("`annotated-transformer progress` counts them.")


def _keep(name: str, passed: bool, sunk: list[int]) -> None:
    from annotated_transformer.exercises.learner.records import Record, change_record, today

    def attempt(record: Record) -> None:
        record.update(passed, today(), [f"sinks-{place}" for place in sunk])

    remark = change_record(name, attempt)
    if remark:
        print(remark, file=sys.stderr)


def _say(text: str, indent: str = "") -> None:
    filled = textwrap.fill(text, WIDTH, initial_indent=indent, subsequent_indent=indent or "  ")
    print_lines([filled])  # a formula's letters on any terminal


def _ticked(text: str) -> bool:
    """Whether the answer is yes; Enter alone is no."""
    _say(text, "  ")
    while (typed := input("  [y/N] ").strip().lower()) not in ("", "y", "yes", "n", "no"):
        print("  y for yes, n or Enter for no.", end=" ")
    return typed.startswith("y")

"""A round of questions drawn from a seed: the same in a terminal and in the page (interview.js).

Two friends who share the seed, the minutes and the role get the same questions.
"""

import re
from collections.abc import Iterable

from annotated_transformer.interview.bank import ROLES, SKILLS, Claim, FollowUp, Question, questions

MINUTES = (5, 20, 45)
USUAL = {"minutes": 20, "role": "engineer"}  # of a round of which nothing else is said
LONGEST = 40  # characters of the word that a round is drawn from
AROUND = 45  # seconds beside an answer: to hear the question, and to tick what was said
FOLLOW_UP = 20  # seconds for one, and for its answer
OVER = 30  # seconds that a round may be too long
LEAST = 2  # questions in a round, however short it is
DEPTH = 3
PREFIX = "interview."  # of a question's record beside those of the exercises
ENOUGH = 0.75  # of the points, and no sentence that sinks
SINKS = 2  # points that such a sentence costs


def draw(seed: str, minutes: int, role: str = "engineer") -> list[Question]:
    """The questions of a round: one skill after the other, until the time is over.

    Args:
        seed: any word.
        minutes: how long the round is to take.
        role: a key of ROLES.
    """
    asked = [question for question in questions().values() if question.role in ROLES[role]]
    skills = sorted(SKILLS, key=lambda skill: number_of(f"{seed}:{skill}"))
    waiting = {
        skill: sorted(
            (question for question in asked if question.skill == skill),
            key=lambda question: (question.level == 3, number_of(f"{seed}:{question.id}")),
        )
        for skill in skills
    }
    chosen: list[Question] = []
    left = 60 * minutes
    while any(waiting.values()):
        for skill in skills:
            if waiting[skill]:
                question = waiting[skill].pop(0)
                if chosen and left - seconds_of(question) < -OVER:
                    if len(chosen) >= LEAST:
                        return chosen
                    continue  # a shorter one of another skill
                left -= seconds_of(question)
                chosen.append(question)
    return chosen


def seconds_of(question: Question) -> int:
    """What a question takes, all told."""
    return question.seconds + AROUND + DEPTH * FOLLOW_UP


def number_of(text: str) -> int:
    """A number for a text that looks drawn, in 32 bits: the hash FNV-1a, well stirred."""
    number = 2166136261
    for byte in text.encode():
        number = (number ^ byte) * 16777619 % 2**32
    number = (number ^ number >> 16) * 0x85EBCA6B % 2**32
    return number ^ number >> 13


def chain(question: Question, seed: str) -> list[FollowUp]:
    """The three that follow: two of its follow-ups, the easier first, then how one knows."""
    places = sorted(
        range(len(question.follow_ups)),
        key=lambda place: number_of(f"{seed}:{question.id}:{place}"),
    )
    first, second = sorted(places[:2])
    last = FollowUp("How do you know?", question.how)
    return [question.follow_ups[first], question.follow_ups[second], last]


def score(said: int, sunk: int) -> int:
    """Points of an answer: one for each that was said, less for each sentence that sinks."""
    return max(0, said - SINKS * sunk)


def survived(question: Question, said: int, sunk: int) -> bool:
    """Whether an answer would do: most of its points, and nothing that sinks."""
    return not sunk and said >= ENOUGH * len(question.points)


def sinking(claim: Claim) -> tuple[str, str]:
    """The sentence that sinks, and why."""
    found = re.match(r"“([^”]+)”\s*|\"([^\"]+)\"\s*", claim.text)
    if found is None:
        return claim.text, ""
    return found[1] or found[2], claim.text[found.end() :]


def evidence_of(claims: Iterable[Claim]) -> list[str]:
    """Where to look, each place once."""
    return list(dict.fromkeys(one.label for claim in claims for one in claim.evidence))

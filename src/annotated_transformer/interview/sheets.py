"""What else is practised: numbers to carry, problems with a check, the boxes of Figure 1, plans.

Each is a Markdown file of this folder, written so that it can be read as it is; what a claim rests
on stands behind it in brackets, as in the questions (`bank`).
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from annotated_transformer.interview.bank import SKILLS, Claim, claim, items, joined, value_of


@dataclass(frozen=True)
class Number:
    """A number to carry, and the conditions under which it is true."""

    text: str
    condition: Claim


@dataclass(frozen=True)
class Problem:
    """A problem with a hint and a worked answer.

    Attributes:
        title: what it is about.
        id: its name.
        skill: a key of bank.SKILLS.
        trains: exercises about the same.
        statement: what is asked.
        hint: one step of help.
        answer: worked.
        value: what is to come out; None where the answer is not a number.
        unit: what it is counted in.
        tolerance: how far off, as a share, still counts as right.
        wrong: numbers that a known mistake gives, with its sentence.
    """

    title: str
    id: str
    skill: str
    trains: tuple[str, ...]
    statement: str
    hint: str
    answer: Claim
    value: float | None = None
    unit: str = ""
    tolerance: float = 0.0
    wrong: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True)
class Box:
    """A box of Figure 1: its name, what it does, and what is lost without it."""

    stack: str
    name: str
    does: str
    without: str
    measured: Claim


@dataclass(frozen=True)
class Step:
    """Something to do in a plan.

    Attributes:
        kind: "section" or "core" of a chapter, an "exercise", or a "page".
        target: the chapter's two digits, the exercise's id, the page's name.
        heading: of a section.
        minutes: of a page; the others' are counted.
        text: what to do on a page.
    """

    kind: str
    target: str
    heading: str = ""
    minutes: int = 0
    text: str = ""


@dataclass(frozen=True)
class Plan:
    """What to do in a given time."""

    title: str
    says: str
    steps: tuple[Step, ...]


@cache
def numbers() -> tuple[Number, ...]:
    """The numbers to carry, in the order in which they are learned."""
    found = (_matched(r"\*\*(.+?)\.?\*\* (.+)", item) for item in items(_body("numbers.md")))
    return tuple(Number(one[1], claim(one[2])) for one in found)


@cache
def problems() -> dict[str, Problem]:
    """The practice problems by their ids."""
    found = [_problem(part) for part in re.split(r"^## ", _body("problems.md"), flags=re.M)[1:]]
    return {problem.id: problem for problem in found}


def _problem(text: str) -> Problem:
    top, *parts = re.split(r"^### ", text, flags=re.MULTILINE)
    title, about, statement = top.split("\n", 2)
    name, skill, trains = (field.strip() for field in about.split("|"))
    if skill not in SKILLS:
        raise ValueError(f"{title}: the skill {skill!r} is none of {', '.join(SKILLS)}")
    said = {heading: body for heading, _, body in (part.partition("\n") for part in parts)}
    given = {
        "title": title.strip(),
        "id": name,
        "skill": skill,
        "trains": tuple(trains.split()),
        "statement": joined(statement),
        "hint": joined(said["Hint"]),
        "answer": claim(joined(said["Answer"])),
    }
    if "Check" not in said:
        return Problem(**given)  # type: ignore[arg-type]
    line, _, rest = said["Check"].strip().partition("\n")
    value, unit, tolerance = (field.strip() for field in line.split("|"))
    known = (_matched(r"(.+?) = (.+)", item) for item in items(rest))
    wrong = tuple((value_of(one[1]), one[2]) for one in known)
    return Problem(
        **given,  # type: ignore[arg-type]
        value=value_of(value),
        unit=unit,
        tolerance=float(tolerance),
        wrong=wrong,
    )


@cache
def boxes() -> tuple[Box, ...]:
    """The boxes of Figure 1, in each stack from the bottom to the top."""
    found = []
    for part in re.split(r"^## ", _body("drawing.md"), flags=re.MULTILINE)[1:]:
        stack, _, body = part.partition("\n")
        for item in items(body.strip()):
            name, does, without, measured = _matched(
                r"\*\*(.+?)\*\*: (.+?) \*([^*]+:)\* (.+)", item
            ).groups()
            found.append(Box(stack.strip().lower(), name, does, without, claim(measured)))
    return tuple(found)


@cache
def plans() -> tuple[Plan, ...]:
    """The plans, the shortest first, then the days of the longest."""
    found = []
    for part in re.split(r"^## ", _body("plans.md"), flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        says, _, steps = body.strip().partition("- ")
        found.append(Plan(title.strip(), joined(says), tuple(map(_step, items(f"- {steps}")))))
    return tuple(found)


def _step(text: str) -> Step:
    kind, target, *rest = text.split(" ", 2)
    if kind == "section":
        return Step(kind, target, heading=rest[0])
    if kind == "page":
        minutes, _, said = rest[0].partition(" ")
        return Step(kind, target, minutes=int(minutes), text=said)
    if kind not in ("core", "exercise"):
        raise ValueError(f"{text!r}: section, core, exercise or page")
    return Step(kind, target)


def _matched(pattern: str, text: str) -> re.Match[str]:
    found = re.fullmatch(pattern, text)
    if found is None:
        raise ValueError(f"{text[:60]!r} is not of the form {pattern}")
    return found


def _body(name: str) -> str:
    """The text of a file behind its title."""
    text = files("annotated_transformer.interview").joinpath(name).read_text("utf-8")
    return text.partition("\n")[2].strip()

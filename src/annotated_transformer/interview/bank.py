"""The questions of an interview about the paper, each with all that a page or a round needs.

A topic is a Markdown file in `questions/`, a title and then its questions:

    ## Why do we divide by sqrt(d_k)?
    attention.scale | everyone | level 1 | 60 s | equation | attention.score_variance

    ### Short
    One line for who has no time.

    ### Answer
    What is said aloud within the time.

    ### Points
    - What must be said. [02 Derived; fact s3_2_1.scale]

    ### Sinks
    - "A sentence that ends the interview." Why it is wrong.

    ### Next
    - *What they ask then?* What to say. [02 Measured]

    ### How do you know?
    What we measured, or the paper printed. [02 Measured]

The second line is id, role, level (1 asked of everyone, 2 expected, 3 where they dig), time, skill,
and the exercises that train it; `box 02` at its end makes it the box of that chapter. In brackets
at the end of a line stands its evidence, one or several: a section of a chapter by its number and
heading, `fact` and its id in the ledger, `cite` and its key in the bibliography, or `=` and a sum
that gives the number said. Symbols are written plainly: d_k, W^O, sqrt(d_k).
"""

import ast
import operator
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

SKILLS = {
    "recurrence": "Say why recurrence was given up, and what that costs",
    "drawing": "Draw the whole architecture, and say what each box is for",
    "equation": "Derive the attention equation, its scale and its masks",
    "heads": "Explain multi-head attention, with all shapes",
    "positions": "Say how order comes in, and what it does not promise",
    "layers": "Explain feed-forward network, residual connection and norm",
    "training": "Train it, and get a translation out of it",
    "results": "Cite results and ablations, and say what they show",
    "limits": "Name limitations, each with a remedy and its paper",
    "after": "Place BERT, GPT, T5 and the models of today",
}
PARTS = ("Short", "Answer", "Points", "Sinks", "Next", "How do you know?")
ROLES = {  # as whom one is asked, and whose questions that takes
    "everyone": ("everyone",),
    "engineer": ("everyone", "engineer"),
    "researcher": ("everyone", "engineer", "researcher"),
}
LEVELS = {1: "asked of everyone", 2: "expected", 3: "where they dig"}
POINTS = (4, 6)
Kind = Literal["chapter", "fact", "cite", "sum"]
_OPERATIONS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


@dataclass(frozen=True)
class Evidence:
    """Where a reader sees that something is true.

    Attributes:
        kind: what `target` is.
        target: a heading, an id of the ledger, a key of the bibliography, or a sum.
        chapter: of a heading, the two digits that its notebook begins with.
    """

    kind: Kind
    target: str
    chapter: str = ""

    @property
    def label(self) -> str:
        """Its name in a sentence."""
        if self.kind == "chapter":
            return f"chapter {int(self.chapter)}, “{self.target}”"
        if self.kind == "fact":
            return f"the paper, {self.target}"
        if self.kind == "cite":
            found = re.match(r"([a-z]+)(\d{4})", self.target)
            return f"{found[1].capitalize()} {found[2]}" if found else self.target
        return f"counted: {self.target}"


@dataclass(frozen=True)
class Claim:
    """Something that is said, and its evidence."""

    text: str
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class FollowUp:
    """What they ask next, and what to say."""

    question: str
    answer: Claim


@dataclass(frozen=True)
class Question:
    """One question of an interview.

    Attributes:
        text: as it is asked.
        id: topic and name.
        role: whom it is asked, a key of ROLES.
        level: a key of LEVELS.
        seconds: what the answer may take.
        skill: a key of SKILLS.
        trains: ids of exercises.
        box: the chapter whose box it is, as two digits, or "".
        short: the answer in a line; "" where the cheat sheet leaves it out.
        answer: said aloud.
        points: what must be said.
        sinks: sentences that end the interview, each with why.
        follow_ups: what comes then, easiest first.
        how: to "how do you know?", the last question always.
    """

    text: str
    id: str
    role: str
    level: int
    seconds: int
    skill: str
    trains: tuple[str, ...]
    box: str
    short: str
    answer: Claim
    points: tuple[Claim, ...]
    sinks: tuple[Claim, ...]
    follow_ups: tuple[FollowUp, ...]
    how: Claim

    @property
    def claims(self) -> Iterator[Claim]:
        """All that is said to be true."""
        yield from (self.answer, *self.points, *self.sinks)
        yield from (follow_up.answer for follow_up in self.follow_ups)
        yield self.how


@dataclass(frozen=True)
class Topic:
    """The questions of a file."""

    name: str
    title: str
    questions: tuple[Question, ...]


@cache
def topics() -> tuple[Topic, ...]:
    """All topics, in the order of their files."""
    folder = files("annotated_transformer.interview").joinpath("questions")
    found = sorted(file.name for file in folder.iterdir() if file.name.endswith(".md"))
    return tuple(
        read_topic(name.removesuffix(".md"), folder.joinpath(name).read_text("utf-8"))
        for name in found
    )


def questions() -> dict[str, Question]:
    """All questions by their ids."""
    return {question.id: question for topic in topics() for question in topic.questions}


def read_topic(name: str, text: str) -> Topic:
    """A topic from the text of its file; its name has no digits and underscore at the beginning.

    Raises:
        ValueError: where something is missing or not well formed. The message names the question.
    """
    name = re.sub(r"^\d+_", "", name)
    head, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
    title = re.fullmatch(r"# (.+)\s*", head)
    if title is None:
        raise ValueError(f'{name}: it begins with "# " and its title')
    found = []
    for part in parts:
        heading = part.partition("\n")[0].strip()
        try:
            found.append(_question(name, part))
        except ValueError as error:
            raise ValueError(f"{name}, “{heading}”: {error}") from None
    return Topic(name, title[1].strip(), tuple(found))


def _question(topic: str, text: str) -> Question:
    top, *parts = re.split(r"^### ", text, flags=re.MULTILINE)
    asked, _, about = top.strip().partition("\n")
    fields = [field.strip() for field in about.split("|")]
    box = fields.pop().removeprefix("box ") if fields[-1].startswith("box ") else ""
    if box and not re.fullmatch(r"\d\d", box):
        raise ValueError(f"the box {box!r}: two digits")
    if len(fields) not in (5, 6):
        raise ValueError(f"{about!r}: say id | role | level 1 | 60 s | skill | exercises")
    name, role, level, seconds, skill, *trains = fields
    if not re.fullmatch(rf"{topic}\.[a-z_0-9]+", name):
        raise ValueError(f"the id {name!r} begins with {topic}.")
    if role not in ROLES:
        raise ValueError(f"the role is {role!r}, of {', '.join(ROLES)}")
    if not (re.fullmatch("level [123]", level) and re.fullmatch(r"\d+ s", seconds)):
        raise ValueError(f"{level!r}, {seconds!r}: say level 1 to 3 and 60 s")
    if skill not in SKILLS:
        raise ValueError(f"the skill is {skill!r}, of {', '.join(SKILLS)}")
    said = _parts(parts)
    points = tuple(map(claim, items(said["Points"])))
    sinks = tuple(map(claim, items(said["Sinks"])))
    follow_ups = tuple(map(_follow_up, items(said["Next"])))
    if not POINTS[0] <= len(points) <= POINTS[1] or len(sinks) < 2 or len(follow_ups) < 2:
        raise ValueError(
            f"it has {len(points)} points, {len(sinks)} sinking sentences and {len(follow_ups)} "
            "follow-ups: four to six, two or more, two or more"
        )
    how = claim(joined(said["How do you know?"]))
    for one in (*points, how):
        if not one.evidence:
            raise ValueError(f"no evidence for {one.text[:60]!r}")
    return Question(
        text=asked.strip(),
        id=name,
        role=role,
        level=int(level.removeprefix("level ")),
        seconds=int(seconds.removesuffix(" s")),
        skill=skill,
        trains=tuple(trains[0].split()) if trains else (),
        box=box,
        short=joined(said.get("Short", "")),
        answer=claim(joined(said["Answer"])),
        points=points,
        sinks=sinks,
        follow_ups=follow_ups,
        how=how,
    )


def _parts(parts: list[str]) -> dict[str, str]:
    said = {}
    for part in parts:
        heading, _, body = part.partition("\n")
        said[heading.strip()] = body.strip()
    missing = [part for part in PARTS[1:] if not said.get(part)]
    unknown = said.keys() - {*PARTS}
    if missing or unknown:
        raise ValueError(f"missing {missing}, unknown {sorted(unknown)}: {', '.join(PARTS)}")
    return said


def joined(text: str) -> str:
    """The lines of a paragraph as one."""
    return " ".join(text.split())


def items(text: str) -> list[str]:
    """The items of a list, each on one line.

    Raises:
        ValueError: where it is none.
    """
    if not text.startswith("- "):
        raise ValueError(f'{text[:40]!r}: a list, each item behind "- "')
    return [joined(item) for item in re.split(r"^- ", text, flags=re.MULTILINE)[1:]]


def _follow_up(text: str) -> FollowUp:
    found = re.fullmatch(r"\*([^*]+[?.])\* (.+)", text)
    if found is None:
        raise ValueError(f"{text[:40]!r}: *the question?* and the answer")
    return FollowUp(found[1], claim(found[2]))


def claim(text: str) -> Claim:
    """A sentence with its evidence behind it, in brackets."""
    found = re.fullmatch(r"(.+?)\s*\[([^][]+)\]", text)
    if found is None:
        return Claim(text)
    return Claim(found[1], tuple(evidence(part.strip()) for part in found[2].split(";")))


def evidence(text: str) -> Evidence:
    """One piece of evidence as it is written.

    Raises:
        ValueError: where it is none of the four kinds, or a sum that cannot be computed.
    """
    if text.startswith("= "):
        value_of(text[2:])
        if not re.search(r"[-+*/]", text[2:]):
            raise ValueError(f"the evidence {text!r}: a number by itself is no sum")
        return Evidence("sum", text[2:])
    kind, _, target = text.partition(" ")
    if kind in ("fact", "cite") and target:
        return Evidence(kind, target)  # type: ignore[arg-type]
    if re.fullmatch(r"\d\d", kind) and target:
        return Evidence("chapter", target, kind)
    raise ValueError(f"the evidence {text!r}: 02 Heading, fact ID, cite KEY or = SUM")


def value_of(text: str) -> float:
    """The value of a sum of numbers, `2 * 80 * 8 * 128`.

    Raises:
        ValueError: where it is none.
    """
    try:
        return float(_value(ast.parse(text, mode="eval").body))
    except (SyntaxError, KeyError, TypeError, ZeroDivisionError, OverflowError) as error:
        raise ValueError(f"{text!r} is no sum of numbers: {error}") from None


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.BinOp):
        operation = _OPERATIONS[type(node.op)]  # type: ignore[index]
        return float(operation(_value(node.left), _value(node.right)))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return float(node.value)
    raise TypeError(ast.unparse(node))

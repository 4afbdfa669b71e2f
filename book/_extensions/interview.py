"""The pages before an interview, made from the bank of questions at each build.

`interview-questions`: all of them, folded. `mock-interview`: the place of a round; without
JavaScript one round as folds, and a score card for paper. `cheat-sheet`, `twenty-numbers`,
`practice-problems`, `self-assessment`, `blank-drawing`, `wrong-sentences`, `plan`: what their names
say. The bank goes beside interview.js as a script, and the cards for Anki beside the pages.
"""

import html
import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

import lanes
from annotated_transformer.evidence.ledger.facts import load_facts
from annotated_transformer.evidence.ledger.ledger_page import anchor_of
from annotated_transformer.exercises.catalogue import catalogue, chapter_of, minutes_of_exercises
from annotated_transformer.interview import deck, rounds, sheets
from annotated_transformer.interview.bank import (
    LEVELS,
    ROLES,
    SKILLS,
    Claim,
    Evidence,
    FollowUp,
    Question,
    questions,
    value_of,
)
from annotated_transformer.interview.markup import as_html
from annotated_transformer.interview.sentences import read_sentences
from exercise_catalogue import headings

BOOK = Path(__file__).resolve().parents[1]
NOTEBOOKS = BOOK.parent / "notebooks"
BANK = "interview_bank.js"  # beside interview.js, which reads it
DECK = "annotated_transformer.apkg"
ON_PAPER = ("paper", 20, "everyone")  # the round that stands on the page without JavaScript
CHAPTERS = {  # where a skill is read up
    "recurrence": ("01",),
    "drawing": ("06", "05"),
    "equation": ("02",),
    "heads": ("03",),
    "positions": ("04",),
    "layers": ("05",),
    "training": ("08", "09"),
    "results": ("12", "10"),
    "limits": ("13",),
    "after": (),
}
_OURS = re.compile(
    r'class="(?:asks?|mock|problem|drawing|skill|plan|numbers|cheat-sheet|clock)["-]'
)
ENDS = {  # of a stack: what is above it, what below
    "encoder": ("Encoder: its output goes to every decoder layer", "Inputs"),
    "decoder": ("Decoder: probabilities of the next token", "Outputs, shifted right"),
}


# --- words, and what they rest on -----------------------------------------------------------------


def _heading(name: str, text: str) -> str:
    """A heading that can be linked to."""
    return f'<h2>{text}<a class="headerlink" href="#{name}" title="Link to this heading">#</a></h2>'


def link(evidence: Evidence) -> str:
    """Where a reader sees it, as a link from a page of the book."""
    if evidence.kind == "sum":
        told = re.sub(r" \*\* ", "^", evidence.target).replace("*", "·").replace("-", "−")
        return (
            f'<span class="ask-sum">{html.escape(told)} = {shown(value_of(evidence.target))}</span>'
        )
    if evidence.kind == "chapter":
        name = f"chapter {int(evidence.chapter)}, {as_html(_plainly(evidence.target))}"
        return f'<a href="{chapter_address(evidence.chapter, evidence.target)}">{name}</a>'
    if evidence.kind == "fact":
        place = html.escape(load_facts()[evidence.target].place)
        return f'<a href="ledger.html#{anchor_of(evidence.target)}">the paper, {place}</a>'
    name = html.escape(work(evidence.target))
    return f'<a href="bibliography.html#cite-{evidence.target}">{name}</a>'


def chapter_address(chapter: str, heading: str) -> str:
    """The address of a section as the site spells it, seen from a page of the book."""
    (path,) = NOTEBOOKS.glob(f"{chapter}_*.ipynb")
    return f"../notebooks/{path.stem}.html#{nodes.make_id(_without_formulas(heading))}"


def _without_formulas(heading: str) -> str:
    return heading.replace("$", "").replace("`", "")


def _plainly(heading: str) -> str:
    """A heading with its formulas as the bank writes them: sqrt(d_k)."""
    plain = re.sub(r"d_\{?\\text\{(\w+)\}\}?", r"d_\1", _without_formulas(heading))
    return re.sub(r"\\sqrt\{([^}]+)\}", r"sqrt(\1)", plain)


@cache
def works() -> dict[str, str]:
    """The works of the bibliography as they are called in a sentence, by their keys."""
    text = (BOOK / "references.bib").read_text(encoding="utf-8")
    found = {}
    for entry in re.split(r"^@\w+\{", text, flags=re.MULTILINE)[1:]:
        key = entry.partition(",")[0]
        told = dict(re.findall(r"^  (author|year)\s*= \{(.+)\}", entry, flags=re.MULTILINE))
        names = [name.partition(",")[0] for name in told["author"].split(" and ")]
        names = [re.sub(r"\{?\\.\{?(\w)\}?\}?|[{}]", r"\1", name) for name in names]
        several = f"{names[0]} and others" if len(names) > 2 else " and ".join(names)
        found[key] = f"{several}, {told['year']}"
    return found


def work(key: str) -> str:
    """A work as it is called in a sentence.

    Raises:
        ExtensionError: if the bibliography has none of that key.
    """
    if key not in works():
        raise ExtensionError(f"the bibliography has no {key!r}, which the bank of questions cites")
    return works()[key]


def shown(value: float) -> str:
    """A number as a reader would write it."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value) >= 1e-3 else f"{value:.3g}".replace("e-0", "·10^−")


def claim(said: Claim) -> str:
    """A claim and its links."""
    return " ".join(filter(None, (as_html(said.text), links(said))))


def links(said: Claim) -> str:
    """The links of a claim, each place once; "" where it has none."""
    by_name = {re.sub("<[^>]+>", "", made): made for made in map(link, reversed(said.evidence))}
    told = ", ".join(reversed(by_name.values()))
    return f'<span class="ask-why">({told})</span>' if told else ""


# --- questions ------------------------------------------------------------------------------------


def question_fold(question: Question, follow_ups: Sequence[FollowUp] = ()) -> str:
    """A question, folded: answer, points, what sinks, and what they ask then, three deep."""
    points = "".join(f"<li>{claim(point)}</li>" for point in question.points)
    sinks = "".join(f"<li>{claim(sink)}</li>" for sink in question.sinks)
    asked = "".join(
        f"<details><summary>{as_html(one.question)}</summary><p>{claim(one.answer)}</p></details>"
        for one in follow_ups or question.follow_ups
    )
    trains = "".join(f"<li>{exercise_link(name)}</li>" for name in question.trains)
    return (
        f'<details class="ask" id="{nodes.make_id(question.id)}"><summary>{as_html(question.text)} '
        f'<span class="ask-about">{about(question)}</span></summary>'
        f'<p class="ask-answer">{as_html(question.answer.text)}</p>'
        f"<p><strong>What must be said</strong></p><ul>{points}</ul>"
        f"<p><strong>What sinks you</strong></p><ul>{sinks}</ul>"
        f"<p><strong>They ask then</strong></p>{asked}"
        "<details><summary>How do you know?</summary>"
        f'<p class="ask-how">{claim(question.how)}</p></details>'
        + (f"<p><strong>It is trained by</strong></p><ul>{trains}</ul>" if trains else "")
        + "</details>"
    )


def about(question: Question) -> str:
    """Whom it is asked, how deep it goes, how long the answer may be."""
    return f"{question.role} · {LEVELS[question.level]} · {question.seconds} s"


@cache
def _headings(chapter: str) -> dict[str, str]:
    return headings(chapter)


def exercise_link(name: str) -> str:
    """An exercise as a link to where it can be solved."""
    exercise = catalogue()[name]
    chapter = chapter_of(name)
    there = _headings(chapter)
    address = (
        f"../notebooks/{chapter}.html#{nodes.make_id(there[name])}" if there else "exercises.html"
    )
    return f'<a href="{address}">{html.escape(exercise.title)}</a> ({exercise.minutes} min)'


def interview_questions() -> str:
    """All questions by skill."""
    parts = []
    for number, (skill, title) in enumerate(SKILLS.items(), start=1):
        own = sorted(
            (question for question in questions().values() if question.skill == skill),
            key=lambda question: question.level,
        )
        folds = "".join(map(question_fold, own))
        parts.append(
            f'<section id="skill-{skill}">'
            f"{_heading(f'skill-{skill}', f'{number}. {html.escape(title)}')}{folds}</section>"
        )
    return f'<div class="asks">{"".join(parts)}</div>'


def cheat_sheet() -> str:
    """The questions that have an answer in one line, as a table for one sheet."""
    rows = "".join(
        f'<tr><th scope="row"><a href="questions.html#{nodes.make_id(question.id)}">'
        f"{as_html(question.text)}</a></th><td>{as_html(question.short)}</td></tr>"
        for question in questions().values()
        if question.short
    )
    return f'<table class="cheat-sheet"><tbody>{rows}</tbody></table>'


def twenty_numbers() -> str:
    """The numbers to carry, each with its condition."""
    told = "".join(
        f"<li><b>{as_html(number.text)}</b> {claim(number.condition)}</li>"
        for number in sheets.numbers()
    )
    return f'<ol class="numbers">{told}</ol>'


# --- problems, boxes, sentences -------------------------------------------------------------------


def practice_problems() -> str:
    """Each problem with hint, answer, and the check of a number."""
    return "".join(
        _problem(number, one) for number, one in enumerate(sheets.problems().values(), 1)
    )


def _problem(number: int, problem: sheets.Problem) -> str:
    check = ""
    if problem.value is not None:
        told = {
            "value": problem.value,
            "tolerance": problem.tolerance,
            "wrong": [[number, as_html(said)] for number, said in problem.wrong],
            "id": problem.id,
            "unit": problem.unit,
        }
        check = (
            f'<form class="problem-check" data-check="{html.escape(json.dumps(told))}" hidden>'
            f'<label>Your number <input type="text" autocomplete="off"> '
            f"{as_html(problem.unit)}</label> <button>Check</button>"
            '<p role="status"></p></form>'
        )
    trains = ", ".join(map(exercise_link, problem.trains))
    return (
        f'<section id="{nodes.make_id(problem.id)}" class="problem">'
        f"{_heading(nodes.make_id(problem.id), f'{number}. {as_html(problem.title)}')}"
        f"<p>{as_html(problem.statement)}</p>{check}"
        f"<details><summary>Hint</summary><p>{as_html(problem.hint)}</p></details>"
        f"<details><summary>Answer</summary><p>{claim(problem.answer)}</p></details>"
        f'<p class="ask-about">In code: {trains}</p></section>'
    )


def blank_drawing() -> str:
    """Figure 1 with its boxes blank; without JavaScript its boxes with what each is for."""
    names = sorted({box.name for box in sheets.boxes()})
    options = "".join(f"<option>{html.escape(name)}</option>" for name in names)
    columns = []
    for stack in ("encoder", "decoder"):
        own = [box for box in sheets.boxes() if box.stack == stack]
        rows = "".join(
            f'<li class="blank" data-name="{html.escape(box.name)}" '
            f'data-hint="{html.escape(as_html(box.does))}">'
            f'<select hidden aria-label="{stack}, box {number} from below">'
            f'<option value="">?</option>{options}</select>'
            f"<details><summary><b>{html.escape(box.name)}</b></summary><p>{as_html(box.does)} "
            f"<em>{as_html(box.without)}</em> {claim(box.measured)}</p></details></li>"
            for number, box in reversed([*enumerate(own, start=1)])
        )
        above, below = ENDS[stack]
        columns.append(
            f'<div><p class="stack-name">{above}</p><ol reversed>{rows}</ol>'
            f'<p class="stack-name">{below}</p></div>'
        )
    return (
        f'<div class="drawing">{"".join(columns)}</div>'
        '<div class="drawing-row" hidden><button type="button">Check</button> '
        '<button type="button">Begin again</button><p role="status"></p></div>'
    )


def wrong_sentences() -> str:
    """A sentence of the errata at a time: what is wrong with it?"""
    folds = "".join(
        f'<details class="ask"><summary>“{as_html(one.claim)}”</summary><p>{as_html(one.truth)} '
        f'<a href="errata.html#{nodes.make_id(one.section)}">Evidence</a></p></details>'
        for one in read_sentences((BOOK / "errata.md").read_text(encoding="utf-8"))
    )
    return f'<div class="wrong-sentences">{folds}</div>'


def self_assessment() -> str:
    """Ten skills on five levels, each level with what shows it."""
    return "".join(
        _skill(number, skill, title) for number, (skill, title) in enumerate(SKILLS.items(), 1)
    )


def _skill(number: int, skill: str, title: str) -> str:
    own = [question for question in questions().values() if question.skill == skill]
    two = sorted(own, key=lambda question: question.level)[:2]  # for instance
    third = max(own, key=lambda question: (question.level, len(question.follow_ups)))
    problems = [
        problem
        for problem in sheets.problems().values()
        if problem.skill == skill and problem.value is not None
    ]
    exercises = [*dict.fromkeys(name for one in own for name in one.trains)][:2]
    derive = [
        f'<a href="practice.html#{nodes.make_id(problem.id)}">{as_html(problem.title)}</a>'
        for problem in problems
    ]
    derive += map(exercise_link, exercises)
    told = {
        "skill": skill,
        "questions": [question.id for question in own],
        "third": third.id,
        "problems": [problem.id for problem in problems],
        "exercises": exercises,
    }
    asked = " and ".join(map(_asked, two))
    return (
        f'<section class="skill" id="{skill}" data-skill="{html.escape(json.dumps(told))}">'
        f"{_heading(skill, f'{number}. {html.escape(title)}')}<ol>"
        "<li>I cannot yet: asked, and it would not do.</li>"
        "<li><b>Vaguely:</b> one question of this skill, answered well.</li>"
        f"<li><b>I can explain it:</b> two of them, for instance {asked}.</li>"
        f"<li><b>I can derive it:</b> checked by {' or '.join(derive)}.</li>"
        f"<li><b>I can teach it:</b> {_asked(third)}, and its three follow-ups survived.</li>"
        '</ol><p class="skill-level" role="status"></p></section>'
    )


def _asked(question: Question) -> str:
    """A question as a link to a round that asks it alone."""
    return f'<a href="mock_interview.html#ask={question.id}">{as_html(question.text)}</a>'


# --- plans ----------------------------------------------------------------------------------------


@cache
def _notebook(chapter: str) -> tuple[str, list[lanes.Section], int]:
    (path,) = NOTEBOOKS.glob(f"{chapter}_*.ipynb")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    core, *_ = lanes.times(cells, minutes_of_exercises())
    return path.stem, [*lanes.sections(cells)], core


def minutes_of(step: sheets.Step) -> float:
    """What a step takes: of a section the reading alone, of a core what the chapter says.

    Raises:
        ExtensionError: where a chapter has no such section.
    """
    if step.kind == "page":
        return float(step.minutes)
    if step.kind == "exercise":
        return float(minutes_of_exercises()[step.target])
    _, sections, core = _notebook(step.target)
    if step.kind == "core":
        return float(core)
    for section in sections:
        if section.heading == step.heading:
            return lanes.minutes(section.cells, dict.fromkeys(minutes_of_exercises(), 0))
    raise ExtensionError(
        f"chapter {step.target} has no section {step.heading!r}, which a plan names"
    )


def plan(title: str) -> str:
    """A plan by its title, with the minutes of each step and their sum.

    Raises:
        ExtensionError: if there is none of that name.
    """
    for one in sheets.plans():
        if one.title == title:
            steps = "".join(
                f"<li>{_told(step)} <span>{_minutes(minutes_of(step))}</span></li>"
                for step in one.steps
            )
            total = sum(map(minutes_of, one.steps))
            says = f"<p>{as_html(one.says)}</p>" if one.says else ""
            together = f'<p class="plan-sum">Together {total:.0f} minutes.</p>'
            return f'{says}<ol class="plan">{steps}</ol>{together}'
    raise ExtensionError(f"there is no plan {title!r}, of {[one.title for one in sheets.plans()]}")


def _told(step: sheets.Step) -> str:
    if step.kind == "page":
        page, _, place = step.target.partition("#")
        return f'<a href="{page}.html{place and "#"}{place}">{as_html(step.text)}</a>'
    if step.kind == "exercise":
        return exercise_link(step.target).rpartition(" (")[0]
    stem = _notebook(step.target)[0]
    if step.kind == "core":
        return f'<a href="../notebooks/{stem}.html">Chapter {int(step.target)}, its core</a>'
    heading = as_html(_plainly(step.heading))
    address = chapter_address(step.target, step.heading)
    return f'<a href="{address}">Chapter {int(step.target)}: {heading}</a>'


def _minutes(minutes: float) -> str:
    return f"{minutes:.1f}".removesuffix(".0") + " min" if minutes < 9.95 else f"{minutes:.0f} min"


# --- the round ------------------------------------------------------------------------------------


def mock_interview() -> str:
    """The place of a round, and without JavaScript one on paper."""
    seed, minutes, role = ON_PAPER
    drawn = rounds.draw(seed, minutes, role)
    folds = "".join(question_fold(one, rounds.chain(one, seed)[:-1]) for one in drawn)
    empty = "<td></td>" * 3
    rows = "".join(
        f"<tr><th scope='row'>{number}</th><td>{len(one.points)}</td>{empty}</tr>"
        for number, one in enumerate(drawn, start=1)
    )
    columns = ("Question", "Points", "Said", "Sinking sentences (−2 each)", "Follow-ups, of 3")
    head = "".join(f'<th scope="col">{column}</th>' for column in columns)
    return (
        f'<div class="mock"><p>A round of {minutes} minutes, on paper: speak, unfold, tick.</p>'
        f'{folds}<table class="score-card"><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def bank_script() -> str:
    """The bank as a script for the page, its sentences as HTML."""
    told = {
        "skills": SKILLS,
        "levels": LEVELS,
        "roles": ROLES,
        "minutes": rounds.MINUTES,
        "around": rounds.AROUND,
        "follow_up": rounds.FOLLOW_UP,
        "depth": rounds.DEPTH,
        "usual": rounds.USUAL,
        "longest": rounds.LONGEST,
        "enough": rounds.ENOUGH,
        "sinks": rounds.SINKS,
        "over": rounds.OVER,
        "least": rounds.LEAST,
        "pages": {skill: _pages(skill) for skill in SKILLS},
        "questions": [_told_to_the_page(question) for question in questions().values()],
    }
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f"globalThis.BOOK_INTERVIEW={text};\n"


def _pages(skill: str) -> str:
    """What to read for a skill, with its minutes; what no chapter tells stands in its answers."""
    steps = [sheets.Step("core", chapter) for chapter in CHAPTERS[skill]]
    read = [f"{_told(step)} ({_minutes(minutes_of(step))})" for step in steps]
    return "; ".join([f'<a href="questions.html#skill-{skill}">its answers</a>', *read])


def _told_to_the_page(question: Question) -> dict[str, Any]:
    return {
        "id": question.id,
        "text": as_html(question.text),
        "role": question.role,
        "level": question.level,
        "seconds": question.seconds,
        "skill": question.skill,
        "answer": as_html(question.answer.text),
        "points": [[as_html(point.text), links(point)] for point in question.points],
        "sinks": [[*map(as_html, rounds.sinking(sink))] for sink in question.sinks],
        "follow_ups": [[as_html(one.question), claim(one.answer)] for one in question.follow_ups],
        "how": claim(question.how),
    }


def write_all(app: Sphinx, exception: Exception | None) -> None:
    """Put the bank and the cards beside the pages."""
    if exception is None and app.builder.name == "html":
        folder = Path(app.outdir) / "_static"
        (folder / BANK).write_text(bank_script(), encoding="utf-8")
        errata = (BOOK / "errata.md").read_text(encoding="utf-8")
        glossary = (BOOK / "glossary.md").read_text(encoding="utf-8")
        (folder / DECK).write_bytes(deck.whole(errata, glossary))


def add_style(app: Sphinx, page: str, template: str, context: dict[str, Any], _: Any) -> None:
    """Style and program, on the pages that have a part of this."""
    if _OURS.search(context.get("body", "")):
        app.add_css_file("interview.css")
        app.add_js_file("own_progress.js", loading_method="defer")
        app.add_js_file("interview.js", loading_method="defer")


class _Made(SphinxDirective):
    """A directive that puts the HTML of a function where it stands."""

    make: Callable[..., str]
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        return [nodes.raw("", type(self).make(*self.arguments), format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    made: dict[str, Callable[..., str]] = {
        "interview-questions": interview_questions,
        "cheat-sheet": cheat_sheet,
        "twenty-numbers": twenty_numbers,
        "practice-problems": practice_problems,
        "blank-drawing": blank_drawing,
        "wrong-sentences": wrong_sentences,
        "self-assessment": self_assessment,
        "mock-interview": mock_interview,
    }
    for name, make in made.items():
        app.add_directive(name, type("Made", (_Made,), {"make": staticmethod(make)}))
    app.add_directive(
        "plan", type("Made", (_Made,), {"make": staticmethod(plan), "required_arguments": 1})
    )
    app.connect("html-page-context", add_style)
    app.connect("build-finished", write_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""The museum's two pages: every exhibit with what was recorded of it, and the way there by symptom.

    ```{museum-exhibits}
    ```
    ```{museum-symptoms}
    ```
    ```{museum-quotes}
    ```

What they show is read from the package and its records, so that the pages cannot fall behind.
"""

import html
import inspect
import re
from functools import partial
from statistics import mean
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from annotated_transformer.errors import WorkError
from annotated_transformer.evaluation.scoring import cased_bleu
from annotated_transformer.museum import caught_by
from annotated_transformer.museum.bugs import BUGS, Bug, bug_named
from annotated_transformer.museum.exhibit import ASKED, EVERY, Exhibit, recorded
from annotated_transformer.museum.seen import QUOTES, SEEN, Quote
from annotated_transformer.museum.symptoms import FIRST, Question, ways
from annotated_transformer.museum.wrong_steps import Swapped

WIDTH, HEIGHT, LOWEST_TOP = 320, 90, 8.0  # of a picture; nats at its top, at least


def anchor(name: str) -> str:
    """Where a bug stands on the page of exhibits."""
    return f"museum-{name}"


def exhibits() -> str:
    """Every exhibit as Markdown, each with a heading of its own."""
    training = sum(bug.trains for bug in BUGS)
    signature = cased_bleu(["a"], ["a"]).signature
    said = (
        f"{len(BUGS)} bugs: {training} change the training, {len(BUGS) - training} ask the run "
        f"without a bug in another way. BLEU is cased, of {ASKED} sentences: `{signature}`."
    )
    helper = _source(caught_by.tokens)
    needs = f"The tests call this where they need tokens:\n\n```python\n{helper}\n```"
    return "\n\n".join([said, needs, *map(_exhibit, BUGS)])


def _exhibit(bug: Bug) -> str:
    runs = recorded(bug.name)
    seeds = {run.seed for run in runs}
    without = [run for run in recorded(bug.control) if run.seed in seeds]
    if not runs or len(without) < len(runs):
        lacking = bug.control if runs else bug.name
        raise WorkError(
            f"The museum lacks a record of {lacking} with seeds {sorted(seeds) or [0, 1, 2]}. Make "
            f"it by `annotated-transformer museum {lacking} --seed N --record FOLDER`."
        )
    looks = bug.looks[0].upper() + bug.looks[1:]
    parts = [
        f"({anchor(bug.name)})=\n### {bug.title}",
        f"`{bug.name}`. What one sees: {looks}.",
        *([curve(runs, without)] if bug.trains else []),
        _numbers(runs, without),
        _said(runs[0], without[0]),
    ]
    parts.append(
        "**The one wrong step**\n\n" + "\n\n".join(f"```python\n{c}\n```" for c in code_of(bug))
    )
    parts.append(f"**What betrays it.** `diagnose`: {runs[0].says}.")
    assert bug.test is not None
    test = _source(bug.test)
    parts.append(f"**The test that would have caught it**\n\n```python\n{test}\n```")
    if seen := SEEN.get(bug.name):
        differs = f" (Not quite the same: {seen.differs}.)" if seen.differs else ""
        parts.append(f"**Seen.** {seen.says}{differs} [{seen.place_name}]({seen.address})")
    else:
        parts.append("**Seen.** We found nobody who had it.")
    return "\n\n".join(parts)


def code_of(bug: Bug) -> list[str]:
    """What stands in the place of the right recipe's steps, as code, or as a setting."""
    found = []
    for step, value in bug.change.items():
        if not callable(value):
            found.append(f"{step} = {value!r}")
            continue
        if isinstance(value, partial):
            given = ", ".join(repr(one) for one in value.args)
            found.append(f"{step} = partial({value.func.__name__}, {given})")
            value = value.func
        if isinstance(value, Swapped):
            found.append(f"# every {value.old.__name__} becomes {value.new.__name__}")
            value = value.new
        if inspect.isclass(value):  # with those of the museum that it is made of
            made_of = [one for one in reversed(value.mro()) if one.__module__ == value.__module__]
            found += [_source(one) for one in made_of]
        else:
            found.append(_source(value))
    return found


def _source(value: Any) -> str:
    """Its code, without what is said to a checker of style or types."""
    return re.sub(r"  # (noqa|type:).*", "", inspect.getsource(value)).rstrip()


def _numbers(runs: list[Exhibit], right: list[Exhibit]) -> str:
    """Its numbers beside those of the run without a bug, means over the seeds."""

    def row(name: str, value: str, digits: int, factor: float = 1.0) -> str:
        of = [factor * mean(getattr(one, value) for one in some) for some in (runs, right)]
        return f"| {name} | {of[0]:.{digits}f} | {of[1]:.{digits}f} |"

    rows = [
        row("loss of new sentences, as its code counts it", "loss", 2),
        row("best next token right, %", "accuracy", 1, 100),
        row("score, as its code scores", "score", 1),
        row("BLEU", "bleu", 1),
        row("translations that are right, %", "exact", 1),
        _lengths(runs, right),
    ]
    return (
        f"| mean of {len(runs)} seeds, the same ones | here | without the bug |\n|---|--:|--:|\n"
        + "\n".join(rows)
    )


def _lengths(runs: list[Exhibit], right: list[Exhibit]) -> str:
    """Each seed's, since one may write nothing and the next without end."""
    here, without = (", ".join(f"{one.length_ratio:.2f}" for one in some) for some in (runs, right))
    return f"| length beside the references, each seed | {here} | {without} |"


def _said(one: Exhibit, right: Exhibit) -> str:
    said = one.travelling.strip() or "(nothing)"
    said = said if len(said) < 160 else said[:160] + " …"
    return f"**It says** *{said}* where the run without the bug says *{right.travelling}*"


def curve(runs: list[Exhibit], right: list[Exhibit]) -> str:
    """The loss of every seed beside those without the bug, as a picture with its words."""
    highest = max(LOWEST_TOP, *(max(one.curve) for one in (*runs, *right)))

    def path(one: Exhibit) -> str:
        n = len(one.curve) - 1
        points = (
            f"{WIDTH * place / n:.1f},{HEIGHT * (1 - loss / highest):.1f}"
            for place, loss in enumerate(one.curve)
        )
        return " ".join(points)

    def lines(some: list[Exhibit], look: str) -> str:
        return "".join(f'<polyline class="{look}" points="{path(one)}"/>' for one in some)

    steps = len(runs[0].curve) * EVERY
    said = (
        f"Loss over {steps:,} steps, 0 to {highest:.0f} nats. With the bug it ends at "
        f"{mean(one.curve[-1] for one in runs):.2f}, without it at "
        f"{mean(one.curve[-1] for one in right):.2f}."
    )
    return (
        "```{raw} html\n"
        f'<figure class="museum-curve"><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{html.escape(said)}">{lines(right, "without")}{lines(runs, "with")}</svg>'
        f"<figcaption>{html.escape(said)}</figcaption></figure>\n```"
    )


class Exhibits(SphinxDirective):
    """Writes every exhibit where it stands."""

    def run(self) -> list[nodes.Node]:
        return _parsed(self, exhibits())


class Symptoms(SphinxDirective):
    """Writes the questions, each folded into the answer that leads to it."""

    def run(self) -> list[nodes.Node]:
        return self._question(FIRST, 1)

    def _question(self, question: Question, number: int) -> list[nodes.Node]:
        found: list[nodes.Node] = _parsed(self, f"**{number}. {question.text}**")
        for answer in question.answers:
            summary = html.escape(answer.text)
            found.append(_raw(f"<details class='symptom'><summary>{summary}</summary>"))
            if isinstance(answer.leads, Question):
                found += self._question(answer.leads, number + 1)
            elif isinstance(answer.leads, str):
                found += _parsed(self, _way_to(answer.leads))
            else:
                found += _parsed(self, answer.leads.words)
            found.append(_raw("</details>"))
        return found


class Quotes(SphinxDirective):
    """Writes what people wrote before they knew, and the way from there."""

    def run(self) -> list[nodes.Node]:
        return _parsed(self, "\n".join(map(_quote, QUOTES)))


def _parsed(directive: SphinxDirective, markdown: str) -> list[nodes.Node]:
    container = nodes.section()
    container.document = directive.state.document
    lines = StringList(markdown.splitlines(), source="the museum")
    directive.state.nested_parse(lines, directive.content_offset, container, match_titles=True)
    return container.children


def _way_to(name: str) -> str:
    bug = bug_named(name)
    assert bug.test is not None
    test = bug.test.__name__.replace("_", " ")
    return f"{{ref}}`{bug.title} <{anchor(name)}>`: `{name}`. The test for it: *{test}*."


def _quote(quote: Quote) -> str:
    """What somebody wrote, and the answers that lead from there to what it was."""
    (way,) = (way for way in ways() if way.end == quote.bug)
    bug = bug_named(quote.bug)
    was = "it was" if quote.sure else "most likely it was"
    steps = " → ".join(answer.rstrip(".") for answer in way.answers)
    return (
        f'- "{quote.words}" ([{quote.place_name}]({quote.address})): {was} '
        f"{{ref}}`{bug.title[0].lower()}{bug.title[1:]} <{anchor(quote.bug)}>`. "
        f"The way: {steps}."
    )


def _raw(markup: str) -> nodes.Node:
    return nodes.raw("", markup, format="html")


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("museum-exhibits", Exhibits)
    app.add_directive("museum-symptoms", Symptoms)
    app.add_directive("museum-quotes", Quotes)
    return {"parallel_read_safe": True}

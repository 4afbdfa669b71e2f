"""What a reader sees: a report, a hint, a solution or the progress as HTML and as plain text.

The HTML carries its own small style, takes text and background from the page (so it is right in
light and in dark), says every state in words, and is the same at every run: no times, no ids.
"""

import html
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from annotated_transformer.exercises.exercise import Report
from annotated_transformer.exercises.grader.values import Array
from annotated_transformer.exercises.reports.showing import (
    both_as_text,
    differing,
    excerpt,
    first_place,
    printed,
    show_number,
    shown_on,
    where_printed,
    without_noise,
)

STYLE = """<style>
.at-card{border:1px solid rgba(128,128,128,.5);border-left:5px solid var(--at-state,#888);
border-radius:4px;padding:.5em .9em;margin:.4em 0;color:inherit;background:transparent;
font-size:.95em;line-height:1.5}
.at-card.at-passed{--at-state:#2f9e5b}.at-card.at-wrong{--at-state:#d1603d}
.at-card p{margin:.35em 0}.at-card pre{margin:.35em 0;padding:.3em .6em;background:transparent;
color:inherit;border:1px solid rgba(128,128,128,.35);overflow-x:auto;white-space:pre-wrap}
.at-card code{overflow-wrap:anywhere}
.at-card .at-pair{display:flex;flex-wrap:wrap;align-items:flex-start;gap:.4em 1.6em}
.at-card .at-scroll{overflow-x:auto;max-width:100%}
.at-card table{border-collapse:collapse;margin:.3em 0;width:auto;color:inherit;
font-variant-numeric:tabular-nums;font-size:.9em}
.at-card caption{text-align:left;overflow-wrap:anywhere;font-weight:600;color:inherit;
caption-side:top}
.at-card th,.at-card td{padding:.1em .5em;text-align:right;color:inherit;
border:1px solid rgba(128,128,128,.35);background:transparent}
.at-card th{font-weight:400}.at-card td.at-off{font-weight:700;outline:2px solid currentColor;
outline-offset:-2px}
.at-card td.at-left,.at-card th.at-left{text-align:left}
</style>"""
SHADES = 4  # steps of the heat map's colour; more would not be told apart
_STRESSED = re.compile(r"(?<![\w*<>/])\*(\w[\w ]*)\*(?![\w*])")
_MARKS = {True: "✓", False: "✗"}


@dataclass(frozen=True)
class Card:
    """Something to show: `text` where only text can be shown, `markup` where HTML can."""

    text: str
    markup: str

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, str]:
        return {"text/plain": self.text, "text/html": self.markup}

    def __repr__(self) -> str:
        return self.text


def show(card: Card) -> None:
    """Display in a notebook, print elsewhere."""
    try:
        from IPython import get_ipython
    except ImportError:
        get_ipython = None
    if get_ipython is None or get_ipython() is None:
        print(card.text)
        return
    from IPython.display import display

    display(card)  # type: ignore[no-untyped-call]


def frame(inner: str, label: str, state: str = "") -> str:
    """The box around a card; `state` is "passed", "wrong" or nothing."""
    css = f"at-card at-{state}" if state else "at-card"
    return f'{STYLE}<div class="{css}" role="group" aria-label="{html.escape(label)}">{inner}</div>'


def prose(text: str) -> str:
    """Plain text as paragraphs of HTML, `code` in backticks, *stressed* words in asterisks."""
    parts = []
    for line in text.splitlines():
        escaped = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(line, quote=False))
        escaped = _STRESSED.sub(r"<em>\1</em>", escaped)
        parts.append(f"<p>{escaped}</p>")
    return "".join(parts)


def calls_as_code(text: str) -> str:
    """Backticks around calls such as `hint("masks.causal")`."""
    return re.sub(r'(\w+\("[^"]*"\))', r"`\1`", text)


def scrolling(table: str, label: str) -> str:
    """A table that scrolls on its own where the page is narrow, also by the keyboard."""
    name = html.escape(label)
    return f'<div class="at-scroll" tabindex="0" role="group" aria-label="{name}">{table}</div>'


def report_card(report: Report) -> Card:
    """The card of a report: the state in words, the finding, the two matrices, the diagnosis."""
    if report.rung == "unknown exercise":
        return Card(report.message, frame(prose(report.message), "Unknown exercise", "wrong"))
    state = "passed" if report.passed else "not yet right" if report.attempted else "to do"
    mark = _MARKS[report.passed] if report.attempted else "○"
    label = f"{report.exercise_id}: {state}"
    title = html.escape(f"{report.exercise_id} · {report.title}")
    inner = [f"<p><strong>{mark} {state}</strong> · {title}</p>", prose(report.finding)]
    if report.given:
        inner.append(prose(shown_on(report)))
    if report.given and report.given != report.case:
        inner.append(f"<pre>{html.escape(report.given)}</pre>")
    inner.append(_both(report))
    if report.diagnosis:
        inner.append(prose(f"Why: {report.diagnosis}"))
    if report.printed and not report.passed:
        text = html.escape(printed(report))
        inner.append(f"<p>Your code printed{where_printed(report)}:</p><pre>{text}</pre>")
    inner += [prose(f"Note: {note}") for note in report.notes]
    if report.next_hint:
        inner.append(prose(calls_as_code(report.next_hint)))
    css = "passed" if report.passed else "wrong" if report.attempted else ""
    return Card(report.message, frame("".join(inner), label, css))


def _both(report: Report) -> str:
    """Expected and got side by side: matrices as tables, anything else as text."""
    if report.expected is None:
        return ""
    wrong = differing(report.expected, report.got, report.tolerance)
    if wrong is None or wrong.ndim == 0:
        text = "\n".join(both_as_text(report))
        return f"<pre>{html.escape(text)}</pre>"
    at = first_place(wrong)
    expected, got = without_noise(report.expected, report.got, report.tolerance)
    parts = [
        matrix("Expected", expected, at),
        matrix("Got (≠ marks what differs)", got, at, wrong),
    ]
    return f'<div class="at-pair">{"".join(parts)}</div>'


def matrix(
    caption: str,
    value: Array,
    at: tuple[int, ...] = (),
    wrong: np.ndarray[Any, Any] | None = None,
) -> str:
    """The matrix around the entry `at` as a table, shaded by size; `wrong` entries marked by ≠."""
    assert value.array is not None
    shown, remark = excerpt(value.array, at)
    flags = excerpt(wrong, at)[0] if wrong is not None else np.zeros(shown.shape, dtype=bool)
    rows, row_flags = np.atleast_2d(shown), np.atleast_2d(flags)
    largest = _largest(rows)
    head = "".join(f'<th scope="col">{column}</th>' for column in range(rows.shape[1]))
    body = []
    for position, (row, marks) in enumerate(zip(rows, row_flags, strict=True)):
        cells = [
            _cell(item, value.dtype, bool(mark), largest)
            for item, mark in zip(row.tolist(), marks.tolist(), strict=True)
        ]
        label = f'<th scope="row">{position}</th>' if shown.ndim == 2 else ""
        body.append(f"<tr>{label}{''.join(cells)}</tr>")
    corner = "<td></td>" if shown.ndim == 2 else ""
    title = html.escape(f"{caption}{remark}")
    table = (
        f"<table><caption>{title}</caption><thead><tr>{corner}{head}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table>"
    )
    return scrolling(table, caption)


def _largest(rows: np.ndarray[Any, Any]) -> float:
    if rows.dtype.kind not in "fiub":
        return 0.0
    numbers = np.abs(rows.astype(np.float64))
    return float(numbers[np.isfinite(numbers)].max(initial=0.0))


def _cell(item: Any, dtype: str, wrong: bool, largest: float) -> str:
    share = 0.0
    if largest > 0 and isinstance(item, (bool, int, float)) and np.isfinite(item):
        share = abs(item) / largest
    shade = round(share * SHADES) / SHADES * 0.36
    style = f' style="background:rgba(70,130,220,{shade:.2f})"' if shade else ""
    css = ' class="at-off"' if wrong else ""
    mark = "≠ " if wrong else ""
    return f"<td{css}{style}>{mark}{html.escape(show_number(item, dtype))}</td>"

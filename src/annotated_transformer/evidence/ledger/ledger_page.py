"""book/ledger.md: the ledger as a page, made from rows, findings, cells and recorded runs."""

import re
from collections.abc import Iterable, Sequence

from annotated_transformer.evidence.ledger.cells import LedgerCell
from annotated_transformer.evidence.ledger.facts import Fact, load_facts
from annotated_transformer.evidence.ledger.page_parts import (
    GENERATED,
    capital,
    list_table_head,
    list_table_row,
    wrap_command,
)
from annotated_transformer.evidence.ledger.recorded_runs import RecordedRun
from annotated_transformer.evidence.ledger.rows import (
    EXPLANATIONS,
    Consequence,
    Finding,
    Row,
    Treatment,
    facts_by_reason,
    facts_by_treatment,
)
from annotated_transformer.evidence.ledger.run_page import (
    MULTI30K,
    PAGES,
    score_table,
)

INTRODUCTION = """\
# The ledger

Every number, table cell and testable sentence of the paper is a row here, {facts} facts in all.
Beside it stands what we did about it. No figure of ours on this page was typed: each comes out of a
function of the package, the printed output of a chapter's cell, or a recorded run.

{legend}

```{{admonition}} Check it yourself
:class: tip
`annotated-transformer ledger check` computes everything again and fails if this page no longer says
the same, if a fact has no row, if a score has no signature or is not what the recorded translations
give (`--data-dir FOLDER` for those on Multi30k), or if the command of a recorded run is no longer
understood.
```
"""

RUNS_INTRODUCTION = """\
## Recorded runs

Trainings of ours that were recorded in full: command, configuration, seeds, data with checksums,
machine, cost, curve and scores. Runs that went badly are kept. Their data are smaller and easier
than the paper's, so none of these scores may be compared with Table 2. Those on real text have
pages of their own: [Multi30k](multi30k_run.md), and [a base model on Tatoeba](tatoeba_run.md).
"""

CONSEQUENCES_INTRODUCTION = """\
## What follows from the paper and is not printed in it
"""


def make_ledger_page(
    sections: Sequence[tuple[str, Sequence[Row]]],
    consequences: Sequence[Consequence],
    cells: Sequence[LedgerCell],
    runs: Sequence[RecordedRun],
) -> str:
    """The whole page in MyST Markdown."""
    facts = load_facts()
    rows = [row for _, section in sections for row in section]
    parts = [GENERATED, "", INTRODUCTION.format(facts=len(facts), legend=_legend(rows))]
    for heading, section in sections:
        parts += [f"## {heading}", "", _table(section, facts, cells, runs), ""]
    parts += [CONSEQUENCES_INTRODUCTION, _consequence_table(consequences), ""]
    elsewhere = {page.corpus for page in PAGES}
    shown = [_run_summary(run) for run in runs if run.data["name"] not in elsewhere]
    parts += [RUNS_INTRODUCTION, *shown]
    if not runs:
        parts.append("No run has been recorded yet.\n")
    return "\n".join(parts).rstrip() + "\n"


def _legend(rows: Iterable[Row]) -> str:
    """Each treatment, how many facts have it, and what it means; why the rest is not done."""
    rows = list(rows)
    counts, reasons = facts_by_treatment(rows), facts_by_reason(rows)
    lines = [
        f"- **{treatment.value}**, {counts[treatment]} facts: {EXPLANATIONS[treatment]}"
        + (":" if treatment is Treatment.NOT_DONE else ".")
        for treatment in Treatment
    ]
    why = [
        f"  - {count} {'fact' if count == 1 else 'facts'}: {reason.value}"
        for reason, count in reasons.most_common()
    ]
    return "\n".join([*lines, ";\n".join(why)]) + "."


def _table(
    rows: Sequence[Row],
    facts: dict[str, Fact],
    cells: Sequence[LedgerCell],
    runs: Sequence[RecordedRun],
) -> str:
    """One section as a table that turns into cards on a narrow screen (ledger.css)."""
    lines = list_table_head("ledger-table", ("The paper says", "What we did"))
    for row in rows:
        lines += list_table_row(
            [
                [_fact_text(facts[fact]) for fact in row.facts],
                [*_our_side(row, cells), *_where(row, cells, runs)],
            ]
        )
    return "\n".join([*lines, "```"])


def _fact_text(fact: Fact) -> str:
    versions = f" *({fact.versions})*" if fact.versions else ""
    note = f" {fact.note}" if fact.note else ""
    return f"**{fact.place}.** {fact.says}{versions}{note} {anchored_id(fact.id)}"


def anchor_of(fact_id: str) -> str:
    """The target of links to a fact: fact-s3-2-2-h for s3_2_2.h."""
    return "fact-" + re.sub(r"[^a-z0-9]+", "-", fact_id.lower())


def anchored_id(fact_id: str) -> str:
    """The id of a fact, small, as a target of links."""
    return f"[`{fact_id}`]{{#{anchor_of(fact_id)} .fact-id}}"


def cells_of(row: Row, cells: Sequence[LedgerCell]) -> list[LedgerCell]:
    """The notebook cells that name one of the row's facts."""
    return [cell for cell in cells if set(cell.facts) & set(row.facts)]


def _our_side(row: Row, cells: Sequence[LedgerCell]) -> list[str]:
    """What we did, our figure, and what is not done."""
    treatment = f"**{capital(row.treatment.value)}.**"
    missing = [f"{capital(row.missing)}."] if row.missing else []
    if row.ours is not None:
        return [f"{treatment} {_finding_text(row.ours(), row.because)}", *missing]
    if row.chapter:
        outputs = [f"~~~text\n{cell.output}\n~~~" for cell in cells_of(row, cells)]
        prints = (
            "A cell of the chapter prints:" if len(outputs) == 1 else "The chapter's cells print:"
        )
        return [f"{treatment} {prints}", *outputs, *missing]
    return [f"{treatment} {missing[0]}"]


def _finding_text(finding: Finding, because: str) -> str:
    if finding.agrees:
        return f"{capital(finding.text)}."
    return f"{capital(finding.text)}. **Differs**: {because}."


def _where(row: Row, cells: Sequence[LedgerCell], runs: Sequence[RecordedRun]) -> list[str]:
    """Where to see it: chapter cells, the function that computed it, its test, recorded runs."""
    places = [
        f"[{chapter_name(cell.notebook)}](../notebooks/{cell.notebook}.ipynb), “{cell.heading}”"
        for cell in cells_of(row, cells)
    ]
    name = getattr(row.ours, "__qualname__", "")
    if row.ours is not None and "<" not in name:
        places.append(f"`{row.ours.__module__.rpartition('.')[2]}.{name}`")
    if row.test:
        places.append(f"`{row.test}`")
    if row.nearest_runs and runs:
        places.append(f"[our recorded runs, on other data]({MULTI30K.name}.md)")
    return [f"*See* {'; '.join(dict.fromkeys(places))}"] if places else []


def chapter_name(notebook: str) -> str:
    """Chapter 2 from 02_attention."""
    return f"Chapter {int(notebook.partition('_')[0])}"


def _consequence_table(consequences: Sequence[Consequence]) -> str:
    lines = list_table_head("ledger-table consequences", ("What", "Ours"))
    for consequence in consequences:
        lines += list_table_row([[consequence.name], [f"{capital(consequence.ours().text)}."]])
    return "\n".join([*lines, "```"])


def _run_summary(run: RecordedRun) -> str:
    return (
        f"### {capital(run.title)}\n\n```text\n{wrap_command(run.command)}\n```\n\n"
        f"{score_table(run)}\n"
    )

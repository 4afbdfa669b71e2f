"""Numbers in the prose of a chapter: each is held by an output beside it, the paper, or a record.

A number is held where a code cell of its section has it in its output or its source, or one of a
neighbouring section in its output, rounded as the prose rounds it. What else it can be, the cell of
the prose says in its metadata: `"numbers": {"60,000": "results/grammar_shipped/run.json", "0.7":
"example"}`, a file of this repository that holds it, or "example" for what the text makes up.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotated_transformer.evidence.ledger.facts import load_facts
from annotated_transformer.interview.boxes import HEAD
from lanes import Cell, source_of, tags_of
from scores_in_prose import papers_numbers

EXAMPLE = "example"
PLOTLY = "application/vnd.plotly.v1+json"
NUMBER = re.compile(
    r"(?<![\w.,/^{\\#&-])"  # no part of a name, a formula or another number
    r"(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?![\w/^]|[.,]\d)"
)
IN_OUTPUT = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?")
UNIT = re.compile(r"\s?(%|(percent|BLEU|points?|minutes|hours|MB|GB)\b)")
NO_PROSE = re.compile(
    r"^```.*?^```|`[^`]*`|\$\$.*?\$\$|\$[^$]+\$|<[^>]+>|\]\([^)]*\)", re.DOTALL | re.MULTILINE
)
REFERENCE = re.compile(
    r"(?:sections?|chapters?|tables?|figures?|equations?|exercises?|issues?|rows?|version|steps?)"
    r" \(?[\d.]+(?:(?:,| and| or| to) \(?[\d.]+)*"
    r"|\(\d\.\d(?:\.\d)?(?:, [^)]*)?\)"  # a section of the paper, in a table
    r"|^\| \*\*Time\*\*.*$|^#+ .*? min · ",
    re.IGNORECASE | re.MULTILINE,
)
CITED = re.compile(r"\((?:[^()]*, )?\d{4}[a-z]?(?:[,;][^()]*)?\)|[A-Z]\w+ (?:et al\. )?\(\d{4}\)")
PAPER = re.compile(r"\bpapers?\b|\bTable \d|\bsections? \d|\(\d\.\d", re.IGNORECASE)


@dataclass(frozen=True)
class Stray:
    """A number that nothing holds: as written, and the words around it."""

    number: str
    around: str


def strays(cells: Sequence[Cell], root: Path) -> Iterator[Stray]:
    """The numbers of a chapter's prose that no cell beside them, no paper and no record holds."""
    with_decimals = papers_numbers()
    sizes = {*numbers_in(" ".join(fact.says for fact in load_facts().values()))}
    for prose, pool in _sections(cells):
        for cell in prose:
            if HEAD in source_of(cell):
                continue  # a box is made from the bank, and tests/interview holds its numbers
            declared = cell["metadata"].get("numbers", {})
            for block in re.split(r"\n\s*\n|\n(?=[|>] |\s*- )", source_of(cell)):
                readable = REFERENCE.sub(" ", NO_PROSE.sub(" ", block))
                for number, share, around in measured(readable):
                    held = (
                        any(is_rounded(number, value, share) for value in pool)
                        or ("." not in number and float(number.replace(",", "")) in sizes)
                        or (number in with_decimals and PAPER.search(block))
                        or (number in declared and _declared(number, declared[number], root))
                    )
                    if not held:
                        yield Stray(number, around)


def _sections(cells: Sequence[Cell]) -> Iterator[tuple[list[Cell], list[float]]]:
    """The prose of each section of any level, and the numbers beside it."""
    parts: list[list[Cell]] = [[]]
    for cell, following in zip(cells, [*cells[1:], None], strict=True):
        if cell["cell_type"] == "markdown" and re.match(r"#{2,4} ", source_of(cell)):
            parts.append([])
        is_exercise = following is not None and "exercise" in tags_of(following)
        if not is_exercise:
            parts[-1].append(cell)
    for place, part in enumerate(parts):
        near = [cell for other in parts[max(0, place - 1) : place + 2] for cell in other]
        texts = [text for cell in near for text in outputs(cell)]
        texts += [source_of(cell) for cell in part if cell["cell_type"] == "code"]
        prose = [cell for cell in part if cell["cell_type"] == "markdown"]
        yield prose, [*numbers_in(" ".join(texts).replace("_", ""))]


def measured(text: str) -> Iterator[tuple[str, bool, str]]:
    """Each number of a text that could be measured: as written, whether in percent, words around.

    No small count such as "6 layers", which the text is about; no year; nothing that is cited.
    """
    if CITED.search(text):
        return
    for found in NUMBER.finditer(text):
        number, behind = found[1], text[found.end() :]
        if re.fullmatch(r"(19|20)\d\d|100", number):
            continue
        if "." in number or len(number) > 2 or UNIT.match(behind):
            around = text[max(0, found.start() - 50) : found.end() + 30]
            yield number, behind.lstrip().startswith("%"), " ".join(around.split())


def outputs(cell: Cell) -> Iterator[str]:
    """What a cell puts out, as text; of a figure to touch its words, not the numbers it draws."""
    for output in cell.get("outputs", []):
        yield "".join(output.get("text", []))
        data = output.get("data", {})
        is_drawn = bool({"image/png", PLOTLY} & data.keys())
        for kind, value in data.items():
            if kind == "text/plain" or not is_drawn:
                yield "".join(value) if isinstance(value, (str, list)) else json.dumps(value)


def numbers_in(text: str) -> Iterator[float]:
    return (float(found.replace(",", "")) for found in IN_OUTPUT.findall(text))


def is_rounded(number: str, value: float, share: bool) -> bool:
    """Whether a value, rounded as it is written, is this number; or "about", or "more than" it."""
    wanted = float(number.replace(",", ""))
    decimals = len(number.partition(".")[2])
    digits = number.replace(",", "")
    zeros = 0 if decimals else min(len(digits) - len(digits.rstrip("0")), len(digits) - 2)
    for seen in (abs(value), 100 * abs(value)) if share else (abs(value),):
        if abs(seen - wanted) <= 0.5 * 10**-decimals + 1e-9:
            return True
        grid = 10 ** max(zeros, 0)
        if grid > 1 and wanted in (round(seen / grid) * grid, seen // grid * grid):
            return True
    return False


def _declared(number: str, source: Any, root: Path) -> bool:
    if source == EXAMPLE:
        return True
    path = root / str(source)
    return path.is_file() and any(
        is_rounded(number, value, share=True)
        for value in numbers_in(path.read_text(encoding="utf-8"))
    )

"""The lanes of a chapter: a core that stands alone, and beside it evidence and what goes deeper.

In a notebook a lane is a section of the second level whose heading says which it is, how long it
takes and what comes out, and the cells below it carry its tag:

    ## Evidence · 8 min · Eight heads cost no more than one

So JupyterLab and Colab fold it by themselves; on the site `lane_folds` does.
`tools/refresh_chapters.py` writes minutes and tags, and once an address: made of the result's first
words, it stays as it is when minutes, result and place change, so that links keep leading there.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from annotated_transformer.exercises.notebooks import source_of

Cell = dict[str, Any]  # of a notebook, as JSON
CORE = "core"
TAGS = {"Evidence": "evidence", "Going deeper": "deeper"}
LANE = re.compile(r"(?P<name>Evidence|Going deeper) · (?P<minutes>\d+) min · (?P<result>\S.*)")
WORDS_A_MINUTE = 200
LINES_A_MINUTE = 25
WORDS_OF_AN_ADDRESS = 5
NO_LAST_WORD = re.compile(
    "a|an|and|are|as|at|by|give|has|in|is|it|of|on|s|such|than|that|the|to|was|with"
)
HIDDEN = {"setup", "remove-cell", "remove-input", "hide-cell", "hide-input"}


@dataclass(frozen=True)
class Section:
    """A section of the second level: its heading, its lane, its cells; the first is the title's."""

    heading: str
    lane: str
    cells: list[Cell]


def sections(cells: Sequence[Cell]) -> Iterator[Section]:
    """The sections of a chapter, each of which begins with a cell that begins with its heading.

    Raises:
        ValueError: where such a heading stands within a cell, or one says that it is a lane and is
            none.
    """
    heading, lane, own = "", CORE, list[Cell]()
    for cell in cells:
        source = source_of(cell)
        found = re.match(r"## (.+)", source) if cell["cell_type"] == "markdown" else None
        if cell["cell_type"] == "markdown":
            _refuse_hidden_headings(_without_code(source))
        if found:
            yield Section(heading, lane, own)
            heading, own = found[1], []
            lane = lane_of(heading)
        own.append(cell)
    yield Section(heading, lane, own)


def _refuse_hidden_headings(text: str) -> None:
    if re.search(r"\n##\s", text):
        raise ValueError(f"a heading of the second level begins a cell: {text[:60]!r}")
    if re.search(rf"^(#|#{{3,}}) ({'|'.join(TAGS)}) ·|^##  ", text, re.MULTILINE):
        raise ValueError(f'a lane has a heading of the second level, "## ": {text[:60]!r}')


def lane_of(heading: str) -> str:
    """Which lane a heading of the second level begins.

    Raises:
        ValueError: where it begins as a lane's does and says no minutes or no result.
    """
    found = LANE.fullmatch(heading)
    if found:
        return TAGS[found["name"]]
    if heading.lower().startswith(tuple(name.lower() for name in TAGS)) or " min · " in heading:
        raise ValueError(f'{heading!r}: say "Evidence · 5 min · what comes out"')
    return CORE


def address_of(heading: str, taken: Iterable[str] = ()) -> str:
    """The address of a new lane: its kind and the first words of its result.

    Args:
        heading: of the lane, `Evidence · 8 min · Eight heads cost no more than one`.
        taken: the addresses of the chapter's other lanes.
    """
    found = LANE.fullmatch(heading)
    assert found is not None
    result = re.sub(r"\$[^$]*\$|'|’", "", found["result"].lower())
    first = re.findall(r"[a-z0-9]+", result.partition(":")[0])[:WORDS_OF_AN_ADDRESS]
    while len(first) > 1 and NO_LAST_WORD.fullmatch(first[-1]):
        first.pop()
    address = "-".join([TAGS[found["name"]], *first])
    while address in taken:
        address += "-too"
    return address


def addresses(cells: Sequence[Cell]) -> list[str]:
    """The addresses of a chapter's lanes, in their order."""
    return [
        section.cells[0]["metadata"]["address"]
        for section in sections(cells)
        if section.lane != CORE
    ]


def tags_of(cell: Cell) -> list[str]:
    found: list[str] = cell["metadata"].get("tags", [])
    return found


def is_shown(cell: Cell) -> bool:
    """Whether the code of a cell is on the page without a touch."""
    return cell["cell_type"] == "code" and not HIDDEN & {*tags_of(cell)}


def _without_code(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def words(text: str) -> int:
    """The words of a text as it is read: a formula is one word, what is folded is none."""
    text = re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)
    text = re.sub(r"\$\$.*?\$\$|\$[^$]+\$", "x", text, flags=re.DOTALL)
    text = re.sub(r"\]\([^)]*\)|<[^>]+>", " ", text)
    return len(re.findall(r"\w[\w'’.,-]*", text))


def lines(cell: Cell) -> list[str]:
    """The lines of code that are shown."""
    return [line for line in source_of(cell).splitlines() if line.strip()] if is_shown(cell) else []


def minutes(cells: Sequence[Cell], exercises: dict[str, int]) -> float:
    """How long it takes to read these: words, shown lines of code, and the exercises' own minutes.

    Args:
        cells: some of a chapter's.
        exercises: the minutes of each exercise, by its id.
    """
    total = 0.0
    for cell, following in zip(cells, [*cells[1:], None], strict=True):
        if "exercise" in tags_of(cell):
            total += exercises[cell["metadata"]["exercise_id"]]
        elif cell["cell_type"] == "code":
            total += len(lines(cell)) / LINES_A_MINUTE
        elif following is None or "exercise" not in tags_of(following):
            total += words(source_of(cell)) / WORDS_A_MINUTE
    return total


def times(cells: Sequence[Cell], exercises: dict[str, int]) -> tuple[int, int, int]:
    """Minutes for the core; with the evidence; with everything."""
    by_lane = dict.fromkeys((CORE, *TAGS.values()), 0.0)
    for section in sections(cells):
        by_lane[section.lane] += minutes(section.cells, exercises)
    core, evidence, deeper = by_lane.values()
    return round(core), round(core + evidence), round(core + evidence + deeper)


def write_lanes(notebook: dict[str, Any], exercises: dict[str, int]) -> None:
    """Write minutes into headings and head, tags, folds and new lanes' addresses into cells."""
    cells = notebook["cells"]
    taken = {cell["metadata"].get("address", "") for cell in cells}
    for section in sections(cells):
        if section.lane != CORE:
            first = section.cells[0]
            if "address" not in first["metadata"]:
                first["metadata"]["address"] = address_of(section.heading, taken)
                taken.add(first["metadata"]["address"])
            took = max(1, round(minutes(section.cells, exercises)))
            said = re.sub(r" · \d+ min · ", f" · {took} min · ", source_of(first), count=1)
            first["source"] = said.splitlines(keepends=True)
        for cell in section.cells:
            others = [tag for tag in tags_of(cell) if tag not in TAGS.values()]
            tags = others if section.lane == CORE else [*others, section.lane]
            cell["metadata"].pop("tags", None)
            if tags:
                cell["metadata"]["tags"] = tags
            folds = section.lane != CORE and cell is section.cells[0]
            _set(cell["metadata"], "jp-MarkdownHeadingCollapsed", folds)
            if cell["cell_type"] == "code":
                jupyter = cell["metadata"].pop("jupyter", {})
                _set(jupyter, "source_hidden", "hide-input" in tags)
                if jupyter:
                    cell["metadata"]["jupyter"] = jupyter
    core, evidence, everything = times(cells, exercises)
    time = f"| **Time** | {core} minutes for the core; {evidence} with the evidence; {everything} "
    time += "with everything and all exercises |"
    head, found = re.subn(r"(?m)^\| \*\*Time\*\* \|.*$", time, source_of(cells[0]))
    if not found:
        raise ValueError('the table at the head of a chapter has a row "| **Time** | |"')
    cells[0]["source"] = head.splitlines(keepends=True)


def _set(metadata: dict[str, Any], key: str, value: bool) -> None:
    metadata.pop(key, None)
    if value:
        metadata[key] = True

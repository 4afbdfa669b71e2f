"""The lanes of the chapters: in order, in step, the core short, alone, and not full of prints."""

import ast
import builtins
import copy
import dis
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_notebooks import nbval, read

import lanes
from annotated_transformer.exercises.catalogue import minutes_of_exercises
from refresh_chapters import in_step

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted((ROOT / "notebooks").glob("*.ipynb"))
WITHOUT_EXERCISES = {"01_why_attention", "10_base_model"}
FIRST, LAST = "A question first", ["Quiz", "Checklist"]
OLD_ANCHORS = ROOT / "tests" / "book" / "old_anchors.json"


@pytest.fixture(params=CHAPTERS, ids=lambda path: path.stem)
def chapter(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def test_minutes_tags_and_folds_are_in_step(chapter: Path) -> None:
    notebook = read(chapter)
    assert in_step(notebook, chapter.name[:2]) == notebook, "run tools/refresh_chapters.py"


def test_the_core_takes_twenty_minutes_and_has_all_that_a_chapter_needs(chapter: Path) -> None:
    cells = read(chapter)["cells"]
    found = list(lanes.sections(cells))
    core = [section for section in found if section.lane == lanes.CORE]
    headings = [section.heading for section in core]
    everything = [section.heading for section in found]
    assert everything[1] == headings[1] == FIRST
    assert everything[-2:] == headings[-2:] == LAST
    time = sum(lanes.minutes(section.cells, minutes_of_exercises()) for section in core)
    assert 20 <= round(time) <= 25, f"the core takes {time:.1f} minutes"
    tags = [tag for section in core for cell in section.cells for tag in lanes.tags_of(cell)]
    assert tags.count("exercise") == (chapter.stem not in WITHOUT_EXERCISES)
    kinds = {
        kind
        for section in core
        for cell in section.cells
        for output in cell.get("outputs", [])
        for kind in output.get("data", {})
    }
    assert {"image/png", "application/vnd.plotly.v1+json", "image/svg+xml"} & kinds, "no figure"
    assert {section.lane for section in found} == {lanes.CORE, *lanes.TAGS.values()}


def test_what_to_see_is_said_in_sixty_words(chapter: Path) -> None:
    for cell in read(chapter)["cells"]:
        for block in lanes.source_of(cell).split("\n\n"):
            if block.startswith("**What to see.**"):
                assert lanes.words(block) <= 63, block  # three of them are its name


SHOWING = {"print", "show", "display"}  # calls that put something on the page


def showing_lines(cell: dict[str, Any]) -> int:
    """How many of the shown lines only assert, print or draw."""
    if not lanes.is_shown(cell) or "exercise" in lanes.tags_of(cell):
        return 0
    source = lanes.source_of(cell)
    own = source.splitlines()
    found: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assert) or (isinstance(node, ast.Expr) and shows(node.value)):
            assert node.end_lineno is not None
            found |= set(range(node.lineno, node.end_lineno + 1))
    return sum(bool(own[number - 1].strip()) for number in found)


def shows(node: ast.expr) -> bool:
    """Whether an expression is a call that prints or draws."""
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    if isinstance(function, ast.Attribute):
        return isinstance(function.value, ast.Name) and function.value.id in ("figures", "plt")
    return isinstance(function, ast.Name) and function.id in SHOWING


def test_little_of_the_code_of_the_core_only_prints_or_asserts(chapter: Path) -> None:
    core = [s for s in lanes.sections(read(chapter)["cells"]) if s.lane == lanes.CORE]
    cells = [cell for section in core for cell in section.cells]
    shown = sum(len(lanes.lines(cell)) for cell in cells)
    showing = sum(showing_lines(cell) for cell in cells)
    assert showing <= 0.08 * shown, f"{showing} of {shown} lines"


# --- the core alone -------------------------------------------------------------------------------


def global_steps(source: str) -> Iterator[tuple[str, str, str]]:
    """What a cell does with global names, in order: (function or "", "load" or "store", name)."""
    pending = [("", compile(source, "cell", "exec"))]
    while pending:
        owner, code = pending.pop(0)
        for step in dis.get_instructions(code):
            if step.opname in ("LOAD_NAME", "LOAD_GLOBAL"):
                yield owner, "load", step.argval
            elif step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL") or (
                step.opname in ("STORE_NAME", "DELETE_NAME") and not owner
            ):
                yield owner, "store", step.argval
        parts = [part for part in code.co_consts if isinstance(part, types.CodeType)]
        comprehension = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
        pending += [(owner if p.co_name in comprehension else owner or p.co_name, p) for p in parts]


def borrowed(cells: list[tuple[str, str]], lane: str, own: set[str]) -> list[str]:
    """The names that cells of a lane, of (lane, source), have from one that is not its own.

    A function's own global names count where the function is used, since a cell between may have
    changed them.
    """
    of = dict.fromkeys([*dir(builtins), "get_ipython"], lanes.CORE)
    read_by: dict[str, set[str]] = {}
    found = set()
    for cell_lane, source in cells:
        for function, what, name in global_steps(source):
            if what == "store":
                of[name] = cell_lane
            elif function:
                read_by.setdefault(function, set()).add(name)
            elif cell_lane == lane:
                pending, seen = [name], {name}
                while pending:
                    more = read_by.get(pending.pop(), set()) & {*of} - seen
                    pending += more
                    seen |= more
                found |= {one for one in seen if of.get(one) not in own}
    return sorted(found)


@pytest.mark.parametrize(
    ("lane", "own"),
    [("core", {"core"}), ("evidence", {"core", "evidence"})],
    ids=["the core", "the evidence"],
)
def test_no_lane_uses_a_name_that_its_readers_have_not(
    chapter: Path, lane: str, own: set[str]
) -> None:
    sources = [
        (section.lane, lanes.source_of(cell))
        for section in lanes.sections(read(chapter)["cells"])
        for cell in section.cells
        if cell["cell_type"] == "code"
    ]
    assert borrowed(sources, lane, own) == []


@pytest.mark.parametrize(
    ("cells", "names"),
    [
        (["core a = 1", "deeper b = a", "core print(a)"], []),
        (["core a = 1", "deeper b = a", "core print(b)"], ["b"]),
        (["core a = 1", "deeper a = 2", "core print(a)"], ["a"]),
        (["core a = 1", "deeper a = 2", "core a = a + 1"], ["a"]),
        (["core a = 1", "deeper a = 2", "core a += 1"], ["a"]),
        (["core a = 1", "deeper del a", "core print(a)"], ["a"]),
        (["core a = 1", "deeper def f():\n    global a\n    a = 2", "core print(a)"], ["a"]),
        (["core a = 1\ndef f(): return a", "deeper a = 2", "core f()"], ["a"]),
        (["core a = 1\ndef f(): return a", "deeper a = 2", "core print(1)"], []),
        (["deeper a = 2", "core a = 3\nf = [a for _ in range(a)]"], []),
        (["core print(a)"], ["a"]),
    ],
)
def test_a_borrowed_name_is_noticed(cells: list[str], names: list[str]) -> None:
    pairs = [(lane, source) for lane, _, source in (cell.partition(" ") for cell in cells)]
    assert borrowed(pairs, "core", {"core"}) == names


@pytest.mark.slow
@pytest.mark.parametrize("own", [{"core"}, {"core", "evidence"}], ids=["core", "evidence too"])
def test_it_runs_without_the_other_lanes(chapter: Path, own: set[str], tmp_path: Path) -> None:
    """With the outputs that it has among them, so that they change nothing in it."""
    notebook = read(chapter)
    wanted = [section for section in lanes.sections(notebook["cells"]) if section.lane in own]
    notebook["cells"] = [cell for section in wanted for cell in section.cells]
    run = nbval(notebook, tmp_path / "core.ipynb")
    assert run.returncode == 0, run.stdout[-3000:]


# --- what the count counts ------------------------------------------------------------------------


def markdown(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": [source]}


def code(source: str, *tags: str, **metadata: Any) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {"tags": [*tags], **metadata}, "source": [source]}


def test_minutes_are_words_lines_and_exercises() -> None:
    text = markdown("## Text\n" + "word " * 199)
    folded = markdown("<details><summary>More</summary>" + "word " * 400 + "</details>")
    formula = markdown("$$a = b + c$$ " * 100 + "[one](http://a.b/c) " * 100)
    lines = code("x = 1\n\n" * 50)
    hidden = code("x = 1\n" * 50, "hide-input")
    exercise = code("check()", "exercise", exercise_id="a.b")
    assert lanes.minutes([text], {}) == 1
    assert lanes.minutes([folded, hidden], {}) == 0
    assert lanes.minutes([formula], {}) == 1
    assert lanes.minutes([lines], {}) == 2
    assert lanes.minutes([text, exercise, text], {"a.b": 8}) == 9  # the text above it is its own


def test_lanes_are_written_and_stay_as_they_are() -> None:
    chapter = {
        "cells": [
            markdown("# Title\n\n| **Time** | long |"),
            markdown("## Evidence · 99 min · It holds"),
            markdown("word " * 600),
            code("x = 1", "hide-input"),
            markdown("## A question first"),
            markdown("word " * 400),
        ]
    }
    lanes.write_lanes(chapter, {})
    once = copy.deepcopy(chapter)
    lanes.write_lanes(chapter, {})
    assert once == chapter
    _, heading, text, cell, core, _ = chapter["cells"]
    assert lanes.source_of(heading) == "## Evidence · 3 min · It holds"
    assert heading["metadata"] == {
        "address": "evidence-it-holds",
        "tags": ["evidence"],
        "jp-MarkdownHeadingCollapsed": True,
    }
    assert text["metadata"] == {"tags": ["evidence"]}
    assert cell["metadata"]["tags"] == ["hide-input", "evidence"]
    assert cell["metadata"]["jupyter"] == {"source_hidden": True}
    assert core["metadata"] == {}
    time = "2 minutes for the core; 5 with the evidence; 5 with everything and all exercises"
    assert time in lanes.source_of(chapter["cells"][0])


def test_the_address_of_a_lane_outlives_its_words_and_its_place() -> None:
    chapter = {
        "cells": [
            markdown("# Title\n\n| **Time** | long |"),
            markdown("## Evidence · 9 min · Eight heads cost no more than one"),
            markdown("## Going deeper · 9 min · In an interview: shapes; in production: leaks"),
            markdown("## Evidence · 9 min · Eight heads cost no more, by any count"),
        ]
    }
    lanes.write_lanes(chapter, {})
    eight, interview, more = lanes.addresses(chapter["cells"])
    assert (eight, interview) == ("evidence-eight-heads-cost-no-more", "deeper-in-an-interview")
    assert more == "evidence-eight-heads-cost-no-more-too"
    head, first, second, third = chapter["cells"]
    first["source"] = "## Evidence · 9 min · Narrow heads are cheap"
    moved = {"cells": [head, third, second, first]}
    lanes.write_lanes(moved, {})
    assert lanes.addresses(moved["cells"]) == [more, interview, eight]


@pytest.mark.parametrize(
    "poor",
    [
        *("## Evidence · what comes out", "## Going deeper", "## Going Deeper · 1 min · It holds"),
        *("## Proof · 1 min · It holds", "### Evidence · 1 min · It holds", "##  Two blanks"),
        "Text.\n\n## A heading within a cell",
    ],
)
def test_a_poor_heading_is_refused(poor: str) -> None:
    with pytest.raises(ValueError, match=r"heading|min |level"):
        list(lanes.sections([markdown("# Title"), markdown(poor)]))


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("x = 1\nprint(\n    x,\n)\nassert x", 4),
        ("for i in x:\n    print(i)", 1),
        ("figures.draw(x)", 1),
        ("shown = figures.draw(x)\ny = f(x)", 0),
        ("model.show_me(x)", 0),
    ],
)
def test_which_lines_only_show(source: str, lines: int) -> None:
    assert showing_lines(code(source)) == lines
    assert showing_lines(code(source, "hide-input")) == 0


# --- old links ------------------------------------------------------------------------------------


def anchors_of(path: Path) -> set[str]:
    """The anchors of a chapter's headings and lanes."""
    cells = read(path)["cells"]
    text = "\n".join(lanes.source_of(cell) for cell in cells if cell["cell_type"] == "markdown")
    found = re.findall(r"^#{1,4} (.+)$", text, re.MULTILINE)
    return {
        *(heading.replace(" ", "-") for heading in found),
        *re.findall(r'<a id="([^"]+)"', text),
        *lanes.addresses(cells),
    }


def test_every_anchor_that_was_once_published_leads_to_its_place() -> None:
    gone = {
        name: sorted(set(anchors) - anchors_of(ROOT / "notebooks" / f"{name}.ipynb"))
        for name, anchors in read(OLD_ANCHORS).items()
    }
    assert not {name: anchors for name, anchors in gone.items() if anchors}


def test_lanes_of_one_chapter_have_addresses_of_their_own(chapter: Path) -> None:
    addresses = lanes.addresses(read(chapter)["cells"])
    assert len(set(addresses)) == len(addresses)
    assert set(addresses) <= set(read(OLD_ANCHORS)[chapter.stem]), "add the new ones"

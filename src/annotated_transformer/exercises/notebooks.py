"""Exercises as cells of a notebook: as given, and solved. One source, the catalogue, for both.

A chapter holds its exercises as pairs of cells, the text and the code (tagged "exercise"); a
workbook is a notebook of nothing but exercises, for an assignment.
"""

import ast
import copy
import hashlib
import inspect
import itertools
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from annotated_transformer.exercises.catalogue import catalogue
from annotated_transformer.exercises.exercise import Exercise
from annotated_transformer.exercises.topics import HOW_TO_WORK, introduction

Notebook = dict[str, Any]  # the JSON tree of format 4
TAG = "exercise"
ITEM = re.compile(r"(?:- |(?P<name>'?\w+'?): )(?P<text>.+)")
ID = re.compile(r"\b[a-z]+\.[a-z_]\w+\b")  # of an exercise, in a sentence
SYMBOL = r"[a-zA-Z]_(?:model|ff|k|v|q|i|j)\b"
POWER = r"(?:[a-zA-Z]|\d+)\^(?:\w+|\([^()]+\))"
# What is a formula in an exercise's text.
FORMULA = re.compile(rf"\bsqrt\((?:{SYMBOL}|\w|\d+)\)|\b{SYMBOL}|\b{POWER}")
IMPORTS = """\
import math

import torch
from torch import Tensor

from annotated_transformer.exercises import check, hint, progress, solution"""


def solution_source(exercise: Exercise) -> str:
    """The reference as a learner would write it."""
    return as_written(inspect.getsource(exercise.reference))


def as_written(source: str) -> str:
    """A function of ours as a learner would write it: with the head of a stub."""
    lines = textwrap.dedent(source).rstrip().splitlines()
    function = ast.parse("\n".join(lines)).body[0]
    assert isinstance(function, ast.FunctionDef)
    for argument in ast.walk(function.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    head = f"def {function.name}({ast.unparse(function.args)}):"
    return "\n".join([head, *lines[function.body[0].lineno - 1 :]])


def function_name(exercise: Exercise) -> str:
    """What the stub calls the function that is checked."""
    functions = [n for n in ast.parse(exercise.starter).body if isinstance(n, ast.FunctionDef)]
    return functions[-1].name


def check_call(exercise: Exercise) -> str:
    """The last line of an exercise's cell."""
    return f'check("{exercise.id}", {function_name(exercise)})'


def code_as_given(exercise: Exercise) -> str:
    """The stub and its check."""
    return f"{exercise.starter}\n\n\n{check_call(exercise)}"


def code_solved(exercise: Exercise) -> str:
    """The reference in the place of the stub, and its check."""
    return f"{solution_source(exercise)}\n\n\n{check_call(exercise)}"


def text_of(exercise: Exercise, number: str) -> str:
    """The Markdown cell above the code: head, statement, hints and solution, these folded."""
    after = ID.sub(r"`\g<0>`", exercise.prerequisite)
    hints = [_folded(f"Hint {i}", with_formulas(hint)) for i, hint in enumerate(exercise.hints, 1)]
    return "\n\n".join(
        [
            f"### Exercise {number}: {exercise.title}",
            f"`{exercise.id}` · {exercise.kind} · difficulty {exercise.difficulty} of 5"
            f" · {exercise.minutes} minutes · comes after: {after}",
            with_formulas(as_markdown(exercise.statement)),
            f"`{exercise.signature}`",
            *hints,
            _folded(
                "Solution",
                f'In a notebook, `solution("{exercise.id}")` shows the same.\n\n'
                f"```python\n{solution_source(exercise)}\n```\n\n"
                f"{with_formulas(exercise.explanation)}",
            ),
        ]
    )


def as_markdown(statement: str) -> str:
    """Paragraphs of plain text as Markdown: code fenced, lines "name: ..." as a list.

    Markdown joins lines that follow each other, so every line of its own has to become an item.
    """
    parts = []
    for block in statement.split("\n\n"):
        lines = block.split("\n")
        if lines[0].startswith(("def ", "    ")):
            parts.append(f"```python\n{block}\n```")
        elif len(lines) > 1:
            head = [] if ITEM.match(lines[0]) else [lines.pop(0)]
            parts += [*head, "\n".join(_item(line) for line in lines)]
        else:
            parts.append(block)
    return "\n\n".join(parts)


def with_formulas(markdown: str) -> str:
    """Symbols such as d_k, W^O and sqrt(d_k) as formulas, wherever they stand outside code."""
    code_and_text = re.split(r"(```.*?```|`[^`\n]*`)", markdown, flags=re.DOTALL)
    for place in range(0, len(code_and_text), 2):
        code_and_text[place] = FORMULA.sub(
            lambda found: f"${_as_latex(found[0])}$", code_and_text[place]
        )
    return "".join(code_and_text)


def _as_latex(symbol: str) -> str:
    base, power, exponent = symbol.partition("^")
    if power:
        return f"{base}^{{{_as_latex(exponent.strip('()'))}}}"
    symbol = re.sub(r"sqrt\((.+)\)", r"\\sqrt{\1}", symbol)
    return re.sub(r"_(model|ff)\b", r"_\\text{\1}", symbol)


def _item(line: str) -> str:
    """A line "name: what it is" or "- what it is" as an item, with what is code in backticks."""
    found = ITEM.match(line)
    if found is None:
        raise ValueError(f'"{line}" is no item: begin it with "name: " or "- ".')
    name, text = found["name"], found["text"]
    text = f"`{text}`" if _is_code(text) else text
    if name is None:
        return f"- {text}"
    return f"- {name}: {text}" if len(name) == 1 else f"- `{name}`: {text}"


def _is_code(text: str) -> bool:
    """Whether it is Python and more than words: an assignment, a call, an index, a sum."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return re.search(r"[=(\[+]", text) is not None


def _folded(summary: str, text: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{text}\n\n</details>"


def exercise_cells(notebook: Notebook) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The pairs of cells, text and code, of the exercises in a notebook."""
    for text, code in itertools.pairwise(notebook["cells"]):
        if TAG in code["metadata"].get("tags", []):
            yield text, code


def refreshed(notebook: Notebook) -> Notebook:
    """The notebook with every exercise as the catalogue has it now; its number is kept."""
    fresh = copy.deepcopy(notebook)
    for text, code in exercise_cells(fresh):
        exercise = catalogue()[code["metadata"]["exercise_id"]]
        found = re.match(r"### Exercise ([\d.]+):", source_of(text))
        if found is None:
            raise ValueError(f"the cell above {exercise.id} does not begin with its number")
        text["source"] = _lines(text_of(exercise, found[1]))
        if ast.dump(ast.parse(source_of(code))) != ast.dump(ast.parse(code_as_given(exercise))):
            code["source"] = _lines(code_as_given(exercise))
    return fresh


def solved(notebook: Notebook, solve: Callable[[Exercise], str | None] = code_solved) -> Notebook:
    """The notebook with every exercise's cell replaced by `solve(exercise)`, None leaves it."""
    fresh = copy.deepcopy(notebook)
    for _, code in exercise_cells(fresh):
        source = solve(catalogue()[code["metadata"]["exercise_id"]])
        if source is not None:
            code["source"] = _lines(source)
            code["outputs"], code["execution_count"] = [], None
    return fresh


def workbook(exercises: Sequence[Exercise], title: str) -> Notebook:
    """A notebook of these exercises alone, unsolved and not yet run."""
    cells = [
        _cell("markdown", f"# {title}\n\n{HOW_TO_WORK}"),
        _cell("code", IMPORTS),
    ]
    topic = ""
    for number, exercise in enumerate(exercises, 1):
        if topic != (topic := exercise.id.split(".")[0]):
            cells.append(_cell("markdown", introduction(topic)))
        cells.append(_cell("markdown", text_of(exercise, str(number))))
        cells.append(_cell("code", code_as_given(exercise), tags=[TAG], exercise_id=exercise.id))
    for place, cell in enumerate(cells):  # stable: the same workbook at every making
        cell["id"] = hashlib.sha256(f"{title}:{place}".encode()).hexdigest()[:8]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _cell(kind: str, source: str, **metadata: Any) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "metadata": metadata, "source": _lines(source)}
    return cell if kind == "markdown" else {**cell, "execution_count": None, "outputs": []}


def _lines(source: str) -> list[str]:
    return source.splitlines(keepends=True)


def source_of(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])

"""A function of the reader's own, taken out of a notebook: its text, and what its text needs.

A notebook is a file of JSON and its cells may hold anything. Reading one runs nothing. Of the code
only a slice is kept: the function, and the definitions, imports and assignments of the same
notebook whose names it uses. The plots, trainings and checks around it are left out.
"""

import ast
import builtins
import contextlib
import io
import json
import linecache
import re
import symtable
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotated_transformer.exercises.exercise import Candidate, Exercise
from annotated_transformer.exercises.grader.stubs import is_stub
from annotated_transformer.exercises.notebooks import function_name

LARGEST_NOTEBOOK = 50 * 2**20  # bytes; a chapter with all its figures has a few million
_FOR_IPYTHON = re.compile(r"^\s*[%!].*$", re.MULTILINE)  # `%pip install`, `!ls`


@dataclass
class OwnCode:
    """A function as text. It becomes a function at its first call, wherever that happens.

    So the grader can take it as it is, and whatever the text does at its making, it does in the
    grader's process first.
    """

    source: str
    name: str
    origin: str  # shown in tracebacks: "02_attention.ipynb, exercise attention.softmax"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, made anew in this process if need be."""
        if "_made" not in vars(self):
            self._made = self.function()
        return self._made(*args, **kwargs)

    def function(self) -> Candidate:
        """Run the text in a namespace of its own, silently, and return what it calls `name`."""
        file = f"<{self.origin}>"
        linecache.cache[file] = (len(self.source), None, self.source.splitlines(True), file)
        space: dict[str, Any] = {"__name__": "own_part", "__builtins__": builtins}
        silent = io.StringIO()
        with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent), _no_warnings():
            exec(compile(self.source, file, "exec"), space)
        made: Candidate = space[self.name]
        if is_stub(made):
            raise NotImplementedError
        return made

    def __getstate__(self) -> dict[str, str]:
        """The text alone travels to another process."""
        return {"source": self.source, "name": self.name, "origin": self.origin}


class UnreadableError(Exception):
    """The file is no notebook, or the cell no Python."""


def cells_of(path: Path) -> list[str]:
    """The sources of the code cells of a notebook. Raises UnreadableError for anything else."""
    try:
        if not path.is_file() or path.stat().st_size > LARGEST_NOTEBOOK:
            raise UnreadableError
        notebook = json.loads(path.read_text(encoding="utf-8"))
        return [
            "".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"
        ]
    except (OSError, ValueError, TypeError, LookupError, RecursionError) as error:
        raise UnreadableError from error


def own_code(exercise: Exercise, cells: Sequence[str], notebook: str) -> OwnCode | None:
    """The answer to `exercise` in these cells with what it needs, None where there is none yet.

    The cell of an exercise is the last that holds `check("its id", name)`: not every program that
    writes notebooks keeps tags. Nothing is run. Raises UnreadableError if the cell is no Python.
    """
    place = max((i for i, text in enumerate(cells) if _is_cell_of(exercise, text)), default=None)
    if place is None:
        return None
    written, before = parse(cells[place]), []
    for text in cells[:place]:
        with contextlib.suppress(UnreadableError):
            before += parse(text)
    try:
        if ast.dump(ast.Module(written[:-1], [])) == ast.dump(ast.parse(exercise.starter)):
            return None
        name = _checked_name(exercise, written)
        source = _slice([*before, *written], name)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UnreadableError from error  # nested too deeply for Python's own tools
    return OwnCode(source, name, f"{notebook}, exercise {exercise.id}")


def parse(source: str) -> list[ast.stmt]:
    """The statements of a cell, without lines that only IPython reads."""
    with _no_warnings():
        try:
            return ast.parse(source).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass
        try:
            return ast.parse(_FOR_IPYTHON.sub("", source)).body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise UnreadableError from error


def _is_cell_of(exercise: Exercise, source: str) -> bool:
    return re.search(rf"^check\(\s*[\"']{re.escape(exercise.id)}[\"']", source, re.M) is not None


def _checked_name(exercise: Exercise, statements: list[ast.stmt]) -> str:
    """What the reader's `check(id, name)` hands over: the stub's name unless it was renamed."""
    for statement in statements:
        match statement:
            case ast.Expr(ast.Call(ast.Name("check"), [ast.Constant(said), ast.Name(name)])):
                if said == exercise.id:
                    return name
    return function_name(exercise)


def _slice(statements: list[ast.stmt], name: str) -> str:
    """Of the statements those that bind `name`, or a name that one of these uses, in order."""
    bound = [_bound_names(statement) for statement in statements]
    wanted, kept = {name, "*"}, set[int]()
    while new := {i for i, names in enumerate(bound) if names & wanted} - kept:
        kept |= new
        wanted |= {used for i in new for used in _used_names(statements[i])}
    return "\n".join(ast.unparse(statements[i]) for i in sorted(kept))


def _bound_names(statement: ast.stmt) -> set[str]:
    """The names that a statement at the top of a cell gives a value; "*" for a star import."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    names = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):  # within an `if` or a `try`
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
    return names


def _used_names(statement: ast.stmt) -> set[str]:
    """The names of the notebook that a statement reads, at once or when it is called."""

    def used(table: symtable.SymbolTable) -> Iterator[str]:
        outermost = table.get_type() == "module"
        for symbol in table.get_symbols():
            if symbol.is_global() or (outermost and symbol.is_referenced()):
                yield symbol.get_name()
        for child in table.get_children():
            yield from used(child)

    with _no_warnings():
        return set(used(symtable.symtable(ast.unparse(statement), "<cell>", "exec")))


@contextlib.contextmanager
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield

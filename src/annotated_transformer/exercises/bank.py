"""Banks of named mistakes as pages: what a learner wrote, and what a teacher would say to it.

A page is a Markdown file beside its exercise, `layer_norm.mistakes.md` beside `layer_norm.py`:

    ## no-shift
        return gamma * normalised
    The shift is missing: beta is not used. Add it at the end.

The indented lines say how the reference has to be changed to become the mistake:

    variance = x.var(-1)        takes the place of the statement that assigns the same name
    return gamma * normalised   takes the place of the `return`
    old -> new                  takes the place of a piece of text; `old ->` takes it away
    + x = x / 2                 is a line of its own behind the change before it, or, where there is
                                none, the first of the function
    def layer_norm(...): ...    a whole function, for mistakes of structure; helpers may precede it

Each change must have exactly one place in the reference, else the page is refused. What an entry
does not write itself, its lines or its sentence, it takes from the entries named behind "as":

    ## unbiased-and-no-eps, as unbiased and no-eps   the lines and the sentences of both
    ## eps-1e-5-fixed, as eps-1e-6-fixed             with lines below, only the sentence
    ## norm-*, as layer_norm.mistakes.md without median
                                all that the page beside this one changes in places of the
                                reference (no `+` at the beginning, no whole function), with names
                                so begun; a sentence below is said before each of theirs

What stands indented before the first `##` is there for all entries: imports, helpers; what stands
there otherwise is for who reads the page. Two entries that change different places can be made
together, so pairs need not be listed (`together`).
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from annotated_transformer.exercises.exercise import Candidate, Mistake

INDENT = "    "
HEADING = re.compile(r"(?P<name>[^\s,]+)(?:, as (?P<others>\S.*))?")
WHOLE = ("def ", "class ", "import ", "from ", "@")  # how code begins that is no change of a line
COUNTER = "_count_turn"
NO_WORDS = ("#", "```", "~~~", "---", "<!--")
TURNS = 100_000  # of all loops in one call; two mistakes together may never end
Statements = tuple[tuple[ast.stmt, str], ...]  # of a source, each with what it assigns (`_target`)


@dataclass(frozen=True)
class Change:
    """A stretch of the reference's source, from `start` to `end`, and what stands there instead."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class _Preamble:
    """What stands indented before the first entry of a page."""

    page: str
    code: str


@dataclass(frozen=True)
class _Entry:
    """One entry of a page as it is written.

    Attributes:
        place: page and heading, as an error calls it.
        others: the entries that it takes its lines or its sentence from.
        opening: what is said first, where the entry comes from another page.
    """

    place: str
    name: str
    others: tuple[str, ...]
    code: tuple[str, ...]
    said: str
    opening: str = ""


class _Turns:
    """Counts the turns of all `for` and `while` loops in one call, and ends what goes on."""

    def __init__(self) -> None:
        self.taken = 0

    def count(self) -> None:
        self.taken += 1
        if self.taken > TURNS:
            raise RuntimeError("a loop without an end")


class Edited:
    """A function with some places changed; compiled when it is first called.

    Args:
        source: of the function, from its `def` on.
        name: what the function is called.
        changes: of the source, none overlapping another.
        space: what its names mean.
        whole: source that takes the place of all, instead of changes.
    """

    def __init__(
        self,
        source: str,
        name: str,
        changes: Sequence[Change],
        space: Mapping[str, Any],
        whole: str = "",
    ) -> None:
        self.source, self.name, self.space, self.whole = source, name, space, whole
        self.changes = tuple(sorted(changes, key=lambda change: (change.start, change.end)))
        self._turns = _Turns()

    @property
    def text(self) -> str:
        """The source with its changes made."""
        text = self.whole or self.source
        for change in reversed(self.changes):
            text = text[: change.start] + change.text + text[change.end :]
        return text

    @cached_property
    def function(self) -> Candidate:
        """What is called."""
        scope = {**self.space, COUNTER: self._turns.count}
        exec(compile(_with_counted_loops(self.text), f"<{self.name}>", "exec"), scope)
        function: Candidate = scope[self.name]
        return function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._turns.taken = 0
        return self.function(*args, **kwargs)

    def with_changes_of(self, other: "Edited") -> "Edited | None":
        """Both functions' changes in one; None where they are about the same place."""
        if self.whole or other.whole or self.source != other.source:
            return None
        both = sorted(
            [*self.changes, *other.changes], key=lambda change: (change.start, change.end)
        )
        return None if _overlap(both) else Edited(self.source, self.name, both, self.space)


def _overlap(changes: Sequence[Change]) -> bool:
    """Whether two of these, in the order of their places, are about the same place."""
    return any(
        (one.start, one.end) == (following.start, following.end) or following.start < one.end
        for one, following in pairwise(changes)
    )


def _with_counted_loops(text: str) -> ast.Module:
    """The code of a text, in which every turn of a loop is counted."""
    tree = ast.parse(text)
    for loop in _loops(tree):
        count = ast.Expr(ast.Call(ast.Name(COUNTER, ast.Load()), [], []))
        for node in ast.walk(count):
            ast.copy_location(node, loop.body[0])
        loop.body.insert(0, count)
    return tree


def _loops(block: ast.AST) -> Iterator[ast.For | ast.While]:
    """The `for` and `while` statements in a block; no expression holds one."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for statement in getattr(block, part, ()):
            if isinstance(statement, (ast.For, ast.While)):
                yield statement
            yield from _loops(statement)


_Made = tuple[Edited, str]  # of an entry: its function, and its words without an opening


def page(module_file: str, reference: Candidate) -> tuple[Mistake, ...]:
    """The mistakes of the page beside a module, in their order.

    Args:
        module_file: the `__file__` of the exercise's module; the page has its name, with
            `.mistakes.md`.
        reference: the function that the entries change.

    Raises:
        ValueError: where an entry has no place in the reference, or more than one, or is not well
            formed. The message names page and entry.
    """
    return read_page(Path(module_file).with_suffix(".mistakes.md"), reference)


def read_page(path: Path, reference: Candidate) -> tuple[Mistake, ...]:
    """`page` for any file."""
    preambles, entries = _entries(path)
    space = dict(getattr(reference, "__globals__", {}))
    for preamble in preambles:
        try:
            exec(compile(preamble.code, preamble.page, "exec"), space)
        except Exception as error:
            wrong = f"{type(error).__name__}: {error}"
            raise ValueError(f"{preamble.page}, before the first ##: {wrong}") from error
    original = Edited(textwrap.dedent(inspect.getsource(reference)), reference.__name__, (), space)
    made: dict[str, _Made] = {}
    mistakes = []
    for entry in entries:
        try:
            if entry.name in made:
                raise ValueError("this name is there twice")
            function, words = made[entry.name] = _made(entry, made, original)
            sentence = f"{entry.opening} {words}".strip()
            mistakes.append(Mistake(entry.name, function, sentence))
        except (ValueError, SyntaxError) as error:
            raise ValueError(f"{entry.place}: {error}") from error
    return tuple(mistakes)


def together(one: Mistake, other: Mistake) -> Candidate | None:
    """Both mistakes in one function; None where they are about the same place, or of two kinds.

    Mistakes from a page have their changes put together, and those that are one computation with
    options (a `partial`) their options.
    """
    first, second = one.implementation, other.implementation
    if isinstance(first, Edited) and isinstance(second, Edited):
        return first.with_changes_of(second)
    if isinstance(first, partial) and isinstance(second, partial):
        same = first.func is second.func and first.args == second.args
        if same and not set(first.keywords) & set(second.keywords):
            return partial(first.func, *first.args, **first.keywords, **second.keywords)
    return None


def _entries(path: Path, within: tuple[Path, ...] = ()) -> tuple[list[_Preamble], list[_Entry]]:
    """The code before the first entries of a page and of those that it takes; and all entries.

    Args:
        path: the page.
        within: the pages that are being read, each of which takes the next.
    """
    within = (*within, path.resolve())
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path.name} cannot be read: {error}") from error
    before, *blocks = re.split(r"^## ", text, flags=re.MULTILINE)
    if not blocks:
        raise ValueError(f'{path.name} has no entry; one begins with "## " and its name')
    place = f"{path.name}, before the first ##"
    entries: list[_Entry] = []
    try:
        lines = before.splitlines()[before.startswith("# ") :]  # without the page's title
        _words(lines)
        preambles = [_Preamble(path.name, _indented(lines))]
        for block in blocks:
            heading, *lines = block.rstrip().splitlines() or [""]
            place = f"{path.name}, ## {heading.partition(', as ')[0]}"
            entry = _entry(place, heading, lines)
            if not entry.name.endswith("*"):
                entries.append(entry)
                continue
            beside, taken = _taken(entry, within)
            preambles = [*beside, *preambles]  # a page's own helpers come last, and win
            entries += taken
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error
    return preambles, entries


def _entry(place: str, heading: str, lines: Sequence[str]) -> _Entry:
    """An entry as it is written, where it is well formed."""
    found = HEADING.fullmatch(heading.strip())
    if found is None:
        raise ValueError('a heading is a name without blanks, or "name, as other and another"')
    words = _words(lines)
    if words and any(line.startswith(INDENT) for line in lines[lines.index(words[0]) :]):
        raise ValueError("its lines come first, its sentence behind them")
    code = tuple(_indented(lines).splitlines())
    said = " ".join(word.strip() for word in words)
    return _Entry(place, found["name"], _names(found["others"] or ""), code, said)


def _words(lines: Sequence[str]) -> list[str]:
    """The lines that are no code, where all of them are sentences."""
    words = [line for line in lines if line.strip() and not line.startswith(INDENT)]
    for word in words:
        if word.lstrip().startswith(NO_WORDS):
            raise ValueError(f'{word!r} is no sentence; an entry begins with "## "')
        if word[0].isspace():
            raise ValueError(f"{word.strip()!r} is code if it is indented with four spaces")
    return words


def _taken(entry: _Entry, within: tuple[Path, ...]) -> tuple[list[_Preamble], list[_Entry]]:
    """What a page takes from another: those that change places of the reference, renamed."""
    other, _, without = " and ".join(entry.others).partition(" without ")
    beside = within[-1].parent / other
    if other != beside.name or not beside.is_file():
        raise ValueError(f"there is no page {other!r} beside it")
    if beside.resolve() in within:
        raise ValueError(f"{other} takes this page itself")
    if entry.code:
        raise ValueError("lines have no place here: the other page has them")
    preambles, entries = _entries(beside, within)
    left_out = {*_names(without)}
    if unknown := left_out - {one.name for one in entries}:
        raise ValueError(f"{other} has no entry {min(unknown)!r}")
    prefix = entry.name.removesuffix("*")
    said: dict[str, str] = {}
    taken = []
    for one in entries:
        said[one.name] = one.said or " ".join(said.get(name, "") for name in one.others)
        elsewhere = one.code and one.code[0].startswith(("+ ", *WHOLE))
        if elsewhere or (not one.code and left_out & {*one.others}):
            left_out.add(one.name)
        if one.name not in left_out:
            others = () if one.code else tuple(f"{prefix}{name}" for name in one.others)
            taken.append(
                replace(
                    one,
                    place=f"{entry.place} ({one.place})",
                    name=f"{prefix}{one.name}",
                    others=others,
                    said=said[one.name],
                    opening=f"{entry.said} {one.opening}".strip(),
                )
            )
    return preambles, taken


def _indented(lines: Sequence[str]) -> str:
    return textwrap.dedent("\n".join(line for line in lines if line.startswith(INDENT)))


def _names(text: str) -> tuple[str, ...]:
    return tuple(re.split(", | and ", text)) if text else ()


def _made(entry: _Entry, made: Mapping[str, _Made], original: Edited) -> _Made:
    """An entry's function and its words: its own, or those of the entries that it names."""
    if unknown := [name for name in entry.others if name not in made]:
        raise ValueError(f"there is no entry {unknown[0]!r} before it")
    others = [made[name] for name in entry.others]
    if not (entry.said or others):
        raise ValueError("there is nothing to say to it: add a sentence")
    if not (entry.code or others):
        raise ValueError("it changes nothing: write the line that the learner wrote, indented")
    words = entry.said or " ".join(said for _, said in others)
    if entry.code:
        return _edited(entry.code, original), words
    function = original
    for name, (other, _) in zip(entry.others, others, strict=True):
        if other.whole:
            raise ValueError(f"{name!r} is a whole function: write the lines here")
        if (more := function.with_changes_of(other)) is None:
            raise ValueError("these are about the same place: write the lines of both")
        function = more
    return function, words


def _edited(code: Sequence[str], original: Edited) -> Edited:
    """The reference with the changes of an entry's lines, or the whole function that they are."""
    source, name, space = original.source, original.name, original.space
    if code[0].startswith(WHOLE):
        whole = "\n".join(code)
        compile(whole, name, "exec")
        if not re.search(rf"^def {name}\(", whole, flags=re.MULTILINE):
            raise ValueError(f"a whole function has to be called {name!r}, as the reference is")
        return Edited(source, name, (), space, whole)
    edited = Edited(source, name, list(_changes(code, source)), space)
    if _overlap(edited.changes):
        raise ValueError("two of its lines are about the same place")
    if edited.text == source:
        raise ValueError("it changes nothing: this is what the reference says")
    compile(edited.text, name, "exec")
    return edited


def _changes(lines: Sequence[str], source: str) -> Iterator[Change]:
    """What the lines of an entry change in the source, each with its one place."""
    statements, starts = _statements(source), _line_starts(source)
    pending: list[Change] = []
    for line in lines:
        if line.startswith("+ "):
            pending[-1:] = [_added(line[2:], pending[-1:], statements, starts, source)]
            continue
        yield from pending
        old, arrow, new = _split_arrow(line)
        if arrow:
            pending = [_of_text(old, new, source)]
        else:
            pending = [_of_statement(line, statements, starts, source)]
    yield from pending


def _split_arrow(line: str) -> tuple[str, str, str]:
    if line.endswith(" ->"):
        return line.removesuffix(" ->"), "->", ""
    return line.partition(" -> ")


def _of_text(old: str, new: str, source: str) -> Change:
    places = [found.start() for found in re.finditer(f"(?={re.escape(old)})", source)]
    if len(places) != 1:
        raise ValueError(f"{old!r} stands in {len(places)} places of the reference, not in one")
    return Change(places[0], places[0] + len(old), new)


def _of_statement(line: str, statements: Statements, starts: Sequence[int], source: str) -> Change:
    """The statement that assigns what `line` assigns, or returns as it does."""
    try:
        parsed = ast.parse(line).body
    except SyntaxError as error:
        raise ValueError(f"{line!r} is no statement of one line: {error.msg}") from error
    wanted = _target(parsed[0]) if len(parsed) == 1 else ""
    if not wanted:
        raise ValueError(f"{line!r} is not one statement that assigns or returns")
    places = [node for node, target in statements if target == wanted]
    if len(places) != 1:
        raise ValueError(f"{line!r} has {len(places)} places in the reference, not one")
    return Change(*_span(places[0], starts, source), line)


def _target(node: ast.stmt) -> str:
    """What a statement assigns, as it is written; "return"; or "" for any other statement."""
    if isinstance(node, ast.Return):
        return "return"
    if isinstance(node, ast.Assign):
        return " = ".join(ast.unparse(target) for target in node.targets)
    if isinstance(node, (ast.AnnAssign, ast.AugAssign)):
        return ast.unparse(node.target)
    return ""


@lru_cache(maxsize=4)  # a page's entries all change one reference
def _statements(source: str) -> Statements:
    found = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt))
    return tuple((node, _target(node)) for node in found)


@lru_cache(maxsize=4)
def _line_starts(source: str) -> list[int]:
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def _span(node: ast.stmt, starts: Sequence[int], source: str) -> tuple[int, int]:
    """Where a statement stands in the source, as offsets of characters."""
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    lines = source.splitlines()

    def offset(line: int, column: int) -> int:  # ast counts columns in bytes of UTF-8
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    return (
        offset(node.lineno, node.col_offset),
        offset(node.end_lineno, node.end_col_offset),
    )


def _added(
    line: str,
    before: Sequence[Change],
    statements: Statements,
    starts: Sequence[int],
    source: str,
) -> Change:
    """The change before with one more line behind it; without one, a line before the first."""
    if not before:
        function = next(node for node, _ in statements if isinstance(node, ast.FunctionDef))
        start, _ = _span(function.body[0], starts, source)
        return Change(start, start, f"{line}\n{INDENT}")
    (change,) = before
    if change.start == change.end:  # lines before the first
        return Change(change.start, change.end, f"{change.text}{line}\n{INDENT}")
    first = source.rfind("\n", 0, change.start) + 1
    if not re.match(r"[ \t]*(#|\n|$)", source[change.end :]):
        raise ValueError(f"{line!r}: only behind the end of a line can a line be added")
    indent = re.match(r"\s*", source[first:])
    assert indent is not None
    return Change(change.start, change.end, f"{change.text}\n{indent[0]}{line}")

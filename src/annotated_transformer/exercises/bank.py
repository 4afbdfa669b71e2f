"""Banks of named mistakes as pages: what a learner wrote, and what a teacher would say to it.

A page is a Markdown file beside its exercise, `layer_norm.md` beside `layer_norm.py`:

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

Each change must have exactly one place in the reference, else the page is refused. A sentence may
be borrowed: "As `no-shift`." says what is said there, "As `no-shift` and `unbiased`." says both.
What stands indented before the first `##` is there for all entries: imports, helpers.

Two entries that change different places can be made together, so pairs need not be listed
(`together`). `## one + other` is written where a pair wants words of its own; without lines of code
it is both changes.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from annotated_transformer.exercises.exercise import Candidate, Mistake

INDENT = "    "
BORROWED = re.compile(r"As ((?:`[^`]+`(?:,? and |, )?)+)\.")
WHOLE = ("def ", "class ", "import ", "from ", "@")  # how code begins that is no change of a line
COUNTER = "_count_turn"
TURNS = 100_000  # of all loops in one call; two mistakes together may never end


@dataclass(frozen=True)
class Change:
    """A stretch of the reference's source, from `start` to `end`, and what stands there instead."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class _Entry:
    """One entry of a page as it is written."""

    name: str
    code: tuple[str, ...]
    said: str


class _Turns:
    """Counts the turns of all loops in one call, so that none goes on for ever."""

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
    for node in ast.walk(tree):
        if isinstance(node, (ast.For, ast.While)):
            call = ast.Expr(ast.Call(ast.Name(COUNTER, ast.Load()), [], []))
            node.body.insert(0, ast.copy_location(call, node.body[0]))
    return ast.fix_missing_locations(tree)


def page(module_file: str, reference: Candidate) -> tuple[Mistake, ...]:
    """The mistakes of the page beside a module, in their order.

    Args:
        module_file: the `__file__` of the exercise's module; the page has its name, with `.md`.
        reference: the function that the entries change.

    Raises:
        ValueError: where an entry has no place in the reference, or more than one, or is not well
            formed. The message names page and entry.
    """
    path = Path(module_file).with_suffix(".md")
    return read_page(path.read_text(encoding="utf-8"), path.name, reference)


def read_page(text: str, title: str, reference: Candidate) -> tuple[Mistake, ...]:
    """`page` for a text; `title` is what messages call it."""
    preamble, entries = _entries(text)
    space = dict(getattr(reference, "__globals__", {}))
    exec(compile(preamble, title, "exec"), space)
    source = textwrap.dedent(inspect.getsource(reference))
    name = reference.__name__
    made: dict[str, Mistake] = {}
    for entry in entries:
        try:
            if entry.name in made:
                raise ValueError("this name is there twice")
            function = _function(entry, made, source, name, space)
            mistake = Mistake(_joined(entry.name), function, _sentence(entry, made))
        except (ValueError, SyntaxError) as error:
            raise ValueError(f"{title}, ## {entry.name}: {error}") from error
        made[entry.name] = mistake
    return tuple(made.values())


def together(one: Mistake, other: Mistake) -> Candidate | None:
    """Both mistakes in one function; None where they are about the same place, or of two kinds.

    Mistakes from a page have their changes put together, and those that are one computation with
    options (`faults`) their options.
    """
    first, second = one.implementation, other.implementation
    if isinstance(first, Edited) and isinstance(second, Edited):
        return first.with_changes_of(second)
    if isinstance(first, partial) and isinstance(second, partial):
        same = first.func is second.func and first.args == second.args
        if same and not set(first.keywords) & set(second.keywords):
            return partial(first.func, *first.args, **first.keywords, **second.keywords)
    return None


def _joined(name: str) -> str:
    return name.replace(" + ", "+")


def _entries(text: str) -> tuple[str, list[_Entry]]:
    """The code before the first entry, and the entries."""
    before, *blocks = re.split(r"^## ", text, flags=re.MULTILINE)
    entries = []
    for block in blocks:
        name, *lines = block.rstrip().splitlines()
        code = [line for line in lines if line.startswith(INDENT)]
        said = " ".join(line.strip() for line in lines if not line.startswith(INDENT)).strip()
        entries.append(
            _Entry(name.strip(), tuple(textwrap.dedent("\n".join(code)).split("\n")), said)
        )
    preamble = "\n".join(
        line for line in before.splitlines() if line.startswith(INDENT) or not line
    )
    return textwrap.dedent(preamble).strip(), entries


def _sentence(entry: _Entry, made: Mapping[str, Mistake]) -> str:
    """What is said: the entry's own text, what it borrows, or for a pair both sentences."""
    borrowed = BORROWED.fullmatch(entry.said)
    if borrowed:
        names = re.findall(r"`([^`]+)`", borrowed[1])
    elif not entry.said:
        names = entry.name.split(" + ")
        if len(names) == 1:
            raise ValueError("there is nothing to say to it: add a sentence")
    else:
        return entry.said
    return " ".join(_known(name, made).sentence for name in names)


def _known(name: str, made: Mapping[str, Mistake]) -> Mistake:
    if name not in made:
        raise ValueError(f"there is no entry {name!r} before it")
    return made[name]


def _function(
    entry: _Entry, made: Mapping[str, Mistake], source: str, name: str, space: Mapping[str, Any]
) -> Edited:
    code = [line for line in entry.code if line.strip()]
    if not code:
        return _of_several(entry.name.split(" + "), made)
    if code[0].startswith(WHOLE):
        whole = "\n".join(entry.code)
        ast.parse(whole)
        if not re.search(rf"^def {name}\(", whole, flags=re.MULTILINE):
            raise ValueError(f"a whole function has to be called {name!r}, as the reference is")
        return Edited(source, name, (), space, whole)
    edited = Edited(source, name, list(_changes(code, source)), space)
    if _overlap(edited.changes):
        raise ValueError("two of its lines are about the same place")
    ast.parse(edited.text)
    return edited


def _of_several(names: Sequence[str], made: Mapping[str, Mistake]) -> Edited:
    """The function that has the changes of all these entries."""
    if len(names) == 1:
        raise ValueError("it changes nothing: write the line that the learner wrote, indented")
    both, *others = (_known(name, made).implementation for name in names)
    for other in others:
        assert isinstance(both, Edited)
        assert isinstance(other, Edited)
        if (more := both.with_changes_of(other)) is None:
            raise ValueError("these are about the same place: write the lines of both")
        both = more
    assert isinstance(both, Edited)
    return both


def _changes(lines: Sequence[str], source: str) -> Iterator[Change]:
    """What the lines of an entry change in the source, each with its one place."""
    statements = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
    starts = _line_starts(source)
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
    places = [found.start() for found in re.finditer(re.escape(old), source)]
    if len(places) != 1:
        raise ValueError(f"{old!r} stands in {len(places)} places of the reference, not in one")
    return Change(places[0], places[0] + len(old), new)


def _of_statement(
    line: str, statements: Sequence[ast.stmt], starts: Sequence[int], source: str
) -> Change:
    """The statement that assigns what `line` assigns, or returns as it does."""
    (new,) = ast.parse(line).body
    for key in (_target, _target_name):
        wanted = key(new)
        places = [node for node in statements if wanted and key(node) == wanted]
        if len(places) == 1:
            return Change(*_span(places[0], starts, source), line)
        if places:
            break
    raise ValueError(f"{line!r} has {len(places)} places in the reference, not one")


def _target(node: ast.stmt) -> str:
    """What a statement assigns, as it is written; "return"; or "" for any other statement."""
    if isinstance(node, ast.Return):
        return "return"
    if isinstance(node, ast.Assign):
        return " = ".join(ast.unparse(target) for target in node.targets)
    if isinstance(node, (ast.AnnAssign, ast.AugAssign)):
        return ast.unparse(node.target)
    return ""


def _target_name(node: ast.stmt) -> str:
    """`_target` without what stands in brackets: "pe" for `pe[:, 0::2] = ...`."""
    return re.sub(r"\[.*\]|[()]", "", _target(node))


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
    statements: Sequence[ast.stmt],
    starts: Sequence[int],
    source: str,
) -> Change:
    """The change before with one more line behind it; without one, a line before the first."""
    if not before:
        function = next(node for node in statements if isinstance(node, ast.FunctionDef))
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

"""`warmup.view_or_transpose`: a view cuts the numbers in their order, a transpose moves them."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import Candidate, Exercise, Mistake

LETTERS = "ABC"
Answer = list[Any] | str


@dataclass(frozen=True)
class Rewrite:
    """One expression that is meant to be the vector of token 1, and why it is or is not.

    code: with {n}, {d} and {w} = d / 2 for the sizes. cut: the same as a function of x, n, d, w,
    but for the index in square brackets, which is 1 on `axis`. untransposed: `cut` without its
    first transpose. uncut: `cut` without its last reshape.
    """

    name: str
    keeps: bool
    code: str
    cut: Callable[[Tensor, int, int, int], Tensor]
    axis: int
    why: str
    untransposed: Callable[[Tensor, int, int, int], Tensor] | None = None
    uncut: Callable[[Tensor, int, int, int], Tensor] | None = None

    def run(self, x: Tensor, n: int, d: int, w: int) -> Tensor:
        """What the expression gives."""
        return self.cut(x, n, d, w).select(self.axis, 1).flatten()


_CUT = "a view never moves a number, it cuts the row of all numbers in another way"
REWRITES = (
    Rewrite(
        "view-for-transpose",
        False,
        "x.view({d}, {n})[:, 1]",
        lambda x, n, d, w: x.view(d, n),
        1,
        "`x.view({d}, {n})` has the shape of a transpose and not its contents: " + _CUT + ".",
    ),
    Rewrite(
        "heads-by-transpose",
        True,
        "x.view({n}, 2, {w}).transpose(0, 1)[:, 1].flatten()",
        lambda x, n, d, w: x.view(n, 2, w).transpose(0, 1),
        1,
        "the view cuts each token's own row in two, and the transpose moves whole pieces.",
        lambda x, n, d, w: x.view(n, 2, w),
    ),
    Rewrite(
        "merged-without-transpose",
        False,
        "x.view({n}, 2, {w}).transpose(0, 1).reshape({n}, {d})[1]",
        lambda x, n, d, w: x.view(n, 2, w).transpose(0, 1).reshape(n, d),
        0,
        "after the transpose the halves of all tokens stand one after the other, and the reshape "
        "cuts that row anew. It has to be transposed back first.",
        uncut=lambda x, n, d, w: x.view(n, 2, w).transpose(0, 1),
    ),
    Rewrite(
        "transposed",
        True,
        "x.T[:, 1]",
        lambda x, n, d, w: x.T,
        1,
        "a transpose moves every number with its token: column 1 of x.T is row 1 of x.",
        lambda x, n, d, w: x,
    ),
    Rewrite(
        "heads-by-view",
        False,
        "x.view(2, {n}, {w})[:, 1].flatten()",
        lambda x, n, d, w: x.view(2, n, w),
        1,
        "`x.view(2, {n}, {w})` puts the first tokens whole into the first half: " + _CUT + ".",
    ),
    Rewrite(
        "cut",
        True,
        "x.view({n}, 2, {w})[1].flatten()",
        lambda x, n, d, w: x.view(n, 2, w),
        0,
        "the view cuts each token's own row in two and leaves the tokens where they are.",
    ),
    Rewrite(
        "reshaped-back",
        False,
        "x.T.reshape({n}, {d})[1]",
        lambda x, n, d, w: x.T.reshape(n, d),
        0,
        "x.T has the tokens in columns, and a reshape reads along the rows, so every row of the "
        "result holds numbers of several tokens. Only a second transpose leads back.",
        uncut=lambda x, n, d, w: x.T,
    ),
    Rewrite(
        "merged",
        True,
        "x.view({n}, 2, {w}).transpose(0, 1).transpose(0, 1).reshape({n}, {d})[1]",
        lambda x, n, d, w: x.view(n, 2, w).transpose(0, 1).transpose(0, 1).reshape(n, d),
        0,
        "the second transpose undoes the first, so the reshape joins the pieces of one token.",
        lambda x, n, d, w: x.view(n, 2, w).transpose(0, 1).reshape(n, d),
    ),
    Rewrite(
        "transposed-then-cut",
        True,
        "x.T.reshape(2, {w}, {n})[:, :, 1].flatten()",
        lambda x, n, d, w: x.T.reshape(2, w, n),
        2,
        "x.T has the tokens in columns, and the reshape cuts only the axis of the features.",
        lambda x, n, d, w: x.reshape(2, w, n),
    ),
    Rewrite(
        "transposed-then-mixed",
        False,
        "x.T.reshape(2, {n}, {w})[:, 1].flatten()",
        lambda x, n, d, w: x.T.reshape(2, n, w),
        1,
        "x.T has the tokens in columns; a reshape that cuts its rows puts numbers of several "
        "tokens side by side.",
        lambda x, n, d, w: x.reshape(2, n, w),
    ),
)


@dataclass(frozen=True)
class Draw:
    """What one learner gets: three rewrites and the sizes."""

    shown: tuple[Rewrite, ...] = REWRITES[:3]
    n: int = 3
    d: int = 4

    def x(self) -> Tensor:
        """Token t is 10(t + 1), 10(t + 1) + 1, ...: each number tells its token."""
        return 10 * torch.arange(1, self.n + 1)[:, None] + torch.arange(self.d)

    def vector(self, rewrite: Rewrite) -> list[int]:
        """What an expression gives."""
        return [int(a) for a in rewrite.run(self.x(), self.n, self.d, self.d // 2)]

    def text(self, template: str) -> str:
        """With the sizes put in."""
        return template.format(n=self.n, d=self.d, w=self.d // 2)

    def answers(self) -> dict[str, Answer]:
        """The right answers."""
        vectors: dict[str, Answer] = {
            letter: self.vector(rewrite)
            for letter, rewrite in zip(LETTERS, self.shown, strict=True)
        }
        keeping = [c for c, rewrite in zip(LETTERS, self.shown, strict=True) if rewrite.keeps]
        return {**vectors, "apart": "".join(keeping)}


def _draw(seed: int) -> Draw:
    if seed == 0:
        return Draw()
    draw = random.Random(seed)
    kept = draw.sample([r for r in REWRITES if r.keeps], draw.choice((1, 2)))
    mixed = draw.sample([r for r in REWRITES if not r.keeps], 3 - len(kept))
    shown = draw.sample([*kept, *mixed], 3)
    n, d = draw.choice(((3, 4), (5, 4), (3, 8), (5, 6)))
    return Draw(tuple(shown), n, d)


def answer() -> dict[str, Answer]:
    return {
        "A": [11, 20, 23, 32],  # 10 11 12 | 13 20 21 | 22 23 30 | 31 32 33: second of each
        "B": [20, 21, 22, 23],
        "C": [30, 31, 12, 13],  # 10 11 20 21 | 30 31 12 13 | 22 23 32 33: the second
        "apart": "B",
    }


def _by_running_it() -> dict[str, Answer]:
    x = torch.tensor([[10, 11, 12, 13], [20, 21, 22, 23], [30, 31, 32, 33]])
    vectors = {
        "A": x.view(4, 3)[:, 1],
        "B": x.view(3, 2, 2).transpose(0, 1)[:, 1].flatten(),
        "C": x.view(3, 2, 2).transpose(0, 1).reshape(3, 4)[1],
    }
    apart = [letter for letter, vector in vectors.items() if vector.equal(x[1])]
    return {**{key: vector.tolist() for key, vector in vectors.items()}, "apart": "".join(apart)}


def _from_the_draw() -> dict[str, Answer]:
    return Draw().answers()


def _says(answers: dict[str, Answer]) -> Candidate:
    return lambda: dict(answers)


def _wrong_vectors(draw: Draw, letter: str, rewrite: Rewrite) -> Iterator[tuple[str, Tensor, str]]:
    """Vectors that another reading of one expression gives: a name, the vector, what to say."""
    x, why = draw.x(), draw.text(rewrite.why)
    code = draw.text(rewrite.code)
    if not rewrite.keeps:
        yield "unmixed", x[1], f"`{letter}` is not token 1: {why}"
    for token in range(draw.n):
        text = f"`{letter}`: this is token {token}. `{code}` takes index 1, counted from 0: {why}"
        yield f"token-{token}", x[token], text
    for other in REWRITES:
        text = f"`{letter}`: this is what `{draw.text(other.code)}` gives. Here {why}"
        yield other.name, other.run(x, draw.n, draw.d, draw.d // 2), text
    text = f"`{letter}`: this is one feature of every token. Asked for is a vector of {draw.d}: "
    yield "feature", x[:, 1], text + why
    yield from _wrong_pieces(draw, letter, rewrite)


def _wrong_pieces(draw: Draw, letter: str, rewrite: Rewrite) -> Iterator[tuple[str, Tensor, str]]:
    """The right tensor cut at another place, or the right numbers in another order."""
    sizes = draw.x(), draw.n, draw.d, draw.d // 2
    code, cut, right = draw.text(rewrite.code), rewrite.cut(*sizes), rewrite.run(*sizes)
    where = f"`{letter}`: this is index {{}} of axis {{}}. `{code}` takes index 1 of axis "
    where += f"{rewrite.axis}, both counted from 0; what stands before the brackets is right."
    if rewrite.untransposed:
        flat = rewrite.untransposed(*sizes)
        text = f"`{letter}`: this is what comes out without the transpose. With it, "
        yield "no-transpose", flat.select(rewrite.axis, 1).flatten(), text + draw.text(rewrite.why)
    if rewrite.uncut:
        early = rewrite.uncut(*sizes)[1].flatten()
        text = f"`{letter}`: here index 1 is taken before the reshape. The index comes last: the "
        text += f"reshape cuts the row of all numbers into pieces of {draw.d}, and [1] is the "
        text += "second of these."
        yield "index-before-reshape", early[: draw.d], text
        yield "index-before-reshape-whole", early, text
    for axis in (rewrite.axis, *(a for a in range(cut.dim()) if a != rewrite.axis)):
        for index in range(cut.size(axis)):
            vector = cut.select(axis, index).flatten()
            yield f"axis-{axis}-index-{index}", vector, where.format(index, axis)
    if rewrite.uncut:
        text = f"`{letter}`: these numbers do stand side by side after the transpose. But the cuts "
        text += f"fall after every {draw.d} numbers, counted from the first."
        for start in range(0, cut.numel() - draw.d + 1, draw.d // 2):
            yield f"cut-at-{start}", cut.flatten()[start : start + draw.d], text
    if cut.dim() > 2:
        text = f"`{letter}`: the pieces are not joined: `flatten()` makes one list of them."
        yield "not-flattened", cut.select(rewrite.axis, 1), text
    read = "`flatten()` and `reshape` read a tensor row after row, and a view reads it as it lies."
    orders = f"`{letter}`: these are the right numbers in another order. {read}"
    yield from _other_orders("", right, orders)
    if not rewrite.keeps:
        why = draw.text(rewrite.why)
        yield from _other_orders("unmixed-", sizes[0][1], f"`{letter}` is not token 1: {why}")


def _other_orders(name: str, vector: Tensor, text: str) -> Iterator[tuple[str, Tensor, str]]:
    if vector.numel() % 2 == 0:
        halves = vector.view(2, -1)
        for index, half in enumerate(halves):
            which = f"These are {half.numel()} of {vector.numel()} numbers. " + text
            yield f"{name}half-{index}", half, which[0].lower() + which[1:]
        yield name + "halves-exchanged", halves.flip(0).flatten(), text
        yield name + "interleaved", halves.T.flatten(), text
    yield name + "backwards", vector.flip(0), text


def _mistakes(draw: Draw) -> tuple[Mistake, ...]:
    answers = draw.answers()
    mistakes = []
    for letter, rewrite in zip(LETTERS, draw.shown, strict=True):
        seen = [answers[letter]]
        for name, vector, sentence in _wrong_vectors(draw, letter, rewrite):
            numbers = vector.tolist()
            if numbers not in seen:
                seen.append(numbers)
                mistakes.append(Mistake(f"{letter}-{name}", _says({letter: numbers}), sentence))
    for size in range(len(LETTERS) + 1):
        for letters in map("".join, combinations(LETTERS, size)):
            if letters != answers["apart"]:
                name = f"apart-{letters or 'none'}"
                mistakes.append(Mistake(name, _says({"apart": letters}), _about(draw, letters)))
    return tuple(mistakes)


def _about(draw: Draw, letters: str) -> str:
    """What to say to these letters as the expressions that keep tokens apart."""
    sentences = []
    for letter, rewrite in zip(LETTERS, draw.shown, strict=True):
        if rewrite.keeps != (letter in letters):
            what = "does keep tokens apart" if rewrite.keeps else "mixes tokens"
            sentences.append(f"`apart`: {letter} {what}: {draw.text(rewrite.why)}")
    return " ".join(sentences)


def _statement(draw: Draw) -> str:
    listing = "\n".join(
        f"- {letter} = {draw.text(rewrite.code)}"
        for letter, rewrite in zip(LETTERS, draw.shown, strict=True)
    )
    rows = ", ".join(
        f"token {token} is {', '.join(str(int(a)) for a in row)}"
        for token, row in enumerate(draw.x()[:2])
    )
    return (
        f"x holds {draw.n} tokens of width {draw.d}, one a row: {rows}, and so on (the tens tell "
        f"the token). Each of these is meant to be the vector of token 1, counted from 0:\n\n"
        f"{listing}\n\n"
        "Return a dictionary: for 'A', 'B' and 'C' the numbers that come out, as a list, and for "
        "'apart' a string with the letters, in alphabetical order, of those that keep tokens "
        "apart, where all numbers are of token 1. Work it out before you run it."
    )


def vary(seed: int) -> Exercise:
    """The exercise with expressions and sizes drawn for this learner; seed 0 is the book's."""
    if seed == 0:
        return VIEW_OR_TRANSPOSE
    draw = _draw(seed)
    return replace(
        VIEW_OR_TRANSPOSE,
        statement=_statement(draw),
        reference=_says(draw.answers()),
        mistakes=_mistakes(draw),
        alternatives=(),
    )


VIEW_OR_TRANSPOSE = Exercise(
    id="warmup.view_or_transpose",
    title="View or transpose?",
    kind="debug",
    difficulty=2,
    minutes=8,
    signature="answer() -> dict of three lists and a string",
    statement=_statement(Draw()),
    objective="See from an expression whether it mixes the numbers of different tokens.",
    prerequisite="warmup.predict_broadcast",
    hints=(
        "Write all numbers of x in one row, token after token. A view (or a reshape of it) cuts "
        "this row into pieces of other lengths and moves nothing.",
        "A transpose moves numbers. A reshape after a transpose reads the *new* rows: write those "
        "in one row first, then cut.",
        "Ask of every cut: does it fall between tokens or within one? Cutting an axis in two "
        "pieces keeps tokens apart; a cut across two axes mixes them.",
    ),
    reference=answer,
    explanation=(
        "`view` and `reshape` keep the order of the numbers and only cut it anew; `transpose` "
        "changes the order. The two give equal shapes and different contents, and nothing raises: "
        "a model in which words are mixed learns badly and says nothing. The rule: a reshape may "
        "split one axis or join two neighbours; to exchange axes, transpose."
    ),
    mistakes=_mistakes(Draw()),
    alternatives=(_by_running_it, _from_the_draw),
    starter='def answer():\n    return {"A": ..., "B": ..., "C": ..., "apart": ...}',
    vary=vary,
)

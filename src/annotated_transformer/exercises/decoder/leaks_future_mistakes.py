"""The named mistakes of `decoder.leaks_future`: pairs of positions that are asked, or forgotten."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import Candidate, Mistake

Decode = Callable[[Tensor], Tensor]
Verdict = Callable[[Tensor], Any]  # of the (n, n) booleans: does input j move output i?


def _influence(decode: Decode, x: Tensor) -> Tensor:
    """[i, j]: whether the output at i depends on the input at j."""
    before = decode(x)
    columns = []
    for j in range(x.size(1)):
        changed = x.clone()
        changed[:, j] += 1.0
        columns.append((decode(changed) - before).abs().amax(dim=(0, 2)) > 1e-6)
    return torch.stack(columns, dim=1)


def _judging(verdict: Verdict) -> Candidate:
    """A test that asks only some of the pairs of positions, or asks them otherwise."""

    def implementation(decode: Decode, x: Tensor) -> Any:
        result = verdict(_influence(decode, x))
        return bool(result) if isinstance(result, Tensor) and result.dim() == 0 else result

    return implementation


def _future(influence: Tensor) -> Tensor:
    return influence.triu(1)


def _across(influence: Tensor, cut: int) -> Tensor:
    """Whether an output before the cut depends on an input from it on."""
    return influence[:cut, cut:].any()


def _x_changed(decode: Decode, x: Tensor) -> bool:
    leak = bool(_future(_influence(decode, x)).any())
    x[:, -1] += 1.0
    return leak


def _x_zeroed(decode: Decode, x: Tensor) -> bool:
    leak = bool(_future(_influence(decode, x)).any())
    x[:, 1:] = 0.0
    return leak


_ONE_CUT = (
    "Only one cut is tested, {which}: leaks that do not cross it are overlooked. A mask may be "
    "broken in any row, so test every cut t from 1 to n - 1, or every pair i < j. "
)
_SOME = "A mask may be broken in any row: test every position i against every later j."

# A name, what to say, and what is asked.
_VERDICTS: tuple[tuple[str, str, Verdict], ...] = (
    (
        "never",
        "No function is ever found to leak. Perhaps only the last position's output is looked "
        "at, which may see everything; or only the first position's input is changed, which is "
        "nobody's future; or the outputs are compared at the wrong side of the cut. " + _SOME,
        lambda seen: False,
    ),
    (
        "always",
        "Every function is said to leak. Perhaps any dependence counts, also that on the past, or "
        "the outputs are compared at all positions, changed ones included: those may move. Only a "
        "later input, j > i, is the future: compare the positions before the cut, `[:, :t]`.",
        lambda seen: True,
    ),
    (
        "diagonal-counted",
        "The position itself counts as the future (j >= i, `triu()` without an offset, or "
        "outputs up to the changed position). Position i may depend on x at i: the decoder's "
        "input is shifted already. Ask for j > i.",
        lambda seen: seen.triu().any(),
    ),
    (
        "past-for-future",
        "Dependence on the past is reported: rows and columns are exchanged (`tril` for `triu`, "
        "or the inputs before t changed and the outputs after it compared). Change a later input "
        "and compare the earlier outputs.",
        lambda seen: seen.tril(-1).any(),
    ),
    (
        "past-and-self-for-future",
        "Dependence on the past or on the position itself is reported: rows and columns are "
        "exchanged, and the diagonal counts. Change a later input and compare the earlier outputs.",
        lambda seen: seen.tril().any(),
    ),
    (
        "other-words",
        "Any dependence on another word counts as a leak, the past included. Only a later input, "
        "j > i, is the future.",
        lambda seen: (seen & ~torch.eye(len(seen), dtype=torch.bool)).any(),
    ),
    (
        "inverted",
        "The answer is inverted: True for functions that keep the future hidden. Asked is whether "
        "it leaks.",
        lambda seen: not _future(seen).any(),
    ),
    (
        "all-instead-of-any",
        "A leak is reported only where every position sees the whole future (`all`). One "
        "position that sees one later word is a leak: `any`.",
        lambda seen: bool((seen | ~torch.ones_like(seen).triu(1)).all()),
    ),
    (
        "every-row-instead-of-any",
        "A leak is reported only where every position sees something later. One is enough: `any`.",
        lambda seen: len(seen) > 1 and bool(_future(seen)[:-1].any(1).all()),
    ),
    (
        "first-row",
        "Only the first position's output is looked at. A mask that is broken further down is "
        "overlooked. " + _SOME,
        lambda seen: _future(seen)[:1].any(),
    ),
    (
        "first-row-last-column",
        "Only one pair is tested: whether the first output depends on the last input. A mask that "
        "is off by one passes. " + _SOME,
        lambda seen: _future(seen)[0, -1],
    ),
    (
        "last-input",
        "Only the last input is changed. A leak from a word in the middle to one before it is "
        "overlooked. " + _SOME,
        lambda seen: _future(seen)[:, -1].any(),
    ),
    (
        "last-pair",
        "Only one pair is tested: whether the last output but one depends on the last input. "
        + _SOME,
        lambda seen: len(seen) > 1 and seen[-2, -1],
    ),
    (
        "first-pair",
        "Only one pair is tested: whether the first output depends on the second input. " + _SOME,
        lambda seen: len(seen) > 1 and seen[0, 1],
    ),
    (
        "next-word-only",
        "Only the next word is tested for each position, j = i + 1. A leak from further away is "
        "overlooked, such as that of the last word to all. " + _SOME,
        lambda seen: seen.diagonal(1).any(),
    ),
    (
        "cut-in-the-middle",
        _ONE_CUT.format(which="in the middle"),
        lambda seen: _across(seen, len(seen) // 2),
    ),
    (
        "cut-behind-the-middle",
        _ONE_CUT.format(which="in the middle"),
        lambda seen: _across(seen, (len(seen) + 1) // 2),
    ),
    (
        "one-too-far",
        "The position right after is left out: only inputs from i + 2 on are tested "
        "(`triu(2)`). A mask that is off by one passes, the commonest leak of all.",
        lambda seen: seen.triu(2).any(),
    ),
    (
        "last-input-forgotten",
        "The last input is never changed (a loop that ends one too early, `range(1, n - 1)`). "
        "A leak from the last word is overlooked: the cuts are t = 1 to n - 1.",
        lambda seen: _future(seen)[:, :-1].any(),
    ),
    (
        "first-output-forgotten",
        "The first position's output is never looked at (a loop that starts one too late). The "
        "first word has the longest future.",
        lambda seen: _future(seen)[1:].any(),
    ),
    (
        "last-cut-forgotten",
        "The last cut is never tested (`range(1, n - 1)`): a look from the last position but one "
        "at the last is overlooked. The cuts are t = 1 to n - 1, which is `range(1, n)`.",
        lambda seen: any(bool(_across(seen, cut)) for cut in range(1, len(seen) - 1)),
    ),
    (
        "first-cut-forgotten",
        "The first cut is never tested (`range(2, n)`): a look from the first position at the "
        "second is overlooked. The cuts are t = 1 to n - 1, which is `range(1, n)`.",
        lambda seen: any(bool(_across(seen, cut)) for cut in range(2, len(seen))),
    ),
    (
        "row-in-the-middle",
        "Only the output in the middle is looked at. " + _SOME,
        lambda seen: _future(seen)[len(seen) // 2].any(),
    ),
    (
        "column-in-the-middle",
        "Only the input in the middle is changed. " + _SOME,
        lambda seen: _future(seen)[:, len(seen) // 2].any(),
    ),
    (
        "number-of-leaks",
        "The number of leaks is returned. Asked for is True or False.",
        lambda seen: int(_future(seen).sum()),
    ),
    (
        "a-float",
        "A number is returned, 1 or 0. Asked for is True or False: `bool(...)`.",
        lambda seen: float(_future(seen).any()),
    ),
    (
        "matrix",
        "The whole matrix of dependences is returned. Asked for is one answer, whether there is "
        "any above the diagonal: True or False.",
        lambda seen: seen,
    ),
    (
        "matrix-of-leaks",
        "All leaks are returned, (n, n). Asked for is one answer, whether there is any: True or "
        "False.",
        _future,
    ),
    (
        "a-row-each",
        "One answer for each position is returned. Asked for is one for the whole function.",
        lambda seen: _future(seen).any(1),
    ),
    (
        "a-word",
        "A text is returned. Asked for is True or False.",
        lambda seen: "leak" if _future(seen).any() else "no leak",
    ),
)

_CHANGED = (
    "The answers are right, but x itself is changed. Change a copy: `changed = x.clone()`, then "
    "`changed[:, t:] = ...`."
)


def _largest_change(decode: Decode, x: Tensor) -> float:
    before, largest = decode(x), 0.0
    for t in range(1, x.size(1)):
        changed = x.clone()
        changed[:, t:] += 1.0
        largest = max(largest, float((decode(changed) - before)[:, :t].abs().max()))
    return largest


LEAKS_FUTURE_MISTAKES = (
    *(Mistake(name, _judging(verdict), text.strip()) for name, text, verdict in _VERDICTS),
    Mistake("last-word-changed", _x_changed, _CHANGED),
    Mistake("future-zeroed", _x_zeroed, _CHANGED),
    Mistake(
        "largest-change",
        _largest_change,
        "The largest change is returned. Asked for is True or False: whether it is larger than "
        "rounding.",
    ),
)

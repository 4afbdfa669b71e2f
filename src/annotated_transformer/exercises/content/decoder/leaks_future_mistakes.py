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
    return _changes(decode, x).abs().amax(dim=(2, 3)) > 1e-6


def _other_words(x: Tensor) -> Tensor:
    """Drawn, the same at every call."""
    drawn = torch.randn(x.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return drawn.to(x.dtype)


def _changes(decode: Decode, x: Tensor, new: Callable[[Tensor], Tensor] = _other_words) -> Tensor:
    """[i, j]: by how much the outputs at i change, (B, d), when the word at j is a new one."""
    before, others = decode(x), new(x)
    columns = []
    for j in range(x.size(1)):
        changed = x.clone()
        changed[:, j] = others[:, j]
        columns.append((decode(changed) - before).transpose(0, 1))
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
        "one-copy",
        "Functions that keep the future hidden are said to leak. Perhaps the copy is made once, "
        "before the loop: what an earlier round changed stays changed, and stands before the next "
        "cut. Make it anew for every t, inside the loop: `changed = x.clone()`.",
        lambda seen: len(seen) > 1 and seen[:-1, 1:].any(),
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
    "x itself is changed. Change a copy, made anew for every t: `changed = x.clone()`, then "
    "`changed[:, t:] = ...`."
)


def _largest_change(decode: Decode, x: Tensor) -> float:
    before, largest = decode(x), 0.0
    for t in range(1, x.size(1)):
        changed = torch.cat([x[:, :t], _other_words(x)[:, t:]], dim=1)
        largest = max(largest, float((decode(changed) - before)[:, :t].abs().max()))
    return largest


def _by_changes(
    new: Callable[[Tensor], Tensor] = _other_words,
    seen: Callable[[Tensor], Tensor] = lambda change: change.abs().amax(dim=(2, 3)),
    tolerance: float = 1e-6,
) -> Candidate:
    """All pairs of positions are asked, but not every change is made or seen."""

    def implementation(decode: Decode, x: Tensor) -> bool:
        return bool((seen(_changes(decode, x, new)) > tolerance).triu(1).any())

    return implementation


def _first_feature_changed(x: Tensor) -> Tensor:
    return torch.cat([x[..., :1] + 1.0, x[..., 1:]], dim=-1)


def _gradients(decode: Decode, x: Tensor) -> Tensor:
    """[i, j]: the gradient of the sum of all features at i by the word at j, (B, d)."""
    leaf = x.detach().clone().requires_grad_()
    sums = decode(leaf).sum(dim=(0, 2))
    rows = [torch.autograd.grad(one, leaf, retain_graph=True)[0].transpose(0, 1) for one in sums]
    return torch.stack(rows)


def _by_gradients(seen: Callable[[Tensor], Tensor]) -> Candidate:
    def implementation(decode: Decode, x: Tensor) -> bool:
        return bool((seen(_gradients(decode, x)) > 1e-9).triu(1).any())

    return implementation


_FEATURES = (
    "Only one feature is {what}. A leak may go through any of them: {every}, and take the largest "
    "absolute difference over all."
)
_SUMMED = (
    "The features of an output are added up before the gradient is taken (`out[:, i].sum()`). "
    "Behind a layer normalisation that sum is always 0, and so is its gradient, whatever leaks. "
    "Ask for each feature by itself, or weight them with drawn numbers. "
)
_SIGNED = (
    "The absolute value is missing (`> 0` or `max` of signed numbers), so a leak that lowers the "
    "outputs is overlooked. Take `.abs()` first. "
)

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
    Mistake(
        "same-number-added",
        _by_changes(new=lambda x: x + 1.0),
        "All features of a word are changed alike: the same number is added, or all are scaled. "
        "A layer normalisation at the start takes that away again, and the leak is not seen. "
        "Draw the new word: `torch.randn_like`.",
    ),
    Mistake("features-summed", _by_gradients(lambda g: g.abs().amax(dim=(2, 3))), _SUMMED.strip()),
    Mistake(
        "features-summed-signed",
        _by_gradients(lambda g: g.sum(dim=(2, 3))),
        (_SUMMED + _SIGNED).strip(),
    ),
    Mistake(
        "one-output-feature",
        _by_changes(seen=lambda change: change[..., 0].abs().amax(dim=2)),
        _FEATURES.format(what="looked at", every="compare the whole outputs"),
    ),
    Mistake(
        "one-input-feature",
        _by_changes(new=_first_feature_changed),
        _FEATURES.format(what="changed", every="change the whole word"),
    ),
    Mistake(
        "rough-tolerance",
        _by_changes(tolerance=0.03),
        "The differences are compared with a tolerance that is too large: a weak leak is "
        "overlooked. Allow for rounding only, about 1e-6.",
    ),
    Mistake(
        "signed-changes",
        _by_changes(new=lambda x: x + 1.0, seen=lambda change: change.amax(dim=(2, 3))),
        _SIGNED.strip(),
    ),
)

"""`decoder.leaks_future`: a test that finds any look into the future (section 3.1)."""

from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.content.drawn import drawn
from annotated_transformer.exercises.exercise import Call, Case, Exercise, Stage, call

Decode = Callable[[Tensor], Tensor]
Rule = Callable[[int, int, int], bool]  # of query i, key j and the length n


def leaks_future(decode: Decode, x: Tensor) -> bool:
    n = x.size(1)
    before = decode(x)  # (B, n, d)
    other = torch.randn(x.shape, dtype=x.dtype)  # other words: drawn, feature by feature
    seen = torch.zeros(n, n, dtype=torch.bool)  # [i, j]: does the output at i depend on word j?
    for j in range(n):
        changed = x.clone()
        changed[:, j] = other[:, j]
        difference = (decode(changed) - before).abs()  # (B, n, d)
        seen[:, j] = difference.amax(dim=(0, 2)) > 1e-6
    return bool(seen.triu(1).any())  # above the diagonal: j > i


def _by_cuts(decode: Decode, x: Tensor) -> bool:
    before = decode(x)
    other = torch.randn(x.shape, dtype=x.dtype)
    for t in range(1, x.size(1)):
        changed = torch.cat([x[:, :t], other[:, t:]], dim=1)  # another future: t, t + 1, ...
        difference = (decode(changed) - before)[:, :t].abs()  # what comes before t
        if difference.max() > 1e-6:
            return True
    return False


def _by_gradients(decode: Decode, x: Tensor) -> bool:
    leaf = x.detach().clone().requires_grad_()
    out = decode(leaf)
    mixed = out @ torch.linspace(1.0, 2.0, x.size(2), dtype=x.dtype).cos()  # (B, n): no plain sum
    for i in range(x.size(1)):
        (gradient,) = torch.autograd.grad(mixed[:, i].sum(), leaf, retain_graph=True)
        if gradient[:, i + 1 :].abs().sum() > 1e-9:
            return True
    return False


def _by_a_matrix(decode: Decode, x: Tensor) -> bool:
    leaf = x.detach().clone().requires_grad_()
    out = decode(leaf)
    n = x.size(1)
    influence = torch.zeros(n, n)
    for i in range(n):
        for feature in range(x.size(2)):
            (gradient,) = torch.autograd.grad(out[:, i, feature].sum(), leaf, retain_graph=True)
            influence[i] += gradient.abs().sum(dim=(0, 2)).float()
    return bool((influence.triu(1) > 1e-9).any())


def _by_cutting(decode: Decode, x: Tensor) -> bool:
    whole = decode(x)
    cuts = [decode(x[:, :t]) - whole[:, :t] for t in range(1, x.size(1))]
    return any(float(cut.abs().max()) > 1e-6 for cut in cuts)


def _by_single_words(decode: Decode, x: Tensor) -> bool:
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        before = decode(x)
        for word in range(x.size(1)):
            other = x.clone()
            other[:, word] = torch.randn(other[:, word].shape, generator=generator, dtype=x.dtype)
            if not torch.allclose(decode(other)[:, :word], before[:, :word], atol=1e-6):
                return True
    return False


def _mixing(
    rule: Rule, average: bool = False, future: float = 1.0
) -> Callable[[torch.Generator, torch.dtype, int], Decode]:
    """A function whose output i adds up what the rule lets it see, one word after the other.

    future: the factor with which later words are added.
    """

    def build(generator: torch.Generator, dtype: torch.dtype, d: int) -> Decode:
        weight = drawn(generator, dtype, d).abs() + 0.5

        def decode(x: Tensor) -> Tensor:
            n = x.size(1)
            words = weight * (x + 0.05 * x * x)
            rows = []
            for i in range(n):
                seen = [j for j in range(n) if rule(i, j, n)]
                row = 0.0 * words[:, 0] + 1.0
                for j in seen:
                    row = row + (future if j > i else 1.0) * words[:, j]
                rows.append(row / len(seen) if average else row)
            return torch.stack(rows, dim=1)

        return decode

    return build


def _attention(generator: torch.Generator, dtype: torch.dtype, d: int) -> Decode:
    """Attention without a mask."""
    w_v = drawn(generator, dtype, d, d).abs() + 0.2

    def attention(x: Tensor) -> Tensor:
        return x + (x @ x.mT / 10).softmax(-1) @ (x @ w_v)

    return attention


def _normalised(x: Tensor) -> Tensor:
    return F.layer_norm(x, (x.size(-1),))


def _post_norm(generator: torch.Generator, dtype: torch.dtype, d: int) -> Decode:
    """Normalised at the end: whatever x is, the features of an output add up to 0."""
    attention = _attention(generator, dtype, d)
    return lambda x: _normalised(attention(x))


def _pre_norm(generator: torch.Generator, dtype: torch.dtype, d: int) -> Decode:
    """Normalised at the start: a number added to all features of a word is not seen by others."""
    attention = _attention(generator, dtype, d)
    return lambda x: x + attention(_normalised(x))


def _through_one_feature(
    read: slice, write: slice
) -> Callable[[torch.Generator, torch.dtype, int], Decode]:
    """Causal but for the next word's features in `read`, which the features in `write` see."""

    def build(generator: torch.Generator, dtype: torch.dtype, d: int) -> Decode:
        def decode(x: Tensor) -> Tensor:
            out = x.cumsum(1)
            leak = x[:, 1:, read].sum(-1, keepdim=True)
            ahead = F.pad(leak, (0, 0, 0, 1)).expand(-1, -1, len(range(*write.indices(d))))
            return out + F.pad(ahead, (write.start or 0, d - (write.stop or d)))

        return decode

    return build


def _case(
    name: str,
    build: Callable[[torch.Generator, torch.dtype, int], Decode],
    shape: tuple[int, int, int] = (2, 5, 3),
    *,
    isolates: str | None = None,
    stage: Stage = "main",
    dtype: torch.dtype | None = None,
) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        decode = build(generator, dtype, shape[-1])
        return call(decode, drawn(generator, dtype, *shape))

    return Case(name, make, isolates=isolates, stage=stage, dtype=dtype)


def _ruled(name: str, rule: Rule, isolates: str | None = None) -> Case:
    return _case(name, _mixing(rule), isolates=isolates)


LEAKS_FUTURE = Exercise(
    id="decoder.leaks_future",
    title="Does it see the future?",
    kind="gradient",
    difficulty=3,
    minutes=12,
    signature="leaks_future(decode, x (B, n, d)) -> bool",
    statement=(
        "decode maps (B, n, d) to (B, n, d), for any n; it is differentiable and works on each "
        "sentence by itself. Return True where the output at some position i depends on the input "
        "at a later position j > i, and False otherwise. Decide by gradients or by changing the "
        "input and comparing; a difference below 1e-6 is rounding. Position i may depend on x at i "
        "itself. x is left untouched."
    ),
    objective="Write the test that finds a broken causal mask, wherever it is broken.",
    prerequisite="masks.causal; decoder.layer",
    hints=(
        "The last position may look at everything. What can its output tell about a leak? And "
        "which positions can tell?",
        "For every t: if the inputs from t on are changed, which outputs may change and which may "
        "not?",
        "For t in 1 to n - 1: make a new copy of x, change `[:, t:]` in it, decode it, and compare "
        "the outputs `[:, :t]` with those of x. Or ask for the gradient of output i with respect "
        "to x, and look at the columns after i. Either way every feature has to count: what is "
        "added to all of them alike, or summed over them, a layer normalisation takes away.",
    ),
    reference=leaks_future,
    explanation=(
        "Causal means: output i is a function of inputs 0 to i. So for every cut t the outputs "
        "before t may not move when the inputs from t on do. Word by word, as above: in the table "
        "of what depends on what nothing may stand above the diagonal. One cut is not enough: a "
        "mask that is off by one lets every position see just the next one, and a mask may be "
        "broken in a single row. The last output is no witness at all, since nothing comes after "
        "it. Neither is the training loss: a leak makes it look better. By gradients the same "
        "test reads: the derivatives of output i by inputs j form a lower triangle. A layer "
        "normalisation lays two snares: behind one the features of an output always add up to 0, "
        "so the gradient of their sum is 0 whatever leaks; and before one, adding the same number "
        "to all features of a word changes nothing. So draw the new words, and look at every "
        "feature."
    ),
    cases=(
        _ruled(
            "a function that sees itself and the past",
            lambda i, j, n: j <= i,
            "a causal function: the answer is False",
        ),
        _ruled(
            "a function that sees everything",
            lambda i, j, n: True,
            "a function that sees everything: the answer is True",
        ),
        _ruled(
            "a function that also sees the next word",
            lambda i, j, n: j <= i + 1,
            "a mask that is off by one: the answer is True",
        ),
        _ruled("a function that sees the past only", lambda i, j, n: j < i),
        _ruled("a function that works word by word", lambda i, j, n: j == i),
        _ruled("a function that sees itself and the future", lambda i, j, n: j >= i),
        _ruled(
            "a leak from word 1 to word 0 alone",
            lambda i, j, n: j <= i or (i, j) == (0, 1),
            "a mask broken in the first row: the answer is True",
        ),
        _ruled("a leak from word 2 to word 1 alone", lambda i, j, n: j <= i or (i, j) == (1, 2)),
        _ruled("a leak from word 3 to word 2 alone", lambda i, j, n: j <= i or (i, j) == (2, 3)),
        _ruled(
            "a leak from the last word to the one before",
            lambda i, j, n: j <= i or (i, j) == (n - 2, n - 1),
        ),
        _ruled(
            "a leak from the last word to the first",
            lambda i, j, n: j <= i or (i, j) == (0, n - 1),
        ),
        _ruled("a leak from the last word to all", lambda i, j, n: j <= i or j == n - 1),
        _ruled(
            "a leak from every word to the one two before", lambda i, j, n: j <= i or j == i + 2
        ),
        _ruled("a leak from word 2 to word 0 alone", lambda i, j, n: j <= i or (i, j) == (0, 2)),
        _ruled("a leak from word 3 to word 1 alone", lambda i, j, n: j <= i or (i, j) == (1, 3)),
        _ruled("a function that sees the future only", lambda i, j, n: j > i),
        _case("a running mean", _mixing(lambda i, j, n: j <= i, average=True), (2, 4, 3)),
        _case("attention without a mask", _attention, (3, 4, 2)),
        _case(
            "attention without a mask, normalised at the end",
            _post_norm,
            isolates="outputs whose features always add up to 0: the answer is True",
        ),
        _case(
            "attention without a mask, normalised at the start",
            _pre_norm,
            isolates="words of which the others see the normalised features: the answer is True",
        ),
        _case(
            "a leak into one feature in the middle", _through_one_feature(slice(None), slice(1, 2))
        ),
        _case(
            "a leak out of one feature in the middle",
            _through_one_feature(slice(1, 2), slice(None)),
        ),
        _case("a weak leak, a thousandth", _mixing(lambda i, j, n: True, future=1e-3)),
        _case("later words are subtracted", _mixing(lambda i, j, n: True, future=-1.0)),
        _case("a single word", _attention, (2, 1, 3)),
        _case("two words, without a mask", _attention, (1, 2, 4)),
        _case(
            "float32, a running mean",
            _mixing(lambda i, j, n: j <= i, average=True),
            stage="other",
            dtype=torch.float32,
        ),
    ),
    mistakes=page(__file__, leaks_future),
    alternatives=(_by_cuts, _by_gradients, _by_a_matrix, _by_cutting, _by_single_words),
    starter=(
        "def leaks_future(decode, x):\n"
        '    """decode: (B, n, d) -> (B, n, d); True where some output i depends on a later '
        'x."""\n'
        "    ...  # your code"
    ),
)

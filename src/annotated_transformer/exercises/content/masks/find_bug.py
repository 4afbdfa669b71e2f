"""`masks.find_bug`: four masks of real models, one wrong operator in each (section 3.2.3).

Encoder-only, decoder-only and prefix models differ in this mask alone; the fourth is the
cross-attention of the paper. Which operator is wrong is drawn per learner: the lines of a listing
are those of the page of mistakes.
"""

import random
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from itertools import combinations

import torch
from torch import Tensor

from annotated_transformer.exercises.bank import Edited, page, together
from annotated_transformer.exercises.exercise import Call, Case, Exercise, Mistake, call

Masks = tuple[Tensor, Tensor, Tensor, Tensor]


def four_masks(source: Tensor, target: Tensor, prefix_length: int, pad_id: int = 0) -> Masks:
    position = torch.arange(target.size(1))
    encoder_only = (source != pad_id)[:, None, None, :]  # True at what may be seen, keys last
    decoder_only = (target != pad_id)[:, None, None, :] & (position <= position[:, None])
    prefix_model = (target != pad_id)[:, None, None, :] & (
        (position <= position[:, None]) | (position < prefix_length)
    )
    cross_attention = (source != pad_id)[:, None, None, :]
    return encoder_only, decoder_only, prefix_model, cross_attention


def _by_loops(source: Tensor, target: Tensor, prefix_length: int, pad_id: int = 0) -> Masks:
    batch, n = target.shape
    encoder_only = source.ne(pad_id).view(batch, 1, 1, -1)
    decoder_only = torch.zeros(batch, 1, n, n, dtype=torch.bool)
    prefix_model = decoder_only.clone()
    for query in range(n):
        for key in range(n):
            real = target[:, key] != pad_id
            if key <= query:
                decoder_only[:, 0, query, key] = real
            if key <= query or key < prefix_length:
                prefix_model[:, 0, query, key] = real
    return encoder_only, decoder_only, prefix_model, encoder_only.clone()


def _by_triangles(source: Tensor, target: Tensor, prefix_length: int, pad_id: int = 0) -> Masks:
    n = target.size(1)
    real_source = (source != pad_id).unsqueeze(1).unsqueeze(1)
    real_target = (target != pad_id).unsqueeze(1).unsqueeze(1).expand(-1, 1, n, n)
    visible = torch.ones(n, n, dtype=torch.bool).tril()
    visible[:, :prefix_length] = True
    return real_source, real_target.tril(), real_target.logical_and(visible), real_source


_MISTAKES = {mistake.name: mistake for mistake in page(__file__, four_masks)}

# What a listing may have in the place of each line; the first is the one printed in the book.
_SHOWN = {
    "encoder_only": ("equal", "query-axis"),
    "decoder_only": ("strict-diagonal", "or-for-and", "future", "equal"),
    "prefix_model": (
        "and-for-or",
        "after-prefix",
        "or-padding",
        "strict-diagonal",
        "prefix-too-long",
    ),
    "cross_attention": ("query-axis", "equal"),
}
_FAULTS = [[_MISTAKES[f"{mask}-{fault}"] for fault in faults] for mask, faults in _SHOWN.items()]
_AND_OTHERS = " More than one of the four lines is wrong: after this one look at the others."


def _both(one: Mistake, other: Mistake) -> Mistake:
    """Two lines left unrepaired, of which only the first is spoken of."""
    function = together(one, other)
    assert function is not None
    sentence = one.sentence.removesuffix(_AND_OTHERS) + _AND_OTHERS
    return Mistake(f"{one.name}+{other.name}", function, sentence)


def _mistakes(listing: tuple[Mistake, ...]) -> tuple[Mistake, ...]:
    """Every set of lines left unrepaired, and all other mistakes."""
    unrepaired = (
        reduce(_both, subset)
        for size in range(1, len(listing) + 1)
        for subset in combinations(listing, size)
    )
    return (*unrepaired, *(other for other in _MISTAKES.values() if other not in listing))


def _line(fault: Mistake) -> str:
    """The line that a listing shows."""
    assert isinstance(fault.implementation, Edited)
    (change,) = fault.implementation.changes
    return change.text


def _starter(listing: tuple[Mistake, ...]) -> str:
    lines = "\n".join(f"    {_line(fault)}" for fault in listing)
    return (
        "def four_masks(source, target, prefix_length, pad_id=0):\n"
        '    """Four masks, True = may attend; one operator or index is wrong in each line."""\n'
        "    position = torch.arange(target.size(1))\n"
        f"{lines}\n"
        "    return encoder_only, decoder_only, prefix_model, cross_attention"
    )


_STATEMENT = """\
Four masks, and in each line one operator or index is wrong. Repair it and return the four masks.

encoder_only: every token of `source` sees every real token of it (BERT).
decoder_only: a token of `target` sees itself and what stands before it, no padding (GPT).
prefix_model: as decoder_only, but the first `prefix_length` positions are visible to \
all (a prefix language model).
cross_attention: a token of `target` sees every real token of `source` (the paper's decoder).

source is a LongTensor (B, n_s), target (B, n_t); True = may attend. Shapes: (B, 1, 1, n_s), \
(B, 1, n_t, n_t), (B, 1, n_t, n_t), (B, 1, 1, n_s).

{listing}"""


def _case(
    name: str,
    source: list[list[int]],
    target: list[list[int]],
    prefix_length: int,
    pad_id: int,
    observe: Callable[..., object] | None = None,
) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(torch.tensor(source), torch.tensor(target), prefix_length, pad_id)

    return Case(name, make, observe=observe)


def _alone(position: int) -> Callable[..., object]:
    """One of the four masks, so that a fault in one leaves the cases of the others right."""

    def observe(candidate: Callable[..., object], *arguments: object) -> object:
        result = candidate(*arguments)
        four = isinstance(result, (tuple, list)) and len(result) == len(_SHOWN)
        return result[position] if four else result  # type: ignore[index]

    return observe


def _cases() -> tuple[Case, ...]:
    small = _case("4 source and 3 target tokens", [[5, 6, 2, 0]], [[1, 7, 0]], 2, 0)
    single = [
        _case(f"{name}, {sizes}", source, target, prefix_length, pad_id, _alone(position))
        for sizes, source, target, prefix_length, pad_id in (
            (
                "two sentences, one padded on the left",
                [[5, 6, 0, 7, 2], [0, 0, 4, 8, 2]],
                [[1, 7, 8, 2], [0, 1, 9, 0]],
                2,
                0,
            ),
            (
                "pad_id = 3, a prefix of 1",
                [[3, 5, 6, 2], [0, 4, 3, 2]],
                [[1, 0, 3, 6, 2], [3, 0, 5, 2, 3]],
                1,
                3,
            ),
            ("no prefix", [[4, 2], [5, 0]], [[1, 4, 5], [1, 0, 0]], 0, 0),
        )
        for position, name in enumerate(_SHOWN)
    ]
    return (small, *single)


def vary(seed: int) -> Exercise:
    """The exercise with the faults drawn for this learner; seed 0 is the one in the book."""
    draw = random.Random(seed)
    listing = tuple(faults[0] if seed == 0 else draw.choice(faults) for faults in _FAULTS)
    return replace(
        FIND_BUG,
        statement=_STATEMENT.format(listing=_starter(listing)),
        mistakes=_mistakes(listing),
        starter=_starter(listing),
    )


_PRINTED = tuple(faults[0] for faults in _FAULTS)

FIND_BUG = Exercise(
    id="masks.find_bug",
    title="One wrong operator in four masks",
    kind="debug",
    difficulty=3,
    minutes=12,
    signature="four_masks(source (B, n_s), target (B, n_t), prefix_length, pad_id=0) -> 4 masks",
    statement=_STATEMENT.format(listing=_starter(_PRINTED)),
    objective=(
        "Tell encoder-only, decoder-only and prefix models apart by their mask, and find the "
        "operator that breaks one."
    ),
    prerequisite="masks.target",
    hints=(
        "Take each line alone. For target = [5, 6, 0], which keys may query 1 see, and what does "
        "the line say?",
        "Look for four things: `==` or `!=`, `<` or `<=`, the axis on which `[:, None, ...]` puts "
        "the tokens, and `&` or `|`.",
        "Pads are never visible (`!=`, joined with `&`); tokens are keys, the last axis; a "
        "position sees itself (`<=`); a prefix widens what is visible (`|`).",
    ),
    reference=four_masks,
    explanation=(
        "One model, four masks: what a token may look at is all that separates BERT, GPT and a "
        "prefix model. `&` narrows and `|` widens: padding and causality both take keys away "
        "(`&`), a prefix gives some back (`|`). The axis says whom a condition is about: padding "
        "is about keys, so it goes last."
    ),
    cases=_cases(),
    mistakes=_mistakes(_PRINTED),
    alternatives=(_by_loops, _by_triangles),
    starter=_starter(_PRINTED),
    returns=("encoder_only", "decoder_only", "prefix_model", "cross_attention"),
    vary=vary,
)

"""`masks.find_bug`: four masks of real models, one wrong operator in each (section 3.2.3).

Encoder-only, decoder-only and prefix models differ in this mask alone; the fourth is the
cross-attention of the paper. Which operator is wrong is drawn per learner.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations

import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import Call, Case, Exercise, Mistake, call

Masks = tuple[Tensor, Tensor, Tensor, Tensor]
MaskRule = Callable[[Tensor, Tensor, int, int], Tensor]


def four_masks(source: Tensor, target: Tensor, prefix_length: int, pad_id: int = 0) -> Masks:
    position = torch.arange(target.size(1))
    is_source, is_target = source != pad_id, target != pad_id  # (batch, n_s), (batch, n_t)
    not_later = position <= position[:, None]  # (n_t, n_t): rows are queries
    in_prefix = position < prefix_length  # (n_t,): speaks of keys
    encoder_only = is_source[:, None, None, :]
    decoder_only = is_target[:, None, None, :] & not_later
    prefix_model = is_target[:, None, None, :] & (not_later | in_prefix)
    cross_attention = is_source[:, None, None, :]
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


@dataclass(frozen=True)
class Fault:
    """One wrong operator: the line as the learner finds it, what it computes, what to say."""

    mask: str
    name: str
    line: str
    rule: MaskRule
    sentence: str


def _keys(tokens: Tensor, pad_id: int) -> Tensor:
    return (tokens != pad_id)[:, None, None, :]


def _pads(tokens: Tensor, pad_id: int) -> Tensor:
    return (tokens == pad_id)[:, None, None, :]


def _queries(tokens: Tensor, pad_id: int) -> Tensor:
    return (tokens != pad_id)[:, None, :, None]


def _not_later(tokens: Tensor) -> Tensor:
    position = torch.arange(tokens.size(1))
    return position <= position[:, None]


def _earlier(tokens: Tensor) -> Tensor:
    position = torch.arange(tokens.size(1))
    return position < position[:, None]


def _prefix(tokens: Tensor, length: int) -> Tensor:
    return torch.arange(tokens.size(1)) < length


MASK_NAMES = ("encoder_only", "decoder_only", "prefix_model", "cross_attention")
RIGHT_RULES: dict[str, MaskRule] = {
    "encoder_only": lambda s, t, p, pad: _keys(s, pad),
    "decoder_only": lambda s, t, p, pad: _keys(t, pad) & _not_later(t),
    "prefix_model": lambda s, t, p, pad: _keys(t, pad) & (_not_later(t) | _prefix(t, p)),
    "cross_attention": lambda s, t, p, pad: _keys(s, pad),
}

_CAUSAL = "(position <= position[:, None])"
_EARLIER = "(position < position[:, None])"

# The first fault of each mask is the one printed in the book.
FAULTS: dict[str, tuple[Fault, ...]] = {
    "encoder_only": (
        Fault(
            "encoder_only",
            "equal",
            "(source == pad_id)[:, None, None, :]",
            lambda s, t, p, pad: _pads(s, pad),
            "In `encoder_only` the comparison is still `==`: True stands at the padding, and the "
            "mask is inverted. True means may attend, so compare with `!=`.",
        ),
        Fault(
            "encoder_only",
            "query-axis",
            "(source != pad_id)[:, None, :, None]",
            lambda s, t, p, pad: _queries(s, pad),
            "In `encoder_only` the tokens lie along the query axis: padded queries are silenced "
            "and padded keys stay visible. Keys are the last axis: `[:, None, None, :]`.",
        ),
    ),
    "decoder_only": (
        Fault(
            "decoder_only",
            "strict-diagonal",
            f"(target != pad_id)[:, None, None, :] & {_EARLIER}",
            lambda s, t, p, pad: _keys(t, pad) & _earlier(t),
            "In `decoder_only` the diagonal is False: with `<` a position may not attend to "
            "itself, and the first query sees nothing. Use `<=`.",
        ),
        Fault(
            "decoder_only",
            "or-for-and",
            f"(target != pad_id)[:, None, None, :] | {_CAUSAL}",
            lambda s, t, p, pad: _keys(t, pad) | _not_later(t),
            "In `decoder_only` the two conditions are joined with `|`, so a real token of the "
            "future is visible. Both must hold: `&`.",
        ),
        Fault(
            "decoder_only",
            "future",
            "(target != pad_id)[:, None, None, :] & (position >= position[:, None])",
            lambda s, t, p, pad: _keys(t, pad) & _not_later(t).T,
            "In `decoder_only` the comparison looks the wrong way: `>=` opens the upper triangle, "
            "the future. A key may not be later than its query: `<=`.",
        ),
        Fault(
            "decoder_only",
            "equal",
            f"(target == pad_id)[:, None, None, :] & {_CAUSAL}",
            lambda s, t, p, pad: _pads(t, pad) & _not_later(t),
            "In `decoder_only` the padding half is inverted: `==` opens the pads and closes the "
            "tokens. Use `!=`.",
        ),
    ),
    "prefix_model": (
        Fault(
            "prefix_model",
            "and-for-or",
            f"(target != pad_id)[:, None, None, :] & ({_CAUSAL} & (position < prefix_length))",
            lambda s, t, p, pad: _keys(t, pad) & (_not_later(t) & _prefix(t, p)),
            "In `prefix_model` causal and prefix are joined with `&`: keys after the prefix are "
            "hidden from everybody and the prefix does not see itself whole. A key is visible "
            "when it is not later *or* lies in the prefix: `|`.",
        ),
        Fault(
            "prefix_model",
            "after-prefix",
            f"(target != pad_id)[:, None, None, :] & ({_CAUSAL} | (position >= prefix_length))",
            lambda s, t, p, pad: _keys(t, pad) & (_not_later(t) | ~_prefix(t, p)),
            "In `prefix_model` the comparison with the prefix looks the wrong way: `>=` opens the "
            "words after the prefix, which are to be predicted. The prefix is "
            "`position < prefix_length`.",
        ),
        Fault(
            "prefix_model",
            "or-padding",
            f"(target != pad_id)[:, None, None, :] | ({_CAUSAL} | (position < prefix_length))",
            lambda s, t, p, pad: _keys(t, pad) | (_not_later(t) | _prefix(t, p)),
            "In `prefix_model` the padding half is joined with `|`, so every real token is "
            "visible to everybody. A pad is never visible: the padding half needs `&`.",
        ),
        Fault(
            "prefix_model",
            "strict-diagonal",
            f"(target != pad_id)[:, None, None, :] & ({_EARLIER} | (position < prefix_length))",
            lambda s, t, p, pad: _keys(t, pad) & (_earlier(t) | _prefix(t, p)),
            "In `prefix_model` the diagonal is missing after the prefix: with `<` a position may "
            "not attend to itself. Use `<=`.",
        ),
        Fault(
            "prefix_model",
            "prefix-too-long",
            f"(target != pad_id)[:, None, None, :] & ({_CAUSAL} | (position <= prefix_length))",
            lambda s, t, p, pad: _keys(t, pad) & (_not_later(t) | _prefix(t, p + 1)),
            "In `prefix_model` the prefix is one too long: `<=` opens position prefix_length, the "
            "first word to be predicted. Positions count from 0: `<`.",
        ),
    ),
    "cross_attention": (
        Fault(
            "cross_attention",
            "query-axis",
            "(source != pad_id)[:, None, :, None]",
            lambda s, t, p, pad: _queries(s, pad),
            "In `cross_attention` the source lies along the query axis, but in cross-attention "
            "the source gives the keys: `[:, None, None, :]`. The shape would not even fit when "
            "source and target differ in length.",
        ),
        Fault(
            "cross_attention",
            "equal",
            "(source == pad_id)[:, None, None, :]",
            lambda s, t, p, pad: _pads(s, pad),
            "In `cross_attention` the comparison is still `==`: the decoder attends to the "
            "source's padding and to nothing else. Use `!=`.",
        ),
    ),
}

# Wrong repairs that no listing shows.
OTHER_FAULTS = (
    Fault(
        "decoder_only",
        "no-padding",
        "",
        lambda s, t, p, pad: _not_later(t).expand(t.size(0), 1, -1, -1),
        "In `decoder_only` the padding half has gone: pads among the keys are visible. Keep "
        "both conditions, joined with `&`.",
    ),
    Fault(
        "decoder_only",
        "no-causal",
        "",
        lambda s, t, p, pad: _keys(t, pad).expand(-1, -1, t.size(1), -1),
        "In `decoder_only` the causal half has gone: every query sees the future. Keep both "
        "conditions, joined with `&`.",
    ),
    Fault(
        "prefix_model",
        "causal-only",
        "",
        lambda s, t, p, pad: _keys(t, pad) & _not_later(t),
        "In `prefix_model` the prefix has gone: inside the prefix every position sees the whole "
        "prefix, later positions included. Open `position < prefix_length` with `|`.",
    ),
    Fault(
        "prefix_model",
        "prefix-only",
        "",
        lambda s, t, p, pad: (_keys(t, pad) & _prefix(t, p)).expand(-1, -1, t.size(1), -1),
        "In `prefix_model` the causal half has gone: words after the prefix do not see each "
        "other. A key is visible when it is not later *or* lies in the prefix.",
    ),
    Fault(
        "prefix_model",
        "no-brackets",
        "",
        lambda s, t, p, pad: _keys(t, pad) & _not_later(t) | _prefix(t, p),
        "In `prefix_model` the brackets are missing: `&` binds before `|`, so the prefix escapes "
        "the padding condition and a pad inside the prefix is visible. Put brackets around the "
        "two conditions joined with `|`.",
    ),
    Fault(
        "cross_attention",
        "target-padding",
        "",
        lambda s, t, p, pad: _keys(t, pad),
        "In `cross_attention` the target's padding is used. The keys of cross-attention are the "
        "encoder's outputs, so the mask is made from `source`.",
    ),
    Fault(
        "cross_attention",
        "causal",
        "",
        lambda s, t, p, pad: _keys(s, pad) & torch.ones(t.size(1), s.size(1)).tril().bool(),
        "In `cross_attention` a causal mask is mixed in. The whole source is known before the "
        "first word is written: only its padding is hidden.",
    ),
)


def _masks_with(faults: tuple[Fault, ...]) -> Callable[..., Masks]:
    rules = RIGHT_RULES | {fault.mask: fault.rule for fault in faults}

    def implementation(
        source: Tensor, target: Tensor, prefix_length: int, pad_id: int = 0
    ) -> Masks:
        encoder_only, decoder_only, prefix_model, cross_attention = (
            rules[name](source, target, prefix_length, pad_id) for name in MASK_NAMES
        )
        return encoder_only, decoder_only, prefix_model, cross_attention

    return implementation


def _mistake(faults: tuple[Fault, ...]) -> Mistake:
    name = "+".join(f"{fault.mask}-{fault.name}" for fault in faults)
    return Mistake(name, _masks_with(faults), " ".join(fault.sentence for fault in faults))


def _mistakes(listing: tuple[Fault, ...]) -> tuple[Mistake, ...]:
    """Every set of lines left unrepaired, and every single line repaired in another wrong way."""
    unrepaired = [
        subset for size in range(1, len(listing) + 1) for subset in combinations(listing, size)
    ]
    others = [fault for faults in FAULTS.values() for fault in faults if fault not in listing]
    others.extend(OTHER_FAULTS)
    return tuple(_mistake(faults) for faults in [*unrepaired, *((fault,) for fault in others)])


def _starter(listing: tuple[Fault, ...]) -> str:
    lines = "\n".join(f"    {fault.mask} = {fault.line}" for fault in listing)
    return (
        "def four_masks(source, target, prefix_length, pad_id=0):\n"
        '    """Four masks, True = may attend; one operator is wrong in each line."""\n'
        "    position = torch.arange(target.size(1))\n"
        f"{lines}\n"
        "    return encoder_only, decoder_only, prefix_model, cross_attention"
    )


_STATEMENT = """\
Four masks, and in each line one operator is wrong. Repair it and return the four masks.

encoder_only: every token of `source` sees every real token of it (BERT).
decoder_only: a token of `target` sees itself and what stands before it, no padding (GPT).
prefix_model: as decoder_only, but the first `prefix_length` positions are visible to \
all (a prefix language model): between the two.
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
        four = isinstance(result, (tuple, list)) and len(result) == len(MASK_NAMES)
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
        for position, name in enumerate(MASK_NAMES)
    ]
    return (small, *single)


def vary(seed: int) -> Exercise:
    """The exercise with the faults drawn for this learner; seed 0 is the one in the book."""
    draw = random.Random(seed)
    listing = tuple(faults[0] if seed == 0 else draw.choice(faults) for faults in FAULTS.values())
    return replace(
        FIND_BUG,
        statement=_STATEMENT.format(listing=_starter(listing)),
        mistakes=_mistakes(listing),
        starter=_starter(listing),
    )


_PRINTED = tuple(faults[0] for faults in FAULTS.values())

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
    vary=vary,
)

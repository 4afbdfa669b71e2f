"""`encoder.padding_leak`: does appended padding change the words before it? (section 3.1)"""

from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.content.drawn import drawn
from annotated_transformer.exercises.exercise import Call, Case, Exercise, call

Encode = Callable[[Tensor], Tensor]


def padding_leak(encode: Encode, tokens: Tensor, extra: int) -> float:
    n = tokens.size(1)
    real = tokens != 0  # (B, n): what happens at padding does not count
    pads = tokens.new_zeros(tokens.size(0), extra)  # (B, extra): the padding token is 0
    longer = torch.cat([tokens, pads], dim=1)  # (B, n + extra)
    before = encode(tokens)  # (B, n, d)
    after = encode(longer)[:, :n]  # (B, n, d): the same words, in longer company
    change = (after - before)[real]
    return change.abs().max().item()


def _by_pad(encode: Encode, tokens: Tensor, extra: int) -> float:
    after = encode(F.pad(tokens, (0, extra), value=0)).narrow(1, 0, tokens.size(1))
    change = torch.where((tokens != 0)[..., None], after - encode(tokens), 0.0)
    return float(change.abs().max())


def _by_sentences(encode: Encode, tokens: Tensor, extra: int) -> float:
    largest = 0.0
    for sentence in tokens:
        longer = torch.tensor([sentence.tolist() + [0] * extra])
        before, after = encode(sentence[None])[0], encode(longer)[0]
        for place, token in enumerate(sentence.tolist()):
            if token != 0:
                largest = max(largest, float((after[place] - before[place]).abs().max()))
    return largest


def _by_a_full_matrix(encode: Encode, tokens: Tensor, extra: int) -> float:
    batch, n = tokens.shape
    longer = torch.zeros(batch, n + extra, dtype=tokens.dtype)
    longer[:, :n] = tokens
    before, after = encode(tokens), encode(longer)
    rows, places = tokens.nonzero(as_tuple=True)
    return torch.linalg.vector_norm(after[rows, places] - before[rows, places], torch.inf).item()


Build = Callable[[torch.Generator, torch.dtype], Encode]


def _attention_over(visible: Callable[[Tensor], Tensor], zero_padding: bool = False) -> Build:
    """An encoder of one attention over the keys that are visible."""

    def build(generator: torch.Generator, dtype: torch.dtype) -> Encode:
        table = drawn(generator, dtype, 9, 4)
        if zero_padding:
            table[0] = 0.0

        def encode(tokens: Tensor) -> Tensor:
            x = table[tokens]
            scores = (x @ x.mT / 2).masked_fill(~visible(tokens)[:, None, :], float("-inf"))
            return x + scores.softmax(-1).nan_to_num(0.0) @ x

        return encode

    return build


_masked = _attention_over(lambda tokens: tokens != 0)
_unmasked = _attention_over(lambda tokens: torch.ones_like(tokens, dtype=torch.bool))
_zero_padding = _attention_over(
    lambda tokens: torch.ones_like(tokens, dtype=torch.bool), zero_padding=True
)


def _word_by_word(generator: torch.Generator, dtype: torch.dtype) -> Encode:
    table = drawn(generator, dtype, 9, 3)

    def encode_word_by_word(tokens: Tensor) -> Tensor:
        return table[tokens].tanh()

    return encode_word_by_word


def _padding_counted(sign: float) -> Build:
    """Every real word gets a number added that grows with the padding."""

    def build(generator: torch.Generator, dtype: torch.dtype) -> Encode:
        table, weight = drawn(generator, dtype, 9, 3), 0.5 + drawn(generator, dtype, 3).abs()

        def encode(tokens: Tensor) -> Tensor:
            count = (tokens == 0).sum(1).to(dtype)[:, None, None]
            return table[tokens] + sign * count.sqrt() * weight * (tokens != 0)[..., None]

        return encode

    return build


def _sign_flipped(generator: torch.Generator, dtype: torch.dtype) -> Encode:
    table = drawn(generator, dtype, 9, 3)

    def encode_with_a_sign_that_depends_on_the_length(tokens: Tensor) -> Tensor:
        return table[tokens] * (-1.0) ** tokens.size(1)

    return encode_with_a_sign_that_depends_on_the_length


def _special_token(generator: torch.Generator, dtype: torch.dtype) -> Encode:
    table = drawn(generator, dtype, 9, 3)

    def encode_with_a_leak_into_tokens_one_and_two(tokens: Tensor) -> Tensor:
        share = torch.where((tokens == 1) | (tokens == 2), 1.0, 0.2).to(dtype)
        return table[tokens] * (1 + share[..., None] * tokens.size(1))

    return encode_with_a_leak_into_tokens_one_and_two


def _at_padding_only(generator: torch.Generator, dtype: torch.dtype) -> Encode:
    table = drawn(generator, dtype, 9, 3)

    def encode_with_a_leak_at_padding(tokens: Tensor) -> Tensor:
        at_padding = (tokens == 0).to(dtype)[..., None]
        return table[tokens] + at_padding * 2 * tokens.size(1)

    return encode_with_a_leak_at_padding


def _at_padding_and_less_at_words(generator: torch.Generator, dtype: torch.dtype) -> Encode:
    table = drawn(generator, dtype, 9, 3)

    def encode_with_a_larger_leak_at_padding(tokens: Tensor) -> Tensor:
        x = table[tokens]
        at_padding = (tokens == 0).to(dtype)[..., None]
        return x + at_padding * tokens.size(1) + 0.25 * x * x.sum(1, keepdim=True)

    return encode_with_a_larger_leak_at_padding


def _next_word(generator: torch.Generator, dtype: torch.dtype) -> Encode:
    table = drawn(generator, dtype, 9, 4)

    def encode_with_the_next_word(tokens: Tensor) -> Tensor:
        x = table[tokens]
        return x + F.pad(x[:, 1:], (0, 0, 0, 1))

    return encode_with_the_next_word


def _case(
    name: str,
    build: Build,
    tokens: list[list[int]],
    extra: int,
    isolates: str | None = None,
) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(build(generator, dtype), torch.tensor(tokens), extra)

    # The leak can be 0, where only rounding is left.
    return Case(name, make, isolates=isolates, atol=1e-6)


PADDING_LEAK = Exercise(
    id="encoder.padding_leak",
    title="Does padding leak?",
    kind="debug",
    difficulty=3,
    minutes=12,
    signature="padding_leak(encode, tokens (B, n), extra) -> float",
    statement=(
        "encode maps tokens, a LongTensor (B, n) of any length, to vectors (B, n, d). Append "
        "`extra` padding tokens (0) to every sentence, encode once with and once without them, "
        "and return the largest absolute change of any number at a real token (a token other "
        "than 0): 0 for an encoder that hides its padding. tokens may hold padding already; what "
        "happens at padding does not count. Leave tokens untouched."
    ),
    objective="Write the test that finds a forgotten padding mask in any encoder.",
    prerequisite="encoder.layer; masks.padding",
    hints=(
        "A sentence is translated alone, and once more in a batch with a longer one. Which of "
        "its vectors may differ?",
        "The second result is longer than the first: cut it to the first n positions. Then leave "
        "out the positions at which tokens is 0.",
        "`longer = torch.cat([tokens, tokens.new_zeros(len(tokens), extra)], 1)`, then "
        "`(encode(longer)[:, :n] - encode(tokens)).abs()[tokens != 0].max().item()`.",
    ),
    reference=padding_leak,
    explanation=(
        '"Pads are zeros, so they are harmless" is a common belief, and false: a key of zeros '
        "has score 0, its exponential is 1, and it takes a share of every softmax, which the "
        "words lose. So a sentence is encoded differently depending on the company it has in the "
        "batch. No error appears, and the loss still falls. This test finds it in any encoder, "
        "whatever is inside. It looks at real words only: the vectors at padding may be anything, "
        "since nobody reads them as long as every mask holds."
    ),
    cases=(
        _case(
            "attention without a mask",
            _unmasked,
            [[3, 5, 2]],
            2,
            isolates="an encoder that leaks",
        ),
        _case(
            "attention that hides the padding",
            _masked,
            [[3, 5, 2], [4, 2, 0]],
            3,
            isolates="an encoder that does not leak: the change is 0",
        ),
        _case(
            "an encoder that differs at padding alone",
            _at_padding_only,
            [[3, 5, 2, 0], [4, 2, 0, 0]],
            2,
            isolates="the choice of real tokens: the change at them is 0",
        ),
        _case(
            "an encoder whose changes are all negative",
            _padding_counted(-1.0),
            [[3, 5, 2, 0], [4, 1, 6, 7]],
            3,
            isolates="the absolute value: all changes are negative",
        ),
        _case("an encoder whose changes are all positive", _padding_counted(1.0), [[3, 0, 2]], 5),
        _case(
            "attention without a mask, the padding embedded as zeros",
            _zero_padding,
            [[3, 5, 2, 0, 0], [4, 2, 7, 8, 1], [5, 0, 0, 0, 0]],
            4,
        ),
        _case(
            "an encoder that mixes in the next word",
            _next_word,
            [[3, 5, 2, 6], [4, 2, 7, 8]],
            1,
            isolates="the last words: no other changes",
        ),
        _case(
            "an encoder that leaks more at padding than at words",
            _at_padding_and_less_at_words,
            [[0, 3, 5, 2], [4, 2, 0, 0], [1, 6, 8, 3]],
            2,
        ),
        _case(
            "an encoder whose numbers change their sign",
            _sign_flipped,
            [[3, 5, 2, 0], [4, 1, 6, 7]],
            3,
            isolates="numbers of which only the sign changes",
        ),
        _case("a special token that changes most", _special_token, [[1, 3, 2, 0], [4, 5, 6, 7]], 2),
        _case("an encoder that works word by word", _word_by_word, [[3, 5], [4, 0]], 3),
        _case(
            "attention without a mask, padding on the left", _unmasked, [[0, 0, 4], [1, 7, 2]], 1
        ),
        _case(
            "six sentences of two words",
            _unmasked,
            [[1, 2], [3, 4], [5, 6], [7, 8], [2, 0], [8, 1]],
            7,
        ),
    ),
    mistakes=page(__file__, padding_leak),
    alternatives=(_by_pad, _by_sentences, _by_a_full_matrix),
    starter=(
        "def padding_leak(encode, tokens, extra):\n"
        '    """encode: (B, n) -> (B, n, d); the largest change at real tokens, a float."""\n'
        "    ...  # your code"
    ),
)

"""`encoder.embed`: from token numbers to vectors with their positions (sections 3.4 and 3.5)."""

import math

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.content.drawn import drawn
from annotated_transformer.exercises.exercise import Call, Case, Exercise, Gradient, Stage, call


def embed(tokens: Tensor, table: Tensor, pe: Tensor) -> Tensor:
    n, d = tokens.size(1), table.size(1)
    words = table[tokens]  # (B, n, d): one row of the table for each token
    scale = math.sqrt(d)
    positions = pe[:n]  # (n, d): of positions 0 to n - 1, the same in every sentence
    return scale * words + positions


def _by_functional(tokens: Tensor, table: Tensor, pe: Tensor) -> Tensor:
    scaled = F.embedding(tokens, table * table.size(-1) ** 0.5)
    return scaled.add(pe.narrow(0, 0, tokens.size(-1)).unsqueeze(0))


def _by_one_hot(tokens: Tensor, table: Tensor, pe: Tensor) -> Tensor:
    chosen = F.one_hot(tokens, table.size(0)).to(table.dtype)  # (B, n, V)
    return (
        torch.einsum("bnv,vd->bnd", chosen, table).mul(math.sqrt(table.size(1)))
        + pe[None, : tokens.size(1)]
    )


def _by_loops(tokens: Tensor, table: Tensor, pe: Tensor) -> Tensor:
    d = table.shape[-1]
    sentences = []
    for sentence in tokens.tolist():
        words = [table[token] * d**0.5 + pe[place] for place, token in enumerate(sentence)]
        sentences.append(torch.stack(words))
    return torch.stack(sentences)


def _by_positions(tokens: Tensor, table: Tensor, pe: Tensor) -> Tensor:
    positions = torch.arange(tokens.size(1)).expand_as(tokens)
    flat = table.index_select(0, tokens.reshape(-1)).reshape(*tokens.shape, -1)
    return flat * torch.tensor(float(table.size(1)), dtype=table.dtype).sqrt() + pe[positions]


def _case(
    name: str,
    tokens: list[list[int]],
    vocabulary: int,
    n_max: int,
    d: int,
    *,
    isolates: str | None = None,
    stage: Stage = "main",
    dtype: torch.dtype | None = None,
    gradient: Gradient = "ignored",
) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        table = drawn(generator, dtype, vocabulary, d)
        return call(torch.tensor(tokens), table, drawn(generator, dtype, n_max, d))

    return Case(
        name,
        make,
        isolates=isolates,
        stage=stage,
        dtype=dtype,
        gradient=gradient,
        constants=(2,),  # the encoding
    )


def _by_hand(generator: torch.Generator, dtype: torch.dtype) -> Call:
    table = torch.tensor(
        [[0.5, -0.5, 0.25, 0.75], [1.0, 2.0, 3.0, 4.0], [-1.0, 0.0, 1.0, 0.5]], dtype=dtype
    )
    pe = torch.tensor(
        [[0.0, 1.0, 0.0, 1.0], [0.8, 0.5, 0.1, 0.9], [0.9, -0.4, 0.2, 0.8]], dtype=dtype
    )
    return call(torch.tensor([[2, 1]]), table, pe)


def _without_positions(generator: torch.Generator, dtype: torch.dtype) -> Call:
    table = drawn(generator, dtype, 6, 3)
    return call(torch.tensor([[4, 0], [5, 4]]), table, torch.zeros(4, 3, dtype=dtype))


def _without_words(generator: torch.Generator, dtype: torch.dtype) -> Call:
    pe = drawn(generator, dtype, 7, 3)
    return call(torch.tensor([[4, 1, 2], [5, 4, 3]]), torch.zeros(6, 3, dtype=dtype), pe)


def _not_contiguous(generator: torch.Generator, dtype: torch.dtype) -> Call:
    tokens = torch.tensor([[1, 4], [2, 2], [5, 3]]).T  # (2, 3)
    return call(tokens, drawn(generator, dtype, 5, 6).T, drawn(generator, dtype, 5, 4).T)


EMBED = Exercise(
    id="encoder.embed",
    title="Words and their positions",
    kind="code",
    difficulty=2,
    minutes=8,
    signature="embed(tokens: LongTensor (B, n), table: (V, d), pe: (n_max, d)) -> (B, n, d)",
    statement=(
        "Return sqrt(d) * table[tokens] + pe[:n]: the embedding of every token times the root of "
        "the width, plus the encoding of its position, counted from 0. n is at most n_max. No "
        "dropout; padding is embedded as any other token. The dtype of the table is kept, inputs "
        "are left untouched. Gradients have to flow back to the table: it is trained."
    ),
    objective="Build the encoder's input, with the scale where the paper puts it.",
    prerequisite="positional.sinusoidal; section 3.4 of the paper",
    hints=(
        "`table[tokens]` with tokens of shape (2, 3) and a table of shape (100, 8): which shape "
        "does it have?",
        "The scale belongs to the embedding alone, and every sentence of the batch starts at "
        "position 0. How many rows of pe does a sentence of n words need?",
        "`math.sqrt(table.size(1)) * table[tokens] + pe[: tokens.size(1)]`",
    ),
    reference=embed,
    explanation=(
        "Indexing with a (B, n) tensor replaces every number by a row: (B, n, d). The table is "
        "shared with the output projection and starts with numbers of about 1 / sqrt(d), so the "
        "factor brings a word's features to about 1, the size of sines and cosines. Without it "
        "the positions drown the words; on the sum it would enlarge the positions as well. pe "
        "holds n_max rows, more than most sentences need, and is cut to the first n; it has no "
        "batch axis and broadcasts over the sentences."
    ),
    cases=(
        Case("one sentence of two words, d = 4", _by_hand),
        Case(
            "positions that are all 0, d = 3",
            _without_positions,
            isolates="the words and their scale: the positional encoding is 0",
        ),
        Case(
            "a table of zeros, two sentences of three words",
            _without_words,
            isolates="the positions: the embedding is 0",
        ),
        _case(
            "two sentences, one padded, n = 4 of 9 positions",
            [[5, 3, 1, 2], [4, 2, 0, 0]],
            *(7, 9, 6),
            gradient="required",
        ),
        _case("three sentences of two words, d = 5", [[1, 3], [0, 4], [3, 3]], 5, 4, 5),
        _case("as many words as positions", [[1, 0, 2, 1], [6, 3, 3, 0]], 7, 4, 3),
        _case("as many sentences as words", [[1, 0, 2], [4, 3, 3], [0, 4, 1]], 5, 6, 3),
        _case("sentences of a single word", [[3], [1]], 4, 5, 8),
        _case("float32", [[1, 0, 2], [3, 3, 1]], 4, 6, 7, stage="other", dtype=torch.float32),
        Case("inputs that are not contiguous", _not_contiguous, stage="other"),
    ),
    mistakes=page(__file__, embed),
    alternatives=(_by_functional, _by_one_hot, _by_loops, _by_positions),
    starter=(
        "def embed(tokens, table, pe):\n"
        '    """tokens (B, n), table (V, d), pe (n_max, d) -> (B, n, d)."""\n'
        "    ...  # your code"
    ),
)

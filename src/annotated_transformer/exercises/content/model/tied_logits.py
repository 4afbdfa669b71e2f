"""`model.tied_logits`: the embedding table read backwards, as the output layer (section 3.4)."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, Gradient, call


def tied_logits(x: Tensor, table: Tensor) -> Tensor:
    logits = x @ table.T  # (batch, n, d) times (d, V): one for each row of the table
    return logits


def _by_linear(x: Tensor, table: Tensor) -> Tensor:
    return F.linear(x, table)


def _by_einsum(x: Tensor, table: Tensor) -> Tensor:
    return torch.einsum("bnd,vd->bnv", x, table)


def _by_broadcasting(x: Tensor, table: Tensor) -> Tensor:
    return (x.unsqueeze(-2) * table).sum(dim=-1)


def _by_columns(x: Tensor, table: Tensor) -> Tensor:
    return torch.stack([(x * row).sum(-1) for row in table], dim=-1)


def _by_loops(x: Tensor, table: Tensor) -> Tensor:
    logits = [
        [
            [sum(a * b for a, b in zip(vector, row, strict=True)) for row in table.tolist()]
            for vector in sentence
        ]
        for sentence in x.tolist()
    ]
    return torch.tensor(logits, dtype=x.dtype)


def _by_the_other_product(x: Tensor, table: Tensor) -> Tensor:
    return torch.matmul(table, x.transpose(1, 2)).transpose(1, 2)


def _random(batch: int, n: int, d: int, vocab_size: int, size: float = 1.0, **options: Any) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        draw = partial(torch.randn, generator=generator, dtype=dtype)
        return call(draw(batch, n, d) * size, draw(vocab_size, d))

    name = f"x of shape ({batch}, {n}, {d}) and a table of {vocab_size} words"
    gradient: Gradient = "ignored" if "observe" in options else "in torch"
    return Case(options.pop("name", name), make, gradient=gradient, **options)


def _dtype_of(candidate: Callable[..., Any], x: Tensor, table: Tensor) -> object:
    result = candidate(x, table)
    return str(result.dtype) if isinstance(result, Tensor) else result


def _by_hand(generator: torch.Generator, dtype: torch.dtype) -> Call:
    x = torch.tensor([[[1.0, 2.0]]], dtype=dtype)
    return call(x, torch.tensor([[1.0, 0.0], [0.0, 1.0], [3.0, -1.0]], dtype=dtype))


def _not_contiguous(generator: torch.Generator, dtype: torch.dtype) -> Call:
    x = torch.randn(4, 3, 2, generator=generator, dtype=dtype).transpose(0, 2)
    return call(x, torch.randn(4, 5, generator=generator, dtype=dtype).T)


TIED_LOGITS = Exercise(
    id="model.tied_logits",
    title="The table as output layer",
    kind="code",
    difficulty=1,
    minutes=5,
    signature="tied_logits(x: (B, n, d), table: (V, d)) -> (B, n, V)",
    statement=(
        "Turn the decoder's output x into logits with the embedding table itself as weight: one "
        "number for each position and each word, the dot product of x with the word's row. No "
        "factor, no bias, no softmax. The dtype of x is kept. Gradients have to flow back to its "
        "inputs: it is trained through. A tensor from NumPy is accepted with a remark."
    ),
    objective="Read one matrix in both directions: from tokens to vectors and back to words.",
    prerequisite="encoder.embed",
    hints=(
        "The embedding picks row v of the table for token v. Which product tells how well x goes "
        "with row v?",
        "One dot product for each row: x is (B, n, d), the table (V, d). Which of its axes is "
        "summed over?",
        "`x @ table.T`. No sqrt(d_model) here, and the softmax belongs to the loss.",
    ),
    reference=tied_logits,
    explanation=(
        "Section 3.4 shares one matrix between the two embeddings and the layer before the "
        "softmax. On the way in a token picks its row, times sqrt(d_model); on the way out x is "
        "compared with every row, without that factor. The softmax is left to the loss and to "
        "the search, which both want its logarithm and compute it stably."
    ),
    cases=(
        Case("one position, 3 words", _by_hand),
        _random(2, 3, 4, 5),
        _random(3, 2, 5, 7),
        _random(2, 4, 3, 3),
        _random(1, 1, 6, 4),
        _random(2, 3, 4, 6, 100.0, name="x with entries of about 100"),
        _random(2, 2, 3, 4, name="the dtype of the result", observe=_dtype_of),
        _random(
            *(2, 2, 3, 4),
            name="the dtype of the result for float32",
            observe=_dtype_of,
            dtype=torch.float32,
        ),
        _random(2, 3, 4, 5, name="float32", stage="other", dtype=torch.float32),
        Case("views that are not contiguous", _not_contiguous, stage="other"),
    ),
    mistakes=page(__file__, tied_logits),
    alternatives=(
        _by_linear,
        _by_einsum,
        _by_broadcasting,
        _by_columns,
        _by_loops,
        _by_the_other_product,
    ),
    starter=(
        "def tied_logits(x, table):\n"
        '    """x (B, n, d), table (V, d) -> logits (B, n, V)."""\n'
        "    ...  # your code"
    ),
)

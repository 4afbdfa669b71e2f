"""Language models for the search exercises: the next token's log-probabilities from a table."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

Prefix = tuple[int, ...]
Known = Mapping[Prefix, Mapping[int, float]]
ROWS = 401  # of random numbers; a prefix picks one by its fingerprint
REST = 0.01  # of the probability, shared by the tokens that a known row does not list


def log_prob_table(
    seed: int,
    vocab_size: int,
    dtype: torch.dtype,
    *,
    eos: int = 2,
    rare: Sequence[int] = (0, 1),
    eos_bias: float = 0.0,
    known: Known | None = None,
) -> Callable[[Tensor], Tensor]:
    """A function LongTensor (k, t) -> (k, V), the same log-probabilities for the same prefix.

    They depend on the whole prefix. `rare` tokens are improbable, eos is more probable by
    `eos_bias` (in nats). known: prefixes with the probabilities of their likely next tokens, which
    add up to 1; a hundredth of it is left to the others.
    """
    generator = torch.Generator().manual_seed(seed)
    logits = 1.5 * torch.randn(ROWS, vocab_size, generator=generator, dtype=torch.float64)
    logits[:, list(rare)] -= 8.0
    logits[:, eos] += eos_bias
    rows = logits.log_softmax(-1)
    known = known or {}

    def next_log_probs(tokens: Tensor) -> Tensor:
        prefixes = as_prefixes(tokens, "next_log_probs")
        return torch.stack([after(prefix) for prefix in prefixes]).to(dtype)

    def after(prefix: Prefix) -> Tensor:
        row = rows[fingerprint(prefix)]
        if prefix not in known:
            return row
        probabilities = row.exp().clone()
        likely = known[prefix]
        probabilities[list(likely)] = 0.0
        probabilities *= REST / probabilities.sum()
        for token, probability in likely.items():
            probabilities[token] = (1 - REST) * probability
        return probabilities.log()

    if known:
        next_log_probs.__name__ = f"with the probabilities {written(known)}"
    return next_log_probs


def as_prefixes(tokens: Any, name: str) -> list[Prefix]:
    """The rows of the tensor that a search passes to its model; what a model could not take fails.

    Raises TypeError or ValueError, as a model would, with a sentence that says what is wanted.
    """
    if not isinstance(tokens, Tensor):
        kind = type(tokens).__name__
        raise TypeError(f"{name} takes a LongTensor of whole prefixes, not an object of {kind}")
    if tokens.dim() != 2 or 0 in tokens.shape:
        got = tuple(tokens.shape) if tokens.numel() else "nothing"
        raise ValueError(f"{name} takes one prefix a row, shape (k, t), and got {got}")
    if tokens.is_floating_point() or tokens.dtype == torch.bool:
        raise TypeError(f"{name} takes integer tokens: give the tensor torch.long")
    return [tuple(row) for row in tokens.tolist()]


def fingerprint(prefix: Prefix) -> int:
    """A number below ROWS for any row of integers, different for most."""
    number = 17
    for token in prefix:
        number = (number * 31 + token + 5) % 10_007
    return number % ROWS


def written(known: Known) -> str:
    """ "[1] -> 3: 0.6, 2: 0.4; [1, 3] -> ..." for the report."""
    rows = (
        f"{list(prefix)} -> {', '.join(f'{token}: {p:g}' for token, p in likely.items())}"
        for prefix, likely in known.items()
    )
    return "; ".join(rows)

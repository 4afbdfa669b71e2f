"""A head that looks for what followed last time, and a test of it that can fail.

Some tokens are drawn at random and then said once more. Nothing tells the first half; the second
can be said by looking where the present token stood before and taking what followed. A head that
does so is called an induction head (Olsson et al., 2022). It needs one before it that tells each
place which token stood before it, and so two layers: the test is put to models of one layer too.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from annotated_transformer.after.build import build_transformer
from annotated_transformer.after.config import LaterConfig
from annotated_transformer.after.families import OneStack
from annotated_transformer.experiments.inside.removal import Head, heads_of, without_heads
from annotated_transformer.experiments.seeding import seeded
from annotated_transformer.experiments.small_training import train_briefly
from annotated_transformer.inspection import recording_attention
from annotated_transformer.masks import causal_mask

TOKENS, SHORTEST, LONGEST = 32, 3, 16  # different tokens; of what is said again
STEPS, EVERY = 3000, 100
UNSEEN = 1000  # the rows of a measurement are drawn from this seed


def draw_rows(rows: int, half: int, n: int, draw: torch.Generator) -> Tensor:
    """Rows (rows, n): `half` random tokens, no two alike, said again and again until n are said."""
    order = torch.rand(rows, TOKENS, generator=draw).argsort(-1)[:, :half]
    return order.repeat(1, -(-n // half))[:, :n]


def build(layers: int) -> OneStack:
    """A decoder-only model of so many layers with four heads each, its positions ALiBi's."""
    parts: dict[str, Any] = {"dropout": 0.0, "norm": "pre", "family": "decoder-only"}
    parts |= {"positions": "none", "relative_positions": "alibi"}
    model = build_transformer(LaterConfig(TOKENS, 64, 128, 4, layers, **parts))
    assert isinstance(model, OneStack)
    return model


def logits_of_rest(model: OneStack, rows: Tensor, half: int) -> Tensor:
    """What the model says where it can know: behind each token from the second time on.

    Args:
        rows: (rows, n).
        half: how many tokens are said before they come again.

    Returns:
        (rows, n - 1 - half, TOKENS), for the tokens from half + 1 on.
    """
    n = rows.size(1)
    return model.read(rows[:, :-1], causal_mask(n - 1))[:, half:]


def train(layers: int, seed: int, steps: int = STEPS) -> tuple[OneStack, list[float]]:
    """A model trained on 32 rows a step, of 3 to 16 tokens said until 32 are said.

    Returns:
        the model, and the share that it repeats rightly before the first step and at each `EVERY`.
    """
    with seeded(seed):
        model = build(layers)
    draw = torch.Generator().manual_seed(seed)

    on_the_way: list[float] = []
    asked, taken = unseen_rows(rows=50), 0

    def draw_loss() -> Tensor:
        nonlocal taken
        if taken % EVERY == 0:
            on_the_way.append(repeated(model, asked))
        taken += 1
        half = int(torch.randint(SHORTEST, LONGEST + 1, (), generator=draw))
        rows = draw_rows(32, half, 2 * LONGEST, draw)
        logits = logits_of_rest(model, rows, half)
        return cross_entropy(logits.flatten(0, 1), rows[:, half + 1 :].flatten())

    train_briefly(model, draw_loss, steps, peak=5e-3, warmup=50)
    return model.eval(), [*on_the_way, repeated(model, asked)]


def unseen_rows(half: int = LONGEST, rows: int = 200) -> Tensor:
    """Rows of a measurement, said twice: the same whenever they are asked for."""
    return draw_rows(rows, half, 2 * half, torch.Generator().manual_seed(UNSEEN))


@torch.no_grad()
def repeated(model: OneStack, rows: Tensor) -> float:
    """Share of the second half's tokens that the model says rightly."""
    half = rows.size(1) // 2
    right = logits_of_rest(model, rows, half).argmax(-1) == rows[:, half + 1 :]
    return right.double().mean().item()


@torch.no_grad()
def head_scores(model: OneStack, rows: Tensor) -> dict[Head, dict[str, float]]:
    """Of each head, its mean weight in the second half on three places.

    Returns:
        "previous": one place back; "same": where the present token stood before; "next": where what
        followed it stands, which is what an induction head looks at.
    """
    half = rows.size(1) // 2
    with recording_attention(model) as recorded:
        model.read(rows, causal_mask(2 * half))
    at = torch.arange(half, 2 * half - 1)
    found = {}
    for name, weights in recorded.items():  # (rows, heads, 2 * half, 2 * half)
        places = {"previous": at - 1, "same": at - half, "next": at - half + 1}
        for head in range(weights.size(1)):
            found[name, head] = {
                what: weights[:, head, at, where].mean().item() for what, where in places.items()
            }
    return found


def repeated_without(model: OneStack, rows: Tensor) -> dict[Head, float]:
    """The share that is still right without each head alone."""
    found = {}
    for head in heads_of(model):
        with without_heads(model, [head]):
            found[head] = repeated(model, rows)
    return found

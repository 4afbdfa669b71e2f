"""Wrong answers of outsiders about the whole model, each with two mistakes."""

from collections.abc import Callable

import torch
from torch import Tensor


def scaled_log_probabilities(x: Tensor, table: Tensor) -> Tensor:
    """Multiplies by the root of the width, as the embedding does.
    Returns log-probabilities instead of logits."""
    d = x.shape[-1]
    scores = torch.einsum("bnd,vd->bnv", x, table * d**0.5)
    return scores.log_softmax(-1)


def last_position_of_unit_rows(x: Tensor, table: Tensor) -> Tensor:
    """Answers for the last position alone.
    Brings the words' rows to length 1 first."""
    unit = table / table.norm(dim=1, keepdim=True)
    final = x[:, -1, :]
    return final @ unit.t()


ANSWERS: dict[str, list[Callable[..., object]]] = {
    "model.tied_logits": [scaled_log_probabilities, last_position_of_unit_rows],
}

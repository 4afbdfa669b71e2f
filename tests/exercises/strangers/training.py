"""Wrong answers of outsiders about training, each with two mistakes."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor


def whole_input_and_ignored_padding(tgt: Tensor) -> tuple[Tensor, Tensor]:
    """The input keeps the last token, it is one too long.
    Padding in the labels becomes -100."""
    labels = tgt[:, 1:].clone()
    labels[labels == 0] = -100
    return tgt.clone(), labels


def end_erased_and_labels_not_shifted(tgt: Tensor) -> tuple[Tensor, Tensor]:
    """The end of sentence is replaced by padding in the input.
    The labels are the input's own tokens, not the next ones."""
    n = tgt.shape[1]
    labels = tgt[:, : n - 1]
    decoder_input = torch.where(labels == 2, torch.zeros_like(labels), labels)
    return decoder_input, labels


def pad_gets_its_share_and_summed(
    logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0
) -> Tensor:
    """The pad column of q keeps its share of eps.
    The losses are added up, not averaged."""
    v = logits.shape[-1]
    onehot = F.one_hot(target, v).to(logits.dtype)
    q = onehot * (1 - eps) + (1 - onehot) * eps / (v - 2)
    per_token = -(q * F.log_softmax(logits, dim=-1)).sum(dim=-1)
    return (per_token * (target != pad_id)).sum()


def one_too_many_and_pads_in_the_mean(
    logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0
) -> Tensor:
    """A share is eps / (V - 1), although pad gets none.
    Divides the sum by all positions, padding too."""
    logp = torch.log_softmax(logits, -1)
    vocab = logp.shape[-1]
    small = eps / (vocab - 1)
    right = logp.gather(2, target.unsqueeze(2)).squeeze(2)
    others = logp.sum(-1) - right - logp[:, :, pad_id]
    nll = -((1 - eps) * right + small * others)
    nll = nll.masked_fill(target == pad_id, 0.0)
    return nll.sum() / target.numel()


def larger_branch_and_growing_with_width(
    step: int, d_model: int, warmup: int, factor: float = 1.0
) -> float:
    """Takes the larger of the two curves.
    Multiplies by the root of d_model instead of dividing."""
    s = step if step > 0 else 1
    return factor * math.sqrt(d_model) * max(1 / math.sqrt(s), s / warmup**1.5)


def root_of_warmup_and_one_step_ahead(
    step: int, d_model: int, warmup: int, factor: float = 1.0
) -> float:
    """The power of warmup is -0.5 instead of -1.5.
    Avoids step 0 by adding 1 to every step."""
    t = step + 1
    lr = d_model ** (-0.5) * min(t ** (-0.5), t * warmup ** (-0.5))
    return float(lr * factor)


def corrected_moments_and_eps_under_the_root(
    param: Tensor,
    grad: Tensor,
    m: Tensor,
    v: Tensor,
    step: int,
    lr: float,
    betas: tuple[float, float] = (0.9, 0.98),
    eps: float = 1e-9,
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the corrected moments instead of the raw ones.
    eps stands under the root."""
    new_m = torch.lerp(grad, m, betas[0])
    new_v = torch.lerp(grad * grad, v, betas[1])
    new_m = new_m / (1 - betas[0] ** step)
    new_v = new_v / (1 - betas[1] ** step)
    return param - lr * new_m / torch.sqrt(new_v + eps), new_m, new_v


def uncorrected_with_unweighted_gradient(
    param: Tensor,
    grad: Tensor,
    m: Tensor,
    v: Tensor,
    step: int,
    lr: float,
    betas: tuple[float, float] = (0.9, 0.98),
    eps: float = 1e-9,
) -> tuple[Tensor, Tensor, Tensor]:
    """No correction for the start at 0.
    The gradient enters m whole, as in momentum, without 1 - beta_1."""
    b1, b2 = betas
    momentum = m * b1 + grad
    square = v * b2 + (1.0 - b2) * grad.pow(2)
    update = momentum / (square.sqrt() + eps)
    return param - lr * update, momentum, square


def mean_of_means_with_padding(
    logits: list[Tensor], targets: list[Tensor], pad_id: int = 0
) -> Tensor:
    """The mean of the micro-batches' means, whatever their sizes.
    Padding is learned like a word."""
    losses = []
    for z, y in zip(logits, targets, strict=True):
        losses.append(F.cross_entropy(z.reshape(-1, z.shape[-1]), y.reshape(-1)))
    return torch.stack(losses).mean()


def items_over_all_positions(
    logits: list[Tensor], targets: list[Tensor], pad_id: int = 0
) -> Tensor:
    """Adds up Python numbers, so no gradient comes back.
    Divides by all positions, padding too."""
    running, count = 0.0, 0
    for z, y in zip(logits, targets, strict=True):
        part = F.cross_entropy(z.flatten(0, 1), y.flatten(), ignore_index=pad_id, reduction="sum")
        running += part.item()
        count += y.numel()
    return torch.tensor(running / count, dtype=logits[0].dtype)


ANSWERS: dict[str, list[Callable[..., object]]] = {
    "training.shift_targets": [
        whole_input_and_ignored_padding,
        end_erased_and_labels_not_shifted,
    ],
    "training.label_smoothing_loss": [
        pad_gets_its_share_and_summed,
        one_too_many_and_pads_in_the_mean,
    ],
    "training.noam_rate": [
        larger_branch_and_growing_with_width,
        root_of_warmup_and_one_step_ahead,
    ],
    "training.adam_step": [
        corrected_moments_and_eps_under_the_root,
        uncorrected_with_unweighted_gradient,
    ],
    "training.accumulated_loss": [mean_of_means_with_padding, items_over_all_positions],
}

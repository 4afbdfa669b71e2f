"""Mistakes of `training.label_smoothing_loss` in q, the softened targets."""

from functools import partial

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.content.training.label_smoothing_variants import (
    PAD_MASS,
    PADS_COUNT,
    loss_with,
    smoothed_loss,
)
from annotated_transformer.exercises.exercise import Mistake


def _fixed_eps(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
    return smoothed_loss(logits, target, 0.1, pad_id)


def _fixed_pad(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
    return smoothed_loss(logits, target, eps, 0)


def _plain(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
    return smoothed_loss(logits, target, 0.0, pad_id)


def _plain_all(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), target.flatten())


def _default_eps(logits: Tensor, target: Tensor, eps: float = 0.0, pad_id: int = 0) -> Tensor:
    return smoothed_loss(logits, target, eps, pad_id)


def _weights_exchanged(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
    return smoothed_loss(logits, target, 1 - eps, pad_id)


def _szegedy(
    logits: Tensor,
    target: Tensor,
    eps: float = 0.1,
    pad_id: int = 0,
    *,
    ignore: bool = True,
) -> Tensor:
    ignored = pad_id if ignore else -100
    flat, labels = logits.flatten(0, 1), target.flatten()
    return F.cross_entropy(flat, labels, label_smoothing=eps, ignore_index=ignored)


def _sum_of_logs(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
    log_p = logits.log_softmax(-1)
    plain = -log_p.gather(-1, target[..., None]).squeeze(-1)
    loss = (1 - eps) * plain - eps * log_p.sum(-1)
    return loss[target != pad_id].mean()


def _plain_sum(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
    return smoothed_loss(logits, target, 0.0, pad_id, mean="sum")


def _renormalised(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
    """Szegedy's q without pad, divided by its sum."""
    size = logits.size(-1)
    return smoothed_loss(
        logits,
        target,
        eps,
        pad_id,
        share=lambda eps, size: eps / size / (1 - eps / size),
        on_target=lambda eps, share: (1 - eps + eps / size) / (1 - eps / size),
    )


def _q_and_p_exchanged(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
    """-(p * log q).sum(): infinite, since q is 0 on pad."""
    q = torch.full_like(logits, eps / (logits.size(-1) - 2))
    q = q.scatter(-1, target[..., None], 1 - eps)
    q[..., pad_id] = 0.0
    loss = -(logits.softmax(-1) * q.log()).sum(-1)
    return loss[target != pad_id].mean()


_SZEGEDY = (
    "eps/V is given to every token, target and pad included, as Szegedy et al. and torch's "
    "`label_smoothing=` do. Asked for is the convention of the annotated Transformer: eps/(V-2) "
    "on all tokens but the target and pad, and nothing on pad."
)
_SHARE = (
    "Each of the other tokens gets {}. There are V-2 tokens that are neither the target nor pad, "
    "so each gets eps/(V-2); then q sums to 1."
)
_TARGET = "The target gets {}. It gets 1 - eps, and the V-2 others share eps: q sums to 1."


def _pad_position(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
    """q[:, pad_id] = 0 of a q with three axes: a position, not a column."""
    log_p = logits.log_softmax(-1)
    q = torch.full_like(log_p, eps / (logits.size(-1) - 2))
    q = q.scatter(-1, target[..., None], 1 - eps)
    q[:, pad_id : pad_id + 1] = 0.0
    return -(q * log_p).sum(-1)[target != pad_id].mean()


TARGETS = (
    Mistake("szegedy", _szegedy, _SZEGEDY),
    Mistake("szegedy-over-pads", partial(_szegedy, ignore=False), _SZEGEDY + " " + PADS_COUNT),
    Mistake(
        "share-of-v",
        loss_with(share=lambda eps, size: eps / size),
        _SHARE.format("eps/V"),
    ),
    Mistake(
        "share-of-v-mean-over-all",
        loss_with(share=lambda eps, size: eps / size, mean="all"),
        _SHARE.format("eps/V") + " And the sum is divided by all positions instead of those that "
        "are not pad.",
    ),
    Mistake(
        "share-of-v-minus-1-mean-over-all",
        loss_with(share=lambda eps, size: eps / (size - 1), mean="all"),
        _SHARE.format("eps/(V-1)") + " And the sum is divided by all positions instead of those "
        "that are not pad.",
    ),
    Mistake(
        "share-of-v-minus-1",
        loss_with(share=lambda eps, size: eps / (size - 1)),
        _SHARE.format("eps/(V-1)"),
    ),
    Mistake(
        "share-of-v-minus-3",
        loss_with(share=lambda eps, size: eps / max(size - 3, 0.5)),
        _SHARE.format("eps/(V-3)"),
    ),
    Mistake(
        "share-of-v-plus-1",
        loss_with(share=lambda eps, size: eps / (size + 1)),
        _SHARE.format("eps/(V+1)"),
    ),
    Mistake(
        "share-multiplied",
        loss_with(share=lambda eps, size: eps * (size - 2)),
        _SHARE.format("eps times (V-2)"),
    ),
    Mistake("others-get-nothing", loss_with(share=lambda eps, size: 0.0), _SHARE.format("nothing")),
    Mistake(
        "share-not-divided", loss_with(share=lambda eps, size: eps), _SHARE.format("all of eps")
    ),
    Mistake("share-with-pad", loss_with(pad_column=False), PAD_MASS),
    Mistake(
        "share-of-v-minus-1-with-pad",
        loss_with(share=lambda eps, size: eps / (size - 1), pad_column=False),
        "eps/(V-1) is given to every token but the target, pad included (as fairseq does). Pad is "
        "never an answer: its column of q is 0, and the V-2 others get eps/(V-2) each.",
    ),
    Mistake(
        "share-of-v-with-pad",
        loss_with(share=lambda eps, size: eps / size, pad_column=False),
        "eps/V is given to every token but the target, pad included. q is 0 on pad and eps/(V-2) "
        "on the V-2 others, so that it sums to 1.",
    ),
    Mistake(
        "target-gets-share-too",
        loss_with(on_target=lambda eps, share: 1 - eps + share),
        _TARGET.format("1 - eps and a share of eps besides"),
    ),
    Mistake(
        "target-gets-share-too-with-pad",
        loss_with(on_target=lambda eps, share: 1 - eps + share, pad_column=False),
        _TARGET.format("1 - eps and a share of eps besides") + " Pad gets nothing.",
    ),
    Mistake(
        "szegedy-without-pad-column",
        loss_with(share=lambda eps, size: eps / size, on_target=lambda eps, share: 1 - eps + share),
        "eps/V is given to every token, the target included, and pad is set to 0. Asked for is "
        "eps/(V-2) on all tokens but the target and pad, and 1 - eps on the target.",
    ),
    Mistake(
        "shared-with-target",
        loss_with(
            share=lambda eps, size: eps / (size - 1), on_target=lambda eps, share: 1 - eps + share
        ),
        "eps is shared by all tokens but pad, the target included, eps/(V-1) each. Here the target "
        "keeps 1 - eps, and the V-2 others get eps/(V-2).",
    ),
    Mistake(
        "szegedy-renormalised",
        _renormalised,
        "eps/V is given to every token, pad is set to 0 and the rest divided by its sum. Asked for "
        "is eps/(V-2) on all tokens but the target and pad, and 1 - eps on the target.",
    ),
    Mistake("target-gets-one", loss_with(on_target=lambda eps, share: 1.0), _TARGET.format("1")),
    Mistake(
        "target-less-share",
        loss_with(on_target=lambda eps, share: 1 - eps - share),
        _TARGET.format("1 - eps less a share of eps"),
    ),
    Mistake(
        "target-less-twice-eps",
        loss_with(on_target=lambda eps, share: 1 - 2 * eps),
        _TARGET.format("1 - 2 eps"),
    ),
    Mistake(
        "target-gets-eps-too",
        loss_with(on_target=lambda eps, share: 1 + eps),
        _TARGET.format("1 + eps"),
    ),
    Mistake(
        "half-of-eps",
        lambda logits, target, eps=0.1, pad_id=0: smoothed_loss(logits, target, eps / 2, pad_id),
        "Only half of eps is used. The target gets 1 - eps, the V-2 others share all of eps.",
    ),
    Mistake(
        "weights-exchanged",
        _weights_exchanged,
        "eps and 1 - eps are exchanged: the target gets eps. It gets 1 - eps.",
    ),
    Mistake(
        "q-and-p-exchanged",
        _q_and_p_exchanged,
        "The loss is infinite. q and p are exchanged: -(p * log q) takes the logarithm of q, which "
        "is 0 on pad. The targets weigh, the model's log-probabilities are weighed: "
        "-(q * log_p).sum().",
    ),
    Mistake(
        "sum-of-all-logs",
        _sum_of_logs,
        "The smoothing term is eps times the sum of all log-probabilities. Each of the V-2 other "
        "tokens gets eps/(V-2): divide.",
    ),
    Mistake(
        "no-smoothing",
        _plain,
        "eps is not used: this is the plain cross-entropy. The target "
        "gets 1 - eps, and the V-2 other tokens share eps.",
    ),
    Mistake(
        "no-smoothing-sum",
        _plain_sum,
        "This is the plain cross-entropy, summed: eps is not used, and nothing is divided by the "
        "number of targets that are not pad.",
    ),
    Mistake(
        "torch-cross-entropy",
        _plain_all,
        "This is torch's plain `cross_entropy`: nothing is smoothed, and the padded positions "
        "count. The target gets 1 - eps, the V-2 other tokens share eps, and targets that are pad "
        "are left out.",
    ),
    Mistake(
        "eps-always-0.1",
        _fixed_eps,
        "eps is fixed at 0.1 in the code. Use the argument.",
    ),
    Mistake(
        "eps-zero-by-default",
        _default_eps,
        "Without an eps nothing is smoothed: the default is 0.1, the paper's value.",
    ),
    Mistake(
        "pad-always-0",
        _fixed_pad,
        "pad_id is ignored: token 0 is taken for pad. Use the argument, for the column of q and "
        "for the positions that are left out.",
    ),
    Mistake(
        "pad-column-always-0",
        loss_with(column_id=0),
        "The column of q that is set to 0 is always column 0. It is the column `pad_id`.",
    ),
    Mistake(
        "pad-rows-always-0",
        loss_with(row_id=0),
        "The positions that are left out are those whose target is 0. They are those whose target "
        "is `pad_id`.",
    ),
    Mistake(
        "share-with-pad-mean-over-all",
        loss_with(mean="all", pad_column=False),
        PAD_MASS + " And the sum is divided by all positions instead of those that are not pad.",
    ),
    Mistake(
        "pad-position-zeroed",
        _pad_position,
        "`q[:, pad_id] = 0` clears a position of every sentence: the second of the three axes. "
        "The column of pad is the last: `q[..., pad_id] = 0`.",
    ),
    Mistake(
        "szegedy-mean-over-all",
        lambda logits, target, eps=0.1, pad_id=0: (
            _szegedy(logits, target, eps, pad_id) * (target != pad_id).sum() / target.numel()
        ),
        _SZEGEDY + " And the sum is divided by all positions instead of those that are not pad.",
    ),
)

"""Named mistakes of `training.label_smoothing_loss`, from one loss with every part replaceable."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.exercise import Candidate, Mistake


def _log_softmax(logits: Tensor, pad_id: int) -> Tensor:
    return logits.log_softmax(-1)


def _pad_excluded(logits: Tensor, pad_id: int) -> Tensor:
    column = torch.arange(logits.size(-1)) == pad_id
    return logits.masked_fill(column, -1e9).log_softmax(-1).masked_fill(column, 0.0)


def _loss(
    logits: Tensor,
    target: Tensor,
    eps: float = 0.1,
    pad_id: int = 0,
    *,
    share: Callable[[float, int], float] = lambda eps, size: eps / (size - 2),
    on_target: Callable[[float, float], float] = lambda eps, share: 1 - eps,
    pad_column: bool = True,  # set to 0 in q
    log_p: Callable[[Tensor, int], Tensor] = _log_softmax,
    less_entropy: bool = False,
    sign: float = -1.0,
    drop_pads: bool = True,  # from the sum
    mean: str = "real",
    column_id: int | None = None,
    row_id: int | None = None,
) -> Tensor:
    size = logits.size(-1)
    small = share(eps, size)
    logs = log_p(logits, pad_id)
    q = torch.full_like(logs, small).scatter(-1, target[..., None], on_target(eps, small))
    if pad_column:
        column = torch.arange(size) == (pad_id if column_id is None else column_id)
        q = q.masked_fill(column, 0.0)
    loss = sign * (q * logs).sum(-1)  # (B, n)
    if less_entropy:
        loss = loss + torch.xlogy(q, q).sum(-1)
    real = target != (pad_id if row_id is None else row_id)
    kept = loss * real if drop_pads else loss
    if mean == "sentence":
        return (kept.sum(1) / real.sum(1).clamp(min=1)).mean()
    if mean == "position":
        return (kept.sum(0) / real.sum(0).clamp(min=1)).mean()
    if mean in ("largest", "median"):
        return loss[real].max() if mean == "largest" else loss[real].median()
    if mean in ("first", "last"):
        return loss[:, 0 if mean == "first" else -1].mean()
    if mean == "each":
        return loss[real]
    if mean == "none":
        return kept
    divisors: dict[str, float | Tensor] = {
        "real": real.sum(),
        "all": float(target.numel()),
        "batch": float(target.size(0)),
        "length": float(target.size(1)),
        "vocabulary": real.sum() * size,
        "everything": float(logits.numel()),
        "sum": 1.0,
        "pads": (~real).sum().clamp(min=1),
        "real + 1": real.sum() + 1,
    }
    return kept.sum() / divisors[mean]


def _with(**parts: Any) -> Candidate:
    return partial(_loss, **parts)


def _fixed_eps(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
    return _loss(logits, target, 0.1, pad_id)


def _fixed_pad(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
    return _loss(logits, target, eps, 0)


def _plain(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
    return _loss(logits, target, 0.0, pad_id)


def _plain_all(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), target.flatten())


def _default_eps(logits: Tensor, target: Tensor, eps: float = 0.0, pad_id: int = 0) -> Tensor:
    return _loss(logits, target, eps, pad_id)


def _weights_exchanged(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
    return _loss(logits, target, 1 - eps, pad_id)


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
    return _loss(logits, target, 0.0, pad_id, mean="sum")


def _renormalised(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
    """Szegedy's q without pad, divided by its sum."""
    size = logits.size(-1)
    return _loss(
        logits,
        target,
        eps,
        pad_id,
        share=lambda eps, size: eps / size / (1 - eps / size),
        on_target=lambda eps, share: (1 - eps + eps / size) / (1 - eps / size),
    )


def _pads_as_targets(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
    """The column of pad is zeroed before the targets are written, so that pads are targets."""
    log_p = logits.log_softmax(-1)
    q = torch.full_like(log_p, eps / (logits.size(-1) - 2))
    q[..., pad_id] = 0.0
    q.scatter_(-1, target[..., None], 1 - eps)
    return -(q * log_p).sum(-1).mean()


def _then(change: Callable[[Tensor, Tensor, int], object]) -> Candidate:
    """The right loss, and something done to the given tensors."""

    def loss(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
        result = _loss(logits.detach().clone(), target.clone(), eps, pad_id)
        change(logits.data, target, pad_id)
        return result

    return loss


def _shifted_again(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
    if target.size(1) == 1:
        return logits.sum() * float("nan")
    return _loss(logits[:, :-1], target[:, 1:], eps, pad_id)


def _positions_mixed(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
    mixed = logits.transpose(0, 1).reshape(1, -1, logits.size(-1))
    return _loss(mixed, target.reshape(1, -1), eps, pad_id)


def _logs(change: Callable[[Tensor], Tensor]) -> Candidate:
    return _with(log_p=lambda logits, pad_id: change(logits))


def _after(change: Callable[[Tensor], Any]) -> Candidate:
    return lambda *arguments, **options: change(_loss(*arguments, **options))


def _with_count(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Any:
    return _loss(logits, target, eps, pad_id), (target != pad_id).sum()


_SZEGEDY = (
    "eps/V is given to every token, target and pad included, as Szegedy et al. and torch's "
    "`label_smoothing=` do. Asked for is the convention of the annotated Transformer: eps/(V-2) "
    "on all tokens but the target and pad, and nothing on pad."
)
_PAD_MASS = (
    "Pad gets a share of eps as if it were a word. It is never an answer: q is 0 in the column of "
    "pad, and eps is shared by the V-2 tokens that are neither pad nor the target."
)
_SHARE = (
    "Each of the other tokens gets {}. There are V-2 tokens that are neither the target nor pad, "
    "so each gets eps/(V-2); then q sums to 1."
)
_MEAN = (
    "The sum is divided by {}. The mean goes over the targets that are not pad: divide by "
    "`(target != pad_id).sum()`, or the loss depends on how much a batch is padded."
)
_PADS_COUNT = (
    "Positions whose target is pad count in the loss. There is nothing to predict: leave them out, "
    "`loss[target != pad_id].mean()`."
)
_KL = (
    "This is the Kullback-Leibler divergence (`KLDivLoss`), which is the cross-entropy less the "
    "entropy of q. The gradients are the same, the number is not: asked for is the cross-entropy, "
    "-(q * log_p).sum()."
)
_LOG = "The cross-entropy needs log-probabilities: `logits.log_softmax(-1)`, over all V tokens. "
_TARGET = "The target gets {}. It gets 1 - eps, and the V-2 others share eps: q sums to 1."

_LOGITS_CHANGED = (
    "The loss is right, but the logits are changed in place on the way. Make a new tensor."
)
_TARGET_CHANGED = (
    "The loss is right, but the target is changed in place on the way. Make a new tensor."
)

MISTAKES = (
    Mistake("szegedy", _szegedy, _SZEGEDY),
    Mistake("szegedy-over-pads", partial(_szegedy, ignore=False), _SZEGEDY + " " + _PADS_COUNT),
    Mistake(
        "share-of-v",
        _with(share=lambda eps, size: eps / size),
        _SHARE.format("eps/V"),
    ),
    Mistake(
        "share-of-v-minus-1",
        _with(share=lambda eps, size: eps / (size - 1)),
        _SHARE.format("eps/(V-1)"),
    ),
    Mistake(
        "share-of-v-minus-3",
        _with(share=lambda eps, size: eps / max(size - 3, 0.5)),
        _SHARE.format("eps/(V-3)"),
    ),
    Mistake(
        "share-of-v-plus-1",
        _with(share=lambda eps, size: eps / (size + 1)),
        _SHARE.format("eps/(V+1)"),
    ),
    Mistake(
        "share-multiplied",
        _with(share=lambda eps, size: eps * (size - 2)),
        _SHARE.format("eps times (V-2)"),
    ),
    Mistake("others-get-nothing", _with(share=lambda eps, size: 0.0), _SHARE.format("nothing")),
    Mistake("share-not-divided", _with(share=lambda eps, size: eps), _SHARE.format("all of eps")),
    Mistake("share-with-pad", _with(pad_column=False), _PAD_MASS),
    Mistake(
        "share-of-v-minus-1-with-pad",
        _with(share=lambda eps, size: eps / (size - 1), pad_column=False),
        "eps/(V-1) is given to every token but the target, pad included (as fairseq does). Pad is "
        "never an answer: its column of q is 0, and the V-2 others get eps/(V-2) each.",
    ),
    Mistake(
        "share-of-v-with-pad",
        _with(share=lambda eps, size: eps / size, pad_column=False),
        "eps/V is given to every token but the target, pad included. q is 0 on pad and eps/(V-2) "
        "on the V-2 others, so that it sums to 1.",
    ),
    Mistake(
        "target-gets-share-too",
        _with(on_target=lambda eps, share: 1 - eps + share),
        _TARGET.format("1 - eps and a share of eps besides"),
    ),
    Mistake(
        "target-gets-share-too-with-pad",
        _with(on_target=lambda eps, share: 1 - eps + share, pad_column=False),
        _TARGET.format("1 - eps and a share of eps besides") + " Pad gets nothing.",
    ),
    Mistake(
        "szegedy-without-pad-column",
        _with(share=lambda eps, size: eps / size, on_target=lambda eps, share: 1 - eps + share),
        "eps/V is given to every token, the target included, and pad is set to 0. Asked for is "
        "eps/(V-2) on all tokens but the target and pad, and 1 - eps on the target.",
    ),
    Mistake(
        "shared-with-target",
        _with(
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
    Mistake("target-gets-one", _with(on_target=lambda eps, share: 1.0), _TARGET.format("1")),
    Mistake(
        "target-less-share",
        _with(on_target=lambda eps, share: 1 - eps - share),
        _TARGET.format("1 - eps less a share of eps"),
    ),
    Mistake(
        "target-less-twice-eps",
        _with(on_target=lambda eps, share: 1 - 2 * eps),
        _TARGET.format("1 - 2 eps"),
    ),
    Mistake(
        "target-gets-eps-too",
        _with(on_target=lambda eps, share: 1 + eps),
        _TARGET.format("1 + eps"),
    ),
    Mistake(
        "half-of-eps",
        lambda logits, target, eps=0.1, pad_id=0: _loss(logits, target, eps / 2, pad_id),
        "Only half of eps is used. The target gets 1 - eps, the V-2 others share all of eps.",
    ),
    Mistake(
        "weights-exchanged",
        _weights_exchanged,
        "eps and 1 - eps are exchanged: the target gets eps. It gets 1 - eps.",
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
        _with(column_id=0),
        "The column of q that is set to 0 is always column 0. It is the column `pad_id`.",
    ),
    Mistake(
        "pad-rows-always-0",
        _with(row_id=0),
        "The positions that are left out are those whose target is 0. They are those whose target "
        "is `pad_id`.",
    ),
    Mistake("mean-over-all", _with(mean="all"), _MEAN.format("all positions, B times n")),
    Mistake("mean-over-batch", _with(mean="batch"), _MEAN.format("the number of sentences")),
    Mistake("mean-over-length", _with(mean="length"), _MEAN.format("the length n")),
    Mistake(
        "mean-over-vocabulary",
        _with(mean="vocabulary"),
        _MEAN.format("the number of tokens times V (a mean over every entry of q * log_p)"),
    ),
    Mistake(
        "mean-over-everything",
        _with(mean="everything"),
        _MEAN.format(
            "B times n times V, every entry of q * log_p (`.mean()` without the `.sum(-1)`)"
        ),
    ),
    Mistake("mean-over-pads", _with(mean="pads"), _MEAN.format("the number of pads")),
    Mistake("one-too-many", _with(mean="real + 1"), _MEAN.format("one more than the real tokens")),
    Mistake("sum", _with(mean="sum"), _MEAN.format("nothing")),
    Mistake("sum-over-pads-too", _with(mean="sum", drop_pads=False), _PADS_COUNT),
    Mistake(
        "mean-of-sentences",
        _with(mean="sentence"),
        "Each sentence is averaged on its own, then the sentences are averaged. A word in a short "
        "sentence then weighs more than one in a long sentence: take one mean over all real "
        "tokens.",
    ),
    Mistake(
        "mean-of-positions",
        _with(mean="position"),
        "Each position is averaged over the batch on its own, then the positions are averaged. "
        "Take one mean over all real tokens.",
    ),
    Mistake("largest", _with(mean="largest"), "The largest loss is returned instead of the mean."),
    Mistake("median", _with(mean="median"), "The median is returned instead of the mean."),
    Mistake(
        "first-position",
        _with(mean="first"),
        "Only the first position counts. The mean goes over all targets that are not pad.",
    ),
    Mistake(
        "last-position",
        _with(mean="last"),
        "Only the last position counts. The mean goes over all targets that are not pad.",
    ),
    Mistake(
        "not-reduced",
        _with(mean="none"),
        "The loss of every position is returned, (B, n). Asked for is one number, the mean over "
        "the targets that are not pad.",
    ),
    Mistake(
        "not-reduced-pads-too",
        _with(mean="none", drop_pads=False),
        "The loss of every position is returned, (B, n). Asked for is one number, the mean over "
        "the targets that are not pad.",
    ),
    Mistake(
        "not-reduced-flat",
        _with(mean="each"),
        "The loss of every real token is returned. Asked for is one number, their mean: `.mean()`.",
    ),
    Mistake("pads-are-targets", _pads_as_targets, _PADS_COUNT),
    Mistake("pads-in-the-mean", _with(mean="all", drop_pads=False), _PADS_COUNT),
    Mistake(
        "pads-in-the-sum",
        _with(drop_pads=False),
        "Positions whose target is pad are in the sum, though not in the number by which it is "
        "divided. Leave them out of both: `loss[target != pad_id].mean()`.",
    ),
    Mistake(
        "pads-and-their-column",
        _with(mean="all", drop_pads=False, pad_column=False),
        _PAD_MASS + " And positions whose target is pad count in the mean; leave them out.",
    ),
    Mistake(
        "share-with-pad-mean-over-all",
        _with(mean="all", pad_column=False),
        _PAD_MASS + " And the sum is divided by all positions instead of those that are not pad.",
    ),
    Mistake("divergence", _with(less_entropy=True), _KL),
    Mistake(
        "divergence-sum",
        _with(less_entropy=True, mean="sum"),
        _KL + " And it is a sum: divide by the number of targets that are not pad.",
    ),
    Mistake(
        "divergence-mean-over-all",
        _with(less_entropy=True, mean="everything"),
        _KL + " And `reduction='mean'` divides by B times n times V.",
    ),
    Mistake(
        "divergence-batchmean",
        _with(less_entropy=True, mean="batch"),
        _KL + " And `reduction='batchmean'` divides by the number of sentences.",
    ),
    Mistake(
        "divergence-mean-over-positions",
        _with(less_entropy=True, mean="all"),
        _KL + " And it is divided by all positions, padded ones too.",
    ),
    Mistake(
        "negative",
        _with(sign=1.0),
        "The sign is wrong: log-probabilities are negative, and the loss is minus their mean.",
    ),
    Mistake(
        "probabilities-for-logs",
        _logs(lambda logits: logits.softmax(-1)),
        _LOG + "Here the logarithm is missing, and probabilities are averaged.",
    ),
    Mistake(
        "logits-for-logs",
        _logs(lambda logits: logits),
        _LOG + "Here the logits are taken as if they were log-probabilities already.",
    ),
    Mistake(
        "logarithm-of-logits",
        _logs(torch.log),
        _LOG + "Here the logits are taken for probabilities, and their logarithm is NaN where they "
        "are negative.",
    ),
    Mistake(
        "softmax-twice",
        _logs(lambda logits: logits.softmax(-1).log_softmax(-1)),
        _LOG + "Here a softmax is applied to the logits before that (a softmax twice), which makes "
        "all tokens nearly equal.",
    ),
    Mistake(
        "softmax-over-positions",
        _logs(lambda logits: logits.log_softmax(1)),
        _LOG + "Here the softmax goes over the positions of the sentence.",
    ),
    Mistake(
        "softmax-over-everything",
        _logs(lambda logits: logits.flatten().log_softmax(0).view_as(logits)),
        _LOG + "Here one softmax goes over the whole batch at once.",
    ),
    Mistake(
        "sigmoid",
        _logs(torch.nn.functional.logsigmoid),
        _LOG + "Here a sigmoid is applied to each logit, as if tokens did not exclude each other.",
    ),
    Mistake(
        "softmax-over-batch",
        _logs(lambda logits: logits.log_softmax(0)),
        _LOG + "Here the softmax goes over the sentences of the batch.",
    ),
    Mistake(
        "pad-outside-the-softmax",
        _with(log_p=_pad_excluded),
        "The logit of pad is removed before the softmax. Only q is 0 on pad; the softmax goes over "
        "all V tokens, so that the model learns to give pad no probability.",
    ),
    Mistake(
        "pad-outside-the-softmax-infinite",
        _logs(lambda logits: logits * float("nan")),
        "The result is NaN everywhere: a logit of -inf (for pad, say) gives log-probability -inf, "
        "and 0 times infinity is not a number. Only q is 0 on pad; leave the logits as they are, "
        "and let the softmax go over all V tokens.",
    ),
    Mistake(
        "small-number-1e-6",
        _logs(lambda logits: (logits.softmax(-1) + 1e-6).log()),
        "A small number is added to the probabilities before the logarithm, which changes the loss "
        "of improbable tokens. `log_softmax` needs none.",
    ),
    Mistake(
        "small-number-in-the-logarithm",
        _logs(lambda logits: (logits.softmax(-1) + 1e-9).log()),
        "A small number is added to the probabilities before the logarithm, which changes the loss "
        "of improbable tokens. `log_softmax` needs none.",
    ),
    Mistake(
        "small-number-1e-8",
        _logs(lambda logits: (logits.softmax(-1) + 1e-8).log()),
        "A small number is added to the probabilities before the logarithm, which changes the loss "
        "of improbable tokens. `log_softmax` needs none.",
    ),
    Mistake(
        "logarithm-to-base-2",
        _after(lambda loss: loss / 0.6931471805599453),
        "The loss is in bits (base 2). The natural logarithm is asked for, nats.",
    ),
    Mistake(
        "perplexity",
        _after(torch.exp),
        "This is the exponential of the loss, a perplexity. Return the loss. (A perplexity of the "
        "smoothed loss is hard to interpret, too.)",
    ),
    Mistake(
        "shifted-again",
        _shifted_again,
        "logits and target are shifted against each other once more. They belong together "
        "already: position t of the logits predicts target t.",
    ),
    Mistake(
        "positions-mixed",
        _positions_mixed,
        "Logits and targets no longer belong to the same positions: one of them was transposed or "
        "reshaped in another order than the other. Flatten both alike, (B·n, V) and (B·n,).",
    ),
    Mistake(
        "one-entry",
        _after(lambda loss: loss.reshape(1)),
        "The loss has shape (1,). A scalar has no dimension, shape (): `sum()` and `mean()` give "
        "it.",
    ),
    Mistake(
        "with-count",
        _with_count,
        "The number of tokens is returned too. Return the loss alone.",
    ),
    Mistake("changes-logits", _then(lambda x, t, pad: x[..., pad].fill_(0.0)), _LOGITS_CHANGED),
    Mistake(
        "excludes-pad-in-logits", _then(lambda x, t, pad: x[..., pad].fill_(-1e9)), _LOGITS_CHANGED
    ),
    Mistake(
        "excludes-pad-in-logits-infinite",
        _then(lambda x, t, pad: x[..., pad].fill_(float("-inf"))),
        _LOGITS_CHANGED,
    ),
    Mistake(
        "subtracts-maximum-in-logits",
        _then(lambda x, t, pad: x.sub_(x.amax(-1, keepdim=True))),
        _LOGITS_CHANGED,
    ),
    Mistake(
        "changes-target", _then(lambda x, t, pad: t.masked_fill_(t == pad, -100)), _TARGET_CHANGED
    ),
    Mistake(
        "zeroes-pads-in-target",
        _then(lambda x, t, pad: t.masked_fill_(t == pad, 0)),
        _TARGET_CHANGED,
    ),
)

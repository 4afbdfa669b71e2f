"""`training.label_smoothing_loss` (section 5.4): cross-entropy against softened targets."""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, Gradient, Stage, call


def label_smoothing_loss(
    logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0
) -> Tensor:
    vocab_size = logits.size(-1)
    log_p = logits.log_softmax(-1)  # (B, n, V)
    share = eps / (vocab_size - 2)  # of each token that is neither the target nor pad
    q = torch.full_like(log_p, share)
    q.scatter_(-1, target[..., None], 1 - eps)
    q[..., pad_id] = 0.0
    loss = -(q * log_p).sum(-1)  # (B, n), the cross-entropy of each position
    real = target != pad_id
    return loss[real].mean()


def _by_terms(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
    """The target's share and the others', each from sums of log-probabilities."""
    log_p = torch.log_softmax(logits, dim=-1)
    of_target = log_p.gather(2, target.unsqueeze(2)).squeeze(2)
    others = log_p.sum(2) - of_target - log_p[:, :, pad_id]
    loss = -(1 - eps) * of_target - eps / (logits.size(2) - 2) * others
    mask = (target != pad_id).to(loss.dtype)
    return (loss * mask).sum() / mask.sum()


def _by_loops(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
    total, count = logits.new_zeros(()), 0
    batch, n, vocab_size = logits.shape
    for row in range(batch):
        for t in range(n):
            right = int(target[row, t])
            if right == pad_id:
                continue
            count += 1
            scores = logits[row, t]
            normaliser = torch.logsumexp(scores, dim=0)
            for token in range(vocab_size):
                if token == pad_id:
                    continue
                share = 1 - eps if token == right else eps / (vocab_size - 2)
                total = total + share * (normaliser - scores[token])
    return total / count


def _by_divergence(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
    """The annotated Transformer's criterion, with the entropy added that a divergence lacks."""
    real = target != pad_id
    log_p = F.log_softmax(logits[real], dim=-1)  # (tokens, V)
    q = torch.full_like(log_p, eps / (log_p.size(-1) - 2))
    q[torch.arange(log_p.size(0)), target[real]] = 1.0 - eps
    q[:, pad_id] = 0
    divergence = F.kl_div(log_p, q, reduction="sum")
    return (divergence - torch.xlogy(q, q).sum()) / real.sum()


def _by_cross_entropy(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
    one_hot = F.one_hot(target, logits.size(-1)).to(logits.dtype)
    other = torch.ones_like(one_hot)
    other[..., pad_id] = 0
    q = (1 - eps) * one_hot + eps / (logits.size(-1) - 2) * (other - one_hot)
    q = q * (target != pad_id).unsqueeze(-1)
    total = F.cross_entropy(logits.flatten(0, 1), q.flatten(0, 1), reduction="sum")
    return total / target.ne(pad_id).sum()


def _case(
    name: str,
    target: list[list[int]],
    vocab_size: int,
    *rest: object,
    scale: float = 1.0,
    positive: bool = False,
    isolates: str | None = None,
    stage: Stage = "main",
    dtype: torch.dtype | None = None,
    gradient: Gradient = "required",
) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        tokens = torch.tensor(target)
        logits = torch.randn((*tokens.shape, vocab_size), generator=generator, dtype=dtype)
        logits = scale * (logits.abs() if positive else logits)
        return call(logits, tokens, *rest)

    return Case(name, make, isolates=isolates, stage=stage, dtype=dtype, gradient=gradient)


CASES = (
    _case(
        "one real token, V = 5",
        [[3]],
        5,
        isolates="the distribution q and the cross-entropy against it: there is one token",
    ),
    _case(
        "one sentence of 3 tokens and a pad, V = 6",
        [[4, 2, 5, 0]],
        6,
        isolates="the mean: 3 of 4 positions count",
    ),
    _case(
        "one token, V = 4, eps 0",
        [[2]],
        4,
        0.0,
        isolates="the plain cross-entropy, since eps is 0",
    ),
    _case(
        "eps 0, sentences of 3 and 1 tokens",
        [[3, 5, 2], [6, 0, 0]],
        7,
        0.0,
        isolates="the mean alone: eps is 0, and 4 of 6 positions count",
    ),
    _case("logits (2, 3, 7), sentences of 3 and 1 tokens", [[3, 5, 2], [6, 0, 0]], 7),
    _case("logits (2, 4, 6), eps 0.3, no padding", [[5, 1, 3, 2], [4, 4, 1, 2]], 6, 0.3),
    _case("V = 3, eps 0.5", [[1, 2, 0], [2, 1, 2]], 3, 0.5),
    _case(
        "pad_id 2: token 0 is a word",
        [[0, 3, 1, 2], [4, 0, 2, 2]],
        5,
        0.2,
        2,
        isolates="pad_id",
    ),
    _case("pad_id 5, the last of 6 tokens", [[0, 5, 5], [3, 1, 4]], 6, 0.1, 5),
    _case("confident logits, (3, 2, 9)", [[3, 8], [1, 0], [2, 4]], 9, scale=3.0),
    _case("logits that are all positive", [[4, 1, 3], [2, 0, 0]], 5, positive=True),
    _case("one real token in a batch of (3, 4)", [[0] * 4, [0, 0, 6, 0], [0] * 4], 8, 0.25),
    _case("logits (4, 3, 11)", [[7, 9, 2], [10, 2, 0], [3, 4, 5], [2, 0, 0]], 11, 0.6),
    _case(
        "float32, logits (2, 3, 7)",
        [[3, 5, 2], [6, 2, 0]],
        7,
        stage="other",
        dtype=torch.float32,
    ),
)

LABEL_SMOOTHING_LOSS = Exercise(
    id="training.label_smoothing_loss",
    title="The smoothed loss",
    kind="code",
    difficulty=3,
    minutes=20,
    signature=(
        "label_smoothing_loss(logits: (B, n, V), target: LongTensor (B, n), eps: float = 0.1, "
        "pad_id: int = 0) -> scalar"
    ),
    statement=(
        "Cross-entropy against q: 1-eps on the target, eps/(V-2) on every other token except pad, "
        "0 on pad; the mean over non-pad targets. (The V-2 convention of the annotated "
        "Transformer, not Szegedy's eps/V.) The softmax goes over all V tokens. The result is a "
        "scalar in nats; at least one target is not pad. Gradients have to flow back to its "
        "inputs: it is trained through."
    ),
    objective="Write the loss of the paper's training, and know which of its variants one has.",
    prerequisite="training.shift_targets",
    hints=(
        "Take V = 5, pad 0, target 3, eps 0.1, and write down the five numbers of q. What do they "
        "sum to?",
        "The cross-entropy of one position is -(q * log p).sum(). Over which positions does the "
        "mean go, and by what number is the sum divided?",
        "`q = torch.full_like(log_p, eps / (V - 2))`, then 1 - eps at the target (`scatter_`), "
        "then 0 in the column of pad. Mean of -(q * log_p).sum(-1) where target != pad_id.",
    ),
    reference=label_smoothing_loss,
    explanation=(
        "V - 2 tokens share eps: all but the target, which has its 1 - eps, and pad, which is "
        "never an answer. So q sums to 1. Szegedy et al., whom the paper cites, spread eps/V over "
        "all tokens, target included (torch's `label_smoothing=` does that); in a large vocabulary "
        "the two hardly differ, in a test they do. KLDivLoss differs by the entropy of q, a "
        "constant: same gradients, another number. Padding must leave numerator and denominator: "
        "else the loss falls merely because a batch is padded more."
    ),
    cases=CASES,
    mistakes=page(__file__, label_smoothing_loss),
    alternatives=(_by_terms, _by_loops, _by_divergence, _by_cross_entropy),
    starter=(
        "def label_smoothing_loss(logits, target, eps=0.1, pad_id=0):\n"
        '    """logits (B, n, V), target (B, n) -> scalar, the mean over targets that are not '
        'pad."""\n'
        "    ...  # your code"
    ),
)

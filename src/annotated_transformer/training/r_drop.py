"""R-Drop: a sentence passes the model twice, and both answers should agree. A named departure.

Dropout makes two passes differ. Their disagreement, the Kullback-Leibler divergence between the two
predictions in both directions, is added to the loss (Liang et al., 2021, "R-Drop: Regularized
Dropout for Neural Networks"). With weight alpha and both passes' smoothed losses L_1 and L_2,
training goes down

    1/2 (L_1 + L_2 + alpha * 1/2 (KL(p_1 || p_2) + KL(p_2 || p_1))),

half of what the paper of R-Drop writes, so that alpha = 0 leaves the scale of a loss of one pass.
A step costs twice the time, and each batch twice the memory.
"""

from torch import Tensor

from annotated_transformer.data import Batch
from annotated_transformer.fast.shared_rows import SharedRowBatch


def twice(batch: Batch | SharedRowBatch) -> Batch | SharedRowBatch:
    """Every pair once more, behind all of them: dropout treats the copy in its own way."""
    if isinstance(batch, SharedRowBatch):
        return SharedRowBatch(batch.numbers.repeat(1, 2, 1), batch.indices)
    return Batch(batch.src.repeat(2, 1), batch.tgt.repeat(2, 1), batch.indices)


def in_pairs(rows: Tensor) -> Tensor:
    """The two passes of a position side by side.

    (2 * rows, ...), first all of the first pass and then all of the second, -> (2 * rows, ...),
    where rows 2i and 2i + 1 are position i of both.
    """
    return rows.view(2, -1, *rows.shape[1:]).transpose(0, 1).flatten(0, 1)


def disagreement(first: Tensor, second: Tensor) -> Tensor:
    """1/2 (KL(p_1 || p_2) + KL(p_2 || p_1)) of every row, from logits: the teaching path.

    Args:
        first: logits of the first pass, (..., V).
        second: of the second.

    Returns:
        (...), in nats; 0 where both agree.
    """
    first_logs, second_logs = first.log_softmax(-1), second.log_softmax(-1)  # (..., V)
    return ((first_logs.exp() - second_logs.exp()) * (first_logs - second_logs)).sum(-1) / 2


def add_disagreement(
    probabilities: Tensor, logits: Tensor, log_sums: Tensor, weight: float
) -> Tensor:
    """The disagreement of pairs of rows; its gradient is added to what stands for theirs.

    With g = log p_1 - log p_2 the gradient with respect to the first logits is
    1/2 (p_1 (g - sum p_1 g) + p_1 - p_2), and for the second the same with both exchanged.

    Args:
        probabilities: (2 * pairs, V), rows 2i and 2i + 1 of one position; `weight` times the
            gradient with respect to their logits is added in place.
        logits: (2 * pairs, V).
        log_sums: log of the sum of the exponentials of each row, (2 * pairs, 1).
        weight: alpha.

    Returns:
        A scalar, `weight` times the sum of `disagreement` over the pairs.
    """
    first, second = probabilities[::2], probabilities[1::2]  # (pairs, V)
    log_ratio = logits[::2] - logits[1::2] - (log_sums[::2] - log_sums[1::2])  # (pairs, V)
    forwards = (first * log_ratio).sum(1, True)  # (pairs, 1), KL(p_1 || p_2)
    backwards = -(second * log_ratio).sum(1, True)  # (pairs, 1), KL(p_2 || p_1)
    difference = first - second  # (pairs, V)
    of_first = first * (log_ratio - forwards) + difference
    of_second = -(second * (log_ratio + backwards) + difference)
    first.add_(of_first, alpha=weight / 2)
    second.add_(of_second, alpha=weight / 2)
    return weight / 2 * (forwards + backwards).sum()

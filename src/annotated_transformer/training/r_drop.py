"""R-Drop: a sentence passes the model twice, and both answers should agree. A named departure.

Dropout makes two passes differ. Their disagreement, the Kullback-Leibler divergence between the two
predictions in both directions, is added to the loss (Liang et al., 2021, "R-Drop: Regularized
Dropout for Neural Networks"). With weight alpha and both passes' smoothed losses L_1 and L_2,
training goes down

    1/2 (L_1 + L_2 + alpha * 1/2 (KL(p_1 || p_2) + KL(p_2 || p_1))),

half of what the paper of R-Drop writes, so that alpha = 0 leaves the scale of a loss of one pass.
A step costs twice the time, and each batch twice the memory. Training takes the divergence and its
gradient from `fast.projected_loss`.
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

"""The loss of training, with the projection to the vocabulary and with its own gradient.

It computes what `label_smoothing_loss` and `r_drop.disagreement` say, and never holds the logits of
more than a part of the positions.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

LOSS_CHUNK = 1024  # rows whose logits are made at a time
GPU_CHUNK = 16_384  # at most, on a GPU
IN_CACHE = 2**18  # numbers in float32 (1 MiB) that stay in a core's cache
SMALL_EPS = 1 / 16  # below it 1 - eps is so near to 1 that probabilities in 16 bits are too coarse


def projected_label_smoothing_loss(
    hidden: Tensor,
    weight: Tensor,
    target: Tensor,
    eps: float = 0.1,
    chunk: int | None = None,
    r_drop: float = 0.0,
    real: Tensor | None = None,
) -> Tensor:
    """The label smoothing loss of `hidden @ weight.T`, chunk by chunk.

    The gradient of each chunk is made while its logits are at hand, so the whole (rows, V) matrix
    never exists. The products run in the precision of `hidden`. The softmax is computed in float32
    and rounded to that precision; with R-Drop, and with an epsilon below 1/16, only its difference
    to the smoothed target is rounded. (Else a probability of 0.999 and the target 1 would be one.)

    Args:
        hidden: the decoder's output at the real positions, (rows, d_model).
        weight: the projection to the vocabulary, (V, d_model).
        target: the tokens to predict, (rows,), none of them padding.
        eps: epsilon_ls.
        chunk: rows at a time; None is `loss_chunk`.
        r_drop: above 0, rows 0 and 1, 2 and 3 and so on are one position each, passed through the
            model twice (`r_drop`), and their disagreement is added with this weight.
        real: bool, which rows count, (rows,); None: all.

    Returns:
        A scalar, the sum over the rows, in nats.

    Raises:
        ValueError: if rows or chunk are odd where they are to be pairs.
    """
    chunk = loss_chunk(hidden.device, len(hidden)) if chunk is None else chunk
    if r_drop and (len(hidden) % 2 or chunk % 2):
        raise ValueError(f"{len(hidden)} rows by {chunk} at a time: pairs need even numbers.")
    loss: Tensor = _ProjectedLoss.apply(  # type: ignore[no-untyped-call]
        hidden, weight, target, eps, chunk, r_drop, real
    )
    return loss


def loss_chunk(device: torch.device, rows: int) -> int:
    """Rows whose logits are made at a time.

    On a GPU more, because each chunk reads and writes the gradient of the whole table, and equally
    many in each.
    """
    if device.type != "cuda":
        return LOSS_CHUNK
    chunks = -(-rows // GPU_CHUNK)
    return 2 * -(-rows // (2 * max(1, chunks)))  # R-Drop wants pairs


class _ProjectedLoss(torch.autograd.Function):
    """Forward makes loss and gradients together; backward only scales them.

    To be deleted when the chunks of `torch.nn.functional.linear_cross_entropy` take label smoothing
    and every torch that this package allows has it: it is there since 2.13, but with
    label_smoothing above 0 it warns and makes the logits of all rows at once.
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        target: Tensor,
        eps: float,
        chunk: int,
        r_drop: float,
        real: Tensor | None,
    ) -> Tensor:
        if real is not None:  # rows of zeros add nothing to the gradient of the table
            hidden = hidden * real[:, None]
        table = weight.to(hidden.dtype)  # (V, d_model)
        vocab_size = table.size(0)
        accurate = torch.promote_types(hidden.dtype, torch.float32)
        mean_row = table.mean(0, dtype=accurate)  # (d_model,): its product is the mean logit
        # The uniform part takes eps / V from the gradient of every logit: here, all at once.
        uniform = -eps / vocab_size * hidden.sum(0, dtype=accurate)  # (d_model,)
        weight_gradient = uniform.expand(weight.shape).contiguous()
        hidden_gradient = torch.empty_like(hidden)
        loss = torch.zeros((), dtype=accurate, device=hidden.device)
        # Large blocks are taken once: fresh memory from the system is slower than these products.
        all_logits = hidden.new_empty(min(chunk, hidden.size(0)), vocab_size)
        product, summand = torch.empty_like(table), torch.empty_like(weight_gradient)
        for start in range(0, hidden.size(0), chunk):
            rows = hidden[start : start + chunk]  # (c, d_model)
            logits = torch.mm(rows, table.T, out=all_logits[: len(rows)])  # (c, V)
            answers = target[start : start + chunk]  # (c,)
            at_answers = torch.arange(len(rows), device=rows.device), answers
            of_answers = logits[at_answers].to(accurate)  # (c,)
            if r_drop or eps < SMALL_EPS:
                log_sums, weighted = _softmax_by_parts(logits, answers, eps - 1, r_drop)
                loss += weighted
            else:
                probabilities = torch.softmax(logits, -1, out=logits)  # in their place
                log_sums = _log_sums(probabilities, at_answers, of_answers, rows, table)  # (c,)
                logits[at_answers] += eps - 1
            answer_logs = of_answers - log_sums  # log p of the answer
            mean_logs = rows.to(accurate) @ mean_row - log_sums  # the mean of log p over all tokens
            of_rows = (1 - eps) * answer_logs + eps * mean_logs  # (c,)
            loss -= (of_rows if real is None else of_rows * real[start : start + chunk]).sum()
            if not any(ctx.needs_input_grad):
                continue
            # In the logits' place is now p - ((1 - eps) one-hot + eps / V), but for eps / V.
            torch.mm(logits, table, out=hidden_gradient[start : start + chunk])
            torch.mm(logits.T, rows, out=product)
            weight_gradient += summand.copy_(product)
        hidden_gradient -= (eps * mean_row).to(hidden.dtype)
        if real is not None:
            hidden_gradient *= real[:, None]
        ctx.save_for_backward(hidden_gradient, weight_gradient.to(weight.dtype))
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (scale,) = gradients
        hidden_gradient, weight_gradient = ctx.saved_tensors
        return (
            hidden_gradient * scale.to(hidden_gradient.dtype),
            weight_gradient * scale.to(weight_gradient.dtype),
            *(None,) * 5,
        )


def _log_sums(
    probabilities: Tensor,
    at_answers: tuple[Tensor, Tensor],
    of_answers: Tensor,
    rows: Tensor,
    table: Tensor,
) -> Tensor:
    """The log of the sum of the exponentials of each row's logits, (c,).

    It is logit - log p of any token. The answer's logit is at hand. Where its p is rounded to 0,
    the logit of the most probable token is made once more. A GPU is not asked for that, because it
    would be to wait for all that it has been given to do: there the smallest p counts.

    Args:
        probabilities: (c, V).
        at_answers: where in them the tokens to predict are: the numbers of rows and of tokens,
            (c,) each.
        of_answers: the logits of those, (c,).
        rows: times `table` gave the logits, (c, d_model).
        table: (V, d_model).
    """
    accurate = of_answers.dtype
    of_softmax = probabilities[at_answers].to(accurate)
    smallest = torch.finfo(probabilities.dtype).tiny  # what is smaller has fewer digits
    if of_softmax.device.type != "cpu" or of_softmax.min() >= smallest:
        return of_answers - of_softmax.clamp_min(smallest).log()
    largest, likeliest = probabilities.max(1)  # (c,)
    of_likeliest = (rows.to(accurate) * table[likeliest]).sum(1).to(rows.dtype)  # as they were
    return of_likeliest - largest.to(accurate).log()


def _softmax_by_parts(
    logits: Tensor, answers: Tensor, pull: float, weight: float
) -> tuple[Tensor, Tensor]:
    """The softmax in the logits' place, with what is added to it before it is rounded.

    It is made in float32 at least, a few rows at a time.

    Args:
        logits: (rows, V). Overwritten by their softmax, plus `pull` at the answers, plus `weight`
            times the gradient of `disagreement` with respect to them.
        answers: token numbers, (rows,).
        pull: label smoothing's, epsilon - 1.
        weight: alpha. Above 0, rows 2i and 2i + 1 are of one position.

    Returns:
        The log of the sum of the exponentials of each row, (rows,), and `weight` times the sum of
        `disagreement` over the pairs.
    """
    vocab_size = logits.size(1)
    at_once = LOSS_CHUNK
    if logits.device.type == "cpu":
        at_once = max(2, IN_CACHE // vocab_size // 2 * 2)
    accurate = torch.promote_types(logits.dtype, torch.float32)
    log_sums, weighted = [], torch.zeros((), dtype=accurate, device=logits.device)
    parts = zip(torch.split(logits, at_once), torch.split(answers, at_once), strict=True)
    for part, of_part in parts:
        exact = part.to(accurate)  # (r, V)
        probabilities = exact.softmax(-1)
        # logit - log p of any token; the largest p is never rounded to 0
        log_sum = exact.amax(1, True) - probabilities.amax(1, True).log()  # (r, 1)
        if weight:
            weighted += add_disagreement(probabilities, exact, log_sum, weight)
        probabilities[torch.arange(len(part), device=part.device), of_part] += pull
        part.copy_(probabilities)
        log_sums.append(log_sum.squeeze(1))
    return torch.cat(log_sums), weighted


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

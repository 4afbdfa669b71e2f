"""Label smoothing (section 5.4): the target gets 1 - epsilon, the rest is shared by all tokens.

Two functions compute the same loss. `label_smoothing_loss` is written to be read.
`projected_label_smoothing_loss` is what training runs: it takes the projection to the vocabulary
in, and never holds the logits of more than about a thousand positions. A test holds them together.
"""

from typing import Any

import torch
from torch import Tensor

from annotated_transformer.training.r_drop import add_disagreement

LOSS_CHUNK = 1024  # rows whose logits are made at a time
IN_CACHE = 2**18  # numbers in float32 (1 MiB) that stay in a core's cache while a softmax is made


def label_smoothing_loss(
    logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0
) -> Tensor:
    """Cross-entropy against (1 - eps) * one-hot + eps / V, the mean over real tokens.

    The uniform part includes every token, as in Szegedy et al. (2016), which section 5.4 cites. The
    exercise `training.label_smoothing_loss` asks for another convention, that of The Annotated
    Transformer: eps / (V - 2) for every token but the target and padding.

    Args:
        logits: (batch, n, V).
        target: token numbers (batch, n); positions that hold `pad_id` do not count.
        eps: epsilon_ls; 0 gives the plain cross-entropy.

    Returns:
        A scalar, in nats per token.
    """
    log_probabilities = logits.log_softmax(-1)  # (batch, n, V)
    of_target = -log_probabilities.gather(-1, target[..., None]).squeeze(-1)  # (batch, n)
    of_uniform = -log_probabilities.mean(-1)  # (batch, n)
    loss = (1 - eps) * of_target + eps * of_uniform
    real = target != pad_id
    return (loss * real).sum() / real.sum()


def projected_label_smoothing_loss(
    hidden: Tensor,
    weight: Tensor,
    target: Tensor,
    eps: float = 0.1,
    chunk: int = LOSS_CHUNK,
    r_drop: float = 0.0,
) -> Tensor:
    """The label smoothing loss of `hidden @ weight.T`, chunk by chunk.

    The gradient of each chunk is made while its logits are at hand, so the whole (rows, V) matrix
    never exists. The products run in the precision of `hidden`, the softmax in float32.

    Args:
        hidden: the decoder's output at the real positions, (rows, d_model).
        weight: the projection to the vocabulary, (V, d_model).
        target: the tokens to predict, (rows,), none of them padding.
        eps: epsilon_ls.
        chunk: rows at a time.
        r_drop: above 0, rows 0 and 1, 2 and 3 and so on are one position each, passed through the
            model twice (`r_drop`), and their disagreement is added with this weight.

    Returns:
        A scalar, the sum over the rows, in nats.

    Raises:
        ValueError: if rows or chunk are odd where they are to be pairs.
    """
    if r_drop and (len(hidden) % 2 or chunk % 2):
        raise ValueError(f"{len(hidden)} rows by {chunk} at a time: pairs need even numbers.")
    loss: Tensor = _ProjectedLoss.apply(  # type: ignore[no-untyped-call]
        hidden, weight, target, eps, chunk, r_drop
    )
    return loss


def rows_in_cache(vocab_size: int) -> int:
    """How many rows of a softmax a core's cache holds, an even number: pairs stay whole."""
    return max(2, IN_CACHE // vocab_size // 2 * 2)


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
    ) -> Tensor:
        table = weight.to(hidden.dtype)  # (V, d_model)
        vocab_size = table.size(0)
        accurate = torch.float64 if hidden.dtype == torch.float64 else torch.float32
        mean_row = table.mean(0, dtype=accurate)  # (d_model,): its product is the mean logit
        hidden_gradient = torch.empty_like(hidden)
        weight_gradient = torch.zeros_like(weight, dtype=accurate)
        loss = torch.zeros((), dtype=accurate, device=hidden.device)
        most = min(chunk, hidden.size(0))
        at_once = min(most, rows_in_cache(vocab_size)) if hidden.device.type == "cpu" else most
        # Large blocks are taken once: fresh memory from the system is slower than these products.
        all_logits = hidden.new_empty(most, vocab_size)
        scratch = hidden.new_empty(at_once, vocab_size, dtype=accurate)
        product, summand = torch.empty_like(table), torch.empty_like(weight_gradient)
        for start in range(0, hidden.size(0), chunk):
            rows = hidden[start : start + chunk]  # (c, d_model)
            logits = torch.mm(rows, table.T, out=all_logits[: len(rows)])  # (c, V)
            mean_logits = rows.to(accurate) @ mean_row[:, None]  # (c, 1)
            answers = target[start : start + chunk, None]  # (c, 1)
            loss += _logits_to_gradient(logits, mean_logits, answers, eps, scratch, r_drop)
            if not any(ctx.needs_input_grad):
                continue
            logits_gradient = logits  # it was written in their place
            torch.mm(logits_gradient, table, out=hidden_gradient[start : start + chunk])
            torch.mm(logits_gradient.T, rows, out=product)
            weight_gradient += summand.copy_(product)
        # The uniform part takes eps / V from the gradient of every logit: here, all at once.
        hidden_gradient -= (eps * mean_row).to(hidden.dtype)
        weight_gradient -= eps / vocab_size * hidden.sum(0, dtype=accurate)
        ctx.save_for_backward(hidden_gradient, weight_gradient.to(weight.dtype))
        return loss

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (scale,) = gradients
        hidden_gradient, weight_gradient = ctx.saved_tensors
        return (
            hidden_gradient * scale.to(hidden_gradient.dtype),
            weight_gradient * scale.to(weight_gradient.dtype),
            None,
            None,
            None,
            None,
        )


def _logits_to_gradient(
    logits: Tensor,
    mean_logits: Tensor,
    answers: Tensor,
    eps: float,
    scratch: Tensor,
    r_drop: float,
) -> Tensor:
    """The loss of some rows; their logits are overwritten by its gradient with respect to them.

    One term is left out of the gradient, - eps / V, which is the same for every logit.

    Args:
        logits: (c, V).
        mean_logits: of each row, more exactly than from `logits`: (c, 1).
        answers: the tokens to predict, (c, 1).
        scratch: room for the softmax of r rows at a time, (r, V).
        r_drop: weight of the disagreement between the two rows of a pair; 0 where rows are no
            pairs.

    Returns:
        A scalar, the sum over the rows.
    """
    of_answers = logits.gather(1, answers).to(scratch.dtype)  # (c, 1)
    largest, largest_probability = torch.empty_like(of_answers), torch.empty_like(of_answers)
    taken_off = of_answers.new_full((len(scratch), 1), eps - 1)
    disagreement = of_answers.new_zeros(())
    by_part = (
        torch.split(x, len(scratch)) for x in (logits, answers, largest, largest_probability)
    )
    for part, part_answers, most, most_probable in zip(*by_part, strict=True):
        numbers = scratch[: len(part)].copy_(part)  # (r, V)
        torch.amax(numbers, 1, True, out=most)
        probabilities = torch.softmax(numbers, -1, out=numbers)  # in their place
        torch.amax(probabilities, 1, True, out=most_probable)
        if r_drop:
            log_sum = most - most_probable.log()
            disagreement += add_disagreement(probabilities, part, log_sum, weight=r_drop)
        # d loss / d logits = p - ((1 - eps) one-hot + eps / V)
        probabilities.scatter_add_(1, part_answers, taken_off[: len(part)])
        part.copy_(probabilities)
    # log p = logit - log_sum; the largest p tells log_sum, for it is never rounded to 0.
    log_sums = largest - largest_probability.log()  # (c, 1)
    answer_logs = of_answers - log_sums  # (c, 1), log p of the answer
    mean_logs = mean_logits - log_sums  # (c, 1), the mean of log p over all tokens
    return disagreement - ((1 - eps) * answer_logs + eps * mean_logs).sum()

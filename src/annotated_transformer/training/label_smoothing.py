"""Label smoothing (section 5.4): the target gets 1 - epsilon, the rest is shared by all tokens.

The function is written to be read. Training runs `fast.projected_loss`, which computes the same
number; a test holds them together.
"""

from torch import Tensor


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

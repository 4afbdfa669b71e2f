"""Drawing the next token by chance: temperature, top-k and top-p.

The paper only searches (section 6.1). Sampling is how language models are used since: each token is
drawn from the model's probabilities, after these have been sharpened and their tail cut off. Top-k
is that of Fan, Lewis and Dauphin (2018), top-p ("nucleus") of Holtzman and others (2020).
"""

import math

import torch
from torch import Tensor

from annotated_transformer.attention import softmax
from annotated_transformer.config import MAX_EXTRA
from annotated_transformer.decoding.decode import one_by_one
from annotated_transformer.transformer import Transformer


@torch.inference_mode()
def sample_decode(
    model: Transformer,
    src: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
    max_extra: int = MAX_EXTRA,
    use_cache: bool = True,
    prefix: Tensor | None = None,
) -> Tensor:
    """Draw each next token from the probabilities that the settings leave.

    They act in this order: temperature, top-k, top-p. Equal sources in one batch are drawn
    independently, so a sentence repeated n times gives n samples.

    Args:
        src: source tokens (batch, n_src), padded.
        temperature: logits are divided by it. Below 1 the probable becomes more probable; towards 0
            this is greedy decoding.
        top_k: only the k most probable tokens stay. None: all.
        top_p: only the most probable tokens stay that together have this much of the probability.
            None: all.
        generator: where the chance comes from; the same seed, batch and settings give the same
            tokens. None: PyTorch's own.
        max_extra: a sentence gets at most source length + max_extra tokens; padding is no length.
        use_cache: False decodes every prefix anew.
        prefix: what each translation must begin with, (batch, n_prefix), padded.

    Returns:
        Integers (batch, length): bos, the tokens, eos, then padding.

    Raises:
        ValueError: if temperature is not above 0, top_k below 1 or top_p not in (0, 1], if prefix
            is refused (`decode.forced_tokens`), or if max_extra leaves a sentence no token.
        FloatingPointError: if the model's output is not a number.
    """
    if not 0 < temperature < math.inf:
        raise ValueError(
            f"temperature {temperature} was given and must be above 0: towards 0 sampling becomes "
            "greedy_decode."
        )
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k {top_k} was given and at least 1 token must stay.")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p {top_p} was given and must be above 0 and at most 1.")

    def draw(logits: Tensor) -> Tensor:
        """(live, vocab) -> (live,)."""
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        divisor = max(temperature, torch.finfo(logits.dtype).tiny)  # else 0 / 0
        logits = (logits - logits.amax(dim=-1, keepdim=True)) / divisor  # no overflow
        if top_k is not None:
            logits = keep_top_k(logits, top_k)
        if top_p is not None:
            logits = keep_top_p(logits, top_p)
        return torch.multinomial(softmax(logits), 1, generator=generator)[:, 0]

    return one_by_one(model, src, draw, max_extra, use_cache, prefix)


def keep_top_k(logits: Tensor, k: int) -> Tensor:
    """All but the k largest of each row go to minus infinity, which is probability 0.

    Whatever equals the k-th largest stays too.

    Args:
        logits: (..., vocab).
        k: at least 1; a k beyond the vocabulary keeps everything.
    """
    smallest_kept = logits.topk(min(k, logits.shape[-1])).values[..., -1:]  # (..., 1)
    return logits.masked_fill(logits < smallest_kept, -math.inf)


def keep_top_p(logits: Tensor, p: float) -> Tensor:
    """The smallest set of most probable tokens with probability p or more stays.

    A token stays if those before it, in falling order, have less than p: the most probable one
    always does.

    Args:
        logits: (..., vocab).
        p: above 0, at most 1.
    """
    if p == 1:
        return logits
    falling, order = logits.sort(dim=-1, descending=True)  # (..., vocab)
    probabilities = softmax(falling.double())  # sums of so many do not keep float32's digits
    before = probabilities.cumsum(dim=-1) - probabilities  # (..., vocab), of those in front
    cut = before >= p  # (..., vocab), in falling order
    cut = cut.scatter(-1, order, cut)  # the same, each at its own token
    return logits.masked_fill(cut, -math.inf)

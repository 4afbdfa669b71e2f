"""Wrong answers of outsiders about the decoder, each with two mistakes."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

Network = Callable[[Tensor], Tensor]
Attention = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def no_residual_at_cross_attention_norms_swapped(
    x: Tensor,
    memory: Tensor,
    tgt_mask: Tensor,
    src_mask: Tensor,
    self_attn: Attention,
    cross_attn: Attention,
    ffn: Network,
    norms: Sequence[Network],
) -> Tensor:
    """No residual goes round cross-attention.
    The last two norms have changed places."""
    n1, n3, n2 = norms
    h = n1(x + self_attn(x, x, x, tgt_mask))
    h = n2(cross_attn(h, memory, memory, src_mask))
    return n3(h + ffn(h))


def asks_with_the_input_and_skips_too_far(
    x: Tensor,
    memory: Tensor,
    tgt_mask: Tensor,
    src_mask: Tensor,
    self_attn: Attention,
    cross_attn: Attention,
    ffn: Network,
    norms: Sequence[Network],
) -> Tensor:
    """The query of cross-attention is the layer's input, not what self-attention made.
    The last residual starts before cross-attention instead of after it."""
    after_self = norms[0](x + self_attn(x, x, x, tgt_mask))
    after_cross = norms[1](after_self + cross_attn(x, memory, memory, src_mask))
    return norms[2](after_self + ffn(after_cross))


def last_word_changed_first_output_read(decode: Network, x: Tensor) -> bool:
    """Changes the last word only, not every later one.
    Looks at the first position only, not at all earlier ones."""
    if x.shape[1] < 2:
        return False
    y = x.clone()
    y[:, -1] = torch.randn_like(y[:, -1])
    gap = decode(y)[:, 0] - decode(x)[:, 0]
    return bool((gap.abs() > 1e-6).any())


def shifted_alike_and_too_tolerant(decode: Network, x: Tensor) -> bool:
    """Adds the same number to all features, which a layer norm takes away.
    Calls everything below 0.01 rounding."""
    with torch.no_grad():
        ref = decode(x)
        for t in range(1, x.shape[1]):
            bumped = x.clone()
            bumped[:, t:, :] += 1.0
            if not torch.allclose(decode(bumped)[:, :t], ref[:, :t], rtol=0, atol=1e-2):
                return True
    return False


ANSWERS: dict[str, list[Callable[..., object]]] = {
    "decoder.layer": [
        no_residual_at_cross_attention_norms_swapped,
        asks_with_the_input_and_skips_too_far,
    ],
    "decoder.leaks_future": [
        last_word_changed_first_output_read,
        shifted_alike_and_too_tolerant,
    ],
}

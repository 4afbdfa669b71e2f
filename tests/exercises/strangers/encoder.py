"""Wrong answers of outsiders about the encoder, each with two mistakes."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

Network = Callable[[Tensor], Tensor]
Attention = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def root_of_vocabulary_and_silent_padding(tokens: Tensor, table: Tensor, pe: Tensor) -> Tensor:
    """Scales by the root of the number of words instead of the width.
    Token 0 is embedded as zeros, as padding."""
    scale = len(table) ** 0.5
    e = table[tokens] * scale
    e = e * (tokens != 0).unsqueeze(-1)
    return e + pe[: tokens.shape[1]].unsqueeze(0)


def frozen_and_scaled_with_positions(tokens: Tensor, table: Tensor, pe: Tensor) -> Tensor:
    """Scales the sum: the positions are multiplied too.
    The table is loaded as frozen, no gradient comes back to it."""
    lookup = nn.Embedding.from_pretrained(table)  # type: ignore[no-untyped-call]
    n, d = tokens.shape[1], table.shape[1]
    return (lookup(tokens) + pe[:n]) * d**0.5


def bias_after_relu_with_residual(
    x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor
) -> Tensor:
    """The first bias is added after the ReLU.
    x is added to the result."""
    h = torch.matmul(x, w1).clamp(min=0)
    h = h + b1
    return x + (torch.matmul(h, w2) + b2)


def gelu_without_second_bias(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
    """GELU, as in BERT, instead of ReLU.
    The second bias is forgotten."""
    inner = nn.functional.gelu(torch.einsum("...d,df->...f", x, w1) + b1)
    return torch.einsum("...f,fd->...d", inner, w2)


def norm_before_residual_mask_turned(
    x: Tensor, mask: Tensor, self_attn: Attention, ffn: Network, norms: Sequence[Network]
) -> Tensor:
    """Normalises what the sub-layer returns, and adds x only then.
    Turns the mask round, as if True meant hidden."""
    a = self_attn(x, x, x, ~mask)
    h = x + norms[0](a)
    return h + norms[1](ffn(h))


def residual_from_the_start_one_norm_twice(
    x: Tensor, mask: Tensor, self_attn: Attention, ffn: Network, norms: Sequence[Network]
) -> Tensor:
    """The second residual comes from the layer's input, not from between.
    The first norm is used both times."""
    norm = norms[0]
    skip = x
    x = norm(skip + self_attn(x, x, x, mask))
    x = norm(skip + ffn(x))
    return x


def sample_std_plus_eps(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-6) -> Tensor:
    """The deviation is that of a sample: divided by d - 1.
    eps is added to the root, not under it."""
    mu = x.mean(-1, keepdim=True)
    sigma = x.std(-1, keepdim=True)
    return gamma * (x - mu) / (sigma + eps) + beta


def one_mean_for_all_shift_before_gain(
    x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-6
) -> Tensor:
    """One mean and one variance for the whole tensor.
    The shift is added before the gain multiplies."""
    mu = x.mean()
    centred = x - mu
    var = centred.pow(2).mean()
    return gamma * (centred * torch.rsqrt(var + eps) + beta)


def no_path_through_variance_sample_variance(x: Tensor, grad: Tensor, eps: float) -> Tensor:
    """Forgets that the variance depends on x as well.
    The variance is divided by d - 1."""
    std = (torch.var(x, dim=1, keepdim=True) + eps) ** 0.5
    g = grad / std
    return g - g.mean(dim=1, keepdim=True)


def no_path_through_mean_raw_deviation(x: Tensor, grad: Tensor, eps: float) -> Tensor:
    """Forgets that the mean depends on x as well.
    Takes x - mean in the variance's path, not divided by the root."""
    rows = []
    for row, g in zip(x, grad, strict=True):
        dev = row - row.mean()
        inv = 1.0 / torch.sqrt((dev * dev).mean() + eps)
        rows.append(inv * (g - dev * (g * dev).mean()))
    return torch.stack(rows)


def signed_and_padding_counts(encode: Network, tokens: Tensor, extra: int) -> float:
    """The largest signed change, without the absolute value.
    Padding that was there already counts too."""
    b, n = tokens.shape
    pad = torch.zeros((b, extra), dtype=tokens.dtype)
    with_pad = encode(torch.hstack([tokens, pad]))
    without = encode(tokens)
    return (with_pad[:, :n, :] - without).max().item()


def mean_of_the_first_sentence(encode: Network, tokens: Tensor, extra: int) -> float:
    """The mean of the changes instead of the largest.
    Looks at the first sentence of the batch alone."""
    longer = nn.functional.pad(tokens, (0, extra), value=0)
    short_out = encode(tokens)[0]
    long_out = encode(longer)[0]
    diffs = []
    for t, token in enumerate(tokens[0].tolist()):
        if token != 0:
            diffs.append((long_out[t] - short_out[t]).abs().mean())
    return float(sum(diffs) / len(diffs))


def pre_norm_with_sample_variance(
    x: Tensor, sublayer: Network, gamma: Tensor, beta: Tensor, eps: float = 1e-6
) -> Tensor:
    """Pre-norm: the sub-layer gets the normalised x, the sum stays as it is.
    The variance is divided by d - 1."""
    m = x.mean(dim=2, keepdim=True)
    v = x.var(dim=2, keepdim=True)
    normed = (x - m) / (v + eps).sqrt() * gamma + beta
    return x + sublayer(normed)


def residual_outside_gain_and_shift_swapped(
    x: Tensor, sublayer: Network, gamma: Tensor, beta: Tensor, eps: float = 1e-6
) -> Tensor:
    """Normalises what the sub-layer returns, and adds x only then.
    gamma and beta have changed places."""
    y = sublayer(x)
    y = y - y.mean(-1, keepdim=True)
    y = y / torch.sqrt(torch.mean(y**2, -1, keepdim=True) + eps)
    return x + beta * y + gamma


ANSWERS: dict[str, list[Callable[..., object]]] = {
    "encoder.embed": [root_of_vocabulary_and_silent_padding, frozen_and_scaled_with_positions],
    "encoder.feed_forward": [bias_after_relu_with_residual, gelu_without_second_bias],
    "encoder.layer": [
        norm_before_residual_mask_turned,
        residual_from_the_start_one_norm_twice,
    ],
    "encoder.layer_norm": [sample_std_plus_eps, one_mean_for_all_shift_before_gain],
    "encoder.layer_norm_backward": [
        no_path_through_variance_sample_variance,
        no_path_through_mean_raw_deviation,
    ],
    "encoder.padding_leak": [signed_and_padding_counts, mean_of_the_first_sentence],
    "encoder.sublayer_connection": [
        pre_norm_with_sample_variance,
        residual_outside_gain_and_shift_swapped,
    ],
}

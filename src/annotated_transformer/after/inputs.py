"""Queries, keys and values before attention, and what acts on them there.

Each part takes `AttentionInputs` and gives them back, so that any of them stand one behind the
other.

Where a query and a key stand is read off the mask, and so their distance is right in padded
batches, in rows that several sentences share, and in a cache that holds the tokens of all
hypotheses: **keys that a query may see are counted, others are not**, and the queries' own keys are
the last.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor, nn

from annotated_transformer.after.norms import RMSNorm


class Places:
    """Where queries and keys of one text stand, as the mask tells it; counted when asked for.

    Args:
        mask: as in `AttentionInputs`, before any part has narrowed it.
        n_queries: the last so many keys are theirs; fewer than all where a decoder writes.
        n_keys: how many keys.
        device: of the result.
    """

    def __init__(
        self, mask: Tensor | None, n_queries: int, n_keys: int, device: torch.device
    ) -> None:
        self._mask, self._device = mask, device
        self._n_queries, self._n_keys = n_queries, n_keys

    @cached_property
    def of_keys(self) -> Tensor:
        """Integers (batch or 1, 1, n_keys), from 0; of what nobody may see they mean nothing.

        A text that is read at once has a query for every key, and a key counts if anybody sees it:
        `a b . .` with padding behind stands at 0, 1. A cache holds the tokens of several
        hypotheses, of which each query sees its own: `a b c b c` of two stands at 0, 1, 1, 2, 2.
        """
        if self._mask is None:
            return torch.arange(self._n_keys, device=self._device)[None, None]
        shown = self._mask.expand(*self._mask.shape[:-1], self._n_keys)
        shown = shown.view(-1, 1, *shown.shape[-2:]) if shown.dim() < 4 else shown
        if self._n_queries == self._n_keys:
            return shown.any(-2).cumsum(-1) - 1
        rank = shown.cumsum(-1) - 1  # (batch, 1, n_queries or 1, n_keys)
        return rank.masked_fill(~shown, self._n_keys).amin(-2)

    @property
    def of_queries(self) -> Tensor:
        """(batch or 1, 1, n_queries)."""
        return self.of_keys[..., self._n_keys - self._n_queries :]

    @property
    def distance(self) -> Tensor:
        """How many positions lie between query and key, (batch or 1, 1, n_queries, n_keys)."""
        return (self.of_queries[..., :, None] - self.of_keys[..., None, :]).abs()


@dataclass(frozen=True)
class AttentionInputs:
    """What attention is about to be computed of.

    Attributes:
        queries: (batch, num_heads, n_queries, d_k).
        keys: (batch, heads of keys, n_keys, d_k).
        values: (batch, heads of keys, n_keys, d_v).
        mask: bool, broadcastable to (batch, num_heads, n_queries, n_keys), True = may attend; None
            hides nothing.
        places: where queries and keys stand; of cross-attention nobody asks.
        bias: added to the scores, broadcastable to (batch, num_heads, n_queries, n_keys).
    """

    queries: Tensor
    keys: Tensor
    values: Tensor
    mask: Tensor | None
    places: Places
    bias: Tensor | None = None


class Rotary(nn.Module):
    """Rotary positions: queries and keys are turned pair by pair, the further on the more.

    Pair i of columns is turned by pos · base^(-2i / d_k), the angles of section 3.5; the product of
    a query with a key then depends on the distance alone. Source: Su et al. (2021), who pair
    neighbouring columns, as we do.

    Args:
        d_k: width of a query and of a key, even.
        stretch: "linear" divides the places by `factor` (Chen et al., 2023); "ntk" takes the base
            base · factor^(d_k / (d_k - 2)), which leaves the fastest pair as it is and turns the
            slowest `factor` times as slowly.
        factor: 1 changes nothing.
        base: 10000, as in section 3.5.
    """

    def __init__(
        self, d_k: int, stretch: str = "linear", factor: float = 1.0, base: float = 10_000.0
    ) -> None:
        super().__init__()
        self.squeeze = factor if stretch == "linear" else 1.0
        if stretch == "ntk" and d_k > 2:
            base *= factor ** (d_k / (d_k - 2))
        even = torch.arange(0, d_k, 2, dtype=torch.float64)
        speeds = (base ** (-even / d_k)).float()  # (d_k / 2,)
        self.register_buffer("speeds", speeds, persistent=False)

    speeds: Tensor

    def forward(self, inputs: AttentionInputs) -> AttentionInputs:
        """Turn the queries and the keys; the values are left alone."""
        return replace(
            inputs,
            queries=self.turn(inputs.queries, inputs.places.of_queries),
            keys=self.turn(inputs.keys, inputs.places.of_keys),
        )

    def turn(self, x: Tensor, at: Tensor) -> Tensor:
        """x (batch, heads, n, d_k), whose n stand at (batch or 1, 1, n)."""
        angle = (at / self.squeeze)[..., None] * self.speeds  # (batch or 1, 1, n, d_k / 2)
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        first, second = x[..., 0::2], x[..., 1::2]
        turned = [first * cos - second * sin, first * sin + second * cos]
        return torch.stack(turned, dim=-1).flatten(-2)


class Alibi(nn.Module):
    """Attention with linear biases: from each score the distance times the head's slope is taken.

    Nothing is learned. With h heads, a power of 2, the slopes are 2^(-8/h), 2^(-16/h), ...; else
    those of the next smaller power, and between them those of the next larger one. Source: Press et
    al. (2021); in an encoder the distance to both sides counts.
    """

    def __init__(self, num_heads: int) -> None:
        super().__init__()
        self.register_buffer("slopes", alibi_slopes(num_heads), persistent=False)  # (h,)

    slopes: Tensor

    def forward(self, inputs: AttentionInputs) -> AttentionInputs:
        """Lower the scores of what is far."""
        penalty = (
            self.slopes[:, None, None] * inputs.places.distance
        )  # (batch, h, n_queries, n_keys)
        return replace(inputs, bias=-penalty.to(inputs.queries.dtype))


def alibi_slopes(num_heads: int) -> Tensor:
    """The slopes of ALiBi's heads, (num_heads,)."""
    power = 2 ** int(math.log2(num_heads))
    slopes = [2 ** (-8 * number / power) for number in range(1, power + 1)]
    between = [2 ** (-4 * number / power) for number in range(1, 2 * power + 1, 2)]
    return torch.tensor(slopes + between[: num_heads - power])


class QKNorm(nn.Module):
    """RMSNorm of each query and each key: scores cannot grow with their lengths.

    Source: Henry et al. (2020); with RMSNorm and gains, later models.
    """

    def __init__(self, d_k: int, eps: float) -> None:
        super().__init__()
        self.query_norm, self.key_norm = RMSNorm(d_k, eps), RMSNorm(d_k, eps)

    def forward(self, inputs: AttentionInputs) -> AttentionInputs:
        """Normalise; values are left alone."""
        queries, keys = self.query_norm(inputs.queries), self.key_norm(inputs.keys)
        return replace(inputs, queries=queries, keys=keys)


class Window(nn.Module):
    """A query sees keys fewer than `width` positions away, itself among them.

    The first `everywhere` positions see all that the mask allows and are seen by all. By a mask, so
    that what is seen is right and nothing is saved; `experiments.restricted` saves it. Source:
    Beltagy et al. (2020).
    """

    def __init__(self, width: int, everywhere: int = 0) -> None:
        super().__init__()
        self.width, self.everywhere = width, everywhere

    def forward(self, inputs: AttentionInputs) -> AttentionInputs:
        """Hide what is far."""
        seen = inputs.places.distance < self.width
        seen |= (inputs.places.of_queries < self.everywhere)[..., :, None]
        seen |= (inputs.places.of_keys < self.everywhere)[..., None, :]
        return replace(inputs, mask=seen if inputs.mask is None else seen & inputs.mask)


class SharedKeys(nn.Module):
    """Each head of keys and values serves several heads of queries that stand side by side.

    Multi-query attention where there is one (Shazeer, 2019), grouped-query attention where there
    are some (Ainslie et al., 2023).
    """

    def forward(self, inputs: AttentionInputs) -> AttentionInputs:
        """Give every query head its keys and values."""
        each = inputs.queries.size(1) // inputs.keys.size(1)
        keys = inputs.keys.repeat_interleave(each, dim=1)
        return replace(inputs, keys=keys, values=inputs.values.repeat_interleave(each, dim=1))

"""Queries, keys and values about to meet, and what acts on them before they do.

Each part takes a `Meeting` and gives one back, so that any of them stand one behind the other.

Where a query and a key stand is read off the mask, and so it is right in padded batches, in rows
that several sentences share, and in a cache that holds the tokens of all hypotheses: **a key stands
where it comes among those that a query may see**, and the queries' own keys are the last.
"""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from annotated_transformer.after.norms import RMSNorm


@dataclass(frozen=True)
class Meeting:
    """What attention is about to be computed of.

    Attributes:
        queries: (batch, num_heads, n_queries, d_k).
        keys: (batch, heads of keys, n_keys, d_k).
        values: (batch, heads of keys, n_keys, d_v).
        mask: bool, broadcastable to (batch, num_heads, n_queries, n_keys), True = may attend; None
            hides nothing.
        query_at: where each query stands in its text, (batch or 1, 1, n_queries).
        key_at: where each key stands, (batch or 1, 1, n_keys).
        bias: added to the scores, broadcastable to (batch, num_heads, n_queries, n_keys).
    """

    queries: Tensor
    keys: Tensor
    values: Tensor
    mask: Tensor | None
    query_at: Tensor
    key_at: Tensor
    bias: Tensor | None = None

    @property
    def distance(self) -> Tensor:
        """How many positions lie between query and key, (batch or 1, 1, n_queries, n_keys)."""
        return (self.query_at[..., :, None] - self.key_at[..., None, :]).abs()


def places_of(
    mask: Tensor | None, n_queries: int, n_keys: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Where queries and keys of one text stand, as the mask tells it.

    Args:
        mask: as in `Meeting`.
        n_queries: the last so many keys are theirs; fewer than all where a decoder writes.
        n_keys: how many keys.
        device: of the result.

    Returns:
        Integers (batch or 1, 1, n_queries) and (batch or 1, 1, n_keys), counted from 0. What nobody
        may see stands anywhere.
    """
    if mask is None:
        key_at = torch.arange(n_keys, device=device)[None, None]
    else:
        shown = mask.expand(*mask.shape[:-1], n_keys)
        shown = shown.view(-1, 1, *shown.shape[-2:]) if shown.dim() < 4 else shown
        rank = shown.cumsum(-1) - 1  # (batch, 1, n_queries or 1, n_keys)
        # Padding may see several sentences of a row: for it a key comes later than for its own.
        key_at = rank.masked_fill(~shown, n_keys).amin(-2)
    return key_at[..., n_keys - n_queries :], key_at


class Turned(nn.Module):
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
        self.register_buffer(
            "speeds", (base ** (-even / d_k)).float(), persistent=False
        )  # (d_k / 2,)

    speeds: Tensor

    def forward(self, meeting: Meeting) -> Meeting:
        """Turn the queries and the keys; the values are left alone."""
        return replace(
            meeting,
            queries=self.turn(meeting.queries, meeting.query_at),
            keys=self.turn(meeting.keys, meeting.key_at),
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

    def forward(self, meeting: Meeting) -> Meeting:
        """Lower the scores of what is far."""
        penalty = self.slopes[:, None, None] * meeting.distance  # (batch, h, n_queries, n_keys)
        return replace(meeting, bias=-penalty.to(meeting.queries.dtype))


def alibi_slopes(num_heads: int) -> Tensor:
    """The slopes of ALiBi's heads, (num_heads,)."""
    power = 2 ** int(math.log2(num_heads))
    slopes = [2 ** (-8 * number / power) for number in range(1, power + 1)]
    between = [2 ** (-4 * number / power) for number in range(1, 2 * power + 1, 2)]
    return torch.tensor(slopes + between[: num_heads - power])


class NormedQueriesAndKeys(nn.Module):
    """RMSNorm of each query and each key: scores cannot grow with their lengths.

    Source: Henry et al. (2020); with RMSNorm and gains, later models.
    """

    def __init__(self, d_k: int, eps: float) -> None:
        super().__init__()
        self.query_norm, self.key_norm = RMSNorm(d_k, eps), RMSNorm(d_k, eps)

    def forward(self, meeting: Meeting) -> Meeting:
        """Normalise; values are left alone."""
        queries, keys = self.query_norm(meeting.queries), self.key_norm(meeting.keys)
        return replace(meeting, queries=queries, keys=keys)


class Window(nn.Module):
    """A query sees keys fewer than `width` positions away, itself among them.

    The first `everywhere` positions see all that the mask allows and are seen by all. By a mask, so
    that what is seen is right and nothing is saved; `experiments.restricted` saves it. Source:
    Beltagy et al. (2020).
    """

    def __init__(self, width: int, everywhere: int = 0) -> None:
        super().__init__()
        self.width, self.everywhere = width, everywhere

    def forward(self, meeting: Meeting) -> Meeting:
        """Hide what is far."""
        seen = meeting.distance < self.width
        seen |= (meeting.query_at < self.everywhere)[..., :, None]
        seen |= (meeting.key_at < self.everywhere)[..., None, :]
        return replace(meeting, mask=seen if meeting.mask is None else seen & meeting.mask)


class SharedKeys(nn.Module):
    """Each head of keys and values serves several heads of queries that stand side by side.

    Multi-query attention where there is one (Shazeer, 2019), grouped-query attention where there
    are some (Ainslie et al., 2023).
    """

    def forward(self, meeting: Meeting) -> Meeting:
        """Give every query head its keys and values."""
        each = meeting.queries.size(1) // meeting.keys.size(1)
        keys = meeting.keys.repeat_interleave(each, dim=1)
        return replace(meeting, keys=keys, values=meeting.values.repeat_interleave(each, dim=1))

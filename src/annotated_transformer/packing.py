"""Batches without their padding: only the rows of real tokens go through the layers.

Everything in a layer but attention treats each position alone, so padding can simply be left out:
(batch, n, d_model) becomes (rows, d_model), the real tokens one after the other. Attention puts
them back into sentences for as long as it takes, while it hands the features to its heads.

A few rows more than tokens are taken, so that their number is a multiple of 128. On a CPU oneDNN,
which multiplies the matrices, prepares anew for each shape; that costs more than some spare rows.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

MULTIPLE = 128  # of rows


class PackedRows:
    """Which rows of a packed batch are which positions of the padded one.

    The rows are the real tokens in their order, and behind them spare ones, which nobody reads.

    Args:
        real: bool (batch, n), False at padding; not empty.
        num_heads: h of the attention that the rows will meet.

    Attributes:
        count: how many rows are real tokens.
        rows: how many rows there are.
    """

    def __init__(self, real: Tensor, num_heads: int) -> None:
        self.batch, self.n = real.shape
        self.num_heads = num_heads
        places = real.flatten().nonzero().squeeze(1)  # (count,)
        self.count = places.size(0)
        self.rows = -(-self.count // MULTIPLE) * MULTIPLE
        spare = places[:1].expand(self.rows - self.count)  # any place will do
        self._place_of_row = torch.cat([places, spare])  # (rows,)
        row = real.flatten().cumsum(0).sub_(1).clamp_min_(0)  # padding takes the row before it
        self._row_of_place = row  # (batch * n,)
        self._padding = (~real).flatten().nonzero().squeeze(1)  # places
        # The same, where each row is cut into one for each head, and places are in (batch, h, n).
        self._head = torch.arange(num_heads, device=real.device)
        cut = row.view(self.batch, 1, self.n) * num_heads + self._head[:, None]  # (batch, h, n)
        self._cut_row_of_place = cut.flatten()
        self._place_of_cut_row = self._in_heads(self._place_of_row)  # (rows * h,)
        self._padding_in_heads = self._in_heads(self._padding)

    def _in_heads(self, places: Tensor) -> Tensor:
        """From places in (batch, n) to those in (batch, h, n), for each head; (places * h,)."""
        sentence, position = places // self.n, places % self.n
        in_heads = (sentence[:, None] * self.num_heads + self._head) * self.n + position[:, None]
        return in_heads.flatten()

    def take(self, x: Tensor) -> Tensor:
        """(batch, n, d_model) -> (rows, d_model)."""
        packed: Tensor = _Gather.apply(  # type: ignore[no-untyped-call]
            x.flatten(0, 1), self._place_of_row, self._row_of_place, self._padding
        )
        return packed

    def to_heads(self, x: Tensor) -> Tensor:
        """(rows, h * d_head) -> (batch, h, n, d_head); a copy of some row stands at padding.

        As a key it has to be hidden by a mask; what it gives as a query, `from_heads` leaves out.
        No gradient flows back from there.
        """
        cut = x.view(self.rows * self.num_heads, x.size(1) // self.num_heads)
        spare = slice(self.count * self.num_heads, None)
        heads: Tensor = _Gather.apply(  # type: ignore[no-untyped-call]
            cut, self._cut_row_of_place, self._place_of_cut_row, spare
        )
        return heads.view(self.batch, self.num_heads, self.n, -1)

    def from_heads(self, heads: Tensor) -> Tensor:
        """(batch, h, n, d_head) -> (rows, h * d_head), the heads side by side."""
        cut: Tensor = _Gather.apply(  # type: ignore[no-untyped-call]
            heads.flatten(0, 2),
            self._place_of_cut_row,
            self._cut_row_of_place,
            self._padding_in_heads,
        )
        return cut.view(self.rows, self.num_heads * heads.size(-1))


@dataclass(frozen=True)
class PackedMask:
    """Who may attend to whom, where queries and keys are rows of packed batches.

    Attributes:
        queries: of the side that attends.
        keys: of the side that is attended to.
        mask: bool, as in `scaled_dot_product_attention`, for the padded batch. It hides all keys
            that are padding from every query that is none.
    """

    queries: PackedRows
    keys: PackedRows
    mask: Tensor | None


class _Gather(torch.autograd.Function):
    """Rows of x by their numbers, where those that anybody reads are taken once.

    So the way back gathers too. PyTorch's own adds each gradient to where it came from, one by one.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, index: Tensor, inverse: Tensor, unread: Tensor | slice
    ) -> Tensor:
        """x.index_select(0, index).

        Args:
            inverse: for each row of x, where it is in the result.
            unread: rows of x that are not in the result, or whose copies nobody reads; they get no
                gradient, whatever `inverse` says of them.
        """
        ctx.inverse, ctx.unread = inverse, unread
        return x.index_select(0, index)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = gradients
        of_x = gradient.index_select(0, ctx.inverse)
        if isinstance(ctx.unread, slice):
            of_x[ctx.unread] = 0.0
        else:
            of_x.index_fill_(0, ctx.unread, 0.0)
        return of_x, None, None, None

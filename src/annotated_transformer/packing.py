"""Batches without their padding: only the rows of real tokens go through the layers.

Everything in a layer but attention treats each position alone, so padding can simply be left out:
(batch, n, d_model) becomes (rows, d_model), the real tokens one after the other. Attention puts
them back into sentences for as long as it takes, while it hands the features to its heads.

A few rows more than tokens are taken, so that their number is a multiple of 128. On a CPU the
products of matrices are compiled for each new shape, which costs more than what they save.
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
        self._place = torch.cat([places, places[:1].expand(self.rows - self.count)])  # (rows,)
        row = real.flatten().cumsum(0).sub_(1).clamp_min_(0)  # padding takes the row before it
        self._row = row.view(self.batch, self.n)
        self._padding = (~real).flatten().nonzero().squeeze(1)
        head = torch.arange(num_heads, device=real.device)
        self._of_places = (self._row[:, None] * num_heads + head[:, None]).flatten()
        self._of_rows = self._in_heads(self._place).flatten()
        self._padding_in_heads = self._in_heads(self._padding).flatten()

    def _in_heads(self, places: Tensor) -> Tensor:
        """From places in (batch, n) to those in (batch, h, n), for each head; (places, h)."""
        head = torch.arange(self.num_heads, device=places.device)
        sentence, position = places // self.n, places % self.n
        return (sentence[:, None] * self.num_heads + head) * self.n + position[:, None]

    def take(self, x: Tensor) -> Tensor:
        """(batch, n, d_model) -> (rows, d_model)."""
        packed: Tensor = _Gather.apply(  # type: ignore[no-untyped-call]
            x.flatten(0, 1), self._place, self._row.flatten(), self._padding
        )
        return packed

    def to_heads(self, x: Tensor) -> Tensor:
        """(rows, h * d_head) -> (batch, h, n, d_head); a copy of some row stands at padding.

        A mask has to hide it: no gradient flows back from there.
        """
        narrow = x.view(self.rows * self.num_heads, -1)  # (rows * h, d_head)
        spare = slice(self.count * self.num_heads, None)
        heads: Tensor = _Gather.apply(narrow, self._of_places, self._of_rows, spare)  # type: ignore[no-untyped-call]
        return heads.view(self.batch, self.num_heads, self.n, -1)

    def from_heads(self, heads: Tensor) -> Tensor:
        """(batch, h, n, d_head) -> (rows, h * d_head), the heads side by side."""
        narrow = heads.reshape(self._of_places.size(0), -1)  # (batch * h * n, d_head)
        x: Tensor = _Gather.apply(  # type: ignore[no-untyped-call]
            narrow, self._of_rows, self._of_places, self._padding_in_heads
        )
        return x.view(self.rows, -1)


@dataclass(frozen=True)
class PackedMask:
    """Who may attend to whom, where queries and keys are rows of packed batches.

    Attributes:
        queries: of the side that attends.
        keys: of the side that is attended to.
        mask: bool, as in `scaled_dot_product_attention`, for the padded batch. It hides padding.
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
        """`inverse` is the number in the result of each row of x; `unread` are rows without one."""
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

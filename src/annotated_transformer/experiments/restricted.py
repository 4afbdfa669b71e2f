"""Attention to a neighbourhood (section 4, last row of Table 1): each query sees r keys.

Masking would give the same result at the full price, n² scores. Here the scores outside of the
neighbourhood are never computed: the queries are cut into tiles, and a tile meets only the keys
that one of its queries may see.
"""

import math

import torch
from torch import Tensor
from torch.nn import functional


def neighbourhood_mask(n: int, before: int, after: int) -> Tensor:
    """Position i may attend to `before` positions before it, to itself and to `after` behind it.

    Returns:
        bool (n, n), True = may attend. With after = 0 it is the causal sliding window of
        before + 1 keys.
    """
    ones = torch.ones(n, n, dtype=torch.bool)
    return ones.tril(after) & ones.triu(-before)


def restricted_attention(
    query: Tensor, key: Tensor, value: Tensor, before: int, after: int, tile: int | None = None
) -> Tensor:
    """Equation 1 with `neighbourhood_mask`, at a cost that grows with n · r in place of n².

    One tile meets tile + r - 1 keys, where r = before + 1 + after, and the last tile is filled up
    with queries of nobody. So a pass takes 2 · ceil(n / tile) · tile · (tile + r - 1) · d
    multiply-adds: with tile = 1 exactly those of Table 1, 2 · r · n · d; with the default,
    tile = r, almost twice as many in fewer and larger products.

    Args:
        query, key: (..., n, d_k). value: (..., n, d_v). n is at least 1.
        before, after: how many keys on each side of a query it sees, from 0 on; above n - 1 they
            count as n - 1, for there are no more.
        tile: how many queries share one product, from 1 on; above n it counts as n.

    Returns:
        (..., n, d_v).

    Raises:
        ValueError: a neighbourhood or a tile of such a size does not exist, there is no position,
            or there are not as many queries as keys and values.
    """
    n, d_k = query.shape[-2:]
    if before < 0 or after < 0 or (tile is not None and tile < 1):
        raise ValueError(
            f"before = {before}, after = {after}, tile = {tile} was given: a neighbourhood has 0 "
            "or more keys on each side, and a tile has at least one query."
        )
    if not key.size(-2) == value.size(-2) == n > 0:
        raise ValueError(
            f"{n} queries, {key.size(-2)} keys and {value.size(-2)} values were given: who is near "
            "whom is known only where all three are the same positions, at least one."
        )
    before, after = min(before, n - 1), min(after, n - 1)
    neighbourhood = before + 1 + after
    tile = min(neighbourhood if tile is None else tile, n)
    tiles = math.ceil(n / tile)
    spare = tiles * tile - n  # queries of nobody, which fill up the last tile
    met = tile + neighbourhood - 1  # keys that a tile meets

    def tiled(x: Tensor) -> Tensor:
        """(..., n, d) -> (..., tiles, d, met): neighbouring tiles share keys."""
        return functional.pad(x, (0, 0, before, after + spare)).unfold(-2, met, tile)

    padded = functional.pad(query, (0, 0, 0, spare))
    queries = padded.reshape(*query.shape[:-2], tiles, tile, d_k)
    scores = queries @ tiled(key) / math.sqrt(d_k)  # (..., tiles, tile, met)
    row, column = torch.arange(tile)[:, None], torch.arange(met)
    near = (column >= row) & (column < row + neighbourhood)  # (tile, met)
    position = torch.arange(tiles)[:, None] * tile + column - before  # (tiles, met), of the key
    exists = (position >= 0) & (position < n)
    seen = (near & exists[:, None]).to(scores.device)  # (tiles, tile, met)
    # The smallest number and not -inf: a query of nobody may see no key, and 0 / 0 is nan.
    weights = scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(-1)
    output = weights @ tiled(value).transpose(-2, -1)  # (..., tiles, tile, d_v)
    return output.flatten(-3, -2)[..., :n, :]

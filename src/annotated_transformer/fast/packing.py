"""Batches without their padding: only the rows of real tokens go through the layers.

Everything in a layer but attention treats each position alone, so padding can simply be left out:
(batch, n, d_model) becomes (rows, d_model), the real tokens one after the other. Attention puts
them back into sentences for as long as it takes, while it hands the features to its heads.

A few rows more than tokens are taken, so that their number is a multiple of 128, and inside
attention a few sentences and positions more. On a CPU oneDNN, which multiplies the matrices,
prepares anew for each shape; that costs more than what is computed for nobody.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from annotated_transformer.attention import MultiHeadAttention
from annotated_transformer.config import TransformerConfig
from annotated_transformer.evaluation.likelihood import SentenceBatch
from annotated_transformer.fast.cpu_attention import SHORT_ROW
from annotated_transformer.masks import padding_mask, target_mask
from annotated_transformer.transformer import Transformer

MULTIPLE = 128  # of rows
SENTENCES, POSITIONS = 16, 4  # multiples of those inside attention


def can_be_packed(config: TransformerConfig) -> bool:
    """Whether `packed_attention` computes the attention of such a model."""
    if type(config) is not TransformerConfig:  # parts of another kind
        return False
    d_k, d_v = config.head_widths
    return config.attention == "scaled-dot-product" and d_k == d_v and config.attention_dropout == 0


def up_to_multiple(number: int, of: int) -> int:
    """The smallest multiple that is no less."""
    return -(-number // of) * of


class PackedRows:
    """Which rows of a packed batch are which positions of the padded one.

    The rows are the real tokens in their order, and behind them spare ones, at least one: copies of
    the first token, which nobody reads.

    Args:
        real: bool (batch, n), False at padding.
        num_heads: h of the attention that the rows will meet.

    Attributes:
        count: how many rows are real tokens.
        rows: how many rows there are.
        positions: where in its sentence each row's token stands, (rows,).
        batch: how many sentences are put together again, some of them empty.
        width: how many positions each of them gets.

    Raises:
        ValueError: if no token is real.
    """

    def __init__(self, real: Tensor, num_heads: int) -> None:
        sentences, n = real.shape
        self.num_heads = num_heads
        self.batch = up_to_multiple(sentences, SENTENCES)
        self.width = up_to_multiple(max(n, SHORT_ROW), POSITIONS)
        places = real.flatten().nonzero().squeeze(1)  # (count,)
        self.count = places.size(0)
        if not self.count:
            raise ValueError("there is no real token among the rows to be packed.")
        self.rows = up_to_multiple(self.count + 1, MULTIPLE)
        self._places = torch.cat([places, places[:1].expand(self.rows - self.count)])  # (rows,)
        self._sentences, self.positions = self._places // n, self._places % n
        of_places = places.new_full((self.batch, self.width), self.rows - 1)  # a spare one
        real_rows = torch.arange(self.count, device=places.device)
        of_places[self._sentences[: self.count], self.positions[: self.count]] = real_rows
        self._rows_of_places = of_places
        self._indices: dict[int, tuple[Tensor, Tensor]] = {}

    def take(self, tokens: Tensor) -> Tensor:
        """(batch, n) -> (rows,)."""
        return tokens.flatten()[self._places]

    def to_heads(self, x: Tensor, times: int) -> Tensor:
        """(rows, times * h * d) -> (times, batch * h, width, d); padding gets the last spare row.

        `times` is 3 for queries, keys and values side by side.
        """
        pieces = x.view(self.rows * times * self.num_heads, -1)
        heads = pieces.index_select(0, self._pieces_and_places(times)[0])
        return heads.view(times, self.batch * self.num_heads, self.width, -1)

    def from_heads(self, heads: Tensor) -> Tensor:
        """(times, batch * h, width, d) -> (rows, times * h * d), what is at padding left out."""
        pieces = heads.flatten(0, 2).index_select(0, self._pieces_and_places(len(heads))[1])
        return pieces.view(self.rows, -1)

    def gradient_from_heads(self, heads: Tensor) -> Tensor:
        """`from_heads` for gradients: those of spare rows are zero."""
        gradient = self.from_heads(heads)
        gradient[self.count :] = 0
        return gradient

    def _pieces_and_places(self, times: int) -> tuple[Tensor, Tensor]:
        """For each place in heads its piece of a row, and for each piece its place; both flat."""
        if times not in self._indices:
            of_times = torch.arange(times, device=self.positions.device)[:, None]  # (times, 1)
            of_heads = torch.arange(self.num_heads, device=self.positions.device)  # (h,)
            piece = of_times * self.num_heads + of_heads  # (times, h), its number within a row
            # (times, batch, h, width)
            pieces = self._rows_of_places[:, None] * piece.numel() + piece[:, None, :, None]
            sentence = of_times * self.batch + self._sentences[:, None, None]  # (rows, times, 1)
            head = sentence * self.num_heads + of_heads  # (rows, times, h)
            places = head * self.width + self.positions[:, None, None]
            self._indices[times] = pieces.flatten(), places.flatten()
        return self._indices[times]


class PackedMask:
    """Who may attend to whom, where queries and keys are rows of packed batches.

    Args:
        queries: of the side that attends.
        keys: of the side that is attended to.
        mask: bool, as in `scaled_dot_product_attention`, for the padded batch: (batch, 1, n_queries
            or 1, n_keys). It hides all keys that are padding.
    """

    def __init__(self, queries: PackedRows, keys: PackedRows, mask: Tensor) -> None:
        self.queries, self.keys = queries, keys
        self._mask = mask
        self._bias: Tensor | None = None

    def bias(self, like: Tensor) -> Tensor:
        """0 where a query may attend to a key and -inf elsewhere, (batch * h, width, width).

        A query that may attend to nothing has to be padding. It attends to all; nobody reads it.
        """
        if self._bias is None or self._bias.dtype != like.dtype:
            sentences, _, of_queries, n_keys = self._mask.shape
            rows = slice(None) if of_queries == 1 else slice(of_queries)
            shown = self._mask.new_zeros(self.keys.batch, 1, self.queries.width, self.keys.width)
            shown[:sentences, :, rows, :n_keys] = self._mask
            shown |= ~shown.any(-1, keepdim=True)
            bias = like.new_zeros(shown.shape).masked_fill_(~shown, float("-inf"))
            self._bias = bias.expand(-1, self.queries.num_heads, -1, -1).flatten(0, 1)
        return self._bias


def packed_attention(own: Tensor, memory: Tensor | None, mask: PackedMask) -> Tensor:
    """Equation 1 in every head, from packed rows to packed rows.

    Args:
        own: queries (rows, h * d_k), or where `memory` is None (rows, 3 * h * d_k): the queries of
            all heads, then their keys, then their values.
        memory: the keys and then the values of the other side, (its rows, 2 * h * d_k).
        mask: of both sides.

    Returns:
        (rows, h * d_k), the heads side by side.
    """
    heads: Tensor = _PackedAttention.apply(own, memory, mask)  # type: ignore[no-untyped-call]
    return heads


class _PackedAttention(torch.autograd.Function):
    """The products in the precision of what is given, the softmax in float32 at least.

    Both ways are written by hand: on a CPU and for short sentences much of the time of attention
    would go to operations between the products, which can be left out.
    """

    @staticmethod
    def forward(ctx: Any, own: Tensor, memory: Tensor | None, mask: PackedMask) -> Tensor:
        if memory is None:
            query, key, value = mask.queries.to_heads(own, 3)  # (batch * h, width, d_k) each
        else:
            (query,), (key, value) = mask.queries.to_heads(own, 1), mask.keys.to_heads(memory, 2)
        scale = query.size(-1) ** -0.5
        scores = torch.baddbmm(mask.bias(query), query, key.transpose(1, 2), alpha=scale)
        accurate = torch.promote_types(scores.dtype, torch.float32)
        weights = scores.softmax(-1, dtype=accurate).to(query.dtype)  # (batch * h, width, width)
        ctx.save_for_backward(query, key, value, weights)
        ctx.mask, ctx.scale, ctx.of_one_side = mask, scale, memory is None
        return mask.queries.from_heads((weights @ value)[None])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = gradients
        query, key, value, weights = ctx.saved_tensors
        queries, keys = ctx.mask.queries, ctx.mask.keys
        if gradient[-1].any():  # the spare row that stands at padding: nobody has read it
            gradient = gradient.clone()
            gradient[-1] = 0
        (of_heads,) = queries.to_heads(gradient.contiguous(), 1)  # (batch * h, width, d_k)
        of_weights = of_heads @ value.transpose(1, 2)  # (batch * h, width, width)
        accurate = torch.promote_types(weights.dtype, torch.float32)
        of_scores = torch.ops.aten._softmax_backward_data(
            of_weights.to(accurate), weights.to(accurate), -1, accurate
        ).to(weights.dtype)
        of_own = query.new_empty(3 if ctx.of_one_side else 1, *query.shape)
        of_keys = of_own[1:] if ctx.of_one_side else key.new_empty(2, *key.shape)  # and of values
        _scaled_product(of_scores, key, ctx.scale, of_own[0])
        _scaled_product(of_scores.transpose(1, 2), query, ctx.scale, of_keys[0])
        torch.bmm(weights.transpose(1, 2), of_heads, out=of_keys[1])
        of_memory = None if ctx.of_one_side else keys.gradient_from_heads(of_keys)
        return queries.gradient_from_heads(of_own), of_memory, None


def _scaled_product(first: Tensor, second: Tensor, scale: float, room: Tensor) -> None:
    """scale * first @ second into `room`, (batch * h, ...) each."""
    torch.baddbmm(room, first, second, beta=0, alpha=scale, out=room)


def project(x: Tensor, *projections: nn.Linear) -> Tensor:
    """What several linear layers make of the same x, side by side, by one product.

    (rows, d_model) -> (rows, sum of their widths).
    """
    weights: list[Tensor] = [projection.weight for projection in projections]
    biases: list[Tensor] = [each.bias for each in projections if each.bias is not None]
    return functional.linear(x, torch.cat(weights), torch.cat(biases) if biases else None)


class PackedMultiHeadAttention(MultiHeadAttention):
    """The paper's multi-head attention, which takes rows with a `PackedMask` too.

    A model is given it by `use_fast_paths`.
    """

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | PackedMask | None = None,
    ) -> Tensor:
        """As `MultiHeadAttention`; with a `PackedMask` from rows to rows, (rows, d_model) each.

        What reads the same rows is projected by one product: keys and values, and in self-attention
        queries too. The weights of packed rows are not recorded.
        """
        if not isinstance(mask, PackedMask):
            return super().forward(query, key, value, mask)
        if value is not key:
            raise ValueError("packed rows: keys and values have to be made from the same rows.")
        of_memory = self.key_projection, self.value_projection
        if key is query:
            own = project(query, self.query_projection, *of_memory)
            heads = packed_attention(own, None, mask)
        else:
            memory = project(key, *of_memory)
            heads = packed_attention(self.query_projection(query), memory, mask)
        output: Tensor = self.output_projection(heads)
        return output


def packed_teacher_forced(model: Transformer, batch: SentenceBatch) -> tuple[Tensor, Tensor]:
    """What `teacher_forced` gives, with padding left out of every layer (`packing`).

    The model has to have been given the fast paths (`use_fast_paths`). Padding has to stand at the
    end of a target, as `make_batch` has it, and every source has to have a token.

    Returns:
        As `teacher_forced`.

    Raises:
        ValueError: for a model that `can_be_packed` refuses or that has not got the fast paths, for
            an empty source, and where no target has a token.
    """
    if not can_be_packed(model.config):
        raise ValueError(
            "packed rows are for scaled dot-product attention with d_k = d_v and no dropout on its "
            "weights; take teacher_forced for this model."
        )
    if not isinstance(model.encoder.layers[0].self_attention, PackedMultiHeadAttention):
        raise ValueError("this model takes no packed rows yet: call use_fast_paths(model) first.")
    pad_id, num_heads = model.config.pad_id, model.config.num_heads
    src, tgt = batch.src.to(model.device), batch.tgt.to(model.device)
    given, labels = tgt[:, :-1], tgt[:, 1:]  # (batch, n_tgt): what the decoder reads, and predicts
    if not (src != pad_id).any(1).all():
        raise ValueError("a source without a token cannot be attended to; leave its pair out.")
    source = PackedRows(src != pad_id, num_heads)
    target = PackedRows(labels != pad_id, num_heads)
    src_mask, tgt_mask = padding_mask(src, pad_id), target_mask(labels, pad_id)
    x = model.source_embedding(source.take(src), at=source.positions)  # (source rows, d_model)
    memory = model.encoder(x, PackedMask(source, source, src_mask))  # (source rows, d_model)
    x = model.target_embedding(target.take(given), at=target.positions)  # (target rows, d_model)
    hidden = model.decoder(
        x, memory, PackedMask(target, source, src_mask), PackedMask(target, target, tgt_mask)
    )
    return hidden[: target.count], labels[labels != pad_id]

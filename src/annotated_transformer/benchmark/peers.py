"""The models of others that training is compared with, each built as its own users build it.

All have the sizes of one `TransformerConfig` and read the same batches. Each gives the label
smoothed loss of a batch, a mean over its real tokens, in the way that is usual for it.
"""

import math
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from annotated_transformer.config import TransformerConfig
from annotated_transformer.masks import causal_mask, padding_mask, target_mask
from annotated_transformer.positional import sinusoidal_encoding
from annotated_transformer.sharing.ports import LONGEST, hugging_face_sizes

EPS = 0.1  # of the label smoothing (section 5.4)


class Positions(nn.Module):
    """Scaled embeddings plus sinusoids from a table, as most implementations have it."""

    table: Tensor

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.scale = math.sqrt(config.d_model)
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        nn.init.normal_(self.embedding.weight, std=config.d_model**-0.5)
        self.register_buffer("table", sinusoidal_encoding(LONGEST, config.d_model))
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, tokens: Tensor) -> Tensor:
        """(batch, n) -> (batch, n, d_model)."""
        embedded = self.scale * self.embedding(tokens) + self.table[: tokens.size(1)]
        return self.dropout(embedded)


class TorchPeer(nn.Module):
    """`torch.nn.Transformer` between tied embeddings and PyTorch's own cross-entropy."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.pad_id, self.loss = config.pad_id, cross_entropy
        self.positions = Positions(config)
        self.transformer = nn.Transformer(
            config.d_model,
            config.num_heads,
            *config.depths,
            config.d_ff,
            config.dropout,
            batch_first=True,
        )
        self.transformer.encoder.use_nested_tensor = False  # a prototype that warns, no more

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """The loss of a batch: src (batch, n_src), tgt (batch, n_tgt + 1)."""
        read, labels = tgt[:, :-1], tgt[:, 1:]
        source_padding = src == self.pad_id  # True = may not attend, on PyTorch's side
        hidden = self.transformer(
            self.positions(src),
            self.positions(read),
            tgt_mask=~causal_mask(read.size(1)).to(src.device),
            src_key_padding_mask=source_padding,
            tgt_key_padding_mask=read == self.pad_id,
            memory_key_padding_mask=source_padding,
            tgt_is_causal=True,
        )
        logits = hidden @ self.positions.embedding.weight.T  # (batch, n_tgt, V)
        return self.loss(logits, labels, self.pad_id)


class MarianPeer(nn.Module):
    """Hugging Face's Marian, from a configuration (nothing is downloaded).

    Raises:
        ImportError: if `transformers` is not installed.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        import transformers

        self.pad_id, self.loss = config.pad_id, cross_entropy
        sizes = hugging_face_sizes(config)
        self.marian = transformers.MarianMTModel(transformers.MarianConfig(**sizes))

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """The loss of a batch: src (batch, n_src), tgt (batch, n_tgt + 1)."""
        return self.loss(self.logits(src, tgt[:, :-1]), tgt[:, 1:], self.pad_id)

    def logits(self, src: Tensor, read: Tensor) -> Tensor:
        """From src (batch, n_src) and read (batch, n_tgt) to (batch, n_tgt, V)."""
        logits: Tensor = self.marian(
            input_ids=src,
            attention_mask=src != self.pad_id,
            decoder_input_ids=read,
            decoder_attention_mask=read != self.pad_id,
            use_cache=False,
        ).logits
        return logits


def compile_peer(peer: nn.Module) -> None:
    """torch.compile for each layer by itself and for the loss, as this package compiles its own.

    A peer as one module takes minutes: every batch has another shape, and the symbols for the sizes
    go through all layers.
    """
    stacks = [module for module in peer.modules() if isinstance(module, nn.ModuleList)]
    inner = {part for stack in stacks for layer in stack for part in layer.modules()}
    for stack in (stack for stack in stacks if stack not in inner):
        for place, layer in enumerate(
            stack
        ):  # its `compile` would do nothing to a class of PyTorch
            stack[place] = cast(nn.Module, torch.compile(layer, dynamic=True))
    for name in ("loss", "divergence"):
        if hasattr(peer, name):
            setattr(peer, name, torch.compile(getattr(peer, name), dynamic=True))


def cross_entropy(logits: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    """PyTorch's label smoothed loss: logits (batch, n, V), labels (batch, n)."""
    return functional.cross_entropy(
        logits.flatten(0, 1), labels.flatten(), ignore_index=pad_id, label_smoothing=EPS
    )


class AnnotatedPeer(nn.Module):
    """The architecture of "The Annotated Transformer" (Rush, 2018; 2022), in our own code.

    Pre-norm with a norm after each stack, three embeddings that are not tied, attention spelled out
    with dropout on its weights, and a loss that compares whole distributions over the vocabulary.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.pad_id, self.vocab_size = config.pad_id, config.vocab_size
        self.source, self.target = Positions(config), Positions(config)
        of_encoder, of_decoder = map(range, config.depths)
        self.encoder = nn.ModuleList(SpelledOutLayer(config, crosses=False) for _ in of_encoder)
        self.decoder = nn.ModuleList(SpelledOutLayer(config, crosses=True) for _ in of_decoder)
        self.encoder_norm, self.decoder_norm = (SpelledOutNorm(config.d_model) for _ in "12")
        self.generator = nn.Linear(config.d_model, config.vocab_size)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """The loss of a batch: src (batch, n_src), tgt (batch, n_tgt + 1)."""
        read, labels = tgt[:, :-1], tgt[:, 1:]
        src_mask, tgt_mask = padding_mask(src, self.pad_id), target_mask(read, self.pad_id)
        memory = self.source(src)
        for layer in self.encoder:
            memory = layer(memory, src_mask)
        memory = self.encoder_norm(memory)
        hidden = self.target(read)
        for layer in self.decoder:
            hidden = layer(hidden, tgt_mask, memory, src_mask)
        log_probabilities = self.generator(self.decoder_norm(hidden)).log_softmax(-1)
        return self.divergence(log_probabilities.flatten(0, 1), labels.flatten())

    def divergence(self, log_probabilities: Tensor, labels: Tensor) -> Tensor:
        """Kullback-Leibler divergence from the smoothed targets, over real tokens.

        Args:
            log_probabilities: (rows, V).
            labels: (rows,).
        """
        wanted = torch.full_like(log_probabilities, EPS / (self.vocab_size - 2))
        wanted.scatter_(1, labels[:, None], 1 - EPS)
        wanted[:, self.pad_id] = 0
        wanted[labels == self.pad_id] = 0
        loss = functional.kl_div(log_probabilities, wanted, reduction="sum")
        return loss / (labels != self.pad_id).sum()


class SpelledOutNorm(nn.Module):
    """Layer normalisation by the standard deviation with Bessel's correction."""

    def __init__(self, d_model: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.gain, self.bias = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """(..., d_model) -> (..., d_model)."""
        mean, deviation = x.mean(-1, keepdim=True), x.std(-1, keepdim=True)
        return self.gain * (x - mean) / (deviation + self.eps) + self.bias


class SpelledOutAttention(nn.Module):
    """Attention in separate operations, with biases, and dropout on the weights."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.num_heads = config.num_heads
        self.projections = nn.ModuleList(
            nn.Linear(config.d_model, config.d_model) for _ in ("query", "key", "value", "output")
        )
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """From x (batch, n_queries, d_model) to memory (batch, n_keys, d_model)."""
        batch, _, d_model = x.shape
        d_k = d_model // self.num_heads
        query, key, value = (
            project(given).view(batch, -1, self.num_heads, d_k).transpose(1, 2)
            for project, given in zip(self.projections, (x, memory, memory), strict=False)
        )
        scores = query @ key.transpose(-2, -1) / math.sqrt(d_k)  # (batch, h, n_queries, n_keys)
        weights = self.dropout(scores.masked_fill(~mask, -1e9).softmax(-1))
        heads = (weights @ value).transpose(1, 2).reshape(batch, -1, d_model)
        return self.projections[3](heads)


class SpelledOutLayer(nn.Module):
    """One layer of encoder or decoder: x + dropout(sub-layer(norm(x))) for each sub-layer."""

    def __init__(self, config: TransformerConfig, crosses: bool) -> None:
        super().__init__()
        self.self_attention = SpelledOutAttention(config)
        self.cross_attention = SpelledOutAttention(config) if crosses else None
        self.feed_forward = nn.Sequential(
            nn.Linear(config.d_model, config.d_ff),
            nn.ReLU(),
            nn.Dropout(config.dropout),
            nn.Linear(config.d_ff, config.d_model),
        )
        self.norms = nn.ModuleList(SpelledOutNorm(config.d_model) for _ in range(2 + crosses))
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, x: Tensor, mask: Tensor, memory: Tensor | None = None, over: Tensor | None = None
    ) -> Tensor:
        """(batch, n, d_model) -> (batch, n, d_model); `over` masks the memory."""
        normed = self.norms[0](x)
        x = x + self.dropout(self.self_attention(normed, normed, mask))
        if self.cross_attention is not None and memory is not None and over is not None:
            x = x + self.dropout(self.cross_attention(self.norms[1](x), memory, over))
        return x + self.dropout(self.feed_forward(self.norms[-1](x)))

"""The Transformer (section 3): Figure 1 as one module."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.decoder import Decoder
from annotated_transformer.embeddings import build_embedding
from annotated_transformer.encoder import Encoder
from annotated_transformer.masks import padding_mask, target_mask
from annotated_transformer.positional import LearnedPositions


class Transformer(nn.Module):
    """The paper's encoder-decoder: post-norm, tied embeddings, sinusoids, unless told otherwise.

    Token numbers go in, logits over the vocabulary come out. The softmax of Figure 1 is left to
    the loss and to the search, which want log-probabilities.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config

        def build_table() -> nn.Embedding:
            return nn.Embedding(config.vocab_size, config.d_model)

        source_table = build_table()
        target_table = source_table if config.tie_embeddings else build_table()
        self.source_embedding = build_embedding(source_table, config)
        self.target_embedding = build_embedding(target_table, config)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.projection = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.apply(initialise)
        if config.tie_embeddings:
            self.projection.weight = source_table.weight  # one matrix in three places, section 3.4
        else:  # it begins as the shared one would: only the sharing is taken away
            nn.init.normal_(self.projection.weight, std=config.d_model**-0.5)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
    ) -> Tensor:
        """Logits for the token that follows each target position; (batch, n_tgt, vocab_size).

        Args:
            src: source tokens (batch, n_src).
            tgt: target tokens (batch, n_tgt), beginning with bos: the decoder's input.
            src_mask: broadcastable to (batch, num_heads, n_queries, n_src). None hides padding.
            tgt_mask: broadcastable to (batch, num_heads, n_tgt, n_tgt). None hides the future and
                padding.
        """
        if src_mask is None:
            src_mask = padding_mask(src, self.config.pad_id)
        memory = self.encode(src, src_mask)
        return self.project(self.decode(memory, tgt, src_mask, tgt_mask))

    def encode(self, src: Tensor, src_mask: Tensor | None = None) -> Tensor:
        """The memory (batch, n_src, d_model) of the source tokens (batch, n_src)."""
        if src_mask is None:
            src_mask = padding_mask(src, self.config.pad_id)
        memory: Tensor = self.encoder(self.source_embedding(src), src_mask)
        return memory

    def decode(
        self,
        memory: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
    ) -> Tensor:
        """The decoder's output (batch, n_tgt, d_model), not yet projected to the vocabulary.

        **None means two things here, and src_mask=None is not what it is in `forward`.** `forward`
        and `encode` see the source tokens, so their None hides the padding. `decode` sees only
        vectors, which do not tell a word from padding, so its None hides nothing: every position
        of the memory is attended, padding too. For a padded batch give the same mask as to
        `encode`: `padding_mask(src, pad_id)`.

        Args:
            memory: what `encode` gave, (batch, n_src, d_model).
            tgt: target tokens (batch, n_tgt), beginning with bos: the decoder's input.
            src_mask: broadcastable to (batch, num_heads, n_tgt, n_src). None attends to ALL
                positions of the memory, padding included.
            tgt_mask: broadcastable to (batch, num_heads, n_tgt, n_tgt). None hides the future and
                padding, as in `forward`.
        """
        if tgt_mask is None:
            tgt_mask = target_mask(tgt, self.config.pad_id)
        hidden: Tensor = self.decoder(self.target_embedding(tgt), memory, src_mask, tgt_mask)
        return hidden

    def project(self, hidden: Tensor) -> Tensor:
        """Logits (..., vocab_size) of the decoder's output (..., d_model)."""
        logits: Tensor = self.projection(hidden)
        return logits

    @property
    def device(self) -> torch.device:
        """Where the weights lie, and where tokens have to be."""
        return self.projection.weight.device

    def num_parameters(self) -> int:
        """How many numbers are trained; a shared matrix counts once."""
        return sum(parameter.numel() for parameter in self.parameters())


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """No dropout inside; afterwards the model trains again if it did before."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


def initialise(module: nn.Module) -> None:
    """Starting values. The paper prints none; these are a common choice.

    Embeddings are normal with standard deviation d_model^-0.5, so that after the scaling by
    sqrt(d_model) each feature has variance 1. Linear layers are Glorot uniform, biases zero.
    """
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
    elif isinstance(module, LearnedPositions):
        nn.init.normal_(module.table, std=module.table.size(1) ** -0.5)

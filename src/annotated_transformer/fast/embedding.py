"""Embeddings for rows whose tokens stand at any positions, and for products in 16 bits."""

import torch
from torch import Tensor

from annotated_transformer.embeddings import Embedding
from annotated_transformer.positional import LearnedPositions


class FastEmbedding(Embedding):
    """The paper's embedding, which takes the position of every token too.

    Under autocast it gives what the products take, or every product would convert it for itself.
    A model is given it by `use_fast_paths`.
    """

    def forward(self, tokens: Tensor, start: int = 0, at: Tensor | None = None) -> Tensor:
        """(batch, n) -> (batch, n, d_model); `start` is the position of the first token.

        With `at`, the position of every token; then tokens may be (rows,) too, which gives (rows,
        d_model), and `start` does not count.
        """
        x = self.scale * self.table(tokens)
        if self.positions is not None and at is not None:
            longest = tokens.size(1) if tokens.dim() == 2 else int(at.max()) + 1
            if isinstance(self.positions, LearnedPositions):  # its table has an end
                longest = min(longest, len(self.positions.table))
            x = x + self.positions(longest, 0)[at]
        elif self.positions is not None:
            x = x + self.positions(tokens.size(1), start)
        if torch.is_autocast_enabled(x.device.type):
            x = x.to(torch.get_autocast_dtype(x.device.type))
        output: Tensor = self.dropout(x)
        return output

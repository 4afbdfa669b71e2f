"""Embeddings (section 3.4): from token numbers to vectors, with their positions added."""

import math

from torch import Tensor, nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.positional import LearnedPositions, SinusoidalPositions


def build_positions(config: TransformerConfig) -> SinusoidalPositions | LearnedPositions | None:
    """The positional encoding that the configuration names, None for "none"."""
    if config.positions == "sinusoidal":
        return SinusoidalPositions(config.d_model)
    if config.positions == "learned":
        return LearnedPositions(config.d_model, config.max_positions)
    return None


class Embedding(nn.Module):
    """Dropout(sqrt(d_model) * table[tokens] + positions).

    The table is the matrix that section 3.4 shares: source embedding, target embedding and the
    projection to the vocabulary can all hold the same `nn.Embedding`.

    Args:
        table: the shared embedding, (vocab_size, d_model).
        positions: maps (n, start) to (n, d_model), or None for a model without positions.
        dropout: P_drop on the sum (section 5.4).
        scaled: whether the vectors are multiplied by sqrt(d_model). The paper's are.
    """

    def __init__(
        self,
        table: nn.Embedding,
        positions: SinusoidalPositions | LearnedPositions | None,
        dropout: float,
        scaled: bool = True,
    ) -> None:
        super().__init__()
        self.table = table
        self.positions = positions
        self.dropout = nn.Dropout(dropout)
        self.scale = math.sqrt(table.embedding_dim) if scaled else 1.0

    def forward(self, tokens: Tensor, start: int = 0) -> Tensor:
        """(batch, n) -> (batch, n, d_model); `start` is the position of the first token."""
        x = self.scale * self.table(tokens)
        if self.positions is not None:
            x = x + self.positions(tokens.size(1), start)
        output: Tensor = self.dropout(x)
        return output


def build_embedding(table: nn.Embedding, config: TransformerConfig) -> Embedding:
    """The embedding of one side of the model."""
    positions = build_positions(config)
    return Embedding(table, positions, config.dropout, config.embedding_scale)

"""The model, data, training and exercises of the book on "Attention Is All You Need" (2017)."""

from annotated_transformer.config import TransformerConfig
from annotated_transformer.transformer import Transformer

__all__ = ["Transformer", "TransformerConfig", "__version__"]

__version__ = "0.1.0"

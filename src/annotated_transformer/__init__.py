"""The model, data, training and exercises of the book on "Attention Is All You Need" (2017).

The modules beside this one are section 3 of the paper; CONTRIBUTING.md names the rooms.
"""

from typing import TYPE_CHECKING, Any

from annotated_transformer.config import TransformerConfig

if TYPE_CHECKING:
    from annotated_transformer.transformer import Transformer

__all__ = ["Transformer", "TransformerConfig", "__version__"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """The model is imported when it is asked for: PyTorch, which it needs, takes a moment."""
    if name == "Transformer":
        from annotated_transformer.transformer import Transformer

        return Transformer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

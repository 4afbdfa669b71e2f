"""The model, data, training and exercises of the book on "Attention Is All You Need" (2017)."""

__version__ = "0.1.0"

"""The paper's model once more, in NumPy, with every gradient by hand: to be read (section 3).

`pieces` has what a layer is made of, `model` the layers, the shared table and the loss.
"""

from annotated_transformer.experiments.in_numpy.model import NumpyTransformer, cross_entropy
from annotated_transformer.experiments.in_numpy.pieces import (
    FeedForward,
    LayerNorm,
    Linear,
    MultiHeadAttention,
    Weights,
    softmax,
    softmax_backward,
)

__all__ = [
    "FeedForward",
    "LayerNorm",
    "Linear",
    "MultiHeadAttention",
    "NumpyTransformer",
    "Weights",
    "cross_entropy",
    "softmax",
    "softmax_backward",
]

"""Smaller starting values in the residual branches: a named departure that steadies post-norm.

What a sub-layer adds at the start is then small beside what passes it by, so the first steps can be
larger. Wang et al. (2022), "DeepNet", shrink the same four matrices of each layer, and how much by
its depth; here it is one number for all.
"""

import torch

from annotated_transformer.after.networks import SwiGLU
from annotated_transformer.attention import MultiHeadAttention
from annotated_transformer.feed_forward import FeedForward
from annotated_transformer.transformer import Transformer


def shrink_branches(model: Transformer, gain: float) -> None:
    """Multiply W^V, W^O, W_1 and W_2 of every sub-layer by `gain`, in place.

    Two of them follow each other in a branch, so that what it adds begins at gain squared: with a
    gain of a half, at a quarter.
    """
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            shrunk = (module.value_projection, module.output_projection)
        elif isinstance(module, FeedForward | SwiGLU):
            shrunk = (module.inner, module.outer)
        else:
            continue
        with torch.no_grad():
            for linear in shrunk:
                linear.weight *= gain

"""The one place where a model of the paper's parts is given the fast ones."""

from annotated_transformer.attention import MultiHeadAttention
from annotated_transformer.embeddings import Embedding
from annotated_transformer.fast.cpu_attention import attention_by_precision
from annotated_transformer.fast.embedding import FastEmbedding
from annotated_transformer.fast.packing import PackedMultiHeadAttention
from annotated_transformer.transformer import Transformer


def use_fast_paths(model: Transformer) -> None:
    """Let a model take packed and shared rows, and compute attention as the precision wants it.

    In place; weights and results stay what they are, up to the rounding of 16 bits. Training in
    bfloat16 and in shared rows needs it; without, the model is section 3's and nothing else.
    """
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.without_weights = attention_by_precision
            if type(module) is MultiHeadAttention:  # variants compute another attention
                module.__class__ = PackedMultiHeadAttention
        elif type(module) is Embedding:
            module.__class__ = FastEmbedding

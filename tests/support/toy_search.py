"""A small model with opinions, and sentences to search translations of."""

import torch
from torch import Tensor

from annotated_transformer.config import TransformerConfig
from annotated_transformer.transformer import Transformer

PAD, BOS, EOS = 0, 1, 2
MAX_EXTRA = 6


def toy_model(seed: int = 0, **changes) -> Transformer:
    """Small, random, in float64 (no near-ties by rounding), with logits that have opinions."""
    torch.manual_seed(seed)
    config = {"d_model": 16, "d_ff": 24, "num_heads": 2, "num_layers": 2, **changes}
    model = Transformer(TransformerConfig(vocab_size=13, **config)).double()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" not in name:
                parameter.mul_(2.0)
    return model.eval()


def some_sources(seed: int = 0) -> Tensor:
    """(6, 7) sentences of 1 to 7 tokens, padded."""
    src = torch.randint(3, 13, (6, 7), generator=torch.Generator().manual_seed(seed))
    for row, length in enumerate([7, 1, 4, 6, 2, 5]):
        src[row, length - 1] = EOS
        src[row, length:] = PAD
    return src


def prefer(model: Transformer, tokens: list[int], logit: float) -> None:
    """Give these tokens this logit wherever the decoder is, by a shift of its last norm."""
    norm = model.decoder.layers[-1].residuals[-1].norm
    with torch.no_grad():
        norm.gamma.zero_()
        norm.beta.fill_(1.0)
        model.projection.weight[tokens] = logit / model.config.d_model


def some_prefixes() -> Tensor:
    """(6, 3) of 0 to 3 tokens, padded."""
    return torch.tensor([[5, 6, 7], [4, 0, 0], [0, 0, 0], [8, 8, 0], [3, 0, 0], [0, 0, 0]])

"""The layers' weights held in bfloat16 as well, for training with mixed precision.

Under autocast a weight is rounded to 16 bits where it is used, and its gradient is turned back into
32 bits: small kernels for every matrix, almost two hundred in a step of the base model. Here all
weights are rounded together before the step, and all gradients are turned back together after it.
The numbers are the same, where autocast rounds. (Micikevicius et al., 2018, call the exact weights
the master copy.)
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from annotated_transformer.transformer import Transformer


class RoundedWeights:
    """Weights and biases of all linear layers of the encoder and the decoder, in bfloat16.

    Args:
        model: its own parameters are replaced inside `in_place` only.
    """

    def __init__(self, model: Transformer) -> None:
        stacks = (model.encoder, model.decoder)
        linear = [each for s in stacks for each in s.modules() if isinstance(each, nn.Linear)]
        self._places = [(each, name) for each in linear for name, _ in each.named_parameters()]
        self.exact: list[Tensor] = [module.get_parameter(name) for module, name in self._places]
        self.rounded: list[Tensor] = [nn.Parameter(each.bfloat16()) for each in self.exact]

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Inside, the layers multiply by the rounded weights, and the gradients become theirs."""
        for rounded in self.rounded:
            rounded.grad = None  # of a step that has failed
        with torch.no_grad():
            torch._foreach_copy_(self.rounded, self.exact)
        try:
            self._put(self.rounded)
            yield
        finally:
            self._put(self.exact)

    def _put(self, parameters: list[Tensor]) -> None:
        for (module, name), parameter in zip(self._places, parameters, strict=True):
            setattr(module, name, parameter)

    def turn_gradients(self) -> None:
        """Copy the rounded weights' gradients to the exact ones, in float32, and clear them."""
        rounded = [each.grad for each in self.rounded if each.grad is not None]
        assert len(rounded) == len(self.exact), "every linear layer takes part in every step"
        exact = [torch.empty_like(each) for each in self.exact]
        torch._foreach_copy_(exact, rounded)
        for own, of_rounded, gradient in zip(self.exact, self.rounded, exact, strict=True):
            own.grad, of_rounded.grad = gradient, None

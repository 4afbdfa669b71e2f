"""`torch.overrides`: watching operations."""

from .operations import TorchFunctionMode as TorchFunctionMode

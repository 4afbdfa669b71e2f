"""`torch.nn.parameter`."""

from .module import Parameter as Parameter

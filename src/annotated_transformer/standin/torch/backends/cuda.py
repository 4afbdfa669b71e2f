"""`torch.backends.cuda`."""

from types import SimpleNamespace

from .. import absent

__getattr__ = absent.anything_of("torch.backends.cuda")
matmul = SimpleNamespace(allow_tf32=False)

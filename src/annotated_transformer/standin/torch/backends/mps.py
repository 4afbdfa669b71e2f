"""`torch.backends.mps`: the graphics processors of Apple's machines."""

from .. import absent

__getattr__ = absent.anything_of("torch.backends.mps")


def is_available() -> bool:
    """Can one be used?"""
    return False


def is_built() -> bool:
    """Was PyTorch made for one?"""
    return False

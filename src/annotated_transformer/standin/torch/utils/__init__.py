"""`torch.utils`: what headers import, and says so when it is used."""

from .. import absent
from . import checkpoint as checkpoint
from . import data as data

__getattr__ = absent.anything_of("torch.utils")

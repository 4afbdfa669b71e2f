"""`torch.backends`: switches of libraries that are not here; they can be set, and do nothing."""

from .. import absent
from . import cuda as cuda
from . import cudnn as cudnn
from . import mps as mps

__getattr__ = absent.anything_of("torch.backends")

"""`torch.nn`: modules and layers."""

from .. import absent
from . import functional as functional
from . import init as init
from . import parameter as parameter
from . import utils as utils
from .attention import MultiheadAttention as MultiheadAttention
from .layers import GELU as GELU
from .layers import CrossEntropyLoss as CrossEntropyLoss
from .layers import Dropout as Dropout
from .layers import Embedding as Embedding
from .layers import Flatten as Flatten
from .layers import Identity as Identity
from .layers import KLDivLoss as KLDivLoss
from .layers import L1Loss as L1Loss
from .layers import LayerNorm as LayerNorm
from .layers import LeakyReLU as LeakyReLU
from .layers import Linear as Linear
from .layers import LogSoftmax as LogSoftmax
from .layers import ModuleDict as ModuleDict
from .layers import ModuleList as ModuleList
from .layers import MSELoss as MSELoss
from .layers import NLLLoss as NLLLoss
from .layers import ReLU as ReLU
from .layers import RMSNorm as RMSNorm
from .layers import Sequential as Sequential
from .layers import Sigmoid as Sigmoid
from .layers import SiLU as SiLU
from .layers import Softmax as Softmax
from .layers import Tanh as Tanh
from .module import Module as Module
from .module import Parameter as Parameter

__getattr__ = absent.attribute_of("torch.nn", absent.OF_NN)

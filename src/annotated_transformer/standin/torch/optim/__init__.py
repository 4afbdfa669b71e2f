"""`torch.optim`: optimizers, which say so when one is used."""

from .. import absent
from . import lr_scheduler as lr_scheduler

__getattr__ = absent.anything_of("torch.optim")
globals().update(
    absent.when_used(
        "torch.optim",
        "Optimizer Adam AdamW SGD Adagrad Adadelta Adamax NAdam RAdam RMSprop Rprop ASGD LBFGS "
        "SparseAdam Adafactor Muon",
    )
)

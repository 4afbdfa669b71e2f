"""`torch.optim.lr_scheduler`: learning rates that change, which say so when one is used."""

from .. import absent

__getattr__ = absent.anything_of("torch.optim.lr_scheduler")
globals().update(
    absent.when_used(
        "torch.optim.lr_scheduler",
        "LRScheduler _LRScheduler LambdaLR MultiplicativeLR StepLR MultiStepLR ConstantLR LinearLR "
        "ExponentialLR PolynomialLR CosineAnnealingLR CosineAnnealingWarmRestarts CyclicLR "
        "OneCycleLR ReduceLROnPlateau ChainedScheduler SequentialLR",
    )
)

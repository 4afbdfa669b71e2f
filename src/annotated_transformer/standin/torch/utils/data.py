"""`torch.utils.data`: data sets and their loaders, which say so when one is used."""

from .. import absent

__getattr__ = absent.anything_of("torch.utils.data")
globals().update(
    absent.when_used(
        "torch.utils.data",
        "DataLoader Dataset TensorDataset IterableDataset ConcatDataset Subset Sampler "
        "RandomSampler SequentialSampler BatchSampler WeightedRandomSampler DistributedSampler "
        "random_split default_collate",
    )
)

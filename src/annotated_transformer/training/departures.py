"""Which settings of a run are not the paper's."""

from annotated_transformer.training.settings import TrainingConfig

# Settings that the paper has decided. Sizes of the batch and the length of a run are none: they
# are what the machine allows.
DECIDED = (
    "label_smoothing",
    "learning_rate",
    "decay",
    "schedule",
    "optimizer",
    "weight_decay",
    "clip_norm",
    "init_gain",
    "r_drop",
    "byte_dropout",
    "share_rows",
    "final",
    "stop_after",
    "bpe_dropout",
    "lowercase",
)


def training_departures(config: TrainingConfig) -> list[str]:
    """The named options of training that are not the paper's, as "decay = 0.2".

    `TransformerConfig.departures` is the same for the model.
    """
    papers = TrainingConfig(steps=1)
    return [
        f"{name} = {getattr(config, name)}"
        for name in DECIDED
        if getattr(config, name) != getattr(papers, name)
    ]

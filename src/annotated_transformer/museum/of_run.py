"""A run directory as a system to be diagnosed: the package's own code around its model."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from annotated_transformer.after.families import OneStack
from annotated_transformer.data import Split, load_corpus
from annotated_transformer.decoding.decode import incremental_decoder
from annotated_transformer.errors import CallError
from annotated_transformer.museum.recipe import Recipe
from annotated_transformer.museum.system import Log, System
from annotated_transformer.training.label_smoothing import label_smoothing_loss
from annotated_transformer.training.run_directory import RunDirectory, load_run
from annotated_transformer.training.settings import TrainingConfig
from annotated_transformer.training.trainer import build_schedule

PAIRS = 100  # of each split, by which it is asked


def system_of_run(run_dir: Path, data_dir: Path | None = None) -> System:
    """What `diagnose` is given of a run.

    Args:
        run_dir: of a finished training.
        data_dir: where its corpus lies, if not where the run says.

    Raises:
        CallError: if no finished run lives there, or its corpus is not here.
        WorkError: if a file is damaged.
    """
    model, vocabulary, config = load_run(run_dir)
    if isinstance(model, OneStack):
        raise CallError(
            f"{run_dir} is of one stack, and the questions are those of an encoder and a decoder."
        )
    settings, data = config.training, config.data
    corpus = load_corpus(
        data["name"],
        data_dir=data_dir or data["data_dir"],
        source=data["source"],
        target=data["target"],
    )
    corpus = corpus.with_training_pairs(settings.pairs)
    pairs, held_out = (
        Split(list(split.source[:PAIRS]), list(split.target[:PAIRS]))
        for split in (corpus["train"], corpus["valid"])
    )
    written = RunDirectory(run_dir).read_metrics()
    lines = [line for line in written if line["event"] == "train"]
    log = Log(
        [line["step"] for line in lines],
        [] if settings.r_drop else [line["loss"] for line in lines],  # with R-Drop of another kind
        [line["learning_rate"] for line in lines],
    )
    schedule = build_schedule(settings, config.model.d_model)
    planned = planned_end(settings, written)

    def rate(step: int) -> float:
        assert planned is not None
        return schedule.rate(step, (step - 1) / planned)

    return System(
        model=model,
        recipe=Recipe(
            loss=partial(label_smoothing_loss, eps=settings.label_smoothing),
            decoder=partial(incremental_decoder, use_cache=True),
        ),
        config=config.model,
        vocabulary=vocabulary,
        pairs=pairs,
        held_out=held_out,
        log=log if lines else None,
        rate=rate if planned else None,
        own_code=False,
    )


def planned_end(settings: TrainingConfig, written: Sequence[Mapping[str, Any]]) -> int | None:
    """The step at which a run was to end; None where only its clock knew, or it was stopped.

    Args:
        settings: of the run.
        written: the lines of its journal.
    """
    if settings.steps is not None:
        return settings.steps
    for line in written:
        if line["event"] == "valid" and line["epoch"] == settings.epochs:
            return int(line["step"])
    return None

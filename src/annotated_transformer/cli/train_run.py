"""What `annotated-transformer train` does, from opening a run to its end."""

import argparse
import io
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import fields
from functools import partial
from typing import Any

import torch

from annotated_transformer.after.config import LATER, LaterConfig, kind_of, read_parts
from annotated_transformer.cli import parse_command
from annotated_transformer.cli.train import DEFAULT_DATA, DEFAULT_EPOCHS
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import (
    EncodedSplit,
    ParallelCorpus,
    Split,
    Vocabulary,
    encode_split,
    load_corpus,
    padding_waste,
)
from annotated_transformer.data.bpe_dropout import split_anew
from annotated_transformer.errors import CallError
from annotated_transformer.evidence.table3 import TABLE_3
from annotated_transformer.fast.memory import keep_freed_memory
from annotated_transformer.fast.shared_rows import shared_row_waste
from annotated_transformer.training.devices import (
    choose_device,
    choose_precision,
    refuse_what_cannot_fit,
)
from annotated_transformer.training.distributed import Workers, joined, leave, own_device
from annotated_transformer.training.progress import Progress
from annotated_transformer.training.run_directory import RunConfig, RunDirectory
from annotated_transformer.training.settings import TrainingConfig
from annotated_transformer.training.tensorboard import tensorboard_mirror
from annotated_transformer.training.trainer import Trainer
from annotated_transformer.training.validation import greedy_bleu

# Options that set a field of the model or of the training by the same name.
MODEL_OPTIONS = (
    *("dropout", "norm", "positions", "attention", "residual"),
    *("decoder_layers", "tie_embeddings", "embedding_scale"),
)
DEFAULT_PRESET = "tiny"
TRAINING_OPTIONS = tuple(field.name for field in fields(TrainingConfig))


def train(arguments: argparse.Namespace) -> int:
    """Train, or go on training."""
    asked = {key: value for key, value in vars(arguments).items() if key not in ("run", "command")}
    directory = RunDirectory(asked.pop("run_dir"))
    resume = asked.pop("resume", False)
    tensorboard = asked.pop("tensorboard", False)
    mirror = tensorboard_mirror(directory.path / "tensorboard") if tensorboard else None
    keep_freed_memory()
    device = own_device(choose_device(asked.pop("device")))
    with joined(device) as workers:
        status = _take_part(directory, asked, resume, device, workers, mirror)
        workers.wait()  # when one fails, `torchrun` ends all: the first may still be writing
    if workers.size > 1:
        leave(status)
    return status


def _take_part(
    directory: RunDirectory,
    asked: dict[str, Any],
    resume: bool,
    device: torch.device,
    workers: Workers,
    mirror: Callable[[dict[str, Any]], None] | None,
) -> int:
    """What one process of a run does, from opening it to its end."""
    if resume:
        opened = _reopen(directory, asked, device)
    elif workers.is_first:
        asked.setdefault("threads", torch.get_num_threads())
        opened = _begin(directory, asked, device)
    else:
        workers.wait()  # until the first process has begun the run
        opened = _reopen(directory, {}, device)
    config = opened[0]
    if config.training.threads is not None:
        torch.set_num_threads(config.training.threads)
    trainer = _build_trainer(directory, *opened, device, workers, mirror)
    with directory.locked() if workers.is_first else nullcontext():
        if resume:
            step = trainer.resume()
            if workers.is_first:
                _say(f"resumed after step {step}")
        elif workers.is_first:
            directory.create(config, opened[2])
            _warn_of_what_is_left_out(trainer, opened[1])
            workers.wait()
        return _train(trainer)


def _train(trainer: Trainer) -> int:
    """Train to the end, or until somebody asks to stop, and say which."""
    finished, directory = trainer.run(), trainer.directory
    if not trainer.workers.is_first:
        return 0 if finished else 1
    if finished:
        _say(f"the model is {directory.model_file}")
        return 0
    _say(
        f"stopped by {trainer.stop_asked} after step {trainer.state.step}, and saved. Go on "
        f"with: annotated-transformer train --run-dir {directory.path} --resume"
    )
    return 1


def _warn_of_what_is_left_out(trainer: Trainer, corpus: ParallelCorpus) -> None:
    """Say which pairs of the corpus the run will never see."""
    total, longest = len(corpus["train"]), trainer.settings.max_length
    if skipped := trainer.train_split.skipped:
        text = (
            f"{skipped:,} of {total:,} training pairs have more than {longest} tokens on a side "
            "and are left out; --max-length sets the limit."
        )
        trainer.journal.warn(0, "long pairs", text)
    if dropped := corpus.origin.get("dropped_pairs", 0):  # said when the files were read
        text = f"{dropped:,} training pairs have an empty side and are left out."
        trainer.journal.record(
            {"event": "warning", "step": 0, "about": "empty lines", "text": text}
        )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _begin(
    directory: RunDirectory, asked: dict[str, Any], device: torch.device
) -> tuple[RunConfig, ParallelCorpus, Vocabulary]:
    """The configuration of a new run. Nothing is written yet."""
    directory.must_be_new()
    training, model_of = configure(asked, device)
    source, target = asked.get("source", "en"), asked.get("target", "de")
    data_dir = asked.get("data_dir")
    name = corpus_name(asked)
    corpus = load_corpus(name, data_dir=data_dir, source=source, target=target)
    corpus = corpus.with_training_pairs(training.pairs)
    train = corpus["train"]
    if corpus.whole_words:
        if training.bpe_dropout:
            raise CallError(f"the corpus {name!r} splits no word: leave out --bpe-dropout")
        if training.lowercase:
            raise CallError(
                f"the corpus {name!r} is expected as it is, its tokens unchanged, and --lowercase "
                "was given: leave out --lowercase"
            )
        vocabulary = Vocabulary.of_words(train.sentences(), training.vocab_size)
    else:
        vocabulary = Vocabulary.train(train.sentences(), training.vocab_size, training.lowercase)
    model = model_of(len(vocabulary))
    refuse_what_cannot_fit(model, device)
    data = {
        "preset": asked.get("preset", DEFAULT_PRESET),
        "name": name,
        "data_dir": None if data_dir is None else str(data_dir),
        "source": source,
        "target": target,
        "splits": {split: _describe(corpus[split]) for split in ("train", "valid")},
        "origin": corpus.origin,
    }
    return RunConfig(model, training, data), corpus, vocabulary


def corpus_name(asked: dict[str, Any]) -> str:
    """The corpus that the options of `train` name."""
    return str(asked.get("data", DEFAULT_DATA if asked.get("data_dir") is None else "folder"))


def configure(
    asked: dict[str, Any], device: torch.device
) -> tuple[TrainingConfig, Callable[[int], TransformerConfig]]:
    """What the options of `train` mean: the settings, and the model for a size of the vocabulary.

    Raises:
        CallError: if the options contradict each other, or the model cannot fit.
    """
    if not {"steps", "epochs", "minutes"} & asked.keys():
        asked["epochs"] = DEFAULT_EPOCHS
    preset = asked.get("preset", DEFAULT_PRESET)
    row = next((row for row in TABLE_3 if row.preset == preset.partition("/")[0]), None)
    if row is not None:  # rows D3 and D4 of Table 3 differ from base in this alone
        asked.setdefault("label_smoothing", row.label_smoothing)
    asked["precision"] = choose_precision(asked.get("precision"), device)
    try:
        training = TrainingConfig(**{key: asked[key] for key in TRAINING_OPTIONS if key in asked})
        changes = {key: asked[key] for key in MODEL_OPTIONS if key in asked}
        later = read_parts(asked.get("later", ""))
        kind, changes = kind_of(later), changes | later
        config = RunConfig(kind.preset(preset, 4, **changes), training, {})
        refuse_what_cannot_fit(config.model, device)
    except ValueError as error:
        raise CallError(str(error)) from error
    return training, partial(kind.preset, preset, **changes)


def configuration_of(command: str) -> RunConfig | None:
    """What a command line begins to train, and the name of its corpus; None if it is no training.

    Raises:
        ValueError: if the program does not understand it.
    """
    asked = vars(parse_command(command))
    if asked["command"] != "train":
        return None
    try:
        training, model_of = configure(asked, torch.device("cpu"))
    except CallError as error:
        raise ValueError(str(error)) from error
    return RunConfig(model_of(training.vocab_size), training, {"name": corpus_name(asked)})


def _reopen(
    directory: RunDirectory, asked: dict[str, Any], device: torch.device
) -> tuple[RunConfig, ParallelCorpus, Vocabulary]:
    """A run to go on with: its own configuration, which the call must not contradict."""
    config = directory.read_config()
    try:
        refuse_what_cannot_fit(config.model, device)
    except CallError as error:
        raise CallError(f"{directory.config_file} asks for too much here: {error}") from error
    known = {
        "data": config.data["name"],
        **config.data,
        **LATER,
        **config.model.to_dict(),
        **config.training.to_dict(),
    }
    try:
        later = read_parts(asked.pop("later", ""))
    except ValueError as error:
        raise CallError(str(error)) from error
    for key, value in {**asked, **later}.items():
        if key != "data_dir" and known[key] != value:
            raise CallError(
                f"--{key.replace('_', '-')} {value} contradicts the run in {directory.path}, which "
                f"was begun with {known[key]}: leave the option out, or begin a new run."
            )
    data = config.data
    corpus = load_corpus(
        data["name"],
        data_dir=asked.get("data_dir", data["data_dir"]),
        source=data["source"],
        target=data["target"],
    ).with_training_pairs(config.training.pairs)
    for split, description in data["splits"].items():
        if _describe(corpus[split]) != description:
            raise CallError(
                f"The {split} sentences are no longer those that the run in {directory.path} was "
                "begun with: give the same files (--data-dir), or begin a new run."
            )
    return config, corpus, directory.read_vocabulary(config)


def _describe(split: Split) -> dict[str, Any]:
    """How many pairs, and a checksum over both sides."""
    return {"pairs": len(split), "sha256": split.sha256}


def _refuse_what_has_no_position(
    name: str, encoded: EncodedSplit, model: TransformerConfig
) -> None:
    """Raises CallError if a pair is longer than a learned table of positions."""
    if model.positions != "learned":
        return
    of_a_row = sum if isinstance(model, LaterConfig) and model.is_one_stack else max
    for index, lengths in zip(encoded.indices, encoded.lengths, strict=True):
        if of_a_row(lengths) > model.max_positions:
            way_out = f"--max-length {model.max_positions}" if name == "training" else "shorten it"
            raise CallError(
                f"line {index + 1} of the {name} sentences has {of_a_row(lengths):,} tokens, and "
                f"the learned table of positions ends at {model.max_positions:,}: {way_out}, or "
                "use --positions sinusoidal."
            )


def _build_trainer(
    directory: RunDirectory,
    config: RunConfig,
    corpus: ParallelCorpus,
    vocabulary: Vocabulary,
    device: torch.device,
    workers: Workers,
    mirror: Callable[[dict[str, Any]], None] | None,
) -> Trainer:
    """Encode the data, say what will be trained on what, and set the trainer up."""
    longest = config.training.max_length
    copies: list[EncodedSplit] = []
    if (p := config.training.bpe_dropout) > 0:
        train, *copies = split_anew(corpus["train"], vocabulary, p, config.training.seed, longest)
    else:
        train = encode_split(corpus["train"], vocabulary, max_length=longest)
    valid = encode_split(corpus["valid"], vocabulary)
    for encoded in (train, *copies):
        _refuse_what_has_no_position("training", encoded, config.model)
    _refuse_what_has_no_position("validation", valid, config.model)
    bleu = None
    if config.training.stop_by == "bleu":
        bleu = greedy_bleu(corpus["valid"], vocabulary, config.training)
    progress = Progress() if workers.is_first else Progress(io.StringIO())
    trainer = Trainer(
        directory,
        config,
        train,
        valid,
        device,
        progress,
        workers,
        bleu=bleu,
        mirror=mirror,
        copies=copies,
    )
    if workers.is_first:
        _say(_summary(trainer, vocabulary))
    return trainer


def _summary(trainer: Trainer, vocabulary: Vocabulary) -> str:
    """What will be trained on what, in a line."""
    train, settings, batches = trainer.train_split, trainer.settings, trainer.batches(0)
    if (shape := trainer.plans.rule.shape) is None:
        waste = padding_waste(train.lengths, batches)
    else:
        waste = shared_row_waste(train.lengths, batches, shape)
    step, count = "", settings.accumulate
    if count > 1:
        step = f"{count} batches a step (at most {count * settings.max_tokens:,} tokens a side); "
    processes = f"{trainer.workers.size} processes of " if trainer.workers.size > 1 else ""
    return (
        f"{trainer.model.num_parameters():,} parameters, vocabulary {len(vocabulary):,}; "
        f"{len(train):,} pairs ({train.skipped} longer than {settings.max_length} tokens left out) "
        f"in {len(batches):,} batches; {step}padding {waste.source:.1%} of the source, "
        f"{waste.target:.1%} of the target; {trainer.device.type}, {settings.precision}, "
        f"{processes}{torch.get_num_threads()} threads"
    )

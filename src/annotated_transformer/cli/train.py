"""`annotated-transformer train`: train a model into a run directory."""

import argparse
import io
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch

from annotated_transformer.cli.options import add_device
from annotated_transformer.config import CHOICES, TransformerConfig
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

DEFAULT_DATA = "grammar"
DEFAULT_EPOCHS = 10
# Options that set a field of the model or of the training by the same name.
MODEL_OPTIONS = (
    *("dropout", "norm", "positions", "attention", "residual"),
    *("decoder_layers", "tie_embeddings", "embedding_scale"),
)
TRAINING_OPTIONS = tuple(field.name for field in fields(TrainingConfig))


def register(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Train a Transformer into a run directory. The recipe is the paper's, the "
        "size (tiny, 4096 tokens a batch) a laptop's; what is marked 'departure' is not in the "
        "paper."
    )
    parser.argument_default = argparse.SUPPRESS
    parser.set_defaults(run=run)
    add = parser.add_argument
    add("--run-dir", type=Path, required=True, help="folder of the run, new or to be resumed")
    add("--resume", action="store_true", help="go on from the last checkpoint in --run-dir")
    add("--preset", help="tiny (default), small, base, big, a row of Table 3, or base/h=1")
    add("--data", help=f"corpus by name (default {DEFAULT_DATA}); see `data list`")
    add("--data-dir", type=Path, help="folder with train.en, train.de, valid.en, ...")
    add("--source", help="source language (default en)")
    add("--target", help="target language (default de)")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--steps", type=int, help="optimizer steps")
    length.add_argument("--epochs", type=int, help=f"passes (default {DEFAULT_EPOCHS})")
    length.add_argument("--minutes", type=float, help="wall time")
    add("--max-tokens", type=int, help="tokens a batch on each side (default 4096; paper 25000)")
    add(
        "--batch-tokens",
        type=int,
        help="tokens a step on each side, taken in batches of --max-tokens whose gradients add up: "
        "25000 is the paper's step where memory holds less (default one batch). An epoch's last "
        "step takes the batches that are left",
    )
    add("--warmup", type=int, help="steps to the peak of the learning rate (paper: 4000)")
    add("--learning-rate", type=float, help="the peak; default the paper's formula (departure)")
    add("--decay", type=float, help="last share of the run that also falls to zero (departure)")
    add("--init-gain", type=float, help="shrinks the branches' starting values (departure)")
    add("--r-drop", type=float, help="two passes that should agree, by this weight (departure)")
    add("--clip-norm", type=float, help="longest gradient, over all weights (departure)")
    add("--dropout", type=float, help="P_drop; default the preset's (paper: 0.1)")
    add("--label-smoothing", type=float, help="epsilon_ls (paper: 0.1)")
    add("--norm", choices=CHOICES["norm"], help="post as in the paper; others are a departure")
    add("--positions", choices=CHOICES["positions"], help="default sinusoidal")
    add(
        "--attention",
        choices=CHOICES["attention"],
        help="scaled-dot-product as in the paper; others are a departure",
    )
    either = argparse.BooleanOptionalAction
    add("--residual", action=either, help="residual connections (without: departure)")
    add("--decoder-layers", type=int, help="N of the decoder; default the preset's (departure)")
    add("--tie-embeddings", action=either, help="one matrix for all three (not: departure)")
    add("--embedding-scale", action=either, help="times sqrt(d_model) (without: departure)")
    add("--vocab-size", type=int, help="of the shared byte-pair vocabulary (default 10000)")
    add("--bpe-dropout", type=float, help="share of merges left out, at random (departure)")
    add("--lowercase", action="store_true", help="train on lower-cased text (departure)")
    add("--pairs", type=int, help="learn from the first so many pairs of the corpus (default all)")
    add("--max-length", type=int, help="longer pairs are left out (default 256 tokens)")
    add("--seed", type=int, help="default 0")
    add_device(parser)
    add("--precision", help="fp32 or bf16; default bf16 where the hardware has it")
    add("--byte-dropout", action="store_true", help="faster dropout on a CPU (departure)")
    add(
        "--share-rows",
        action="store_true",
        help="several sentences in a row of a batch: one shape, fast on a GPU (departure)",
    )
    add("--compile", action=argparse.BooleanOptionalAction, help="torch.compile; for GPUs")
    add("--checkpoint-every", type=int, help="steps; default one checkpoint an epoch")
    add("--keep", type=int, help="how many checkpoints stay (default 5)")
    add("--average", type=int, help="final weights: mean of so many checkpoints (default 5)")
    add(
        "--final",
        choices=("average", "best", "last"),
        help="final weights: that mean (default), the best validation's, the last step's "
        "(the last two are a departure)",
    )
    add(
        "--stop-after",
        type=int,
        help="end after so many validations (one an epoch) without a better one (departure)",
    )
    add("--stop-by", choices=("loss", "bleu"), help="better by loss (default) or greedy BLEU")
    add("--tensorboard", action="store_true", help="metrics to TensorBoard too, if installed")


def run(arguments: argparse.Namespace) -> int:
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
    if not {"steps", "epochs", "minutes"} & asked.keys():
        asked["epochs"] = DEFAULT_EPOCHS
    preset = asked.get("preset", "tiny")
    row = next((row for row in TABLE_3 if row.preset == preset.partition("/")[0]), None)
    if row is not None:  # rows D3 and D4 of Table 3 differ from base in this alone
        asked.setdefault("label_smoothing", row.label_smoothing)
    asked["precision"] = choose_precision(asked.get("precision"), device)
    try:
        training = TrainingConfig(**{key: asked[key] for key in TRAINING_OPTIONS if key in asked})
        changes = {key: asked[key] for key in MODEL_OPTIONS if key in asked}
        refuse_what_cannot_fit(TransformerConfig.preset(preset, 4, **changes), device)
    except ValueError as error:
        raise CallError(str(error)) from error
    source, target = asked.get("source", "en"), asked.get("target", "de")
    data_dir = asked.get("data_dir")
    name = asked.get("data", DEFAULT_DATA if data_dir is None else "folder")
    corpus = load_corpus(name, data_dir=data_dir, source=source, target=target)
    corpus = corpus.with_training_pairs(training.pairs)
    train = corpus["train"]
    vocabulary = Vocabulary.train(train.sentences(), training.vocab_size, training.lowercase)
    model = TransformerConfig.preset(preset, len(vocabulary), **changes)
    refuse_what_cannot_fit(model, device)
    data = {
        "name": name,
        "data_dir": None if data_dir is None else str(data_dir),
        "source": source,
        "target": target,
        "splits": {split: _describe(corpus[split]) for split in ("train", "valid")},
        "origin": corpus.origin,
    }
    return RunConfig(model, training, {"preset": preset, **data}), corpus, vocabulary


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
        **config.model.to_dict(),
        **config.training.to_dict(),
    }
    for key, value in asked.items():
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
    for index, lengths in zip(encoded.indices, encoded.lengths, strict=True):
        if max(lengths) > model.max_positions:
            way_out = f"--max-length {model.max_positions}" if name == "training" else "shorten it"
            raise CallError(
                f"line {index + 1} of the {name} sentences has {max(lengths):,} tokens, and the "
                f"learned table of positions ends at {model.max_positions:,}: {way_out}, or use "
                "--positions sinusoidal."
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

"""`annotated-transformer train`: train a model into a run directory."""

import argparse
from pathlib import Path

from annotated_transformer.cli.options import add_device
from annotated_transformer.config import CHOICES

DEFAULT_DATA = "grammar"
DEFAULT_EPOCHS = 10


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
    add("--schedule", help="paper (default), cosine or plateau after the warm-up (departure)")
    add("--optimizer", help="adam (default), or muon for the layers' matrices (departure)")
    add("--weight-decay", type=float, help="AdamW's, on matrices (departure)")
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
    add(
        "--later",
        metavar="PART=VALUE,...",
        help="parts that came after the paper, as network=swiglu,qk_norm=yes (departure)",
    )
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
    add("--precision", help="fp32 or bf16; default bf16 where the hardware is faster with it")
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
    from annotated_transformer.cli.train_run import train

    return train(arguments)

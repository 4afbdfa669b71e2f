"""`annotated-transformer benchmark`: this package beside others, on this machine."""

import argparse
import sys
from pathlib import Path

import torch

from annotated_transformer.cli.options import (
    add_device,
    add_format,
    positive,
    print_json,
    print_lines,
)

# Tokens a side in a batch: what fits a laptop and is the size of the recorded runs.
SIZES = {"tiny": 4096, "small": 4096, "base": 2048, "big": 2048}
VOCABULARY = 10_000


def register(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "benchmark",
        help="this package beside others, on this machine",
        description="Time this package and its peers in turn on the same batches. Ratios are "
        "medians over the rounds, with quartiles.",
    )
    parser.set_defaults(run=run)
    parser.add_argument("what", choices=("training",), help="whole training steps")
    parser.add_argument(
        "--sizes",
        nargs="+",
        choices=tuple(SIZES),
        default=["tiny", "base"],
        help="models (default tiny and base)",
    )
    parser.add_argument("--rounds", type=positive, default=15, help="that count (default 15)")
    parser.add_argument("--max-tokens", type=positive, help="of a batch, a side")
    parser.add_argument("--data", default=None, help="corpus by name (default grammar)")
    parser.add_argument("--data-dir", type=Path, help="folder with train.en, train.de")
    add_device(parser)
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure each size and print it as soon as it is known."""
    from annotated_transformer.benchmark.training import as_text, measure_training
    from annotated_transformer.data import Vocabulary, encode_split, load_corpus
    from annotated_transformer.training.devices import choose_device, processor_name

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    device = choose_device(arguments.device)
    corpus = load_corpus(arguments.data, data_dir=arguments.data_dir)
    train = corpus["train"]
    vocabulary = Vocabulary.train([*train.source, *train.target], VOCABULARY)
    split = encode_split(train, vocabulary)
    machine = {
        "torch": torch.__version__,
        "processor": processor_name(),
        "device": str(device),
        "threads": torch.get_num_threads(),
        "corpus": corpus.name,
        "vocabulary": len(vocabulary),
    }
    as_json = arguments.format == "json"
    if not as_json:
        print_lines([", ".join(f"{name} {value}" for name, value in machine.items())])
    reports = []
    for preset in arguments.sizes:

        def say(done: int, of: int, preset: str = preset) -> None:
            print(f"{preset}: round {done} of {of}", file=sys.stderr, flush=True)

        max_tokens = arguments.max_tokens or SIZES[preset]
        report = measure_training(
            preset, split, len(vocabulary), max_tokens, arguments.rounds, device, say
        )
        reports.append(report)
        if not as_json:
            print_lines(as_text(report))
    if as_json:
        print_json({**machine, "training": [report.to_dict() for report in reports]})
    return 0

"""`annotated-transformer benchmark`: this package beside others, on this machine."""

import argparse
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from annotated_transformer.cli.options import (
    add_device,
    add_format,
    add_search,
    positive,
    print_json,
    print_lines,
)
from annotated_transformer.errors import CallError
from annotated_transformer.fast.memory import keep_freed_memory

if TYPE_CHECKING:
    import torch

    from annotated_transformer.data import ParallelCorpus

# Tokens a side in a batch: what fits a laptop and is the size of the recorded runs.
SIZES = {"tiny": 4096, "small": 4096, "base": 2048, "big": 2048}
VOCABULARY = 10_000
SHORT_NAMES = {
    "marian": "Hugging Face Marian",
    "torch": "torch.nn.Transformer",
    "annotated": "The Annotated Transformer's architecture",
}
TRAINED = "trained"  # the weights of --run-dir, or those that come with the package
BATCH_TOKENS = 2048  # source tokens in a batch that is translated
SENTENCES = {"base": 48, "big": 48}  # that are translated; 200 where nothing else is said


def register(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Time this package and its peers in turn on the same pairs. Ratios are "
        "medians over the rounds, with quartiles. `ladder` times this package alone: from the "
        "plain step to the fast one, one change a row. On a GPU it takes by default the base model "
        "at the paper's batch (25,000 tokens a side, vocabulary 37,000), elsewhere the tiny model "
        "at 2,048 tokens with a vocabulary of 2,000. What a count of its memory says does not fit "
        "is not tried."
    )
    parser.epilog = (
        f"For decoding, {TRAINED} are the weights of --run-dir, or of the small translator "
        "that comes with the package. A size by its name has random weights: sentences get as many "
        "tokens as their source then, because random weights end them at no sensible place. Peers "
        "take part where they are installed: pip install transformers ctranslate2."
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "what",
        choices=("training", "decoding", "ladder"),
        help="whole training steps, translations by beam search, or what makes a step fast",
    )
    parser.add_argument(
        "--sizes",
        nargs="+",
        choices=(*SIZES, TRAINED),
        help=f"models (default tiny and base; for decoding {TRAINED} and base)",
    )
    parser.add_argument("--rounds", type=positive, help="that count (default 5)")
    parser.add_argument(
        "--max-tokens",
        type=positive,
        help="of a batch: a side in training, of the sources in decoding",
    )
    parser.add_argument("--data", default=None, help="corpus by name (default grammar)")
    parser.add_argument("--data-dir", type=Path, help="folder with train.en, train.de")
    parser.add_argument(
        "--compile",
        nargs="*",
        choices=tuple(SHORT_NAMES),
        help="training: these peers once more by torch.compile (no name: all), this package too",
    )
    parser.add_argument(
        "--precisions", nargs="+", choices=("fp32", "bf16"), help="training: these alone"
    )
    parser.add_argument(
        "--peers", nargs="+", choices=tuple(SHORT_NAMES), help="training: these alone"
    )
    of_ladder = parser.add_argument_group("ladder")
    of_ladder.add_argument(
        "--vocab-size", type=positive, help="default 37000 on a GPU, 2000 elsewhere"
    )
    of_ladder.add_argument("--rungs", nargs="+", help="these rows alone (default all)")
    of_ladder.add_argument(
        "--seconds",
        type=positive,
        help="for the steps of a row, and as many for its warm-up (default 60); compiling is not "
        "cut off",
    )
    of_ladder.add_argument(
        "--out", type=Path, help="file that gets each row as JSON at once, and is gone on with"
    )
    only = parser.add_argument_group("decoding")
    only.add_argument("--run-dir", type=Path, help=f"the run whose weights are {TRAINED}")
    only.add_argument(
        "--sentences",
        type=positive,
        help="of the validation split (default 200; 48 for base and big)",
    )
    only.add_argument(
        "--clock",
        choices=("wall", "processor"),
        default="wall",
        help="processor: the time that this process computed, where a machine has other work",
    )
    add_search(parser)
    add_device(parser)
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure each size and print it as soon as it is known."""
    import torch

    from annotated_transformer.data import load_corpus
    from annotated_transformer.training.devices import choose_device, processor_name

    if arguments.what == "ladder":
        return climb_ladder(arguments)
    decoding = arguments.what == "decoding"
    if TRAINED in (arguments.sizes or []) and not decoding:
        raise CallError(f"--sizes {TRAINED} is for decoding: training begins with random weights.")
    if decoding and (arguments.peers or arguments.precisions or arguments.compile is not None):
        raise CallError("--peers, --precisions and --compile are for training.")
    if arguments.run_dir and not decoding:
        raise CallError("--run-dir is for decoding: training begins with random weights.")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    device = choose_device(arguments.device)
    corpus = load_corpus(arguments.data, data_dir=arguments.data_dir)
    machine = {
        "torch": torch.__version__,
        "processor": processor_name(),
        "device": str(device),
        "threads": torch.get_num_threads(),
        "corpus": corpus.name,
    }
    measure = decode_sizes if decoding else train_sizes
    reports = measure(arguments, corpus, device, machine)
    if arguments.format == "json":
        print_json({**machine, arguments.what: reports})
    return 0


def climb_ladder(arguments: argparse.Namespace) -> int:
    """`benchmark ladder`: each row printed for people as it comes. 1 if a row failed."""
    import torch

    from annotated_transformer.benchmark.ladder import LadderSettings, climb
    from annotated_transformer.benchmark.ladder_rows import as_text
    from annotated_transformer.training.devices import choose_device

    for option in ("data", "data_dir", "compile", "run_dir", "peers", "precisions"):
        if getattr(arguments, option) is not None:
            raise CallError(
                f"--{option.replace('_', '-')} is not for the ladder: its pairs are invented, its "
                "weights random, and its rungs say what is compiled."
            )
    if len(arguments.sizes or ()) > 1 or TRAINED in (arguments.sizes or ()):
        raise CallError("a ladder is of one size with random weights, such as --sizes base.")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    keep_freed_memory()
    asked = {
        "preset": (arguments.sizes or [None])[0],
        "vocab_size": arguments.vocab_size,
        "max_tokens": arguments.max_tokens,
        "rounds": arguments.rounds,
        "seconds": arguments.seconds,
    }
    as_json = arguments.format == "json"
    device = choose_device(arguments.device)
    rows = climb(
        LadderSettings.on(device, {key: v for key, v in asked.items() if v is not None}),
        device,
        arguments.out,
        arguments.rungs,
        (lambda row: None) if as_json else (lambda row: print_lines(as_text(row).splitlines())),
    )
    if as_json:
        print_json({"ladder": rows})
    return 1 if any("error" in row for row in rows) else 0


def say_machine(arguments: argparse.Namespace, machine: dict[str, Any]) -> None:
    """The first line for people."""
    if arguments.format != "json":
        print_lines([", ".join(f"{name} {value}" for name, value in machine.items())])


def tell(what: str, done: int, of: int) -> None:
    """How far the measurement is."""
    print(f"{what}: turn {done} of {of}", file=sys.stderr, flush=True)


def teller(what: str) -> Any:
    """A function that tells how far the measurement of `what` is."""

    def say(done: int, of: int) -> None:
        tell(what, done, of)

    return say


def names_of(peers: list[str] | None) -> list[str] | None:
    """In full; none named is all of them."""
    if peers is None:
        return None
    return [SHORT_NAMES[name] for name in dict.fromkeys(peers or SHORT_NAMES)]


def train_sizes(
    arguments: argparse.Namespace,
    corpus: "ParallelCorpus",
    device: "torch.device",
    machine: dict[str, Any],
) -> list[dict[str, Any]]:
    """`benchmark training`: the report of each size, printed for people as it comes."""
    from annotated_transformer.benchmark.contestants import PRECISIONS
    from annotated_transformer.benchmark.ladder import LadderSettings, invented_pairs
    from annotated_transformer.benchmark.training import as_text, measure_training
    from annotated_transformer.config import TransformerConfig
    from annotated_transformer.data import Vocabulary, encode_split

    on_gpu = device.type == "cuda"
    if on_gpu and not (arguments.data or arguments.data_dir):  # the paper's batch, as the ladder
        at = LadderSettings()
        vocab_size = arguments.vocab_size or at.vocab_size
        split = invented_pairs(20_000, TransformerConfig.preset("base", vocab_size))
        sizes, budgets = ["base"], dict.fromkeys(SIZES, at.max_tokens)
        machine["corpus"] = "invented"
    else:
        train = corpus["train"]
        vocabulary = Vocabulary.train([*train.source, *train.target], VOCABULARY)
        split, vocab_size = encode_split(train, vocabulary), len(vocabulary)
        sizes, budgets = ["tiny", "base"], SIZES
    machine["vocabulary"] = vocab_size
    say_machine(arguments, machine)
    reports = []
    for preset in arguments.sizes or sizes:
        max_tokens = arguments.max_tokens or budgets[preset]
        rounds = arguments.rounds or 5
        report = measure_training(
            preset,
            split,
            vocab_size,
            max_tokens,
            rounds,
            device,
            tell,
            names_of(arguments.compile),
            precisions=tuple(dict.fromkeys(arguments.precisions or PRECISIONS)),
            peers=names_of(arguments.peers or None),
        )
        reports.append(report.to_dict())
        if arguments.format != "json":
            print_lines(as_text(report))
    return reports


def warn_of_sleeping_threads(device: "torch.device") -> None:
    """CTranslate2's own OpenMP makes PyTorch's threads sleep between two operations."""
    import torch

    takes_part = device.type == "cpu" and find_spec("ctranslate2") is not None
    may_sleep = os.environ.get("OMP_WAIT_POLICY", "").lower() != "active"
    if takes_part and may_sleep and torch.get_num_threads() > 1:
        print(
            "CTranslate2 takes part, which slows all others on several threads: set "
            "OMP_WAIT_POLICY=active, or give --threads 1 (benchmarks/README.md)",
            file=sys.stderr,
        )


def decode_sizes(
    arguments: argparse.Namespace,
    corpus: "ParallelCorpus",
    device: "torch.device",
    machine: dict[str, Any],
) -> list[dict[str, Any]]:
    """`benchmark decoding`: the report of each size, printed for people as it comes."""
    import torch

    from annotated_transformer.benchmark.decoders import Task
    from annotated_transformer.benchmark.decoding import as_text, measure_decoding
    from annotated_transformer.config import TransformerConfig
    from annotated_transformer.evaluation.translation import longest_source, source_ids
    from annotated_transformer.shipped import FOLDER
    from annotated_transformer.training import load_run
    from annotated_transformer.transformer import Transformer

    keep_freed_memory()  # for everybody alike
    warn_of_sleeping_threads(device)
    trained, vocabulary, _ = load_run(arguments.run_dir or FOLDER, device)
    machine["vocabulary"] = len(vocabulary)
    say_machine(arguments, machine)
    sentences = [line for line in corpus["valid"].source if line.strip()]
    reports = []
    for size in arguments.sizes or [TRAINED, "base"]:
        if size == TRAINED:
            model, weights = trained, "the run's weights" if arguments.run_dir else "shipped"
        else:
            torch.manual_seed(0)
            config = TransformerConfig.preset(size, len(vocabulary))
            model, weights = Transformer(config).to(device).eval(), f"{size}, random weights"
        sources = [
            ids for ids in source_ids(vocabulary, sentences) if len(ids) <= longest_source(model)
        ][: arguments.sentences or SENTENCES.get(size, 200)]
        task = Task(model, arguments.beam, arguments.alpha, fixed_length=size != TRAINED)
        report = measure_decoding(
            weights,
            task,
            sources,
            arguments.max_tokens or BATCH_TOKENS,
            arguments.rounds or 5,
            arguments.clock,
            teller(weights),
        )
        reports.append(report.to_dict())
        if arguments.format != "json":
            print_lines(as_text(report))
    return reports

"""`annotated-transformer import`: a model that others trained as a run directory."""

import argparse
import sys
from pathlib import Path


def register(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Turn a folder with a Marian model of the Hugging Face Hub (OPUS-MT: config.json, "
        "model.safetensors, vocab.json, source.spm) into a run directory. `translate`, `evaluate` "
        "and the tools of the chapters take it; it is not trained further."
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "--from", type=Path, required=True, dest="folder", metavar="FOLDER", help="the model"
    )
    parser.add_argument("--run-dir", type=Path, required=True, help="a new folder")
    parser.add_argument("--source", required=True, help="language that it reads, such as en")
    parser.add_argument("--target", required=True, help="language that it writes, such as de")


def run(arguments: argparse.Namespace) -> int:
    """Write the run directory and say what is in it."""
    from annotated_transformer.sharing.from_marian import import_marian

    config = import_marian(arguments.folder, arguments.run_dir, arguments.source, arguments.target)
    model = config.model
    of_encoder, of_decoder = model.depths
    print(
        f"{arguments.run_dir}: {model.count_parameters():,} parameters, {of_encoder} and "
        f"{of_decoder} layers, {model.vocab_size:,} pieces, {arguments.source} to "
        f"{arguments.target}",
        file=sys.stderr,
    )
    return 0

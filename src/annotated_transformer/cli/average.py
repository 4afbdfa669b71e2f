"""`annotated-transformer average`: the mean of the last checkpoints (section 6.1)."""

import argparse
import sys
from pathlib import Path


def register(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = "Make model.safetensors of a run the mean of its last checkpoints."
    parser.set_defaults(run=run)
    parser.add_argument("--run-dir", type=Path, required=True)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--last", type=int, default=5, help="how many (default 5, as the paper)")
    which.add_argument(
        "--best", action="store_true", help="the best validation's weights instead (departure)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Average, or take the best, and say over which steps."""
    from annotated_transformer.training.run_directory import RunDirectory, average_checkpoints
    from annotated_transformer.training.stopping import use_best

    directory = RunDirectory(arguments.run_dir)
    directory.read_config()
    if arguments.best:
        made_from = use_best(directory)
    else:
        made_from = average_checkpoints(directory, arguments.last)
    print(f"{directory.model_file}: {made_from}", file=sys.stderr)
    return 0

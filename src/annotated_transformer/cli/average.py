"""`annotated-transformer average`: the mean of the last checkpoints (section 6.1)."""

import argparse
import sys
from pathlib import Path

from annotated_transformer.training.run_directory import RunDirectory, average_checkpoints


def register(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "average",
        help="make model.safetensors the mean of the last checkpoints",
        description="Make model.safetensors of a run the mean of its last checkpoints.",
    )
    parser.set_defaults(run=run)
    parser.add_argument("--run-dir", type=Path, required=True)
    parser.add_argument("--last", type=int, default=5, help="how many (default 5, as the paper)")


def run(arguments: argparse.Namespace) -> int:
    """Average and say over which steps."""
    directory = RunDirectory(arguments.run_dir)
    directory.read_config()
    steps = average_checkpoints(directory, arguments.last)
    print(
        f"{directory.model_file}: mean of the checkpoints of steps {', '.join(map(str, steps))}",
        file=sys.stderr,
    )
    return 0

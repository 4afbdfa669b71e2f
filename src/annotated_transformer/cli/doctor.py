"""`annotated-transformer doctor`: what this machine has, and what that allows."""

import argparse

from annotated_transformer.cli.options import add_format, positive


def register(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Look at Python, PyTorch, devices, memory, data and the lock; change nothing."
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "--gpus",
        type=positive,
        help="only ask whether so many GPUs are here that PyTorch can use; if not, end with 1",
    )
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    """Look and report."""
    from annotated_transformer.cli.doctor_run import look

    return look(arguments)

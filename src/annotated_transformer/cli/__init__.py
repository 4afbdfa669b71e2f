"""The command line `annotated-transformer`: one module a command."""

import argparse
import importlib
import sys
from collections.abc import Sequence

from annotated_transformer import __version__
from annotated_transformer.errors import UserError

COMMANDS = (
    "doctor",
    "data",
    "train",
    "ablate",
    "average",
    "export",
    "benchmark",
    "translate",
    "evaluate",
    "progress",
    "grade",
    "workbook",
    "ledger",
)


def build_parser(
    kind: type[argparse.ArgumentParser] = argparse.ArgumentParser,
) -> argparse.ArgumentParser:
    """The parser with every command registered by its own module `cli/<command>.py`.

    Args:
        kind: the class of the parser and of its commands' parsers.
    """
    parser = kind(
        prog="annotated-transformer",
        description="Train, translate, evaluate and check, as in 'Attention Is All You Need'.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        importlib.import_module(f"annotated_transformer.cli.{command}").register(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns 0 when done, 1 when the work failed, 2 when the call was wrong."""
    try:
        arguments = build_parser().parse_args(argv)  # loads torch, which takes a moment
        status: int = arguments.run(arguments)
    except UserError as error:
        print(f"annotated-transformer: {error}", file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        print("annotated-transformer: interrupted", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of our output has closed it: `translate ... | head`
        sys.stderr.close()
        return 0
    return status

"""The command line `annotated-transformer`: one module a command."""

import argparse
import difflib
import importlib
import re
import sys
from collections.abc import Sequence
from typing import Any

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


class CommandParser(argparse.ArgumentParser):
    """A parser that refuses what it does not know itself, so that its own usage is shown."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse's; nothing is left over, for that ends here with a sentence."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(self._refusal(unknown))
        return found, unknown

    def _refusal(self, unknown: Sequence[str]) -> str:
        first = unknown[0].split("=")[0]
        if not first.startswith("-"):
            return f"{first!r} was given and is one argument too many."
        options = sorted(set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", self.format_help())))
        near = difflib.get_close_matches(first, options, n=1)
        advice = f"did you mean {near[0]}?" if near else "--help lists its options."
        return f"there is no option {first}; {advice}"


def build_parser(
    kind: type[argparse.ArgumentParser] = CommandParser,
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

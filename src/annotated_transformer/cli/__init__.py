"""The command line `annotated-transformer`: one module a command."""

import argparse
import difflib
import importlib
import sys
from collections.abc import Iterator, Sequence
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
        """As argparse's; but nothing is left over, for that ends here with a sentence."""
        given = list(sys.argv[1:] if args is None else args)
        for argument in self._own(given):  # before argparse misses what a slip stands for
            if not any(option.startswith(argument.split("=")[0]) for option in self._options()):
                self.error(self._refusal(argument))
        found, unknown = super().parse_known_args(given, namespace)
        if unknown:
            self.error(self._refusal(unknown[0]))
        return found, unknown

    def _options(self) -> list[str]:
        return [
            option
            for action in self._actions
            for option in action.option_strings
            if option.startswith("--")
        ]

    def _own(self, given: Sequence[str]) -> Iterator[str]:
        """The long options among the arguments that are this parser's and not its command's."""
        for argument in given:
            if argument == "--" or (self._subparsers is not None and argument[:1] != "-"):
                return
            if argument.startswith("--") and " " not in argument:  # a sentence is no option
                yield argument

    def _refusal(self, argument: str) -> str:
        if not argument.startswith("-"):
            return (
                f"{argument!r} was given where nothing is expected: leave it out, or put it beside "
                "the other arguments that are no options."
            )
        name = argument.split("=")[0]
        near = difflib.get_close_matches(name, self._options(), n=1)
        advice = f"did you mean {near[0]}?" if near else "--help lists what there is."
        return f"there is no option {name}; {advice}"


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

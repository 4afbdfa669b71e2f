"""The command line `annotated-transformer`: one module a command.

It says what the command takes and imports what that needs; what the work needs, PyTorch above all,
is imported when there is work. A long command's work has a module of its own, `<command>_run.py`.
"""

import argparse
import difflib
import importlib
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from annotated_transformer import __version__
from annotated_transformer.errors import UserError

COMMANDS = {  # by their names, in the order of --help
    "doctor": "what this machine has and what that allows",
    "data": "list, fetch and check corpora",
    "train": "train a model; Ctrl-C saves, --resume goes on",
    "ablate": "train and record the rows of a plan; Ctrl-C saves, the same call goes on",
    "average": "make model.safetensors the mean of the last checkpoints",
    "diagnose": "ask a run what betrays a bug that raises no error",
    "museum": "bugs that run without an error, each trained on purpose",
    "export": "a trained model as one folder to hand on",
    "import": "a Marian model of others as a run directory",
    "benchmark": "this package beside others, on this machine",
    "translate": "translate sentences, a file, or standard input line by line",
    "evaluate": "BLEU with its signature and interval, chrF, perplexity, speed",
    "progress": "your exercises: solved, tried, due for review; cards for Anki",
    "interview": "a round of interview questions, answered aloud",
    "grade": "grade the exercises of notebooks (instructor mode)",
    "workbook": "make a notebook of chosen exercises",
    "ledger": "the paper's facts beside ours: build the pages, check them, record a run",
}
MODULES = {"import": "import_model"}  # of a command whose name is a word of Python
PROGRAM = "annotated-transformer"


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


class RaisingParser(argparse.ArgumentParser):
    """Raises where others print and end the program; several threads may read commands at once."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(message)

    def exit(self, *_: object, **__: object) -> NoReturn:
        raise ValueError("it asks for help")

    def print_help(self, *_: object) -> None:
        """Nothing."""


def build_parser(
    words: Sequence[str] | None = None,
    kind: type[argparse.ArgumentParser] = CommandParser,
) -> argparse.ArgumentParser:
    """The parser with every command; what a command takes is said by its module `cli/<command>.py`.

    Args:
        words: what will be parsed: only the commands among them are imported. None imports all.
        kind: the class of the parser and of its commands' parsers.
    """
    parser = kind(
        prog=PROGRAM,
        description="Train, translate, evaluate and check, as in 'Attention Is All You Need'.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command, says in COMMANDS.items():
        of_command = subparsers.add_parser(command, help=says)
        if words is None or command in words:
            name = MODULES.get(command, command)
            importlib.import_module(f"annotated_transformer.cli.{name}").register(of_command)
    return parser


def parse_command(command: str) -> argparse.Namespace:
    """Read a command line as the program does.

    Raises:
        ValueError: if it is not a command of ours, or its options are no longer understood.
    """
    words = shlex.split(command)
    if not words or words[0] != PROGRAM:
        raise ValueError(f"it does not begin with {PROGRAM}")
    return build_parser(words, RaisingParser).parse_args(words[1:])


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns 0 when done, 1 when the work failed, 2 when the call was wrong."""
    try:
        words = sys.argv[1:] if argv is None else argv
        arguments = build_parser(words).parse_args(words)
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
    except OSError as error:  # a full disk, a folder that may not be written
        print(f"annotated-transformer: {error}", file=sys.stderr)
        return 1
    except (MemoryError, RuntimeError) as error:
        if not _is_out_of_memory(error):
            raise
        print(
            "annotated-transformer: there is not enough memory for this"
            f"{_asked_for(error)}. Close what else uses it, or ask for less at once: smaller "
            "batches, a smaller model, shorter sentences. What had been saved is still there.",
            file=sys.stderr,
        )
        return 1
    return status


def _is_out_of_memory(error: Exception) -> bool:
    """Python's own error, torch's for a GPU, or torch's for a processor, which has no class."""
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"  # torch need not be there
        or "can't allocate memory" in str(error)
    )


def _asked_for(error: Exception) -> str:
    """How much torch had asked for at once; "" if the error does not say."""
    found = re.search(r"tried to allocate ([\d.]+ \w+)", str(error), re.IGNORECASE)
    return f" ({found[1]} more)" if found else ""

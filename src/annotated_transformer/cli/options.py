"""Options and output that several commands share."""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from annotated_transformer.config import ALPHA, BEAM_SIZE, HIGHEST_ALPHA, MAX_EXTRA

Number = TypeVar("Number", int, float)

# Far beyond what helps, and below what no machine can hold: memory grows with the beam.
MOST_BEAMS = 100
MOST_THREADS = 1024
MOST_EXTRA = 1000
ALPHAS = (0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8)  # between which --alpha-from chooses
FEWEST_RESAMPLES = 40  # a fortieth of them lies outside at either end


def add_run_dir(parser: argparse.ArgumentParser) -> None:
    """The run directory of a trained model."""
    parser.add_argument(
        "--run-dir", type=Path, required=True, help="folder of the run, as given to `train`"
    )


def add_search(parser: argparse.ArgumentParser) -> None:
    """Beam size and length penalty; the defaults are the paper's (section 6.1)."""
    parser.add_argument(
        "--beam",
        type=up_to(MOST_BEAMS),
        default=BEAM_SIZE,
        help=f"beam size, to {MOST_BEAMS} (default {BEAM_SIZE})",
    )
    parser.add_argument(
        "--alpha", type=length_penalty, default=ALPHA, help=f"length penalty (default {ALPHA})"
    )


def add_max_extra(parser: argparse.ArgumentParser, several: bool = False) -> None:
    """How much longer than its source a translation may become; the default is the paper's.

    Args:
        several: whether several may be given, of which `--alpha-from` chooses one.
    """
    text = f"tokens that a translation may have more than its source (default {MAX_EXTRA})"
    if several:
        text += "; of several, --alpha-from chooses one together with alpha"
    parser.add_argument(
        "--max-extra",
        type=up_to(MOST_EXTRA, least=0),
        metavar="N",
        nargs="+" if several else None,
        default=[MAX_EXTRA] if several else MAX_EXTRA,
        help=text,
    )


def add_device(parser: argparse.ArgumentParser) -> None:
    """Where to compute."""
    parser.add_argument("--device", default="auto", help="auto (default), cpu, cuda or mps")
    parser.add_argument("--threads", type=up_to(MOST_THREADS), help="CPU threads; default all")


def add_format(parser: argparse.ArgumentParser) -> None:
    """Text for people or one JSON object for programs."""
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="json: one object, nothing else"
    )


def read_number(text: str, kind: Callable[[str], Number], expected: str) -> Number:
    """The number that was written, or a sentence that says what is expected."""
    try:
        return kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} was given, and {expected} is expected"
        ) from None


def positive(text: str) -> int:
    """A whole number of at least 1."""
    number = read_number(text, int, "a whole number of at least 1")
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} was given, and at least 1 is expected")
    return number


def up_to(most: int, least: int = 1) -> Callable[[str], int]:
    """A type of options: a whole number from `least` to `most`."""

    def whole_number(text: str) -> int:
        expected = f"a whole number from {least} to {most:,}"
        number = read_number(text, int, expected)
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{text} was given, and {expected} is expected")
        return number

    return whole_number


def length_penalty(text: str) -> float:
    """Alpha: a number from 0 to HIGHEST_ALPHA."""
    expected = f"a number from 0 to {HIGHEST_ALPHA}"
    number = read_number(text, float, expected)
    if not 0 <= number <= HIGHEST_ALPHA:
        raise argparse.ArgumentTypeError(f"{text} was given, and {expected} is expected")
    return number


def not_negative_count(text: str) -> int:
    """A whole number of at least 0."""
    number = read_number(text, int, "a whole number of at least 0")
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} was given, and at least 0 is expected")
    return number


def resamples(text: str) -> int:
    """0, or enough for an interval to have something cut off at either end."""
    number = read_number(text, int, f"0 or a whole number of at least {FEWEST_RESAMPLES}")
    if number != 0 and number < FEWEST_RESAMPLES:
        raise argparse.ArgumentTypeError(
            f"{text} was given; 0 leaves the intervals out, and one of 95% needs at least "
            f"{FEWEST_RESAMPLES}"
        )
    return number


def counted(number: int, what: str) -> str:
    """ "1 card", "2,000 cards"."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def print_json(values: dict[str, Any]) -> None:
    """One JSON object on standard output, in UTF-8 whatever the locale."""
    print_lines([json.dumps(values, indent=2, ensure_ascii=False)])


def print_lines(lines: list[str]) -> None:
    """Lines on standard output, in UTF-8 whatever the locale."""
    text = "".join(line + "\n" for line in lines)
    bytes_out = getattr(sys.stdout, "buffer", None)  # a notebook's standard output has none
    if bytes_out is None:
        sys.stdout.write(text)
    else:
        sys.stdout.flush()
        bytes_out.write(text.encode("utf-8"))
    sys.stdout.flush()

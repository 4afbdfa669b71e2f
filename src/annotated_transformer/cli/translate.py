"""`annotated-transformer translate`: sentences of the call, of a file, of standard input."""

import argparse
import sys
import textwrap
from pathlib import Path

from annotated_transformer.cli.options import add_device, add_max_extra, add_search, positive
from annotated_transformer.errors import CallError


def register(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = textwrap.dedent(
        """\
            Translate with a trained model: sentences of the call, --input FILE, or else standard
            input. One line of output a line of input, in order; an empty line stays empty, and so
            does one that cannot be translated, which is named on standard error.
            """
    )
    parser.epilog = textwrap.dedent(
        """\
            examples:
              %(prog)s "The woman reads the old book."
              %(prog)s --run-dir runs/first --attention "The dog sees the cat." > weights.json
              %(prog)s --run-dir runs/first --picture weights.svg "The dog sees the cat."
              %(prog)s --run-dir runs/first < lines.en > lines.de
              %(prog)s --run-dir runs/first --input lines.en --output lines.de
              %(prog)s --run-dir runs/first --input lines.en --output lines.de --resume
            """
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.set_defaults(run=run)
    parser.add_argument("text", nargs="*", metavar="TEXT", help="a sentence, in quotation marks")
    parser.add_argument(
        "--run-dir",
        type=Path,
        help="folder of the run, as given to `train`; default the small model that comes with the "
        "package, English to German, for sentences of the embedded grammar",
    )
    parser.add_argument(
        "--input", type=Path, metavar="FILE", help="UTF-8, a sentence a line; may be gzipped"
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="default standard output; never overwritten"
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on with the --output of a broken call, after the lines that are there",
    )
    add_search(parser)
    add_max_extra(parser)
    parser.add_argument(
        "--engine",
        choices=("own", "ctranslate2", "ctranslate2-int8"),
        default="own",
        help="what searches: this package, or CTranslate2 where it is installed, which is faster "
        "and divides by length ** alpha; int8 rounds the matrices",
    )
    parser.add_argument(
        "--nbest",
        type=positive,
        default=1,
        help="how many translations of each sentence; more than 1 are printed as "
        "line number, score, text, with tabs between",
    )
    parser.add_argument(
        "--prefix", default="", metavar="TEXT", help="what every translation has to begin with"
    )
    parser.add_argument(
        "--attention",
        action="store_true",
        help="with the cross-attention weights of the best translation; implies --format json "
        "unless jsonl is asked for",
    )
    parser.add_argument(
        "--picture",
        type=Path,
        metavar="FILE",
        help="draw the cross-attention of one sentence, last layer, every head: .png, .svg or .pdf",
    )
    parser.add_argument(
        "--format",
        choices=("text", "json", "jsonl"),
        default="text",
        help="json: one object, nothing else; jsonl: one object a line, one line a sentence",
    )
    add_device(parser)


def run(arguments: argparse.Namespace) -> int:
    """Translate in the order given."""
    if arguments.attention and arguments.format == "text":
        arguments.format = "json"
    check_call(arguments)
    from annotated_transformer.cli.translate_run import translate

    return translate(arguments)


def names_a_file(text: str) -> bool:
    """Whether a sentence is the name of a file that is there."""
    try:
        return Path(text).is_file()
    except OSError:  # a sentence can be too long for a name
        return False


def check_call(arguments: argparse.Namespace) -> None:
    """Raises CallError for options that contradict each other."""
    if arguments.text and arguments.input:
        raise CallError("sentences were given and --input too: give one of the two.")
    for text in arguments.text:
        if names_a_file(text):
            print(
                f"{text} is a file, and its name is translated here: --input {text} translates "
                "its lines",
                file=sys.stderr,
            )
    if arguments.resume and not (arguments.input and arguments.output):
        raise CallError("--resume goes on with a file: it needs --input and --output.")
    if arguments.resume and not is_file(arguments.input):
        raise CallError(
            f"--resume needs an --input that can be read again; {arguments.input} is no file."
        )
    if arguments.resume and not one_line_each(arguments):
        raise CallError(
            "--resume counts lines, one a sentence: it goes with --format jsonl, or with plain "
            "text and --nbest 1."
        )
    again = is_file(arguments.input) and arguments.output and arguments.output.exists()
    if again and arguments.output.samefile(arguments.input):
        raise CallError(f"--output is the --input, {arguments.input}: name another file.")
    if arguments.picture is not None:
        from annotated_transformer.cli.picture import check_picture

        if len(arguments.text) != 1 or arguments.output:
            raise CallError("--picture draws one sentence: give exactly one TEXT, and no --output.")
        if arguments.format != "text" or arguments.nbest != 1:
            raise CallError("--picture goes without --format, --attention and --nbest.")
        check_picture(arguments.picture)


def one_line_each(arguments: argparse.Namespace) -> bool:
    """Whether the output has one line a sentence."""
    return arguments.format == "jsonl" or (arguments.format == "text" and arguments.nbest == 1)


def is_file(path: Path | None) -> bool:
    """Whether it is a file, which can be read twice. Raises CallError if nothing is there."""
    if path is None:
        return False
    if not path.exists():
        raise CallError(f"there is no file {path}: --input names a file of sentences.")
    if path.is_dir():
        raise CallError(f"{path} is a folder: --input names a file of sentences.")
    return path.is_file()

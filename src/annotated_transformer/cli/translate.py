"""`annotated-transformer translate`: sentences from the call or from standard input."""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from typing import Any

import torch

from annotated_transformer.cli.options import (
    add_device,
    add_format,
    add_run_dir,
    add_search,
    positive,
    print_json,
    print_lines,
)
from annotated_transformer.data import Vocabulary
from annotated_transformer.errors import CallError
from annotated_transformer.training import load_run
from annotated_transformer.training.devices import choose_device
from annotated_transformer.transformer import Transformer
from annotated_transformer.translation import Translation, cross_attention, nbest_translations

LINES_AT_ONCE = 1024  # of standard input: enough to sort by length, and output comes soon


def register(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "translate",
        help="translate sentences, or standard input line by line",
        description="Translate with a trained model. Without TEXT, standard input is translated "
        "line by line (UTF-8); an empty line stays empty.",
    )
    parser.set_defaults(run=run)
    parser.add_argument("text", nargs="*", metavar="TEXT", help="a sentence, in quotation marks")
    add_run_dir(parser)
    add_search(parser)
    parser.add_argument(
        "--nbest",
        type=positive,
        default=1,
        help="how many translations of each sentence; more than 1 are printed as "
        "line number, score, text, with tabs between",
    )
    parser.add_argument(
        "--attention",
        action="store_true",
        help="with the cross-attention weights of the best translation; implies --format json",
    )
    add_format(parser)
    add_device(parser)


def run(arguments: argparse.Namespace) -> int:
    """Translate in the order given."""
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    model, vocabulary, _ = load_run(arguments.run_dir, choose_device(arguments.device))
    as_json = arguments.format == "json" or arguments.attention
    objects: list[dict[str, Any]] = []
    first_line = 1
    unreadable = None
    sentences = chunks(arguments.text)
    while True:
        try:
            lines = next(sentences, None)
        except CallError as error:
            unreadable = error  # what was translated before it is printed first
            break
        if lines is None:
            break
        found = nbest_translations(
            model,
            vocabulary,
            lines,
            beam_size=arguments.beam,
            alpha=arguments.alpha,
            nbest=arguments.nbest,
            first_line=first_line,
        )
        if as_json:
            objects += [
                as_object(model, vocabulary, line, translations, arguments.attention)
                for line, translations in zip(lines, found, strict=True)
            ]
        else:
            print_lines(as_text(found, first_line, arguments.nbest))
        first_line += len(lines)
    if as_json:
        print_json({"beam": arguments.beam, "alpha": arguments.alpha, "translations": objects})
    if unreadable is not None:
        raise unreadable
    return 0


def chunks(given: list[str]) -> Iterator[list[str]]:
    """The sentences of the call at once, or standard input: a line at a time to one who types."""
    if given:
        yield given
        return
    lines = standard_input()
    at_once = 1 if sys.stdin.isatty() else LINES_AT_ONCE
    while True:
        chunk: list[str] = []
        try:
            for line in islice(lines, at_once):
                chunk.append(line)
        except CallError:
            if chunk:
                yield chunk  # the lines before the one that cannot be read are translated first
            raise
        if not chunk:
            return
        yield chunk


def standard_input() -> Iterator[str]:
    """The lines of standard input. Raises CallError, with the line's number, if not UTF-8."""
    for number, line in enumerate(sys.stdin.buffer, start=1):
        try:
            yield line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise CallError(
                f"line {number} of standard input is not UTF-8 ({error.reason} at byte "
                f"{error.start + 1} of the line); convert it, for example with iconv."
            ) from error


def as_text(found: list[list[Translation]], first_line: int, nbest: int) -> list[str]:
    """One line a sentence; with several translations, one line each behind number and score."""
    if nbest == 1:
        return [translations[0].text if translations else "" for translations in found]
    return [
        f"{first_line + place}\t{translation.score:.4f}\t{translation.text}"
        for place, translations in enumerate(found)
        for translation in translations
    ]


def as_object(
    model: Transformer,
    vocabulary: Vocabulary,
    line: str,
    translations: list[Translation],
    with_attention: bool,
) -> dict[str, Any]:
    """One sentence for JSON."""
    values: dict[str, Any] = {
        "source": line,
        "hypotheses": [
            {
                "text": translation.text,
                "score": translation.score,
                "log_probability": translation.log_probability,
            }
            for translation in translations
        ],
    }
    if with_attention:
        values["attention"] = (
            asdict(cross_attention(model, vocabulary, line, translations[0]))
            if translations
            else None
        )
    return values

"""What `annotated-transformer translate` does, from where sentences come to where they go."""

import argparse
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import torch

from annotated_transformer.cli.line_output import LineOutput
from annotated_transformer.cli.options import counted, print_lines
from annotated_transformer.cli.picture import save_picture
from annotated_transformer.cli.search import Search
from annotated_transformer.cli.sentences import (
    LINES_AT_ONCE,
    InputFile,
    Progress,
    Sentences,
    inspect_input,
)
from annotated_transformer.cli.translate import is_file, one_line_each
from annotated_transformer.cli.translation_files import one_line
from annotated_transformer.cli.writers import WRITERS
from annotated_transformer.data.download import sha256_of
from annotated_transformer.data.text_file import open_bytes
from annotated_transformer.errors import CallError, WorkError
from annotated_transformer.evaluation.translation import check_room
from annotated_transformer.shipped import FOLDER as SHIPPED
from annotated_transformer.training import RunDirectory, load_run
from annotated_transformer.training.devices import choose_device


def translate(arguments: argparse.Namespace) -> int:
    """Translate in the order given."""
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    run_dir = arguments.run_dir or SHIPPED
    model, vocabulary, _ = load_run(run_dir, choose_device(arguments.device))
    if arguments.run_dir is None:
        print(
            "translating with the small model that comes with the package (English to German, "
            "sentences of its own grammar); --run-dir names another",
            file=sys.stderr,
        )
    check_room(model, arguments.max_extra)
    search = Search(
        model,
        vocabulary,
        arguments.beam,
        arguments.alpha,
        arguments.nbest,
        arguments.attention,
        arguments.prefix,
        arguments.max_extra,
        arguments.engine,
    )
    if arguments.picture is not None:
        return draw(search, arguments.text[0], arguments.picture)
    return translate_all(search, run_dir, arguments)


def translate_all(search: Search, run_dir: Path, arguments: argparse.Namespace) -> int:
    """From where the sentences come to where the translations go, a chunk at a time."""
    began = time.monotonic()
    source = inspect_input(arguments.input) if is_file(arguments.input) else None
    with ExitStack() as stack:
        sentences = None if arguments.text else open_sentences(arguments, stack)
        output = open_output(arguments, run_dir, source)
        if output is not None:
            stack.callback(output.close)
        first = done = 0 if output is None else output.lines
        untranslated = 0

        def of_a_broken_call(lines: list[str]) -> None:
            nonlocal untranslated
            untranslated += search.untranslated(lines)

        given = (
            [arguments.text]
            if sentences is None
            else sentences.chunks(skip=done, skipped=of_a_broken_call)
        )
        progress = Progress(
            None if source is None else source.lines,
            done,
            silent=sentences is None or (output is None and sys.stdout.isatty()),
        )
        writer = WRITERS[arguments.format](search, write_out if output is None else output.write)
        try:
            writer.begin()
            for lines in given:
                found = search(lines, done + 1, progress)
                writer.write(found)
                done += len(lines)
                untranslated += sum(
                    not one.translations and bool(one.line.strip()) for one in found
                )
        except (KeyboardInterrupt, WorkError):
            progress.end()
            if output is not None and output.state is not None:
                print("the same call with --resume goes on", file=sys.stderr)
            raise
        finally:
            writer.end()
        progress.end()
        if output is not None:
            output.end()
            say_what_was_done(output, done - first, first, time.monotonic() - began)
    check_whole(0 if sentences is None else sentences.left_empty, untranslated)
    return 0


def say_what_was_done(output: LineOutput, lines: int, before: int, seconds: float) -> None:
    """On standard error: how many lines were written, and after how many."""
    if lines or not before:
        after = f" after {before:,} that were there" if before else ""
        print(
            f"{counted(lines, 'line')} in {seconds:,.1f} s{after}, written to {output.path}",
            file=sys.stderr,
        )
    elif output.state is not None:  # otherwise whether they are ours was said before
        print(
            f"nothing was left to do: {output.path} has {counted(before, 'line')} already",
            file=sys.stderr,
        )


def check_whole(unread: int, untranslated: int) -> None:
    """Raises CallError if lines stayed empty that are not empty in the input."""
    problems = []
    if unread:
        problems.append(
            f"{counted(unread, 'line')} could not be read (text has to be UTF-8: convert it, for "
            "example with iconv)"
        )
    if untranslated:
        problems.append(
            f"{counted(untranslated, 'line')} could not be translated (break long lines into "
            "sentences, and shorten a long --prefix)"
        )
    if problems:
        raise CallError(f"{' and '.join(problems)}: left empty; the others are translated.")


def open_sentences(arguments: argparse.Namespace, stack: ExitStack) -> Sentences:
    """What is read: the file named, or standard input, at which somebody may sit."""
    if arguments.input is None:
        return Sentences(sys.stdin.buffer, "standard input", live=True)
    try:
        file = stack.enter_context(open_bytes(arguments.input))
    except OSError as error:
        raise CallError(f"{arguments.input} cannot be read: {error.strerror}.") from error
    return Sentences(file, str(arguments.input), live=False)


def open_output(
    arguments: argparse.Namespace, run_dir: Path, source: InputFile | None
) -> LineOutput | None:
    """The file to write, new or after the lines that are there; None for standard output."""
    if arguments.output is None:
        return None
    about = None
    can_be_continued = not arguments.output.exists() or arguments.output.is_file()
    if source is not None and one_line_each(arguments) and can_be_continued:
        about = {
            "input": source.sha256,
            "input_lines": source.lines,
            "model": sha256_of(RunDirectory(run_dir).model_file),
            "beam": arguments.beam,
            "alpha": arguments.alpha,
            "max_extra": arguments.max_extra,
            "nbest": arguments.nbest,
            "format": arguments.format,
            "attention": arguments.attention,
            "prefix": arguments.prefix,
            "engine": arguments.engine,
            "chunk": LINES_AT_ONCE,
        }
    if arguments.resume and about is not None:
        return LineOutput.resume(arguments.output, about, LINES_AT_ONCE)
    return LineOutput.begin(arguments.output, about)


def write_out(text: str) -> None:
    """Whole lines on standard output."""
    if text:
        print_lines([text.removesuffix("\n")])


def draw(search: Search, sentence: str, path: Path) -> int:
    """The picture of one sentence's cross-attention; its translation on standard output."""
    [found] = search([sentence], first_line=1)
    if not found.translations:
        raise CallError("there is nothing to draw: the sentence has no translation.")
    save_picture(search.attention(found), path)
    print(f"picture written to {path}", file=sys.stderr)
    print_lines([one_line(found.translations[0].text)])
    return 0

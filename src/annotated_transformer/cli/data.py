"""`annotated-transformer data`: list the corpora, fetch one, check one."""

import argparse
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from annotated_transformer.cli.options import print_json, print_lines
from annotated_transformer.data import CORPORA, ParallelCorpus, load_corpus
from annotated_transformer.data.folder import write_folder
from annotated_transformer.data.grammar.corpus import DEFAULT_SHA256, corpus_sha256
from annotated_transformer.data.gum import TREES
from annotated_transformer.data.published import Published, get, verify
from annotated_transformer.data.registry import published_corpus
from annotated_transformer.errors import CallError, WorkError


def register(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="the corpora by name")
    listing.set_defaults(run=run_list)
    getting = actions.add_parser("get", help="fetch a corpus, or write a generated one to a folder")
    getting.set_defaults(run=run_get)
    checking = actions.add_parser("verify", help="check a corpus against its checksums")
    checking.set_defaults(run=run_verify)
    for each in (getting, checking):
        each.add_argument("name", help=", ".join(CORPORA))
        each.add_argument("--data-dir", type=Path, help="folder of the text (default: the cache)")
        each.add_argument("--source", default="en", help="source language (default en)")
        each.add_argument("--target", help=f"target language (default de; of gum {TREES})")
    for each in (listing, getting, checking):
        each.add_argument("--format", choices=("text", "json"), default="text")


def report(arguments: argparse.Namespace, facts: dict[str, object], lines: list[str]) -> None:
    """Facts as one JSON object, or lines for people."""
    if arguments.format == "json":
        print_json(facts)
    else:
        print_lines(lines)


@contextmanager
def progress_on_stderr() -> Iterator[None]:
    """What the package logs meanwhile (progress, waiting, warnings) goes to standard error."""
    logger = logging.getLogger("annotated_transformer")
    handler, level = logging.StreamHandler(), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def sizes(corpus: ParallelCorpus) -> dict[str, int]:
    """Pairs in each split."""
    return {name: len(split) for name, split in corpus.splits.items()}


def run_list(arguments: argparse.Namespace) -> int:
    """Every corpus with one line about it, and one on its terms if it is published."""
    width = max(map(len, CORPORA))
    facts, lines = [], []
    for name, about in CORPORA.items():
        published = published_corpus(name, "en", default_target(name))
        terms = published.terms if published else None
        facts.append({"name": name, "about": about, "terms": terms})
        lines.append(f"{name:{width}}  {about}")
        lines += [f"{'':{width}}  terms: {terms}"] if terms else []
    report(arguments, {"corpora": facts}, lines)
    return 0


def default_target(name: str) -> str:
    """What a corpus has beside its source."""
    return TREES if name == "gum" else "de"


def languages_of(arguments: argparse.Namespace) -> tuple[str, str]:
    """Source and target, the target by default what the corpus has."""
    return arguments.source, arguments.target or default_target(arguments.name)


def run_get(arguments: argparse.Namespace) -> int:
    """Fetch a published corpus into the cache or a folder; write a generated one to a folder."""
    name, folder = arguments.name, arguments.data_dir
    source, target = languages_of(arguments)
    if name == "folder":
        raise CallError("the corpus 'folder' is your own text: there is nothing to fetch")
    published = published_corpus(name, source, target)
    if published is not None:
        folder = fetch(published, folder)
        corpus = load_corpus(name, data_dir=folder, source=source, target=target)
    else:
        corpus = load_corpus(name, source=source, target=target)
        if folder is not None:
            write_folder(corpus, folder)
    counts = sizes(corpus)
    where = f"is in {folder}" if folder else "is generated when it is asked for"
    terms = published.terms if published else None
    report(
        arguments,
        {"name": name, "folder": str(folder) if folder else None, "pairs": counts, "terms": terms},
        [
            f"{name} {where}",
            *(f"{split}: {count:,} pairs" for split, count in counts.items()),
            *([f"terms: {terms}"] if terms else []),
        ],
    )
    return 0


def fetch(published: Published, folder: Path | None) -> Path:
    """Fetch what is not there yet. Returns its folder."""
    with progress_on_stderr():
        return get(published, folder)


def run_verify(arguments: argparse.Namespace) -> int:
    """Compare with checksums; exit status 1 where a file is damaged, or none is there."""
    name = arguments.name
    published = published_corpus(name, *languages_of(arguments))
    if published is not None:
        folder = arguments.data_dir or published.folder
        verdicts = verify(published, folder)
    elif name == "grammar":
        folder = None
        corpus = load_corpus(name, data_dir=arguments.data_dir)
        same = corpus_sha256(corpus) == DEFAULT_SHA256
        verdicts = {"generated corpus": "ok" if same else "differs"}
    elif name in CORPORA:
        raise CallError(f"the corpus {name!r} has no published checksum to compare with")
    else:
        raise CallError(f"there is no corpus {name!r}; expected one of {', '.join(CORPORA)}")
    report(
        arguments,
        {"name": name, "files": verdicts},
        [f"{file}: {verdict}" for file, verdict in verdicts.items()],
    )
    refuse_damage(name, folder, verdicts)
    return 0


def refuse_damage(name: str, folder: Path | None, verdicts: dict[str, str]) -> None:
    """Say which files are damaged and the way out.

    A published test set that is not there is no fault of the others.

    Raises:
        WorkError: a file differs, or not one is there.
    """
    damaged = [file for file, verdict in verdicts.items() if verdict == "differs"]
    if damaged and folder is None:
        raise WorkError(
            "the generated corpus is another than this version should generate: install the "
            "package anew"
        )
    if damaged:
        raise WorkError(
            f"{', '.join(damaged)} in {folder} differ from what their checksums say: move them "
            f"away, then run: annotated-transformer data get {name}"
        )
    if "unrecorded" in verdicts.values():
        raise WorkError(
            f"nobody has published checksums of the text of {name}, and {folder} holds none that "
            f"`data get` recorded: there is nothing to compare with"
        )
    if "ok" not in verdicts.values():
        raise WorkError(
            f"{folder} holds no file of {name}: run annotated-transformer data get {name}, or give "
            f"the folder of a copy with --data-dir"
        )

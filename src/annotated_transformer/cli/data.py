"""`annotated-transformer data`: list the corpora, fetch one, check one."""

import argparse
import json
import sys
from pathlib import Path

from annotated_transformer.data import CORPORA, ParallelCorpus, load_corpus
from annotated_transformer.data.folder import write_folder
from annotated_transformer.data.grammar.corpus import DEFAULT_SHA256, corpus_sha256
from annotated_transformer.data.multi30k import cache_folder, get_multi30k, verify_multi30k
from annotated_transformer.errors import CallError


def register(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = subparsers.add_parser("data", help="list, fetch and check corpora")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="the corpora by name")
    listing.set_defaults(run=run_list)
    get = actions.add_parser("get", help="fetch a corpus, or write a generated one to a folder")
    get.set_defaults(run=run_get)
    verify = actions.add_parser("verify", help="check a corpus against its published checksums")
    verify.set_defaults(run=run_verify)
    for each in (get, verify):
        each.add_argument("name", help=", ".join(CORPORA))
        each.add_argument("--data-dir", type=Path, help="folder of the text (default: the cache)")
        each.add_argument("--source", default="en", help="source language (default en)")
        each.add_argument("--target", default="de", help="target language (default de)")
    for each in (listing, get, verify):
        each.add_argument("--format", choices=("text", "json"), default="text")


def report(arguments: argparse.Namespace, facts: dict[str, object], lines: list[str]) -> None:
    """Facts as one JSON object, or lines for people."""
    if arguments.format == "json":
        json.dump(facts, sys.stdout, ensure_ascii=False)
        print()
    else:
        print("\n".join(lines))


def sizes(corpus: ParallelCorpus) -> dict[str, int]:
    """Pairs in each split."""
    return {name: len(split) for name, split in corpus.splits.items()}


def run_list(arguments: argparse.Namespace) -> int:
    """Every corpus with one line about it."""
    width = max(map(len, CORPORA))
    report(
        arguments,
        {"corpora": [{"name": name, "about": about} for name, about in CORPORA.items()]},
        [f"{name:{width}}  {about}" for name, about in CORPORA.items()],
    )
    return 0


def run_get(arguments: argparse.Namespace) -> int:
    """Fetch multi30k into the cache or a folder; write a generated corpus to a folder."""
    name, folder = arguments.name, arguments.data_dir
    if name == "multi30k":
        folder = get_multi30k(folder, (arguments.source, arguments.target))
        corpus = load_corpus(
            name, data_dir=folder, source=arguments.source, target=arguments.target
        )
    elif name == "folder":
        raise CallError("the corpus 'folder' is your own text: there is nothing to fetch")
    else:
        corpus = load_corpus(name, source=arguments.source, target=arguments.target)
        if folder is not None:
            write_folder(corpus, folder)
    counts = sizes(corpus)
    where = f"is in {folder}" if folder else "is generated when it is asked for"
    report(
        arguments,
        {"name": name, "folder": str(folder) if folder else None, "pairs": counts},
        [f"{name} {where}", *(f"{split}: {count} pairs" for split, count in counts.items())],
    )
    return 0


def run_verify(arguments: argparse.Namespace) -> int:
    """Compare with what was published; exit status 1 where something differs or is missing."""
    name = arguments.name
    if name == "multi30k":
        folder = arguments.data_dir or cache_folder()
        verdicts = verify_multi30k(folder, (arguments.source, arguments.target))
    elif name == "grammar":
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
    # A published test set that is not there is no fault of the others.
    wrong = [file for file, verdict in verdicts.items() if verdict == "differs"]
    return 1 if wrong or "ok" not in verdicts.values() else 0

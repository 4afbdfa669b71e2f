"""`annotated-transformer progress`: what is solved, tried and due; copies of it; cards for Anki."""

import argparse
from pathlib import Path

from annotated_transformer.cli.options import (
    add_format,
    counted,
    not_negative_count,
    print_json,
    print_lines,
)
from annotated_transformer.errors import CallError, WorkError


def register(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "The exercises chapter by chapter: solved, tried, open, due for review. "
        "With --anki, --export or --import: cards for Anki, a copy, or the merging of a copy."
    )
    add_format(parser)
    action = parser.add_mutually_exclusive_group()
    add = action.add_argument
    add("--anki", type=Path, metavar="FILE.apkg", help="write the exercises as cards for Anki")
    add("--export", type=Path, metavar="FILE", help="write a copy of your progress")
    add("--import", type=Path, metavar="FILE", dest="merge", help="merge a copy into your progress")
    only = parser.add_argument_group("with --anki")
    only.add_argument(
        "--topic", metavar="T", help="one topic: masks; or one exercise: masks.causal"
    )
    only.add_argument(
        "--only", choices=("tried", "solved", "due"), help="exercises in this state (default all)"
    )
    only.add_argument(
        "--mistakes",
        type=not_negative_count,
        metavar="N",
        help="cards of known mistakes for each exercise, beside those you made (default 5)",
    )
    parser.add_argument(
        "--force", action="store_true", help="with --anki or --export: replace a file that is there"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked and say so, or print the table."""
    from annotated_transformer.exercises.learner import exchange
    from annotated_transformer.exercises.learner.progress import progress_card, progress_tree

    if arguments.anki is None:
        for name in ("topic", "only", "mistakes"):
            if getattr(arguments, name) is not None:
                raise CallError(f"--{name} chooses cards: it needs --anki FILE.apkg")
    if arguments.force and arguments.anki is None and arguments.export is None:
        raise CallError("--force replaces a file: it needs --anki FILE.apkg or --export FILE")
    if arguments.anki is not None:
        done = _write_cards(arguments)
    elif arguments.export is not None:
        done = exchange.export_to(arguments.export, arguments.force, "--force")
    elif arguments.merge is not None:
        done = exchange.import_from(arguments.merge)
    elif arguments.format == "json":
        print_json(progress_tree())
        return 0
    else:
        done = progress_card().text
    if arguments.format == "json":
        print_json({"done": done})
    else:
        print_lines([done])
    return 0


def _write_cards(arguments: argparse.Namespace) -> str:
    from annotated_transformer.exercises.catalogue import CHAPTER_OF, catalogue, nearest
    from annotated_transformer.exercises.learner import anki
    from annotated_transformer.exercises.learner.exchange import write_new
    from annotated_transformer.exercises.learner.progress import progress_rows
    from annotated_transformer.exercises.learner.records import read_records

    topic, only, path = arguments.topic, arguments.only, arguments.anki
    if topic not in (None, *CHAPTER_OF, *catalogue()):
        raise CallError(
            f"there is no topic or exercise {topic!r}.{nearest(topic)} "
            f"The topics are {', '.join(CHAPTER_OF)}."
        )
    if path.suffix != ".apkg":
        raise CallError(f"{path} is to be a package for Anki: give it a name on .apkg")
    states = {None: ("open", "tried", "solved", "due"), "solved": ("solved", "due")}
    chosen = [
        catalogue()[row.id]
        for row in progress_rows()
        if topic in (None, row.id, row.id.split(".")[0]) and row.state in states.get(only, (only,))
    ]
    if not chosen:
        of = f" of {topic}" if topic else ""
        raise WorkError(f"no exercise{of} is {only or 'ready'}, so no file was written")
    number = anki.MISTAKES if arguments.mistakes is None else arguments.mistakes
    notes = anki.cards(chosen, read_records(), number)
    write_new(path, anki.package(notes), arguments.force, "--force")
    return (
        f"{counted(len(notes), 'card')} in {path}: {counted(len(chosen), 'exercise')}, "
        f"{counted(len(notes) - len(chosen), 'mistake')}. Import it in Anki with File, Import."
    )

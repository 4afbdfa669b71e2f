"""`annotated-transformer workbook`: a notebook of chosen exercises, to hand out or to look up."""

import argparse
import json
import os
from pathlib import Path

from annotated_transformer.cli.options import counted
from annotated_transformer.errors import CallError, WorkError


def register(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = "Make a notebook of chosen exercises, as given or solved."
    add = parser.add_argument
    add("exercises", nargs="+", metavar="ID", help="masks.causal; or a topic: masks; or all")
    add("--output", required=True, metavar="FILE", help="the notebook to write; never overwritten")
    add("--title", default="Exercises", help="its heading")
    add("--solved", action="store_true", help="every solution in the place of its stub")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the notebook."""
    from annotated_transformer.exercises.catalogue import catalogue, nearest
    from annotated_transformer.exercises.notebooks import solved, workbook

    chosen = [
        exercise
        for name in arguments.exercises
        for exercise in catalogue().values()
        if name in ("all", exercise.id, exercise.id.split(".")[0])
    ]
    for name in arguments.exercises:
        if not any(name in ("all", e.id, e.id.split(".")[0]) for e in chosen):
            raise CallError(
                f"there is no exercise or topic {name!r}.{nearest(name)} "
                "`annotated-transformer progress` lists all."
            )
    if not arguments.output.endswith(".ipynb"):
        raise CallError(f"{arguments.output} is to be a notebook: give it a name on .ipynb")
    chosen = list(dict.fromkeys(chosen))
    notebook = workbook(chosen, arguments.title)
    if arguments.solved:
        notebook = solved(notebook)
    path = Path(arguments.output)
    try:
        with open(path, "x", encoding="utf-8") as file:
            json.dump(notebook, file, indent=1, ensure_ascii=False)
            file.write("\n")
    except FileExistsError:
        raise CallError(f"{path} is there already; give another name, or remove it") from None
    except OSError as error:
        raise WorkError(f"{path} cannot be written: {error.strerror or error}") from None
    print(f"{counted(len(chosen), 'exercise')} in {os.fspath(path)}")
    return 0

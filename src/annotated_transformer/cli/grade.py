"""`annotated-transformer grade`: the exercises of whole notebooks, graded apart from each other."""

import argparse
import json
import sys
from pathlib import Path

from annotated_transformer.errors import CallError, WorkError

EPILOG = """Each notebook runs in a process of its own, with limits on time, memory, output, files
and processes, without a network, and where the references cannot be imported or read. What it
returns is compared here. On Linux the kernel puts up the walls; elsewhere, and against people who
attack on purpose, use a container: see the guide for instructors in the book."""


def register(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = "Grade the exercises in notebooks of others."
    parser.epilog = EPILOG
    add = parser.add_argument
    add("notebooks", nargs="+", metavar="NOTEBOOK", help="a notebook, or a folder of them")
    add("--assignment", metavar="FILE", help="a TOML file: exercises, points, due date, lateness")
    add("--exercises", metavar="ID,ID", help="the exercises that count, for their difficulty")
    add("--submitted", metavar="CSV", help="when each was handed in: columns notebook,submitted")
    add("--format", choices=("text", "json", "csv"), default="text")
    add("--timeout", type=float, default=120.0, metavar="S", help="processor time a notebook (120)")
    add("--jobs", type=int, metavar="N", help="notebooks side by side (as many as cores)")
    add("--trust", action="store_true", help="side by side also where no wall keeps them apart")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Grade, print the marks. Returns 0; 1 where a notebook could not be read or graded."""
    if sys.platform == "win32":  # before imports that want what Windows lacks
        raise WorkError("grade needs Linux or macOS: on Windows run it in WSL or in a container")
    from annotated_transformer.exercises.catalogue import ids
    from annotated_transformer.exercises.instructor.assignment import (
        of_exercises,
        read_assignment,
        read_times,
        times_of,
    )
    from annotated_transformer.exercises.instructor.markers import mark_all
    from annotated_transformer.exercises.instructor.marking import Mark
    from annotated_transformer.exercises.instructor.summary import (
        as_csv,
        as_text,
        as_tree,
        shown,
    )

    notebooks = _notebooks(arguments.notebooks)
    paths = [path for path, _ in notebooks]
    if not arguments.timeout > 0:
        raise CallError(f"--timeout is {arguments.timeout:g}; expected a number of seconds over 0")
    if arguments.jobs is not None and arguments.jobs < 1:
        raise CallError(f"--jobs is {arguments.jobs}; expected 1 or more")
    if arguments.assignment and arguments.exercises:
        raise CallError("give --assignment or --exercises, not both: each says what counts")
    assignment = None
    if arguments.assignment:
        assignment = read_assignment(Path(arguments.assignment))
    elif arguments.exercises:
        assignment = of_exercises([name.strip() for name in arguments.exercises.split(",")])
    submitted = (
        times_of(notebooks, read_times(Path(arguments.submitted))) if arguments.submitted else []
    )
    done = 0

    def tell(mark: Mark) -> None:
        nonlocal done
        done += 1
        print(
            f"{done} of {len(paths)}: {shown(mark.name)} ({mark.end})",
            file=sys.stderr,
            flush=True,
        )

    marks = mark_all(
        paths,
        seconds=arguments.timeout,
        jobs=_jobs(arguments, len(paths)),
        submitted=submitted,
        assignment=assignment,
        told=tell,
    )
    if assignment is None:  # all that any of the notebooks checks, in the order of the book
        checked = {name for mark in marks for name in mark.verdicts}
        assignment = of_exercises([name for name in ids() if name in checked])
    if arguments.format == "json":
        print(json.dumps(as_tree(marks, assignment)))
    else:
        write = as_csv if arguments.format == "csv" else as_text
        text = write(marks, assignment)
        encoding = sys.stdout.encoding or "utf-8"  # no character may cost the marks of a class
        print(text.encode(encoding, "backslashreplace").decode(encoding), end="")
    return 1 if any(mark.end in ("unreadable", "failed") for mark in marks) else 0


def _jobs(arguments: argparse.Namespace, notebooks: int) -> int:
    """How many side by side. Raises CallError where nothing keeps them apart and that is asked."""
    from annotated_transformer.exercises.instructor.markers import usual_jobs, walls_here

    wanted = min(arguments.jobs or usual_jobs(), notebooks)
    if wanted == 1 or arguments.trust or {"namespaces", "calls"} & set(walls_here()):
        return wanted
    if arguments.jobs is not None:
        raise CallError(
            f"--jobs {arguments.jobs}: on this machine no wall keeps notebooks that run at the "
            "same time from each other. Grade one at a time, or each in a container of its own, or "
            "say --trust where you know the writers"
        )
    print("one notebook at a time: no wall here keeps them apart", file=sys.stderr)
    return 1


def _notebooks(names: list[str]) -> list[tuple[Path, str]]:
    """The files, each with its path within the folder that was given; of a folder all notebooks.

    Raises CallError for what is not there.
    """
    found: dict[Path, str] = {}
    for name in names:
        path = Path(name)
        if path.is_dir():
            inside = sorted(p for p in path.rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)
            if not inside:
                raise CallError(f"there is no notebook (*.ipynb) in the folder {name}")
            for one in inside:
                found.setdefault(one, str(one.relative_to(path)))
        elif path.exists() or path.is_symlink():
            found.setdefault(path, path.name)
        else:
            raise CallError(f"there is no file or folder {name}")
    return list(found.items())

"""`annotated-transformer museum`: bugs that run without an error, each trained on purpose."""

import argparse
import sys
from pathlib import Path

from annotated_transformer.cli.options import print_lines, up_to
from annotated_transformer.errors import CallError


def register(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Train a small translator with one bug in it, ask it, and show what betrays the bug. "
        "Without a name: the list. About three minutes of one core each."
    )
    parser.set_defaults(run=run)
    add = parser.add_argument
    add("bug", nargs="?", help="a name from the list; those that begin with right have no bug")
    add("--seed", type=up_to(2**31, least=0), default=0, help="of the training (default 0)")
    add("--steps", type=up_to(1200), default=1200, help="of the training (default 1200: all)")
    add("--work", type=Path, default=Path("runs/museum"), help="keeps the right runs' weights")
    add("--record", type=Path, help="a folder that gets the result, as BUG.json")


def run(arguments: argparse.Namespace) -> int:
    """List what there is, or make one exhibit."""
    from annotated_transformer.museum.bugs import BUGS, CONTROLS, bug_named

    if arguments.bug is None:
        print_lines([f"{bug.name:26}  {bug.title}: {bug.looks}" for bug in (*BUGS, *CONTROLS)])
        return 0
    import torch

    from annotated_transformer.museum import exhibit

    torch.set_num_threads(1)  # as recorded: the same numbers again
    steps = arguments.steps

    def progress(step: int) -> None:
        if step % 50 == 0 or step == steps:
            print(f"\rstep {step} of {steps}", end="", file=sys.stderr, flush=True)

    bug = bug_named(arguments.bug)
    # Before three minutes of training, not after.
    for folder in (arguments.record, None if bug.trains else arguments.work):
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise CallError(f"{folder} cannot be made a folder: {error}.") from error
    if arguments.record:
        exhibit.others_of(bug.name, arguments.seed, steps, arguments.record)
    found = exhibit.make(bug, arguments.seed, arguments.work, steps, progress)
    print(file=sys.stderr)
    if arguments.record:
        exhibit.record(found, arguments.record)
    said = found.named or ("no bug of the museum" if found.says else "no complaint")
    print_lines(
        [
            f"{bug.title}: {bug.looks}.",
            f"loss {found.loss:.3f}, of {found.accuracy:.1%} of the tokens the best one is right",
            f"BLEU {found.bleu:.1f}, exact {found.exact:.1f} %, its own score {found.score:.1f}",
            f"the travelling sentence: {found.travelling or '(nothing)'}",
            f"diagnose: {said}",
            *([f"    {found.says}"] if found.says else []),
        ]
    )
    return 0

"""`annotated-transformer museum`: bugs that run without an error, each trained on purpose."""

import argparse
import sys
from pathlib import Path

from annotated_transformer.cli.options import positive


def register(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Train a small translator with one bug in it, ask it, and show what betrays the bug. "
        "Without a name: the list. About three minutes of one core each."
    )
    parser.set_defaults(run=run)
    add = parser.add_argument
    add("bug", nargs="?", help="a name from the list; those that begin with right have no bug")
    add("--seed", type=int, default=0, help="of the training (default 0)")
    add("--steps", type=positive, help="of the training (default 1200, as recorded)")
    add("--work", type=Path, default=Path("runs/museum"), help="keeps the right runs' weights")
    add("--record", type=Path, help="a folder that gets the result, as BUG.json")


def run(arguments: argparse.Namespace) -> int:
    """List what there is, or make one exhibit."""
    from annotated_transformer.museum import exhibit
    from annotated_transformer.museum.bugs import BUGS

    if arguments.bug is None:
        for bug in (*BUGS, *exhibit.CONTROLS):
            print(f"{bug.name:26}  {bug.title}: {bug.looks}")
        return 0
    from annotated_transformer.museum.recipe import STEPS

    steps = arguments.steps or STEPS

    def progress(step: int) -> None:
        if step % 50 == 0 or step == steps:
            print(f"\rstep {step} of {steps}", end="", file=sys.stderr, flush=True)

    bug = exhibit.bug_named(arguments.bug)
    found = exhibit.make(bug, arguments.seed, arguments.work, steps, progress)
    print(file=sys.stderr)
    if arguments.record:
        exhibit.record(found, arguments.record)
    print(f"{bug.title}: {bug.looks}.")
    print(f"loss {found.loss:.3f}, of {found.accuracy:.1%} of the tokens the best one is right")
    print(f"BLEU {found.bleu:.1f}, exact {found.exact:.1f} %, score of its own {found.score:.1f}")
    print(f"the travelling sentence: {found.travelling or '(nothing)'}")
    print(f"diagnose: {found.named or 'no complaint'}{found.says and ': ' + found.says}")
    return 0

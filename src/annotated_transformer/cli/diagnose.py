"""`annotated-transformer diagnose`: what a run and its code answer to the museum's questions."""

import argparse
from pathlib import Path

from annotated_transformer.cli.options import add_format, print_json


def register(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Ask a trained run, and the code around it, what betrays a bug that raises no error: "
        "whether the future leaks, padding counts, the cache agrees, the weights are those of the "
        "log, and more. Ends with 1 if something is wrong; a note is neither."
    )
    parser.set_defaults(run=run)
    parser.add_argument("--run-dir", type=Path, required=True, help="of a finished training")
    parser.add_argument("--data-dir", type=Path, help="its corpus, if it lies elsewhere now")
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    """Ask, and say what was found."""
    from annotated_transformer.museum.checks import CHECKS, diagnose
    from annotated_transformer.museum.of_run import system_of_run

    findings = diagnose(system_of_run(arguments.run_dir, arguments.data_dir))
    wrong = [finding for finding in findings if finding.bug]
    if arguments.format == "json":
        names = [check.__name__ for check in CHECKS]
        print_json(
            {
                name: {"bug": found.bug, "says": found.says, "decides": found.decides}
                for name, found in zip(names, findings, strict=True)
            }
        )
        return 1 if wrong else 0
    for found in findings:
        print(f"{'wrong' if found.bug else 'fine' if found.decides else 'note':5}  {found.says}")
    print(
        "Ids, loss, gradients, search and score were asked of this package, not of who trained it."
    )
    if wrong:
        print(f"The first of these is the likely cause: {wrong[0].bug}.")
    return 1 if wrong else 0

"""`annotated-transformer diagnose`: what a run and its code answer to the museum's questions."""

import argparse
from dataclasses import asdict
from pathlib import Path

from annotated_transformer.cli.options import add_format, print_json, print_lines


def register(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Ask a trained run what betrays a bug that raises no error: whether its rates followed "
        "their schedule, whether weights, vocabulary and log belong together, how long and how "
        "sure it writes. The code around it is this package's, and is asked too: whether the "
        "future leaks, padding counts, the cache agrees, and more. Ends with 1 if something is "
        "wrong; a note is neither."
    )
    parser.set_defaults(run=run)
    parser.add_argument("--run-dir", type=Path, required=True, help="of a finished training")
    parser.add_argument("--data-dir", type=Path, help="its corpus, if it lies elsewhere now")
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    """Ask, and say what was found."""
    from annotated_transformer.museum.checks import CHECKS, OF_THE_RUN, diagnose, first_complaint
    from annotated_transformer.museum.of_run import system_of_run

    findings = diagnose(system_of_run(arguments.run_dir, arguments.data_dir))
    complaint = first_complaint(findings)
    answers = list(zip(CHECKS, findings, strict=True))
    if arguments.format == "json":
        print_json(
            {
                check.__name__: {"of": "run" if check in OF_THE_RUN else "code", **asdict(found)}
                for check, found in answers
            }
        )
        return 1 if complaint else 0
    lines = []
    for title, of_the_run in (
        ("Of the run:", True),
        ("Of this package's code, whoever's code trained the run:", False),
    ):
        lines.append(title)
        lines += [
            f"  {found.mark:5}  {found.says}"
            for check, found in answers
            if (check in OF_THE_RUN) == of_the_run
        ]
    if complaint:
        known = f" It is what `{complaint.bug}` shows." if complaint.bug else ""
        lines.append(f"Begin here: {complaint.says}.{known}")
    print_lines(lines)
    return 1 if complaint else 0

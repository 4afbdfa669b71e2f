"""`annotated-transformer progress`: what is solved, tried, and due for review."""

import argparse
import json
from typing import Any


def register(subparsers: Any) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "progress",
        help="your exercises: solved, tried, due for review",
        description="The table of the exercises: solved, tried, open, due for review.",
    )
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="json: one object on stdout"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the table or the JSON object."""
    from annotated_transformer.exercises.learner.progress import progress_card, progress_rows
    from annotated_transformer.exercises.learner.records import progress_path

    if arguments.format == "json":
        print(json.dumps({"path": str(progress_path()), "exercises": progress_rows()}))
    else:
        print(progress_card().text)
    return 0

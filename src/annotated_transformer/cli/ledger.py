"""`annotated-transformer ledger build | check | record`."""

import argparse
import sys
from pathlib import Path

from annotated_transformer.errors import CallError, WorkError
from annotated_transformer.evidence.ledger import STATUSES


def register(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = "Every fact of the paper beside what we did about it."
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    build = actions.add_parser("build", help="write book/ledger.md and the pages of recorded runs")
    build.set_defaults(run=run_build)
    check = actions.add_parser("check", help="compute everything again and compare")
    check.set_defaults(run=run_check)
    check.add_argument(
        "--data-dir",
        type=Path,
        help="a folder of corpora, such as FOLDER/multi30k: score the translations of the recorded "
        "runs on them again too",
    )
    _register_record(actions.add_parser("record", help="make results/NAME from a run directory"))


def _register_record(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Make a record of a run: configuration, curve, scores, machine, versions, cost. "
        "An existing record is never overwritten."
    )
    parser.set_defaults(run=run_record)
    add = parser.add_argument
    add("--run-dir", type=Path, required=True, help="the training's folder")
    add("--name", required=True, help="name of the record: results/NAME")
    add("--title", required=True, help="what a reader sees as its heading")
    add("--command", dest="run_command", required=True, help="the training command, in quotes")
    add("--scores", type=Path, nargs="*", default=[], help="files of `evaluate --format json`")
    add("--evaluation-command", action="append", default=[], help="how they were made; repeatable")
    add("--alpha-chosen-on", default="", help="split, if the score files do not say")
    add(
        "--translations", action="append", default=[], metavar="SPLIT=FILE", help="ours; repeatable"
    )
    add("--source-text", action="append", default=[], metavar="SPLIT=FILE", help="for six examples")
    add("--status", choices=STATUSES, default="finished")
    add("--commit", default="", help="the commit that trained it, if not the present one")
    add("--settings-chosen", default="", help="how the settings were chosen, in a sentence")
    add("--badly", action="append", default=[], help="what went badly, a sentence; repeatable")


def run_build(_arguments: argparse.Namespace) -> int:
    """Write the generated pages."""
    from annotated_transformer.evidence.ledger.checks import (
        find_repository,
        make_outcomes,
        make_pages,
        write_pages,
    )

    repository = find_repository()
    write_pages(make_outcomes(repository), print)
    write_pages(make_pages(repository), print)
    return 0


def run_check(arguments: argparse.Namespace) -> int:
    """Report everything that does not hold.

    Raises:
        WorkError: if something does not.
    """
    from annotated_transformer.cli.train_run import configuration_of
    from annotated_transformer.evidence.ledger.checks import (
        check_repository,
        find_repository,
        scored_again,
    )

    repository = find_repository()
    problems = check_repository(repository, configuration_of, arguments.data_dir)
    for problem in problems:
        print(f"- {problem}", file=sys.stderr)
    if problems:
        raise WorkError(f"the ledger does not hold: {len(problems)} problems, listed above.")
    print(f"The ledger holds. {scored_again(repository, arguments.data_dir)}")
    return 0


def run_record(arguments: argparse.Namespace) -> int:
    """Make a record of a run."""
    from annotated_transformer.cli.train_run import configuration_of
    from annotated_transformer.evidence.ledger.checks import find_repository
    from annotated_transformer.evidence.ledger.recording import Request, record_run

    if Path(arguments.name).name != arguments.name:
        raise CallError(f"--name {arguments.name}: it becomes one folder, results/NAME.")
    repository = find_repository()
    request = Request(
        run_dir=arguments.run_dir,
        folder=repository.results / arguments.name,
        title=arguments.title,
        command=arguments.run_command,
        score_files=arguments.scores,
        evaluation_commands=arguments.evaluation_command,
        alpha_chosen_on=arguments.alpha_chosen_on,
        translations=_by_split(arguments.translations),
        sources=_by_split(arguments.source_text),
        status=arguments.status,
        badly=arguments.badly,
        settings_chosen=arguments.settings_chosen,
        commit=arguments.commit,
    )
    run = record_run(request, configuration_of)
    print(f"results/{run.name} recorded. Now `annotated-transformer ledger build`.")
    return 0


def _by_split(words: list[str]) -> dict[str, Path]:
    """{"test": Path("a.txt")} from ["test=a.txt"]."""
    by_split = {}
    for word in words:
        split, equals, path = word.partition("=")
        if not equals:
            raise CallError(f"{word!r}: SPLIT=FILE is expected, such as test=translations.txt.")
        by_split[split] = Path(path)
    return by_split

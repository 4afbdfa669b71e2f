"""`annotated-transformer ablate`: many recorded runs that differ in one thing each."""

import argparse
import sys
from pathlib import Path

from annotated_transformer.cli.options import positive, print_lines
from annotated_transformer.evidence.ablation.plan import load_plan, plan_names

TABLE_3_HERE = "table3_grammar"  # needs no corpus from outside


def register(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Train, score and record every row of a plan, each the base with the "
        "change that it names: Table 3 in small, or another plan. What has a record is not run "
        "again."
    )
    parser.set_defaults(run=run)
    add = parser.add_argument
    add(
        "--plan",
        default=TABLE_3_HERE,
        help=f"{', '.join(plan_names())} (default {TABLE_3_HERE}), or a file of your own, "
        "which ends in .json",
    )
    add(
        "--rows",
        type=names,
        metavar="A,B,...",
        help="some rows, by the plan's names or by the paper's: A1, or A for A1 to A4 "
        "(default all)",
    )
    add("--seeds", type=positive, help="the first seeds of each row (default all)")
    add("--jobs", type=positive, default=1, help="runs at a time (default 1)")
    add("--data-dir", type=Path, help="folder with the corpus, if it is not to be fetched")
    add("--work", type=Path, default=Path("runs"), help="run directories (default runs/PLAN)")
    add(
        "--records",
        type=Path,
        default=Path("results") / "ablations",
        help="finished records (default results/ablations/PLAN)",
    )
    add("--list", action="store_true", help="show the plan and what has a record; train nothing")


def names(text: str) -> list[str]:
    """ "a,b" to ["a", "b"]; what stands twice counts once."""
    return list(dict.fromkeys(name.strip() for name in text.split(",")))


def run(arguments: argparse.Namespace) -> int:
    """Run what is missing."""
    from annotated_transformer.cli.train_run import configuration_of
    from annotated_transformer.evidence.ablation.runner import Runner

    plan = load_plan(arguments.plan)
    tasks = plan.choose(arguments.rows, arguments.seeds)
    runner = Runner(
        arguments.work / plan.name,
        arguments.records / plan.name,
        configuration_of,
        say,
        None if arguments.data_dir is None else arguments.data_dir.resolve(),
    )
    if arguments.list:
        print_lines(
            [
                f"{'recorded' if runner.is_recorded(task) else 'to do':8}  {task.name}: "
                f"{task.row.says}"
                for task in tasks
            ]
        )
        return 0
    if runner.run(tasks, arguments.jobs):
        say(f"all {len(tasks)} runs have a record in {runner.records}")
        return 0
    say(f"stopped by {runner.stopped_by}; every training saved. The same command goes on.")
    return 1


def say(text: str) -> None:
    """A line for whoever waits."""
    print(text, file=sys.stderr, flush=True)

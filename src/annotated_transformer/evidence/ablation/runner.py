"""Run the rows of a plan: train, score, record; several at once; stopped and taken up again.

Every run is a process of its own, `annotated-transformer train` and `evaluate` as anybody would
type them. What has a record is not run again; what was begun is gone on with (`--resume`).
"""

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotated_transformer.data import load_corpus
from annotated_transformer.errors import CallError, UserError, WorkError
from annotated_transformer.evidence.ablation.plan import Plan, Task
from annotated_transformer.evidence.ledger.machine import code_version
from annotated_transformer.evidence.ledger.recorded_runs import (
    ReadCommand,
    RecordedRun,
    load_run_record,
)
from annotated_transformer.evidence.ledger.recording import Request, record_run
from annotated_transformer.training.journal import DIVERGED
from annotated_transformer.training.run_directory import RunDirectory
from annotated_transformer.training.run_files import read_object
from annotated_transformer.training.signals import asking_to_stop

LAST_LINES = 2  # of a run's log, said where it goes wrong


@dataclass
class Runner:
    """Runs tasks and records them.

    Attributes:
        work: folder of the run directories and logs, one of each a task.
        records: folder of the records, one folder a task.
        read: a command line, as the program does.
        say: told a line whenever something is done.
        data_dir: a folder with the corpus, if it is not to be fetched.
    """

    work: Path
    records: Path
    read: ReadCommand
    say: Callable[[str], None]
    data_dir: Path | None = None
    stopped_by: str = field(default="", init=False)
    processes: set["subprocess.Popen[bytes]"] = field(default_factory=set, init=False)
    said_before: dict[str, int] = field(default_factory=dict, init=False)  # bytes of a task's log

    def run(self, tasks: Sequence[Task], jobs: int = 1) -> bool:
        """Run what has no record yet, in the order given, so many at a time.

        Returns:
            Whether everything was done; False if a signal asked to stop, whereupon every training
            has saved where it is.

        Raises:
            CallError: if the package lies in no repository, so that no commit can be recorded; if
                the corpus is another than the plan's or its records'; or if there is no folder
                that records can be written to.
            WorkError: if some runs did not end, once all others have.
        """
        if not code_version()["commit"]:
            raise CallError(
                "a record names the commit that trained it, and this package does not lie in a "
                "clone of its repository: clone it, install it with `pip install -e .`, and call "
                "again from there."
            )
        missing = [task for task in tasks if not self.is_recorded(task)]
        if missing:
            self.refuse_another_corpus(missing[0].plan)
            make_writable(self.records)
        done, problems = len(tasks) - len(missing), []
        if done:
            self.say(f"{done} of {len(tasks)} runs have a record and are not run again")
        with asking_to_stop(self.stop), ThreadPoolExecutor(jobs) as pool:
            futures = {pool.submit(self.run_one, task): task for task in missing}
            for future in as_completed(futures):
                try:
                    if told := future.result():
                        done += 1
                        self.say(f"[{done} of {len(tasks)}] {told}")
                except (UserError, OSError) as error:
                    problems.append(futures[future].name)
                    self.say(f"{futures[future].name} did not end: {error}")
        if problems and not self.stopped_by:
            raise WorkError(
                f"{len(problems)} runs did not end, see above: mend the cause and run "
                "the same command again."
            )
        return not self.stopped_by

    def stop(self, by: str) -> None:
        """Ask every running training to save and end."""
        self.stopped_by = by
        for process in list(self.processes):
            process.send_signal(signal.SIGINT)

    def is_recorded(self, task: Task) -> bool:
        """Whether the task has a record."""
        return (self.records / task.name / "run.json").exists()

    def run_one(self, task: Task) -> str:
        """Train, score and record one run; what to say of it, "" if it was stopped.

        Raises:
            WorkError: if the training did not end, or its model was not scored, or it was begun
                by the code of another commit.
        """
        directory = RunDirectory(self.work / task.name)
        self.code_of(task, directory)
        words = task.train_words(str(directory.path))
        # A run that has ended is taken up too: it says so, or that it had other settings.
        trained = self.call([*words, "--resume"] if directory.is_begun() else words, task)
        if self.stopped_by:
            return ""
        if not trained and has_diverged(directory):
            return as_text(self.record(task, directory, []))
        if not trained:
            raise WorkError(self.end_of_log(task))
        files = []
        for beam in task.beams:
            self.translations(task, beam).unlink(missing_ok=True)  # of a scoring that was killed
            files.append(self.work / f"{task.name}.beam{beam}.json")
            words = [*task.evaluate_words(str(directory.path), beam), "--format", "json"]
            scored = self.call(words, task, files[-1])
            if self.stopped_by:
                return ""
            if not scored:
                raise WorkError(f"its model was not scored: {self.end_of_log(task)}")
        return as_text(self.record(task, directory, files))

    def refuse_another_corpus(self, plan: Plan) -> None:
        """A study compares runs of one corpus, the one that its plan names.

        Raises:
            CallError: if the folder given is not the published corpus, or its validation sentences
                are not those of a record that is there.
        """
        if self.data_dir is None:
            return
        corpus = load_corpus(plan.data, data_dir=self.data_dir)
        if corpus.origin.get("published") is False:
            raise CallError(
                f"{self.data_dir} does not hold {plan.data} as it was published, and what is "
                f"trained on it would be recorded under that name: `annotated-transformer data "
                f"verify {plan.data} --data-dir {self.data_dir}` says which files differ."
            )
        for file in sorted(self.records.glob("*/run.json")):
            splits = load_run_record(file.parent).data.get("splits", {})
            if splits and splits[plan.split]["sha256"] != corpus[plan.split].sha256:
                raise CallError(
                    f"{self.data_dir} has other sentences in {plan.split} than the recorded run "
                    f"{file.parent.name}: its scores could not be compared. Give the same corpus, "
                    "or another folder for the records (--records)."
                )

    def code_of(self, task: Task, directory: RunDirectory) -> dict[str, Any]:
        """The code that trains a run, written down before it begins.

        Raises:
            WorkError: if another commit began it.
        """
        now, file = code_version(), self.work / f"{task.name}.code.json"
        if not directory.is_begun():
            self.work.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(now) + "\n", "utf-8")
            return now
        advice = f"Remove {directory.path} to train it anew."
        begun = read_object(file, advice, {"commit": str, "changed": bool})
        if any(begun.get(name) != now[name] for name in ("changed", "last_change")):
            raise WorkError(
                f"it was begun by commit {begun['commit'][:12]} and the code is "
                f"{now['commit'][:12]} now{', changed' if now['changed'] else ''}: check that one "
                f"out, or remove {directory.path} to train it anew."
            )
        return begun

    def record(self, task: Task, directory: RunDirectory, scores: list[Path]) -> RecordedRun:
        """Record a run; one that diverged has no scores and has failed."""
        train, *evaluations = task.commands()
        kept = {task.kept_as(beam): self.translations(task, beam) for beam in task.beams}
        request = Request(
            run_dir=directory.path,
            folder=self.records / task.name,
            title=f"{task.row.says}, seed {task.seed}",
            command=train,
            score_files=scores,
            evaluation_commands=evaluations,
            translations={name: file for name, file in kept.items() if file.exists()},
            status="finished" if scores else "failed",
            badly=[] if scores else [self.end_of_log(task)],
            code=self.code_of(task, directory),
        )
        return record_run(request, self.read)

    def call(self, words: Sequence[str], task: Task, output: Path | None = None) -> bool:
        """Run a command of the program to its end, messages into the task's log.

        Returns:
            Whether it did its work.
        """
        if self.stopped_by:
            return False
        self.work.mkdir(parents=True, exist_ok=True)
        log_file = self.log(task)
        self.said_before[task.name] = log_file.stat().st_size if log_file.exists() else 0
        where = ["--data-dir", str(self.data_dir)] if self.data_dir else []
        with (
            open(log_file, "ab") as log,
            open(output or log_file, "wb" if output else "ab") as out,
            subprocess.Popen(
                [sys.executable, "-m", "annotated_transformer.cli", *words, *where],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=log,
                start_new_session=True,  # Ctrl-C reaches this process alone, which tells the others
            ) as process,
        ):
            self.processes.add(process)
            if self.stopped_by:  # while it was being started
                process.send_signal(signal.SIGINT)
            status = process.wait()
            self.processes.discard(process)
        return status == 0

    def translations(self, task: Task, beam: int) -> Path:
        """Where the translations of a search go, if they are kept."""
        return Path(task.translations(str(self.work / task.name), beam))

    def log(self, task: Task) -> Path:
        """Where a task's messages go."""
        return self.work / f"{task.name}.log"

    def end_of_log(self, task: Task) -> str:
        """The last messages of the command that a task ran last, in one line."""
        with open(self.log(task), "rb") as log:
            log.seek(self.said_before.get(task.name, 0))
            lines = log.read().decode("utf-8", errors="replace").strip().splitlines()
        return " / ".join(lines[-LAST_LINES:])


def make_writable(folder: Path) -> None:
    """Make a folder, and try before hours of training whether something can be written to it.

    Raises:
        CallError: if nothing can.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise CallError(
            f"records cannot be written to {folder}: {error.strerror}. Give a folder that can be "
            "written to (--records)."
        ) from error


def has_diverged(directory: RunDirectory) -> bool:
    """Whether the run ended because its loss was no number any more."""
    lines = directory.read_metrics()
    return bool(lines) and lines[-1]["event"] == DIVERGED


def as_text(run: RecordedRun) -> str:
    """One line about a recorded run."""
    minutes = run.cost["process_cpu_seconds"] / 60
    told = [
        f"{score.protocol} {score.value:.2f}" + (f" (beam {score.beam})" if score.beam else "")
        for score in run.scores
    ]
    told = told or run.what_went_badly
    return f"{run.name}, {run.status}: {', '.join(told)}; {minutes:.1f} minutes of processor time"

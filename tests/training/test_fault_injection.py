"""A run is killed at twenty random moments, during saving too, and loses not a bit."""

import os
import random
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from annotated_transformer.cli import main
from annotated_transformer.training import RunDirectory, checkpoints
from annotated_transformer.training.checkpoints import list_checkpoints
from forked import PATIENCE, start

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kill -9 is a POSIX system's")

RECIPE = [
    *("--data", "copy", "--preset", "tiny/N=1,d_model=32,d_ff=32,h=2", "--steps", "60"),
    *("--checkpoint-every", "7", "--keep", "3", "--average", "3", "--max-tokens", "512"),
    *("--warmup", "20", "--threads", "1", "--device", "cpu", "--precision", "fp32"),
    *("--final", "best"),  # so that the best weights are saved too, and must survive
]
MOMENTS = random.Random(2017)
KILLS, FIRST = 10, 2  # of each kind; the first are in `make test` too


def some_moments() -> list[Any]:
    """Shares of a run at which it is killed."""
    shares = [MOMENTS.random() for _ in range(KILLS)]
    return [
        *shares[:FIRST],
        *(pytest.param(share, marks=pytest.mark.slow) for share in shares[FIRST:]),
    ]


def train(run_dir: Path, *options: str) -> None:
    """In a process of its own. Ends it with the command's exit status."""
    torch.set_num_threads(1)
    os._exit(main(["train", "--run-dir", str(run_dir), *options]))


class Saboteur:
    """Kills its own process at the n-th event of saving, or only counts them.

    Events are: half of a file is written, all of it is written but not on the disk, it is on the
    disk but not in place, it is in place, and a line of metrics.jsonl is written by half.
    """

    def __init__(self, at: int | None) -> None:
        self.at, self.events = at, 0

    def event(self) -> bool:
        """Whether this is the one."""
        self.events += 1
        return self.events == self.at

    def die(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def take_over(self) -> None:
        """Stand between the package and the disk, in this process."""
        save_file, fsync, replace = checkpoints.save_file, os.fsync, os.replace
        append = RunDirectory.append_metrics

        def save_by_half(tensors: Any, target: Any, metadata: Any) -> None:
            save_file(tensors, target, metadata)
            if self.event():
                os.truncate(target, os.path.getsize(target) // 2)
                self.die()

        def flush(number: int) -> None:
            if self.event():
                self.die()
            fsync(number)
            if self.event():
                self.die()

        def put_in_place(source: Any, target: Any) -> None:
            replace(source, target)
            if self.event():
                self.die()

        def append_by_half(directory: RunDirectory, values: dict[str, Any]) -> None:
            append(directory, values)
            if self.event():
                path = directory.metrics_file
                os.truncate(path, path.stat().st_size - 20)
                self.die()

        checkpoints.save_file = save_by_half
        os.fsync, os.replace = flush, put_in_place
        RunDirectory.append_metrics = append_by_half  # type: ignore[method-assign]


def train_sabotaged(run_dir: Path, at: int | None, count_file: Path, *options: str) -> None:
    saboteur = Saboteur(at)
    saboteur.take_over()
    torch.set_num_threads(1)
    status = main(["train", "--run-dir", str(run_dir), *options])
    count_file.write_text(str(saboteur.events), "utf-8")
    os._exit(status)


def resumed(run_dir: Path) -> None:
    """To the end, in a process of its own."""
    process = start(train, run_dir, "--resume")
    process.join(PATIENCE)
    assert process.exitcode == 0


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody disturbed; beside it how many events of saving it had, and its seconds."""
    folder = tmp_path_factory.mktemp("finished")
    began = time.monotonic()
    process = start(train_sabotaged, folder / "run", None, folder / "events", *RECIPE)
    process.join(PATIENCE)
    assert process.exitcode == 0
    (folder / "seconds").write_text(str(time.monotonic() - began), "utf-8")
    return folder / "run"


def must_be_the_same(ours: Path, theirs: Path) -> None:
    """Weights to the bit, the kept checkpoints and the best too, and the same curve."""
    for name in ("model.safetensors", "checkpoints/best.safetensors"):
        assert (ours / name).read_bytes() == (theirs / name).read_bytes(), name
    steps = [[step for step, _ in list_checkpoints(run / "checkpoints")] for run in (ours, theirs)]
    assert steps[0] == steps[1]
    curves = [
        [(line["event"], line["step"], line["loss"]) for line in RunDirectory(run).read_metrics()]
        for run in (ours, theirs)
    ]
    assert curves[0] == curves[1]
    assert not list(ours.rglob("*.unfinished"))


@pytest.mark.parametrize("share", some_moments())
def test_killed_by_the_clock(finished: Path, tmp_path: Path, share: float) -> None:
    """At a random share of the time that the whole run takes."""
    run_dir = tmp_path / "run"
    process = start(train, run_dir, *RECIPE)
    while not RunDirectory(run_dir).is_begun():
        assert process.is_alive()
        time.sleep(0.001)
    time.sleep(share * 0.8 * float((finished.parent / "seconds").read_text("utf-8")))
    process.kill()
    process.join()
    resumed(run_dir)
    must_be_the_same(run_dir, finished)


@pytest.mark.parametrize("share", some_moments())
def test_killed_while_saving(finished: Path, tmp_path: Path, share: float) -> None:
    """At a random one of all the moments at which something is on its way to the disk."""
    events = int((finished.parent / "events").read_text("utf-8"))
    begun = 6  # events of the vocabulary and config.json, before which there is no run to resume
    at = begun + 1 + int(share * (events - begun))
    run_dir = tmp_path / "run"
    process = start(train_sabotaged, run_dir, at, tmp_path / "events", *RECIPE)
    process.join(PATIENCE)
    assert process.exitcode == -signal.SIGKILL
    assert not (tmp_path / "events").exists()
    resumed(run_dir)
    must_be_the_same(run_dir, finished)


def test_killed_again_and_again(finished: Path, tmp_path: Path) -> None:
    """Every process dies at its own third event of saving or later; the last one is left alone."""
    run_dir = tmp_path / "run"
    options, died = RECIPE, 0
    for at in (17, 9, 11, 7, 14):
        process = start(train_sabotaged, run_dir, at, tmp_path / "events", *options)
        process.join(PATIENCE)
        died += process.exitcode == -signal.SIGKILL
        options = ["--resume"]
    assert died >= 4
    resumed(run_dir)
    must_be_the_same(run_dir, finished)
    shutil.rmtree(run_dir)

"""Two processes train as one does, and a process that dies takes nothing with it."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from annotated_transformer.cli import main
from annotated_transformer.data import ParallelCorpus
from annotated_transformer.errors import CallError
from annotated_transformer.training.checkpoints import list_checkpoints
from annotated_transformer.training.distributed import ALONE, LONGEST_WAIT, Workers, joined
from annotated_transformer.training.run_directory import RunDirectory, load_run
from forked import PATIENCE, start
from sampling import one_in
from toy_run import build_trainer, letters_corpus

pytestmark = pytest.mark.skipif(os.name != "posix", reason="gloo and signals of a POSIX system")

SETTINGS = {"steps": 12, "max_tokens": 48, "batch_tokens": 144, "checkpoint_every": 5, "p": 0.2}
RECIPE = [
    *("--data", "copy", "--preset", "tiny/N=1,d_model=32,d_ff=32,h=2", "--steps", "60"),
    *("--checkpoint-every", "5", "--average", "1", "--max-tokens", "256", "--warmup", "20"),
    *("--learning-rate", "1e-3"),  # at a high rate the order of sums would soon show
    *("--batch-tokens", "1024", "--threads", "1", "--device", "cpu", "--precision", "fp32"),
]


def free_port() -> int:
    """Below those that a system hands out, so that nobody is given it before it is used.

    Tests in another process begin their search elsewhere.
    """
    for port in range(20_000 + 97 * os.getpid() % 10_000, 32_000):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    pytest.fail("no port is free")


def take_part(path: Path, rank: int, size: int, port: int, settings: dict) -> None:
    """One of the processes of a run in float64."""
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in place.items()}, MASTER_ADDR="127.0.0.1")
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    with joined(torch.device("cpu")) as workers:
        if not workers.is_first:
            workers.wait()  # until the first has begun the run
        trainer = build_trainer(path, letters_corpus(), workers, **settings)
        if workers.is_first:
            workers.wait()
        trainer.run()
        losses = [trainer.state.loss, float(trainer.state.target_tokens)]
    path.with_suffix(f".{rank}.json").write_text(json.dumps(losses), "utf-8")


def go_on(path: Path, rank: int, size: int, port: int, settings: dict) -> None:
    """Take a run up from its checkpoint, to its end or to the step `until`."""
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in place.items()}, MASTER_ADDR="127.0.0.1")
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    until = settings.pop("until")
    with joined(torch.device("cpu")) as workers:
        if size > 1 and not workers.is_first:
            workers.wait()  # until the first has begun the run
        trainer = build_trainer(path, letters_corpus(), workers, **settings)
        if size > 1 and workers.is_first:
            workers.wait()
        trainer.resume()
        workers.wait()
        taken, step = [], trainer._step

        def watched_step(parts, done):
            taken.append([[part.epoch, part.place, *part.indices] for part in parts])
            step(parts, done)
            if trainer.state.step == until:
                trainer.stop_asked = "the test"

        trainer._step = watched_step
        assert trainer.run() == (until is None)
    path.with_suffix(f".{size}.{rank}.{until}.json").write_text(json.dumps(taken), "utf-8")


def train_together(path: Path, size: int, settings: dict, part=take_part) -> None:
    port = free_port()
    processes = [start(part, path, rank, size, port, dict(settings)) for rank in range(size)]
    for process in processes:
        process.join(PATIENCE)
        assert process.exitcode == 0


def weights_of(path: Path) -> dict[str, torch.Tensor]:
    torch.set_default_dtype(torch.float64)
    try:
        model, _, _ = load_run(path)
    finally:
        torch.set_default_dtype(torch.float32)
    return {name: tensor.detach() for name, tensor in model.named_parameters()}


@pytest.mark.parametrize(
    ("size", "changes"),
    one_in(3, [(3, {"clip_norm": 0.05}), (2, {"clip_norm": 10.0}), (2, {"r_drop": 2.0})]),
)
def test_processes_take_the_steps_of_one(
    tmp_path: Path, size: int, changes: dict[str, float]
) -> None:
    """With dropout on, and with last steps of an epoch that have fewer batches than processes."""
    settings = {**SETTINGS, **changes}
    train_together(tmp_path / "one", 1, settings)
    train_together(tmp_path / "many", size, settings)
    one, many = weights_of(tmp_path / "one"), weights_of(tmp_path / "many")
    for name, tensor in one.items():
        assert tensor.dtype == torch.float64
        torch.testing.assert_close(many[name], tensor, rtol=0, atol=1e-9)
    curves = [
        [json.loads(line) for line in (tmp_path / name / "metrics.jsonl").open()]
        for name in ("one", "many")
    ]
    assert len(curves[0]) == len(curves[1]) > 1
    for alone, together in zip(*curves, strict=True):
        assert alone["step"] == together["step"]
        assert together["loss"] == pytest.approx(alone["loss"], abs=1e-6)
    expected = json.loads((tmp_path / "one.0.json").read_text("utf-8"))
    for rank in range(size):
        found = json.loads((tmp_path / f"many.{rank}.json").read_text("utf-8"))
        assert found == pytest.approx(expected, abs=1e-6)


def test_a_run_goes_on_with_another_number_of_processes(tmp_path: Path) -> None:
    """The same batches in the same order, one curve without a step in it, the same weights."""
    sizes = (2, 1, 3)  # down to one, and up again
    settings = {**SETTINGS, "steps": 110, "checkpoint_every": 100}  # the curve has a line at 50
    train_together(tmp_path / "whole", 1, {**settings, "until": None}, go_on)
    stops = [37, 73][: len(sizes) - 1]
    order = []
    for size, until in zip(sizes, [*stops, None], strict=True):
        train_together(tmp_path / "moved", size, {**settings, "until": until}, go_on)
        seen = [
            json.loads((tmp_path / f"moved.{size}.{rank}.{until}.json").read_text("utf-8"))
            for rank in range(size)
        ]
        assert all(one == seen[0] for one in seen)
        order += seen[0]
    assert order == json.loads((tmp_path / "whole.1.0.None.json").read_text("utf-8"))
    curves = [RunDirectory(tmp_path / name).read_metrics() for name in ("whole", "moved")]
    lines = [[(line["event"], line["step"]) for line in curve] for curve in curves]
    assert lines[0] == lines[1]
    assert ("train", 50) in lines[0]
    for alone, together in zip(*curves, strict=True):
        assert together["loss"] == pytest.approx(alone["loss"], abs=1e-6)
    whole, moved = weights_of(tmp_path / "whole"), weights_of(tmp_path / "moved")
    for name, tensor in whole.items():
        torch.testing.assert_close(moved[name], tensor, rtol=0, atol=1e-9)


def test_a_step_must_have_a_batch_for_everyone(tmp_path: Path) -> None:
    corpus: ParallelCorpus = letters_corpus()
    with pytest.raises(CallError, match="3 processes have nothing to share"):
        build_trainer(tmp_path, corpus, Workers(0, 3), max_tokens=64, batch_tokens=128)


def test_processes_wait_for_hours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others wait while the first encodes a large corpus, longer than NCCL's own ten minutes"""
    given: dict[str, object] = {}
    pretend = {
        "init_process_group": lambda backend, **settings: given.update(settings),
        "get_rank": lambda: 1,
        "get_world_size": lambda: 2,
        "destroy_process_group": lambda: None,
    }
    for name, function in pretend.items():
        monkeypatch.setattr(torch.distributed, name, function)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with joined(torch.device("cpu")) as workers:
        assert not workers.is_first
    assert given["timeout"] == LONGEST_WAIT
    assert LONGEST_WAIT.total_seconds() >= 3600


def test_things_are_dealt_like_cards() -> None:
    hands = [Workers(rank, 3).share(range(7)) for rank in range(3)]
    assert [list(hand) for hand in hands] == [[0, 3, 6], [1, 4], [2, 5]]
    assert list(ALONE.share(range(3))) == [0, 1, 2]


def torchrun(run_dir: Path, *options: str) -> subprocess.Popen[str]:
    """As a user starts it: two processes on this machine."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = ["-m", "annotated_transformer.cli", "train", "--run-dir", str(run_dir), *options]
    return subprocess.Popen(
        [sys.executable, *launcher, *command],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def children_of(process: subprocess.Popen[str]) -> list[int]:
    listing = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(number) for number in listing.read_text("utf-8").split()]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").exists(), reason="needs /proc")
def test_torchrun_with_a_worker_that_is_killed(tmp_path: Path) -> None:
    """The job ends with a sentence, and resumed it ends where one process ends."""
    assert main(["train", "--run-dir", str(tmp_path / "one"), *RECIPE]) == 0
    run_dir = tmp_path / "two"
    job = torchrun(run_dir, *RECIPE)
    try:
        while not any(step >= 5 for step, _ in list_checkpoints(run_dir / "checkpoints")):
            assert job.poll() is None, job.communicate()
            time.sleep(0.005)
        os.kill(children_of(job)[1], signal.SIGKILL)
        _, said = job.communicate(timeout=PATIENCE)
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
    assert job.returncode != 0
    assert "2 processes of 1 threads" in said
    assert "Another process of this run has ended" in said
    assert "--resume" in said
    last = list_checkpoints(run_dir / "checkpoints")[-1][0]
    assert 5 <= last < 60
    resumed = torchrun(run_dir, "--resume")
    _, said = resumed.communicate(timeout=PATIENCE)
    assert resumed.returncode == 0, said
    assert f"resumed after step {last}" in said
    curves = [RunDirectory(tmp_path / name).read_metrics() for name in ("one", "two")]
    assert [line["step"] for line in curves[0]] == [line["step"] for line in curves[1]]
    for alone, together in zip(*curves, strict=True):  # float32: sums in another order
        assert together["loss"] == pytest.approx(alone["loss"], abs=2e-3)

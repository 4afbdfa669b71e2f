"""Warnings instead of silence, and metrics that TensorBoard shows too."""

import io
import json
import sys
import types

import pytest

from annotated_transformer.cli import main
from annotated_transformer.data import ParallelCorpus
from annotated_transformer.training import RunDirectory
from annotated_transformer.training.alarms import has_exploded
from annotated_transformer.training.journal import Journal
from annotated_transformer.training.progress import Progress
from annotated_transformer.training.snapshot import RunState
from toy_run import build_trainer, letters_corpus, write_corpus


@pytest.fixture
def corpus() -> ParallelCorpus:
    return letters_corpus()


def log_losses(directory: RunDirectory, losses: list[float], state: RunState) -> str:
    """Log intervals with these mean losses; returns what was said."""
    said = io.StringIO()
    journal = Journal(directory, Progress(said))
    for loss in losses:
        state.step += 50
        state.loss, state.target_tokens, state.tokens = 10 * loss, 10, 20
        journal.log_if_due(state, 1e-3, clips=False)
    return said.getvalue()


def test_a_loss_far_above_the_best_has_exploded():
    assert not has_exploded(9.0, None)
    assert not has_exploded(4.9, 4.0)
    assert has_exploded(5.1, 4.0)


def test_an_exploding_loss_is_said_once_and_again_after_it_came_back(tmp_path):
    directory = RunDirectory(tmp_path)
    state = RunState()
    said = log_losses(directory, [8.0, 5.0, 5.3, 7.5, 7.6, 5.1, 9.0], state)
    warnings = [line for line in said.splitlines() if line.startswith("warning: ")]
    assert len(warnings) == 2
    assert "at step 200 the loss is 7.500" in warnings[0]
    assert "had been 5.000" in warnings[0]
    assert "--learning-rate" in warnings[0]
    events = [line for line in directory.read_metrics() if line["event"] == "warning"]
    assert [(line["step"], line["about"]) for line in events] == [(200, "loss"), (350, "loss")]
    assert state.best_loss == 5.0


@pytest.mark.parametrize(
    ("planned", "minutes", "left"), [(None, 20.0, "3:19"), (80, None, "0:45"), (None, None, "")]
)
def test_speed_and_time_left_after_a_stop(tmp_path, planned, minutes, left):
    """30 of 50 steps before it, in 970 seconds, of which the last log took 960."""
    said, directory = io.StringIO(), RunDirectory(tmp_path)
    journal = Journal(directory, Progress(said))
    journal.progress.begin(30, planned, minutes, 970.0)
    state = RunState(step=50, loss=10.0, target_tokens=10, tokens=4000, logged_at=960.0)
    journal.go_on_from(1000.5, 0.0)  # half a second more: what the test itself takes
    journal.log_if_due(state, 1e-3, clips=False)
    (line,) = directory.read_metrics()
    assert line["tokens_per_second"] == pytest.approx(4000 / 40.5, rel=0.01)
    assert state.logged_at == pytest.approx(1000.5, abs=0.4)
    shown = said.getvalue().partition("rate 1.00e-03  ")[2].strip()
    assert shown == (f"{left} left" if left else "")


def test_a_resumed_run_does_not_warn_again(tmp_path):
    state = RunState()
    log_losses(RunDirectory(tmp_path), [5.0, 8.0], state)
    state = RunState(**json.loads(json.dumps(vars(state))))  # as in a checkpoint
    assert "warning" not in log_losses(RunDirectory(tmp_path), [8.1], state)


def test_an_exploding_run_goes_on(tmp_path, corpus):
    trainer = build_trainer(tmp_path, corpus, steps=150, warmup=50, learning_rate=0.003)
    plain = trainer._step

    def explode(parts, done):
        if trainer.state.step == 100:
            trainer.state.loss += 10_000.0
        plain(parts, done)

    trainer._step = explode
    assert trainer.run()
    [line] = [line for line in trainer.directory.read_metrics() if line["event"] == "warning"]
    assert line["step"] == 150


def test_long_pairs_and_empty_lines_are_said_and_written_down(tmp_path, capfd):
    data = write_corpus(tmp_path / "corpus")
    for language in ("en", "de"):
        with open(data / f"train.{language}", "a", encoding="utf-8") as file:
            file.write("a dog . " * 30 + "\n" + ("a dog\n" if language == "en" else "\n"))
    run_dir = tmp_path / "run"
    options = ["--data-dir", str(data), "--preset", "tiny/N=1,d_model=8,d_ff=8,h=2"]
    options += ["--steps", "2", "--max-length", "40", "--device", "cpu"]
    assert main(["train", "--run-dir", str(run_dir), *options]) == 0
    said = capfd.readouterr().err.splitlines()
    [line] = [line for line in said if line.startswith("warning: ")]
    assert "1 of 3 training pairs have more than 40 tokens" in line
    assert "--max-length" in line
    events = [line for line in RunDirectory(run_dir).read_metrics() if line["event"] == "warning"]
    assert [line["about"] for line in events] == ["long pairs", "empty lines"]
    assert events[1]["text"].startswith("1 training pairs have an empty side")

    assert main(["train", "--run-dir", str(run_dir), "--resume"]) == 0
    again = [line for line in RunDirectory(run_dir).read_metrics() if line["event"] == "warning"]
    assert again == events


def test_nothing_is_warned_of_where_nothing_is_wrong(tmp_path, corpus):
    trainer = build_trainer(tmp_path, corpus, steps=50)
    trainer.run()
    assert {line["event"] for line in trainer.directory.read_metrics()} == {"train", "valid"}
    assert "warning" not in trainer.progress.stream.getvalue()


# --- TensorBoard

CALL = ["--data", "copy", "--preset", "tiny/N=1,d_model=8,d_ff=8,h=2", "--max-tokens", "2048"]
CALL += ["--steps", "50", "--device", "cpu", "--tensorboard"]


def test_tensorboard_shows_every_number_of_the_metrics(tmp_path, monkeypatch):
    shown = []

    class SummaryWriter:
        def __init__(self, folder: str) -> None:
            self.folder = folder

        def add_scalar(self, name: str, value: float, step: int) -> None:
            shown.append((self.folder, name, value, step))

        def flush(self) -> None:
            pass

    module = types.ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = SummaryWriter
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    run_dir = tmp_path / "run"
    assert main(["train", "--run-dir", str(run_dir), *CALL]) == 0
    expected = [
        (str(run_dir / "tensorboard"), f"{line['event']}/{name}", value, line["step"])
        for line in RunDirectory(run_dir).read_metrics()
        for name, value in line.items()
        if name not in ("event", "step", "epoch", "about", "text")
    ]
    assert shown == expected
    assert {"train/loss", "valid/loss"} <= {name for _, name, _, _ in shown}


def test_without_tensorboard_nothing_is_begun(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    assert main(["train", "--run-dir", str(tmp_path / "run"), *CALL]) == 2
    said = capsys.readouterr().err
    assert "pip install tensorboard" in said
    assert "metrics.jsonl" in said
    assert not (tmp_path / "run").exists()

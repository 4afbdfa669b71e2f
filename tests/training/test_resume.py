"""A run can be killed at any moment, and what is damaged is said in a sentence."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from annotated_transformer.cli import main
from annotated_transformer.cli.train_run import _begin as begin_run
from annotated_transformer.evidence.table3 import TABLE_3
from annotated_transformer.training import RunDirectory
from annotated_transformer.training.checkpoints import (
    Checkpoint,
    list_checkpoints,
    load_checkpoint,
    save_checkpoint,
)
from toy_run import write_corpus

posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits of a POSIX system")
COMMAND = [sys.executable, "-m", "annotated_transformer.cli"]
# A signal from outside might come when the last of these short steps is done.
SIGNALLED = """
import os, sys
from annotated_transformer.cli import main
replace, number = os.replace, int(sys.argv.pop(1))
def replace_and_signal(source, target):
    replace(source, target)
    if os.path.basename(os.path.dirname(target)) == "checkpoints":
        os.replace = replace
        os.kill(os.getpid(), number)
os.replace = replace_and_signal
sys.exit(main(sys.argv[1:]))
"""
RECIPE = [
    *("--data", "copy", "--preset", "tiny/N=1,d_model=32,d_ff=32,h=2", "--steps", "60"),
    *("--checkpoint-every", "7", "--keep", "3", "--average", "3", "--max-tokens", "512"),
    *("--warmup", "20", "--threads", "1", "--device", "cpu", "--precision", "fp32"),
]


def train(run_dir: Path, *options: str) -> int:
    return main(["train", "--run-dir", str(run_dir), *options])


def begin(run_dir: Path, *options: str, command=COMMAND, **popen) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*command, "train", "--run-dir", str(run_dir), *options],
        stderr=subprocess.PIPE,
        text=True,
        **popen,
    )


def wait_for_checkpoint(run_dir: Path, step: int, process: subprocess.Popen[str]) -> None:
    while not any(found >= step for found, _ in list_checkpoints(run_dir / "checkpoints")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """A run that nobody interrupted."""
    run_dir = tmp_path_factory.mktemp("finished") / "run"
    assert train(run_dir, *RECIPE) == 0
    return run_dir


@pytest.fixture
def stopped(finished, tmp_path) -> Path:
    """A copy of that run as it stood at its last checkpoint but one, without its model."""
    run_dir = tmp_path / "run"
    shutil.copytree(finished, run_dir)
    (run_dir / "model.safetensors").unlink()
    list_checkpoints(run_dir / "checkpoints")[-1][1].unlink()
    return run_dir


def same_weights(a: Path, b: Path) -> bool:
    return (a / "model.safetensors").read_bytes() == (b / "model.safetensors").read_bytes()


def logged_steps(run_dir: Path) -> list[int]:
    return [line["step"] for line in RunDirectory(run_dir).read_metrics()]


@pytest.mark.parametrize(
    "options",
    [
        ["--byte-dropout"],
        pytest.param([], marks=pytest.mark.slow),
        pytest.param(["--precision", "bf16"], marks=pytest.mark.slow),
        pytest.param(["--r-drop", "2", "--pairs", "40"], marks=pytest.mark.slow),
    ],
)
def test_two_runs_of_one_command_end_with_the_same_bits(tmp_path, options):
    for name in "ab":
        assert train(tmp_path / name, *RECIPE, *options) == 0
    assert same_weights(tmp_path / "a", tmp_path / "b")


@posix
@pytest.mark.parametrize("kills", [(21,), pytest.param((7, 21, 42), marks=pytest.mark.slow)])
def test_killed_without_warning_and_resumed(finished, tmp_path, kills):
    """kill -9 at moments nobody chose; the weights are those of the finished run."""
    run_dir = tmp_path / "run"
    chance = random.Random(0)
    options = RECIPE
    for at_least in kills:
        process = begin(run_dir, *options)
        wait_for_checkpoint(run_dir, at_least, process)
        time.sleep(chance.uniform(0, 0.05))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        options = ["--resume"]
    assert train(run_dir, "--resume") == 0
    assert same_weights(finished, run_dir)
    assert logged_steps(run_dir) == logged_steps(finished)


@posix
@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_a_signal_saves_and_says_how_to_go_on(finished, tmp_path, number):
    run_dir = tmp_path / "run"
    process = begin(run_dir, *RECIPE, command=[sys.executable, "-c", SIGNALLED, str(int(number))])
    _, said = process.communicate(timeout=500)
    assert process.returncode == 1
    assert f"train --run-dir {run_dir} --resume" in said
    assert not (run_dir / "model.safetensors").exists()
    assert train(run_dir, "--resume") == 0
    assert same_weights(finished, run_dir)


def test_resuming_a_finished_run_changes_nothing(finished, tmp_path):
    run_dir = tmp_path / "run"
    shutil.copytree(finished, run_dir)
    assert train(run_dir, "--resume") == 0
    assert same_weights(finished, run_dir)


@posix
def test_a_full_disk_while_saving(finished, stopped):
    """A limit on the size of files stands in for the full disk: the write fails half way."""
    import resource

    before = {path.name for _, path in list_checkpoints(stopped / "checkpoints")}
    size = max(path.stat().st_size for _, path in list_checkpoints(stopped / "checkpoints"))

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, size // 2))

    process = begin(stopped, "--resume", preexec_fn=limit)
    _, said = process.communicate(timeout=500)
    assert process.returncode == 1
    assert "could not be written" in said
    assert "--resume" in said
    assert "Traceback" not in said
    assert {path.name for _, path in list_checkpoints(stopped / "checkpoints")} == before
    assert not list((stopped / "checkpoints").glob("*.unfinished"))
    assert train(stopped, "--resume") == 0  # room was made
    assert same_weights(finished, stopped)


def refused(capsys, *parts: str) -> None:
    said = capsys.readouterr().err
    assert all(part in said for part in parts), said
    assert "Traceback" not in said


def test_a_truncated_checkpoint(stopped, capsys):
    _, last = list_checkpoints(stopped / "checkpoints")[-1]
    last.write_bytes(last.read_bytes()[:-100])
    assert train(stopped, "--resume") == 1
    refused(capsys, str(last), "truncated", "Delete it")


def test_without_the_truncated_checkpoint_the_run_goes_on(finished, stopped):
    _, last = list_checkpoints(stopped / "checkpoints")[-1]
    last.unlink()
    assert train(stopped, "--resume") == 0
    assert (
        load_file(finished / "model.safetensors").keys()
        == load_file(stopped / "model.safetensors").keys()
    )


def test_a_foreign_checkpoint(stopped, capsys):
    _, last = list_checkpoints(stopped / "checkpoints")[-1]
    save_file(load_file(last), last, {"format": "pt"})
    assert train(stopped, "--resume") == 1
    refused(capsys, str(last), "not a file of ours")


def test_a_checkpoint_of_another_model(stopped, tmp_path, capsys):
    other = tmp_path / "other"
    assert train(other, *[part.replace("d_ff=32", "d_ff=64") for part in RECIPE]) == 0
    _, theirs = list_checkpoints(other / "checkpoints")[-1]
    _, last = list_checkpoints(stopped / "checkpoints")[-1]
    os.replace(theirs, last)
    assert train(stopped, "--resume") == 1
    refused(capsys, str(last), "another model")


def test_a_checkpoint_of_a_newer_version(stopped, capsys):
    _, last = list_checkpoints(stopped / "checkpoints")[-1]
    checkpoint = load_checkpoint(last)
    newer = Checkpoint(checkpoint.tensors, {**checkpoint.state, "moon_phase": 0.5})
    save_checkpoint(last.parent, newer, keep=5)
    assert train(stopped, "--resume") == 1
    refused(capsys, str(last), "newer version", "moon_phase")


def test_a_checkpoint_that_is_a_pickle_is_never_opened_as_one(stopped, capsys):
    _, last = list_checkpoints(stopped / "checkpoints")[-1]
    last.write_bytes(b"cos\nsystem\n(S'touch pickled'\ntR.")
    assert train(stopped, "--resume") == 1
    refused(capsys, str(last))
    assert not Path("pickled").exists()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--dropout", "0.5"], "--dropout"),
        (["--steps", "61"], "--steps"),
        (["--r-drop", "1"], "--r-drop"),
        (["--pairs", "40"], "--pairs"),
        (["--preset", "base"], "--preset"),
        (["--data", "grammar"], "--data"),
    ],
)
def test_resuming_with_another_configuration(stopped, capsys, options, named):
    assert train(stopped, "--resume", *options) == 2
    refused(capsys, named, "contradicts")


@pytest.mark.parametrize("side", ["en", "de"])
def test_resuming_with_other_sentences(tmp_path, capsys, side):
    data, run_dir = write_corpus(tmp_path / "corpus"), tmp_path / "run"
    options = ["--data-dir", str(data), "--preset", "tiny/N=1,d_model=8,d_ff=8,h=2"]
    assert train(run_dir, *options, "--steps", "2", "--device", "cpu") == 0
    text = (data / f"train.{side}").read_text()
    (data / f"train.{side}").write_text(text.replace("dog", "cat").replace("Hund", "Kater"))
    assert train(run_dir, "--resume") == 2
    refused(capsys, "train sentences are no longer those", "--data-dir")


def test_resuming_what_has_a_model_but_no_checkpoint(finished, tmp_path, capsys):
    """A folder that was shared, or a run whose checkpoints were deleted to save room."""
    run_dir = tmp_path / "run"
    shutil.copytree(finished, run_dir)
    shutil.rmtree(run_dir / "checkpoints")
    before = {path.name: path.read_bytes() for path in run_dir.iterdir() if path.is_file()}
    assert train(run_dir, "--resume") == 2
    refused(capsys, "no checkpoint to go on from", "nothing is overwritten")
    assert before == {path.name: path.read_bytes() for path in run_dir.iterdir() if path.is_file()}


def test_a_run_directory_that_cannot_be_made(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert train(tmp_path / "file" / "run", *RECIPE) == 1
    refused(capsys, "cannot be made", "another --run-dir")


def test_a_run_too_short_for_a_step(tmp_path, capsys):
    recipe = RECIPE.copy()
    recipe[recipe.index("--steps") : recipe.index("--steps") + 2] = ["--minutes", "1e-9"]
    assert train(tmp_path / "run", *recipe) == 1
    refused(capsys, "before the first step", "--minutes")
    assert not (tmp_path / "run" / "model.safetensors").exists()


def test_a_run_that_ends_within_an_epoch_is_validated_and_says_what_it_averaged(tmp_path, capsys):
    short = ["--steps", "9", "--keep", "3"]
    assert train(tmp_path / "run", *RECIPE, *short) == 0
    last = RunDirectory(tmp_path / "run").read_metrics()[-1]
    assert (last["event"], last["step"], last["epoch"]) == ("valid", 9, 0)
    assert "the model is the mean of 2 of the 3 checkpoints asked for" in capsys.readouterr().err


def test_a_damaged_configuration(stopped, capsys):
    (stopped / "config.json").write_text('{"model": {"vocab_size": 10, "wheels": 4}')
    assert train(stopped, "--resume") == 1
    refused(capsys, "config.json", "damaged")


def test_a_vocabulary_of_another_run(stopped, capsys):
    vocabulary = json.loads((stopped / "tokenizer.json").read_text())
    vocabulary["model"]["vocab"]["zzz"] = len(vocabulary["model"]["vocab"])
    (stopped / "tokenizer.json").write_text(json.dumps(vocabulary))
    assert train(stopped, "--resume") == 1
    refused(capsys, "tokenizer.json", "another")


def test_nothing_is_overwritten(finished, tmp_path, capsys):
    before = (finished / "model.safetensors").read_bytes()
    assert train(finished, *RECIPE) == 2
    refused(capsys, "--resume")
    (tmp_path / "letter.txt").write_text("mine")
    assert train(tmp_path, *RECIPE) == 2
    refused(capsys, "not empty")
    assert (finished / "model.safetensors").read_bytes() == before
    assert (tmp_path / "letter.txt").read_text() == "mine"


def test_two_processes_do_not_train_one_run(tmp_path, capsys):
    run_dir = tmp_path / "run"
    options = [*RECIPE, "--checkpoint-every", "1000"]
    options[options.index("--steps") + 1] = "100000"
    process = begin(run_dir, *options)
    while not (run_dir / "config.json").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    status = train(run_dir, "--resume")
    process.kill()
    process.communicate()
    assert status == 2
    refused(capsys, "is being trained by another process")


def test_there_is_nothing_to_resume(tmp_path, capsys):
    assert train(tmp_path / "run", "--resume") == 2
    refused(capsys, "holds no run")


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--preset", "enormous"], ["enormous", "tiny, small, base, big"]),
        (["--preset", "base/q=3"], ["'q'", "N, h"]),
        (["--data", "shakespeare"], ["shakespeare", "grammar"]),
        (["--device", "abacus"], ["abacus", "cpu"]),
        (["--precision", "fp8"], ["fp8", "bf16"]),
        (["--max-tokens", "3"], ["3", "longest sentence"]),
        (["--steps", "0"], ["steps = 0", "positive"]),
        (["--dropout", "1.5"], ["dropout = 1.5"]),
        (["--average", "9"], ["average = 9", "keep"]),
        (["--seed", "9" * 20], ["seed = 99999999999999999999", "at most"]),
        (["--seed", "-1"], ["seed = -1"]),
        (["--vocab-size", "9" * 20], ["vocab_size = 99999999999999999999", "at most"]),
        (["--steps", "9" * 20], ["steps = 9", "at most"]),
        (["--preset", "tiny/N=999999999"], ["N = 999,999,999", "parameters", "GiB"]),
        (["--preset", "tiny/d_ff=999999999"], ["d_ff = 999,999,999", "parameters", "GiB"]),
        (["--preset", "tiny/d_model=" + 60 * "2"], ["d_model", "at most"]),
    ],
)
def test_a_wrong_call_is_a_sentence_and_leaves_nothing(tmp_path, capsys, options, parts):
    assert train(tmp_path / "run", *RECIPE, *options) == 2
    refused(capsys, *parts)
    assert not (tmp_path / "run").exists()


def test_a_learned_table_of_positions_must_hold_every_sentence(tmp_path, capsys):
    """Said before anything is trained, not as a traceback after the first epoch."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for name, lines in {"train": ["a b"] * 9, "valid": ["a b", "a " * 1100]}.items():
        for language in ("en", "de"):
            (folder / f"{name}.{language}").write_text("\n".join(lines) + "\n", "utf-8")
    call = ["--data-dir", str(folder), "--epochs", "1", "--preset", "tiny/N=1", "--device", "cpu"]
    learned = [*call, "--positions", "learned"]
    assert train(tmp_path / "run", *learned) == 2
    refused(capsys, "line 2 of the validation sentences has 1,101 tokens", "ends at 1,024")
    for language in ("en", "de"):
        (folder / f"valid.{language}").write_text("a b\n")
        (folder / f"train.{language}").write_text("a b\n" * 9 + "a " * 1100 + "\n")
    assert train(tmp_path / "run", *learned, "--max-length", "2000") == 2
    refused(capsys, "line 10 of the training sentences has 1,101 tokens", "--max-length 1024")
    assert not (tmp_path / "run").exists()


def test_averaging(finished, tmp_path, capsys):
    run_dir = tmp_path / "run"
    shutil.copytree(finished, run_dir)
    assert main(["average", "--run-dir", str(run_dir), "--last", "1"]) == 0
    assert not same_weights(finished, run_dir)
    assert main(["average", "--run-dir", str(run_dir), "--last", "3"]) == 0
    assert same_weights(finished, run_dir)
    assert main(["average", "--run-dir", str(run_dir), "--last", "4"]) == 2
    refused(capsys, "holds 3 checkpoints")
    assert main(["average", "--run-dir", str(tmp_path / "nothing")]) == 2
    refused(capsys, "holds no run")


@pytest.mark.parametrize("row", TABLE_3, ids=lambda row: row.preset)
def test_a_row_of_table_3_brings_its_label_smoothing(row):
    """Rows D3 and D4 are the base model with another epsilon, and must not become base."""
    asked = {"preset": row.preset, "data": "copy", "steps": 1}
    config, _, _ = begin_run(RunDirectory(Path("nowhere")), asked, torch.device("cpu"))
    assert config.training.label_smoothing == row.label_smoothing

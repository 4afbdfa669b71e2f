"""The scripts of recorded runs: they parse, their commands exist, without a GPU they end."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from annotated_transformer.benchmark.counting import memory, sizes_of
from annotated_transformer.cli import build_parser
from annotated_transformer.cli.doctor_run import CPU_RUN
from annotated_transformer.cli.train_run import TRAINING_OPTIONS, configure
from annotated_transformer.config import TransformerConfig
from annotated_transformer.evaluation.scoring import BLEU_PROTOCOLS
from annotated_transformer.evidence.ledger.recorded_runs import load_run_record
from annotated_transformer.fast.projected_loss import loss_chunk
from annotated_transformer.training import TrainingConfig
from annotated_transformer.training.departures import training_departures
from sampling import one_in

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "recipes").glob("*.s*"))
ON_GPU = [path for path in SCRIPTS if "_cpu" not in path.name]
PROGRAM = "annotated-transformer"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="scripts for bash")


def commands(path: Path) -> list[list[str]]:
    """The calls of our program in a script, lines put together, what launches them left out."""
    text = path.read_text("utf-8").replace("\\\n", " ")
    [run] = re.findall(r"^run=(\S+)$", text, re.MULTILINE)
    text = text.replace("$run", run).replace("$seed", "0")
    code = [line.strip() for line in text.splitlines() if not line.lstrip().startswith("#")]
    return [shlex.split(line.partition(PROGRAM)[2]) for line in code if PROGRAM in line]


def test_all_runs_have_a_script() -> None:
    assert {path.name for path in SCRIPTS} == {
        "multi30k_tiny_cpu.sh",
        "multi30k_speed_cpu.sh",
        "multi30k_gpu.sh",
        "tatoeba_base_gpu.sh",
        "wmt14_base_one_gpu.sh",
        "wmt14_base_eight_gpus.sh",
        "wmt14_base_two_machines.sbatch",
    }
    assert (ROOT / CPU_RUN).is_file()


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_parses_and_says_what_to_expect(path: Path) -> None:
    subprocess.run(["bash", "-n", str(path)], check=True)
    text = path.read_text("utf-8")
    assert "set -euo pipefail" in text
    for word in ("# Usage:", "# Time:", "# Score:"):
        assert word in text
    assert os.access(path, os.X_OK)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_the_scores_in_its_head_were_recorded(path: Path) -> None:
    head = path.read_text("utf-8").partition("set -euo")[0]
    recorded = {
        f"{score.value:.2f}"
        for name in re.findall(r"results/(\w+)", head)
        for score in load_run_record(ROOT / "results" / name).scores
        if score.protocol in BLEU_PROTOCOLS
    }
    literature = {"41.02"}
    assert {*re.findall(r"\b\d\d\.\d\d\b", head)} <= recorded | literature


# How a script says what departs from the paper.
DEPARTURES = {
    "norm": "norms first",
    "learning_rate": "a peak rate of",
    "decay": "a linear decay",
    "byte_dropout": "byte dropout",
    "init_gain": "branches that begin at a quarter",
    "r_drop": "R-Drop",
    "final": "weights of the best validation",
    "share_rows": "sentences that share rows",
    "weight_decay": "AdamW",
    "positions": "no sinusoids",
    "relative_positions": "rotations",
}


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_names_what_departs_from_the_paper(path: Path) -> None:
    [begun] = [
        vars(build_parser().parse_args(command))
        for command in commands(path)
        if command[0] == "train" and "--resume" not in command
    ]
    settings, model_of = configure(begun, torch.device("cpu"))
    model = model_of(100)
    departed = {one.split(" = ")[0] for one in model.departures() + training_departures(settings)}
    said = path.read_text("utf-8").partition("# Departs from the paper:")[2].partition("set -e")[0]
    assert {name for name, words in DEPARTURES.items() if words in said} == departed


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_its_commands_are_those_of_the_program(path: Path) -> None:
    parsed = [build_parser().parse_args(command) for command in commands(path)]
    names = [arguments.command for arguments in parsed]
    doctor = ["doctor"] if path in ON_GPU else []
    assert names == [*doctor, "data", "train", "train", "evaluate"]
    resumed, begun = (vars(arguments) for arguments in parsed if arguments.command == "train")
    assert resumed["resume"]
    of_seed = "_s0" if "$seed" in path.read_text("utf-8") else ""
    assert begun["run_dir"] == resumed["run_dir"] == Path("runs") / f"{path.stem}{of_seed}"
    settings = TrainingConfig(**{key: begun[key] for key in TRAINING_OPTIONS if key in begun})
    launched = re.search(r"--nproc-per-node (\d+)", path.read_text("utf-8"))
    machines = re.search(r"--nnodes (\d+)", path.read_text("utf-8"))
    processes = int(launched[1]) * (int(machines[1]) if machines else 1) if launched else 1
    assert settings.accumulate == processes  # a batch a step for everybody
    if path.stem.startswith("wmt14"):
        assert 24_900 <= settings.accumulate * settings.max_tokens <= 25_100
        assert (settings.steps, settings.warmup, settings.average) == (100_000, 4000, 5)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with our program, and a torchrun and an srun that must never be reached."""
    folder = tmp_path_factory.mktemp("bin")
    called = f'exec "{sys.executable}" -m annotated_transformer.cli "$@"\n'
    for name, line in ((PROGRAM, called), ("torchrun", "exit 77\n"), ("srun", "exit 77\n")):
        (folder / name).write_text("#!/usr/bin/env bash\n" + line)
        (folder / name).chmod(0o755)
    return folder


@pytest.mark.parametrize("path", one_in(len(ON_GPU), ON_GPU, lambda path: path.stem))
def test_without_a_gpu_it_ends_with_a_sentence(path: Path, program: Path, tmp_path: Path) -> None:
    runs = ROOT / "runs"
    before = sorted(runs.glob("*"))
    environment = {
        **os.environ,
        "PATH": f"{program}:{os.environ['PATH']}",
        "CUDA_VISIBLE_DEVICES": "",  # also on a machine that has some
        "XDG_CACHE_HOME": str(tmp_path),
    }
    ended = subprocess.run(
        ["bash", str(path)], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert "CUDA GPU" in ended.stderr
    assert "Nothing was begun" in ended.stderr
    assert f"bash {CPU_RUN}" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert sorted(runs.glob("*")) == before
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_fresh_clone_uses_its_own_environment(path: Path, tmp_path: Path) -> None:
    """Nobody has activated anything: the program is found in .venv all the same."""
    for folder in ("recipes", ".venv/bin"):
        (tmp_path / folder).mkdir(parents=True)
    script = tmp_path / "recipes" / path.name
    script.write_text(path.read_text("utf-8"))
    program = tmp_path / ".venv" / "bin" / PROGRAM
    program.write_text("#!/bin/sh\necho reached by $1\nexit 78\n")
    program.chmod(0o755)
    environment = {"PATH": "/usr/bin:/bin"}
    ended = subprocess.run(
        ["bash", str(script)], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 78
    assert ended.stdout.startswith("reached by ")


def test_the_memory_of_the_papers_step_is_the_one_counted() -> None:
    """In the script as in chapter 10: 25,000 pieces a side in sentences of 27."""
    config = TransformerConfig.preset("base", 37_000)
    sizes = sizes_of([(27, 27)] * (25_000 // 27))
    text = (ROOT / "recipes" / "wmt14_base_one_gpu.sh").read_text("utf-8")
    chunk = loss_chunk(torch.device("cuda"), 25_000)
    for item, precision in ((2, "bf16"), (4, "float32")):
        held = sum(memory(config, sizes, item=item, chunk=chunk).values())
        assert f"{held / 1e9:.1f} GB in {precision}" in text

"""`doctor`: facts about this machine, and sentences that follow from them."""

import json
import platform
import subprocess
import sys
from importlib.metadata import version

import pytest
import torch

from annotated_transformer.cli import main
from annotated_transformer.cli.doctor_run import lock, training_gb, what_that_allows
from annotated_transformer.config import TransformerConfig
from annotated_transformer.errors import CallError
from annotated_transformer.exercises.instructor import ALL_WALLS
from annotated_transformer.training import devices


def test_the_report_is_json_alone_and_true(capsys):
    assert main(["doctor", "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["torch"]["version"] == torch.__version__
    assert report["python"]["new_enough"]
    assert report["devices"][0]["name"] == "cpu"
    assert report["devices"][0]["gflops"]["fp32"] > 0
    assert report["data"]["grammar"] == "embedded"
    assert any(sentence.startswith("base at vocabulary 37,000") for sentence in report["allows"])


def test_the_report_for_people_has_every_part(capsys):
    assert main(["doctor"]) == 0
    report = capsys.readouterr().out
    for word in ("python", "torch", "cpu", "memory", "data", "lock", "tools", "Training runs on"):
        assert word in report


def test_the_memory_of_training_is_16_bytes_a_parameter():
    assert training_gb("base", 37_000) == 63_045_632 * 16 / 1e9


CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("instructions", "fp32", "bf16", "chosen"),
    [
        (True, 160e9, 85e9, "fp32"),  # Intel without its matrix units
        (True, 90e9, 177e9, "bf16"),  # AMD
        (True, 160e9, 170e9, "fp32"),  # the rest of a step is slower in bf16
        (False, 90e9, 177e9, "fp32"),
    ],
)
def test_bf16_is_the_default_where_its_products_are_faster(
    monkeypatch, instructions, fp32, bf16, chosen
):
    rates = {"fp32": fp32, "bf16": bf16}
    monkeypatch.setattr(devices, "has_bf16", lambda device: instructions)
    monkeypatch.setattr(devices, "matrix_rate", lambda device, precision, size: rates[precision])
    monkeypatch.setattr(devices, "bf16_pays", devices.bf16_pays.__wrapped__)  # nothing remembered
    assert devices.choose_precision(None, CPU) == chosen
    assert devices.choose_precision("bf16", CPU) == "bf16"


@pytest.mark.parametrize("name", devices.CGROUP_LIMITS)
def test_a_containers_limit_decides_what_fits(tmp_path, monkeypatch, name):
    monkeypatch.setattr(devices, "CGROUP", tmp_path)
    whole = devices.memory_of(CPU)
    assert whole is not None
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    for unlimited in ("max\n", f"{2**63 - 4096}\n"):
        file.write_text(unlimited)
        assert devices.memory_of(CPU) == whole
    file.write_text("1000000\n")
    assert devices.memory_of(CPU) == 1_000_000
    with pytest.raises(CallError, match=r"cpu has 0: choose a smaller --preset"):
        devices.refuse_what_cannot_fit(TransformerConfig.preset("tiny", 10_000), CPU)


def test_the_processor_is_named_as_the_system_names_it(tmp_path, monkeypatch):
    monkeypatch.setattr(devices, "CPU_INFO", tmp_path / "cpuinfo")
    assert devices.processor_name() == (platform.processor() or platform.machine())
    devices.CPU_INFO.write_text("processor : 0\nmodel name : A Processor: 2 GHz\nflags : x\n")
    assert devices.processor_name() == "A Processor: 2 GHz"


def test_versions_that_are_not_the_locks_are_named(tmp_path):
    path = tmp_path / "requirements-lock.txt"
    path.write_text(
        f"# a comment\nnumpy=={version('numpy')}\ntokenizers==0.0.1\n"
        "not-installed==1.0\nnot-for-us==1.0 ; sys_platform == 'win32'\n"
    )
    assert lock(path)["differing"] == [
        {"name": "tokenizers", "locked": "0.0.1", "installed": version("tokenizers")},
        {"name": "not-installed", "locked": "1.0", "installed": None},
    ]


def test_an_installed_package_has_no_lock_beside_it(tmp_path):
    assert lock(tmp_path / "requirements-lock.txt") == {"file": None, "differing": []}


ON_WINDOWS = """
import sys
from annotated_transformer.cli import main
from annotated_transformer.cli.doctor_run import grading
sys.platform = "win32"
sys.modules["resource"] = sys.modules["fcntl"] = None
"""


def on_windows(last: str) -> subprocess.CompletedProcess[str]:
    """A Python that takes its system for Windows from the moment the command line is imported."""
    return subprocess.run([sys.executable, "-c", ON_WINDOWS + last], capture_output=True, text=True)


def test_on_windows_every_wall_is_missing_and_nothing_of_the_grading_is_imported():
    done = on_windows(
        "print(grading())\nprint([name for name in sys.modules if '.instructor.' in name])"
    )
    assert done.stdout.splitlines() == [str({"walls": [], "missing": list(ALL_WALLS)}), "[]"], done
    assert "grade work that you do not trust in a container" in " ".join(
        what_that_allows(
            {
                "python": {"new_enough": True},
                "memory_gb": None,
                "data": {"multi30k": "fetched"},
                "grading": {"missing": list(ALL_WALLS)},
                "lock": {"differing": []},
            }
        )
    )


@pytest.mark.slow
def test_on_windows_grade_says_where_it_runs(tmp_path):
    path = tmp_path / "x.ipynb"
    path.write_text("{}")
    done = on_windows(f"sys.exit(main(['grade', {str(path)!r}]))")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "annotated-transformer: grade needs Linux or macOS: on Windows run it in WSL or in a "
        "container\n"
    )
    assert on_windows("sys.exit(main(['grade']))").returncode == 2

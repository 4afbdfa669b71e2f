"""What `annotated-transformer doctor` finds out and says."""

import argparse
import os
import platform
import re
import shutil
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from annotated_transformer import __version__
from annotated_transformer.cli.options import counted, print_json, print_lines
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data.multi30k import multi30k
from annotated_transformer.data.registry import LOADERS, published_corpus
from annotated_transformer.errors import WorkError
from annotated_transformer.training.devices import (
    BYTES_A_PARAMETER,
    choose_device,
    choose_precision,
    has_bf16,
    matrix_rate,
    memory_of,
    processor_name,
)
from annotated_transformer.transformer import Transformer

CPU_RUN = "recipes/multi30k_tiny_cpu.sh"
OLDEST_PYTHON = (3, 11)
GIGA = 1e9
PRESETS = (("tiny", 10_000), ("small", 10_000), ("base", 37_000), ("big", 37_000))
LOCK = Path(__file__).parents[3] / "requirements-lock.txt"  # there in a clone, not in an install


def look(arguments: argparse.Namespace) -> int:
    """Look and report."""
    if arguments.gpus is not None:
        return look_for_gpus(arguments.gpus)
    report: dict[str, Any] = {
        "version": __version__,
        "python": python(),
        "torch": pytorch(),
        "devices": devices(),
        "memory_gb": memory_gb(torch.device("cpu")),
        "data": data(),
        "lock": lock(LOCK),
        "grading": grading(),
        "tools": {name: shutil.which(name) for name in ("make", "node", "npm", "chromium")},
    }
    report["allows"] = what_that_allows(report)
    if arguments.format == "json":
        print_json(report)
    else:
        print_lines(as_text(report))
    return 0


def look_for_gpus(wanted: int) -> int:
    """0 if there are so many.

    Raises:
        WorkError: if there are fewer; the sentence says what runs without them.
    """
    there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if there < wanted:
        why = "" if torch.version.cuda else " This PyTorch is built for the CPU alone."
        raise WorkError(
            f"this run needs {counted(wanted, 'CUDA GPU')}, and PyTorch finds {there} here.{why} "
            f"Nothing was begun. What a CPU can do: bash {CPU_RUN}"
        )
    names = [torch.cuda.get_device_name(number) for number in range(there)]
    print_lines([f"{counted(there, 'GPU')}: {', '.join(names)}"])
    return 0


def python() -> dict[str, Any]:
    """The interpreter, and whether it is new enough."""
    return {
        "version": platform.python_version(),
        "executable": sys.executable,
        "system": platform.platform(),
        "new_enough": sys.version_info >= OLDEST_PYTHON,
    }


def pytorch() -> dict[str, Any]:
    """PyTorch's version, the hardware that it was built for, its threads."""
    return {
        "version": torch.__version__,
        "built_for": f"CUDA {torch.version.cuda}" if torch.version.cuda else "CPU",
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
    }


def devices() -> list[dict[str, Any]]:
    """Every kind of device there is, with the speed of its matrix products."""
    found = [{"name": "cpu", "model": processor_name()}]
    if torch.cuda.is_available():
        found.append({"name": "cuda", "model": torch.cuda.get_device_name()})
    if torch.backends.mps.is_available():
        found.append({"name": "mps", "model": "Apple GPU"})
    report: list[dict[str, Any]] = []
    for entry in found:
        device = torch.device(entry["name"])
        bf16 = has_bf16(device)
        speeds = {"fp32": matrix_rate(device, "fp32") / GIGA}
        if bf16:
            speeds["bf16"] = matrix_rate(device, "bf16") / GIGA
        report.append({**entry, "bf16_in_hardware": bf16, "gflops": speeds})
    return report


def memory_gb(device: torch.device) -> float | None:
    """What the device has, or a container grants; None where it does not tell."""
    memory = memory_of(device)
    return None if memory is None else memory / GIGA


def data() -> dict[str, Any]:
    """Which corpora can be used without a network, and the room for more.

    Texts are checked when they are fetched, and by `data verify`; here it is enough that all are
    there.
    """
    found = {"grammar": "embedded", "copy": "embedded"}
    for name in LOADERS:
        corpus = published_corpus(name)
        texts = [corpus.folder / text for text in corpus.texts] if corpus else []
        found[name] = "fetched" if texts and all(map(Path.is_file, texts)) else "not fetched"
    folder = multi30k().folder
    parent = next(path for path in (folder, *folder.parents) if path.exists())
    return {
        **found,
        "cache": str(folder.parent),
        "free_gb": shutil.disk_usage(parent).free / GIGA,
    }


def lock(path: Path) -> dict[str, Any]:
    """Which installed versions are not those of the lock. A package that is not here is named too,
    unless the lock wants it only on other systems."""
    if not path.is_file():
        return {"file": None, "differing": []}
    differing = []
    for line in path.read_text("utf-8").splitlines():
        pinned = re.match(r"([\w.-]+)==([^\s;]+)\s*(;.*)?$", line)
        if not pinned:
            continue
        name, wanted, marker = pinned.groups()
        try:
            installed: str | None = metadata.version(name)
        except metadata.PackageNotFoundError:
            installed = None
        here = (installed or "").partition("+")[0]  # 2.13.0+cpu is 2.13.0, built for the CPU
        if here != wanted and (installed or not marker):
            differing.append({"name": name, "locked": wanted, "installed": installed})
    return {"file": str(path), "differing": differing}


def grading() -> dict[str, list[str]]:
    """The walls that `grade` can put up around the notebooks of others, and those it cannot."""
    from annotated_transformer.exercises.instructor import ALL_WALLS

    if sys.platform == "win32":  # there `grade` does not run, nor can all of its modules
        return {"walls": [], "missing": list(ALL_WALLS)}
    from annotated_transformer.exercises.instructor.markers import walls_here

    walls = walls_here()
    return {"walls": walls, "missing": [wall for wall in ALL_WALLS if wall not in walls]}


def what_that_allows(report: dict[str, Any]) -> list[str]:
    """Sentences about what can be done here."""
    device = choose_device("auto")
    sentences = []
    if not report["python"]["new_enough"]:
        oldest = ".".join(map(str, OLDEST_PYTHON))
        sentences.append(f"Python is too old: install {oldest} or later.")
    sentences.append(
        f"Training runs on {device.type} in {choose_precision(None, device)} unless told otherwise."
    )
    memory = report["memory_gb"]
    if device.type == "cuda":
        memory = memory_gb(device)
    for preset, vocab_size in PRESETS:
        needed = training_gb(preset, vocab_size)
        verdict = "" if memory is None else " It fits." if needed < memory else " It does not fit."
        sentences.append(
            f"{preset} at vocabulary {vocab_size:,} needs {needed:.2f} GB for weights, gradients "
            f"and Adam's moments, and the activations of a batch besides.{verdict}"
        )
    if report["data"]["multi30k"] != "fetched":
        sentences.append(
            "Multi30k is not here: `annotated-transformer data get multi30k` fetches it, or "
            "--data-dir names a copy; the grammar corpus needs nothing."
        )
    if report["grading"]["missing"]:
        sentences.append(
            "Not every wall around notebooks of others can be put up here: grade work that you do "
            "not trust in a container (the guide for instructors says how)."
        )
    if report["lock"]["differing"]:
        sentences.append(
            "Versions differ from the lock: recorded numbers may differ in their last digits; "
            "`make setup` installs the lock's."
        )
    return sentences


def training_gb(preset: str, vocab_size: int) -> float:
    """Memory of a model in training, without activations."""
    with torch.device("meta"):  # shapes only, no memory
        model = Transformer(TransformerConfig.preset(preset, vocab_size))
    return model.num_parameters() * BYTES_A_PARAMETER / GIGA


def as_text(report: dict[str, Any]) -> list[str]:
    """The report for people."""
    here, torch_here, corpora = report["python"], report["torch"], report["data"]
    memory = "unknown" if report["memory_gb"] is None else f"{report['memory_gb']:.1f} GB"
    lines = [
        f"package    annotated-transformer {report['version']}",
        f"python     {here['version']}, {here['system']}",
        f"torch      {torch_here['version']}, built for {torch_here['built_for']}, "
        f"{torch_here['threads']} threads on {torch_here['cores']} cores",
    ]
    for device in report["devices"]:
        speeds = ", ".join(f"{name} {speed:,.0f}" for name, speed in device["gflops"].items())
        lines.append(
            f"{device['name']:10} {device['model']}; bfloat16 in hardware: "
            f"{'yes' if device['bf16_in_hardware'] else 'no'}; matrix products, GFLOP/s: {speeds}"
        )
    lines += [
        f"memory     {memory}",
        "data       "
        + ", ".join(f"{name} {corpora[name]}" for name in ("grammar", "copy", *LOADERS))
        + "; "
        f"{corpora['free_gb']:.0f} GB free in {corpora['cache']}",
        f"lock       {describe_lock(report['lock'])}",
        f"grading    walls around a notebook: {', '.join(report['grading']['walls']) or 'none'}; "
        f"missing: {', '.join(report['grading']['missing']) or 'none'}",
        "tools      " + ", ".join(f"{k}: {v or 'not found'}" for k, v in report["tools"].items()),
        "",
        *report["allows"],
    ]
    return lines


def describe_lock(report: dict[str, Any]) -> str:
    """In step, or the first few packages that are not."""
    if report["file"] is None:
        return "none here (it comes with a clone of the repository)"
    differing = report["differing"]
    if not differing:
        return "every installed version is the lock's"
    named = ", ".join(
        f"{package['name']} {package['installed'] or 'missing'} (lock {package['locked']})"
        for package in differing[:5]
    )
    return f"{len(differing)} differ: {named}{', ...' if len(differing) > 5 else ''}"

"""What a machine offers: device, precision, memory, speed."""

import functools
import os
import platform
import time
from pathlib import Path

import torch

from annotated_transformer.config import TransformerConfig
from annotated_transformer.errors import CallError
from annotated_transformer.training.settings import Precision

BYTES_A_PARAMETER = 16  # weight, gradient, two moments of Adam, in float32
RATE_SIZE = 2048  # rows and columns of the matrices whose product shows the speed
QUICK_SIZE = 512  # of those that only decide between two precisions: milliseconds
PAYS_FROM = 1.2  # bf16 must multiply this much faster, because all but products is slower in it
COPY_BYTES = 256 * 2**20  # far more than caches hold
CPU_INFO = Path("/proc/cpuinfo")
CGROUP = Path("/sys/fs/cgroup")
CGROUP_LIMITS = ("memory.max", "memory/memory.limit_in_bytes")  # of versions 2 and 1


def choose_device(name: str) -> torch.device:
    """The device called "cpu", "cuda" or "mps"; "auto" takes the fastest there is.

    With "cuda" cuDNN's attention is turned off for this process.

    Raises:
        CallError: if the name is unknown or the machine has no such device.
    """
    available = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name == "auto":
        name = next(device for device, there in available.items() if there)
    if name not in available:
        raise CallError(f"The device {name!r} is not known: auto, cpu, cuda or mps is expected.")
    if not available[name]:
        raise CallError(
            f"This machine (or this build of PyTorch) has no {name} device: use --device auto."
        )
    if name == "cuda":
        # cuDNN's attention makes a plan for each new shape, which takes longer than many steps.
        # Where all batches have one shape, `graphs` asks for it.
        torch.backends.cuda.enable_cudnn_sdp(False)
    return torch.device(name)


def has_bf16(device: torch.device) -> bool:
    """Whether the hardware has instructions for products of bfloat16 matrices."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type == "cpu":
        # PyTorch has no public question for this; where these are missing, the answer is no.
        questions = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
        return any(getattr(torch.cpu, name, lambda: False)() for name in questions)
    return False


@functools.cache
def bf16_pays(device: torch.device) -> bool:
    """Whether to train in bfloat16: on a CPU one product of matrices decides, once in a process.

    An instruction alone does not tell. AMD's and matrix units (AMX) double the speed of products or
    better; an Intel processor whose matrix units are switched off halves it.
    """
    if device.type != "cpu" or not has_bf16(device):
        return has_bf16(device)
    in_fp32 = matrix_rate(device, "fp32", QUICK_SIZE)
    return matrix_rate(device, "bf16", QUICK_SIZE) > PAYS_FROM * in_fp32


def memory_of(device: torch.device) -> int | None:
    """Bytes of memory that the device has, all in all, or that a container grants of the machine's.

    None where it does not tell.
    """
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:  # as on Windows
        return None
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    files = [CGROUP / name for name in CGROUP_LIMITS]
    limits = [file.read_text("utf-8").strip() for file in files if file.is_file()]
    return min([total, *(int(limit) for limit in limits if limit.isdigit())])  # or "max": none


def processor_name() -> str:
    """The processor's model, as the system names it."""
    if CPU_INFO.exists():
        for line in CPU_INFO.read_text("utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def matrix_rate(device: torch.device, precision: Precision, size: int | None = None) -> float:
    """Operations a second of one large matrix product: the best of three, after one to warm up.

    Args:
        size: rows and columns of both matrices, None for `RATE_SIZE`; a GPU gets four times as
            many, so that its launch does not count.
    """
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    size = (size or RATE_SIZE) * (1 if device.type == "cpu" else 4)
    a, b = (torch.randn(size, size, device=device, dtype=dtype) for _ in "ab")
    seconds = []
    for _ in range(4):
        began = time.perf_counter()
        (a @ b)[0, 0].item()  # waits for the device
        seconds.append(time.perf_counter() - began)
    return 2 * size**3 / min(seconds[1:])


def copy_rate(device: torch.device) -> float:
    """Bytes a second, read and written, of copying a large tensor: the best of three."""
    source = torch.zeros(COPY_BYTES, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    seconds = []
    for _ in range(4):
        began = time.perf_counter()
        target.copy_(source)
        target[0].item()  # waits for the device
        seconds.append(time.perf_counter() - began)
    return 2 * COPY_BYTES / min(seconds[1:])


def wait_for(device: torch.device) -> None:
    """Until a GPU has done what it was given; a CPU always has."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


def refuse_what_cannot_fit(model: TransformerConfig, device: torch.device) -> None:
    """Say that a model is too large before it is built.

    Raises:
        CallError: if weights, gradients and Adam's two moments alone need more than there is.
    """
    parameters = model.count_parameters()
    needed, there = BYTES_A_PARAMETER * parameters, memory_of(device) or 2**40
    if needed > there:
        raise CallError(
            f"N = {model.num_layers:,}, d_model = {model.d_model:,}, d_ff = {model.d_ff:,} and "
            f"{model.num_heads:,} heads make {parameters:,} parameters. Training them needs more "
            f"than {needed / 2**30:,.0f} GiB, and {device.type} has {there / 2**30:,.0f}: choose a "
            "smaller --preset."
        )


def choose_precision(name: str | None, device: torch.device) -> Precision:
    """ "fp32" or "bf16" as asked; by default bf16 where it pays (`bf16_pays`).

    Raises:
        CallError: if the name is unknown.
    """
    if name is None:
        return "bf16" if bf16_pays(device) else "fp32"
    if name not in ("fp32", "bf16"):
        raise CallError(f"The precision {name!r} is not known: fp32 or bf16 is expected.")
    return "bf16" if name == "bf16" else "fp32"

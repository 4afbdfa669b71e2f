"""Which device and precision a machine offers."""

import os

import torch

from annotated_transformer.config import TransformerConfig
from annotated_transformer.errors import CallError
from annotated_transformer.training.settings import Precision

BYTES_A_PARAMETER = 16  # weight, gradient, two moments of Adam, in float32


def choose_device(name: str) -> torch.device:
    """The device called "cpu", "cuda" or "mps"; "auto" takes the fastest there is.

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
    return torch.device(name)


def has_bf16(device: torch.device) -> bool:
    """Whether the hardware multiplies bfloat16 matrices faster than float32 ones."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type == "cpu":
        # PyTorch has no public question for this; where these are missing, the answer is no.
        questions = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
        return any(getattr(torch.cpu, name, lambda: False)() for name in questions)
    return False


def memory_of(device: torch.device) -> int | None:
    """Bytes of memory that the device has, all in all; None where it does not tell."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


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
    """ "fp32" or "bf16" as asked; by default bf16 where the hardware has it.

    Raises:
        CallError: if the name is unknown.
    """
    if name is None:
        return "bf16" if has_bf16(device) else "fp32"
    if name not in ("fp32", "bf16"):
        raise CallError(f"The precision {name!r} is not known: fp32 or bf16 is expected.")
    return "bf16" if name == "bf16" else "fp32"

"""Which device and precision a machine offers."""

import torch

from annotated_transformer.errors import CallError
from annotated_transformer.training.settings import Precision


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

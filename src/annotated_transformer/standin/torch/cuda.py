"""`torch.cuda`: there is no graphics card here, and who asks is told so."""

from typing import Any

from . import absent

__getattr__ = absent.anything_of("torch.cuda")


def is_available() -> bool:
    """Is there a card?"""
    return False


def is_initialized() -> bool:
    """Has a card been used?"""
    return False


def device_count() -> int:
    """How many cards are there?"""
    return 0


def memory_allocated(device: Any = None) -> int:
    """Bytes of tensors on a card."""
    return 0


max_memory_allocated = memory_allocated


def manual_seed(seed: int) -> None:
    """Of the card's random numbers, of which there are none."""


def manual_seed_all(seed: int) -> None:
    """Of all cards' random numbers, of which there are none."""


def empty_cache() -> None:
    """Give memory of a card back, of which there is none."""

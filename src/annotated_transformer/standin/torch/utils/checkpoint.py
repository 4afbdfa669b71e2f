"""`torch.utils.checkpoint`."""

from typing import Any

from .. import absent
from ..errors import NotInThisPage

__getattr__ = absent.anything_of("torch.utils.checkpoint")


def checkpoint(function: Any, *args: Any, **kwargs: Any) -> Any:
    """A function computed anew on the way back: not here."""
    raise NotInThisPage("torch.utils.checkpoint.checkpoint()")


checkpoint_sequential = checkpoint

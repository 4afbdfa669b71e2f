"""`torch.nn.utils.rnn`: sequences of different lengths as one tensor."""

from typing import Any

from ... import absent
from ...errors import torch_error
from ...operations import FUNCTIONS
from ...tensor import Tensor
from .. import functional as F  # noqa: N812

__getattr__ = absent.attribute_of("torch.nn.utils.rnn", absent.OF_RNN)


def pad_sequence(
    sequences: Any,
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences filled up to the longest, and stacked."""
    listed = list(sequences)
    if not listed:
        raise torch_error(RuntimeError, "received an empty list of sequences")
    longest = max(one.shape[0] for one in listed)
    rows = []
    for one in listed:
        missing = longest - one.shape[0]
        ends = (0, missing) if padding_side == "right" else (missing, 0)
        rows.append(F.pad(one, (0, 0) * (one.ndim - 1) + ends, value=padding_value))
    return FUNCTIONS["stack"](rows, 0 if batch_first else 1)  # type: ignore[no-any-return]

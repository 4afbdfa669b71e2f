"""PyTorch and its stand-in, for the same code with both."""

from typing import Any

import torch as real

from annotated_transformer.standin import torch as standin

LIBRARIES: dict[str, Any] = {"torch": real, "stand-in": standin}

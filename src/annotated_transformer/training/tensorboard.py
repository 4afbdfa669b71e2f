"""The lines of metrics.jsonl as curves in TensorBoard, where that is installed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from annotated_transformer.errors import CallError

NOT_CURVES = ("step", "epoch")


def tensorboard_mirror(folder: Path) -> Callable[[dict[str, Any]], None]:
    """A function that writes every number of a metrics line into `folder`.

    Raises:
        CallError: if TensorBoard is not installed.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise CallError(
            "--tensorboard needs TensorBoard, which is not installed: pip install tensorboard, or "
            "leave the option out; metrics.jsonl of the run holds the same numbers."
        ) from None
    writers: list[Any] = []  # made with the first line: until then the folder may not exist

    def mirror(values: dict[str, Any]) -> None:
        if not writers:
            writers.append(SummaryWriter(str(folder)))
        for name, value in values.items():
            if isinstance(value, int | float) and name not in NOT_CURVES:
                writers[0].add_scalar(f"{values['event']}/{name}", value, values["step"])
        writers[0].flush()

    return mirror

"""Ctrl-C, SIGTERM and a closed terminal end a run after the step at hand, with a checkpoint."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def asking_to_stop(ask: Callable[[str], None]) -> Iterator[None]:
    """Inside, these signals only call `ask` with their name."""

    def handle(number: int, _frame: FrameType | None) -> None:
        ask(signal.Signals(number).name)

    names = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    try:
        before = {number: signal.signal(number, handle) for number in numbers}
    except ValueError:  # not in the main thread: whoever runs us handles the signals
        before = {}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

"""What another process holds is let go when this one says that it waits: no moment is guessed."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class _Listener(logging.Handler):
    def __init__(self, words: str, then: Callable[[], object]) -> None:
        super().__init__()
        self.words, self.then = words, then

    def emit(self, record: logging.LogRecord) -> None:
        if self.words in record.getMessage():
            self.then()


@contextmanager
def when_logged(words: str, then: Callable[[], object]) -> Iterator[None]:
    """Within the block, call `then` at every warning of the package that holds these words."""
    listener, logger = _Listener(words, then), logging.getLogger("annotated_transformer")
    logger.addHandler(listener)
    try:
        yield
    finally:
        logger.removeHandler(listener)

"""The cache of this user, and the lock under which one process at a time writes a folder."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout

from annotated_transformer.errors import WorkError

logger = logging.getLogger(__name__)


def cache_root() -> Path:
    """Where fetched corpora and encoded text are kept."""
    return platformdirs.user_cache_path("annotated-transformer")


@contextmanager
def one_at_a_time(folder: Path, doing: str) -> Iterator[None]:
    """Hold `folder` while writing into it; a second process says what it waits for, and waits.

    The operating system lets go of the lock when the process ends, however it ends.

    Args:
        folder: is made if it is not there; the lock is the file `.lock` in it.
        doing: what is done in it, for the message: "fetching multi30k".

    Raises:
        WorkError: the folder does not take a file.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            logger.warning("another process is %s in %s; waiting for it", doing, folder)
            lock.acquire()
    except OSError as error:
        raise WorkError(
            f"{folder} cannot be written: {error.strerror or error}; name a folder that can be"
        ) from error
    try:
        yield
    finally:
        lock.release()

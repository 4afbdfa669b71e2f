"""What is given back is soon needed again: memory, and products prepared for their shape."""

import ctypes
import os
import sys

# Parameters of glibc's mallopt(3).
TRIM_THRESHOLD, MMAP_MAX = -1, -4
NEVER = 2**31 - 1  # bytes that must lie free before any are given back
OF_ONE_MODEL = 1024  # prepared products that oneDNN keeps


def keep_freed_memory() -> bool:
    """Keep the blocks of freed tensors in this process, where the next tensors find them.

    glibc, the C library of most Linux systems, takes large blocks from the system and gives them
    back when they are freed. A step of training frees and takes the same sizes over and over, and
    the system hands out each new block as empty pages, one interruption for every 4 KiB. The peak
    of memory stays as it was; what lies below it is held until the process ends.

    Returns:
        Whether the C library is glibc and agreed.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return False
    return mallopt(MMAP_MAX, 0) == 1 and mallopt(TRIM_THRESHOLD, NEVER) == 1


def keep_prepared_products(models: int) -> None:
    """Let oneDNN keep 1,024 prepared products for each of several models in one process.

    On a CPU it compiles the product of each new shape and keeps the last 1,024. Models that take
    turns would push each other's out. It has to be called before the process multiplies its first
    matrices; a number that the environment already names is left.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(OF_ONE_MODEL * models))

"""What is given back to the system is soon needed again."""

import ctypes
import sys

# Parameters of glibc's mallopt(3).
TRIM_THRESHOLD, MMAP_MAX = -1, -4
NEVER = 2**31 - 1  # bytes that must lie free before any are given back


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

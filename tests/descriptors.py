"""How many files and sockets this process has open."""

import gc
import os


def descriptor_count() -> int:
    """Return the number of open descriptors.

    What earlier tests left to the garbage collector is closed first; otherwise it would be closed
    at any moment between two calls.
    """
    gc.collect()
    return len(os.listdir("/proc/self/fd"))

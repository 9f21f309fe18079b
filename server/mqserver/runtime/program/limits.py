"""The limits that the operating system sets for this process, and how a server shares them.

    descriptors   RLIMIT_NOFILE, raised to its hard limit    1/4 + 64, at most 1,024, are kept
                                                             for the store; connections get the rest
    memory        least of: physical, cgroup (v2, v1),       a quarter for bytes in flight, and
                  RLIMIT_AS minus what is mapped             a quarter for connections

Rule: limits are read once, at the start. A limit that cannot be read counts as absent.

Source: getrlimit(2), cgroups(7), Documentation/admin-guide/cgroup-v2.rst of Linux.
"""

import ctypes
import logging
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from remoting.aio.resources import PLACES_MAX, Budget, Places, Resources

LOG = logging.getLogger(__name__)

KEPT_FREE_MAX: Final = 1_024
CONNECTION_SIZE: Final = 16 << 10
"""Bytes that a connection takes in this process and in the kernel with nothing in flight."""
IN_FLIGHT_SIZE_MIN: Final = 32 << 20
"""The size of two frames of the largest size."""
UNFLUSHED_SIZE_MAX: Final = 64 << 20
"""Bytes of log that may wait for the disk; a slow disk writes about that much a second."""
HEAP_KEPT_SIZE: Final = 32 << 20
"""Freed bytes at the end of the heap that stay with this process."""
_PROC: Final = Path("/proc/self")
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3


def raise_descriptor_limit() -> int:
    """Raise the limit of open files to its hard limit, if possible; return the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError) as error:
            LOG.warning("the limit of open files stays %d, it may not be %d: %s", soft, hard, error)
    return descriptor_limit()


def descriptor_limit() -> int:
    """Return how many files this process may have open."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 1 << 31 if limit == resource.RLIM_INFINITY else limit


def keep_freed_memory() -> bool:
    """Let the allocator keep what large frames took; return whether the C library allows that.

    By default glibc gives freed memory back to the system at a bound that it moves itself. About
    every second broker then got and gave back the memory of each read: half a page fault a message
    with batches, and twice the CPU of a broker that kept it.

    Source: mallopt(3).
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    kept = (
        mallopt(_M_TRIM_THRESHOLD, HEAP_KEPT_SIZE),
        mallopt(_M_MMAP_THRESHOLD, HEAP_KEPT_SIZE // 8),
    )
    return all(kept)


def memory_limit(*, proc: Path = _PROC, cgroups: Path = Path("/sys/fs/cgroup")) -> int:
    """Return how many bytes of memory this process may use.

    Args:
        proc: the kernel's directory for this process.
        cgroups: the directory where the control groups are mounted.
    """
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    limits += _cgroup_limits(proc, cgroups)
    address_space = resource.getrlimit(resource.RLIMIT_AS)[0]
    if address_space != resource.RLIM_INFINITY:
        mapped = _numbers(proc / "statm")
        used = mapped[0] * os.sysconf("SC_PAGE_SIZE") if mapped else 0
        limits.append(max(0, address_space - used))
    return min(limits)


def in_flight_size() -> int:
    """Return the default for bytes in flight: a quarter of the memory limit."""
    return max(IN_FLIGHT_SIZE_MIN, memory_limit() // 4)


def unflushed_size(in_flight_size_max: int) -> int:
    """Return how many bytes of log may wait for the disk: an eighth of those in flight."""
    return min(UNFLUSHED_SIZE_MAX, in_flight_size_max // 8)


def connections_size(in_flight_size_max: int) -> int:
    """Return how many of a broker's bytes in flight its connections may hold."""
    return in_flight_size_max - unflushed_size(in_flight_size_max)


def process_resources(in_flight_size_max: int) -> Resources:
    """Return the connections and bytes in flight that the ports of this process share.

    Args:
        in_flight_size_max: bytes of unfinished frames and unread answers.
    """
    limit = descriptor_limit()
    kept_free = min(KEPT_FREE_MAX, limit // 4 + 64)
    by_memory = memory_limit() // 4 // CONNECTION_SIZE
    places = max(1, min(PLACES_MAX, limit - kept_free, by_memory))
    LOG.info(
        "%d connections at most, by %d descriptors and the memory; %d MiB in flight at most",
        places, limit, in_flight_size_max >> 20,
    )  # fmt: skip
    return Resources(Places(places), Budget(in_flight_size_max))


def _cgroup_limits(proc: Path, cgroups: Path) -> Iterator[int]:
    """Yield the memory limits of this process's control groups and of those above them."""
    for line in _lines(proc / "cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, name = cgroups, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = cgroups / "memory", "memory.limit_in_bytes"
        else:
            continue
        group = root / path.lstrip("/")
        # In a container the path may be that of the host; then the mounted root has the limit.
        for directory in (group, *group.parents):
            if directory.is_relative_to(root):
                yield from _numbers(directory / name)[:1]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _numbers(path: Path) -> list[int]:
    """Return the numbers in a file; none if it is absent or contains ``max``."""
    return [int(word) for line in _lines(path) for word in line.split() if word.isdecimal()]

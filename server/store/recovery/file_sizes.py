"""The sizes of the files of a store: what is on disk wins over what is configured.

    a file of that size, each at a multiple of it ──> believed: configured, noted, frequent
    after a power cut none may have it            ──> the size that dispatch.json notes

Rule: no size is written in the files themselves, and files of a wrong size are refused by
the Java broker; so a size is never taken from files that were cut short.
"""

from collections import Counter
from itertools import pairwise

from server.store.config import StoreConfig
from server.store.recovery.safe_point import SafePoint


def log_file_size(sizes: dict[int, int], config: StoreConfig, point: SafePoint | None) -> int:
    """Return the size of the commit log files that are there.

    Args:
        sizes: length of each file by its start.

    A size is believed when a file has it and every file starts at a multiple of it: the
    configured one, the one noted by the last start, the most frequent one. Where a size is
    noted, a lone file of another one was cut short. A single file that was cut short at an odd
    place counts for nothing; then the distance between files does.
    """
    configured = config.mapped_file_size_commit_log
    noted = point.log_file_size if point is not None else 0
    frequent = [
        size
        for size, count in Counter(sizes.values()).most_common()
        if size % 512 == 0 and (count > 1 or not noted)
    ]
    for size in (configured, noted, *frequent):
        if size > 0 and size in sizes.values() and all(base % size == 0 for base in sizes):
            return size
    if noted > 0:
        return noted
    steps = [later - base for base, later in pairwise(sorted(sizes))]
    return min(steps, default=configured)


def queue_file_size_of(
    sizes: Counter[int], config: StoreConfig, point: SafePoint | None
) -> tuple[int, list[str]]:
    """Return the size of consume queue files, and what there is to say of it.

    Args:
        sizes: how many files have each size.

    The configured one, unless no file has it; then the noted one, then the most frequent.
    """
    configured = config.consume_queue_file_size
    noted = 0 if point is None else point.queue_file_size
    if not sizes or sizes[configured] or noted == configured or not max(sizes.values()):
        return configured, []
    found = noted or sizes.most_common(1)[0][0]
    return found, [
        f"consume queue files have {found} bytes, not {configured} as configured; the files win"
    ]

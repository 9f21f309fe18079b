"""Does the commit log belong to the queues? Looked at before a start changes anything.

    queues ── entries of some of them ──> the log at their offsets
                                          a record of that queue    the log fits
                                          zeros, or no file         missing
                                          something else            foreign

Rule: queues are derived from the log, so a start makes them agree with it. If the disk of the log
is not mounted, or another log is, that would empty the queues of a store in use. So a start stops
when not one of the entries that were looked at has its record, or when the log lacks the last
records that ``dispatch.json`` says were synced. ``startWithLostCommitLog=true`` confirms that the
log is lost, and a log that this start has cut on purpose is not asked about. What a crash may have taken (anything that was not synced) does not count, and neither
do expired records.

Source: none; 4.9.7 empties the queues.
"""

from collections.abc import Iterator
from enum import Enum, auto
from typing import Final, NamedTuple

from mqserver.store.commitlog.log_files import CommitLog
from mqserver.store.commitlog.log_scan import parse_record
from mqserver.store.disk.disk import Disk, DiskFile
from mqserver.store.index.index import Index
from mqserver.store.recovery.safe_point import Listing, SafePoint
from storefmt.formats.consumequeue import CQ_ENTRY, ENTRY_SIZE, FILLER_SIZE
from storefmt.formats.index import IndexEntry, index_key
from storefmt.formats.javahash import index_key_hash
from storefmt.formats.message import RECORD_SIZE_MIN
from storefmt.formats.properties import index_keys, parse_properties
from storefmt.paths import StorePaths, log_file_name

LOOKS_A_FILE: Final = 16
"""Entries of an index file that are compared with the log before it is used."""
QUEUE_COUNT_MAX: Final = 16
"""Queues that are looked at."""
FOREIGN_COUNT_MIN: Final = 3
"""Fewest entries that point at something else; one or two may point at damaged records."""
LATE_FILE_COUNT_MAX: Final = 2
"""Log files behind the safe point that a power cut may leave without the one before them."""
SETTING: Final = "startWithLostCommitLog"
_FOR_EVER: Final = (1 << 63) - 1


class Place(Enum):
    """What the log has where a queue entry points."""

    FITS = auto()
    MISSING = auto()
    FOREIGN = auto()


class _Entry(NamedTuple):
    topic: str
    queue_id: int
    log_offset: int
    size: int
    is_last: bool
    """Whether it is the last one of its queue that counts."""


def lost_log(
    disk: Disk, paths: StorePaths, *, listing: Listing, log: CommitLog, point: SafePoint | None
) -> str:
    """Return why the log is not the one that the queues were made of; "" if it may be.

    Args:
        disk: the disk that holds the store.
        paths: the store's paths.
        listing: the files of the directory.
        log: the commit log, whose end is not known yet.
        point: the safe point; None if there is none that can be read.

    Raises:
        OSError: the disk could not be read.
    """
    limit = _FOR_EVER if point is None else point.safe_log_offset
    if point is not None and log.bases and log.bases[0] > limit:
        if len(log.bases) > LATE_FILE_COUNT_MAX:
            return (
                f"the log begins at log offset {log.bases[0]}, and the last broker had written it "
                f"up to {limit}"
            )
        return ""
    seen = [
        (entry, _look(log, entry))
        for entry in _entries(disk, paths, listing, limit=limit)
        if not log.bases or entry.log_offset >= log.bases[0]
    ]
    if not seen:
        return ""
    places = [place for _, place in seen]
    lasts = [place for entry, place in seen if entry.is_last]
    highest = max(entry.log_offset + entry.size for entry, _ in seen)
    is_all_missing = all(place is Place.MISSING for place in places)
    if is_all_missing:
        has = "has no record" if log.bases else "is empty"
        return f"the log {has} where the queues point, up to log offset {highest}"
    if Place.FITS not in places and len(places) >= FOREIGN_COUNT_MIN:
        return f"the log has other records than the queues, which point up to log offset {highest}"
    if point is not None and lasts and all(place is Place.MISSING for place in lasts):
        return (
            f"the log ends before log offset {highest}, where the queues end; it was written up "
            f"to {limit} and is older than the queues"
        )
    return ""


def _look(log: CommitLog, entry: _Entry) -> Place:
    base = entry.log_offset - entry.log_offset % log.file_size
    if base not in log.bases:
        return Place.MISSING
    pos, left = entry.log_offset - base, log.file_size - (entry.log_offset - base)
    if not RECORD_SIZE_MIN <= entry.size <= left:
        return Place.FOREIGN
    data = log.file_at(base).pread(entry.size, pos)
    if not data.strip(b"\0"):
        return Place.MISSING
    found = parse_record(data, 0, log_offset=entry.log_offset, left=left)
    if isinstance(found, str) or found.size != entry.size:
        return Place.FOREIGN
    is_own = (found.topic, found.queue_id) == (entry.topic, entry.queue_id)
    # A record may have entries in queues of other topics, which its properties name.
    is_copy = entry.topic.encode() in found.properties
    return Place.FITS if is_own or is_copy else Place.FOREIGN


def _entries(disk: Disk, paths: StorePaths, listing: Listing, *, limit: int) -> Iterator[_Entry]:
    """Yield the first, a middle and the last entry below a log offset, of some queues."""
    queues = [(topic, queue_id, row.minimum) for topic, queue_id, row in listing.queues]
    queues = [queue for queue in queues if queue[2] >= 0]
    step = max(1, len(queues) // QUEUE_COUNT_MAX)
    for topic, queue_id, base in queues[::step][:QUEUE_COUNT_MAX]:
        path = paths.consumequeue / topic / str(queue_id) / log_file_name(base)
        file = disk.open(path)
        try:
            count = _count_below(file, limit)
            for number in sorted({0, count // 2, count - 1}) if count else ():
                log_offset, size, _ = _entry_at(file, number)
                if size != FILLER_SIZE:
                    yield _Entry(topic, queue_id, log_offset, size, number == count - 1)
        finally:
            file.close()


def _count_below(file: DiskFile, limit: int) -> int:
    """Return how many entries of a queue file point below a log offset."""
    low, high = 0, file.size() // ENTRY_SIZE
    while low < high:
        middle = (low + high) // 2
        log_offset, size, _ = _entry_at(file, middle)
        if size > 0 and (size == FILLER_SIZE or log_offset + size <= limit):
            low = middle + 1
        else:
            high = middle
    return low


def _entry_at(file: DiskFile, number: int) -> tuple[int, int, int]:
    data = file.pread(ENTRY_SIZE, number * ENTRY_SIZE).ljust(ENTRY_SIZE, b"\0")
    log_offset, size, tags_code = CQ_ENTRY.unpack(data)
    return log_offset, size, tags_code


def first_foreign(index: Index, log: CommitLog) -> int:
    """Return the number of the first index file that was not made of this log.

    Some entries of each file are compared with the records that they point at. A file of another
    log covers log offsets of this one and lacks its keys.

    Raises:
        OSError: the disk refused.
    """
    for number, file in enumerate(index.files):
        step = max(1, file.entry_count // LOOKS_A_FILE)
        for at in range(file.entry_count - 1, 0, -step):
            entry = file.entry(at)
            if entry.log_offset >= log.min_offset and not _is_key_of(entry, log):
                return number
    return len(index.files)


def _is_key_of(entry: IndexEntry, log: CommitLog) -> bool:
    """Tell whether an entry points at a record with such a key."""
    base = entry.log_offset - entry.log_offset % log.file_size
    if base not in log.bases:
        return False
    pos, left = entry.log_offset - base, log.file_size - (entry.log_offset - base)
    size = int.from_bytes(log.file_at(base).pread(4, pos), "big")
    if not RECORD_SIZE_MIN <= size <= left:
        return False
    data = log.file_at(base).pread(size, pos)
    found = parse_record(data, 0, log_offset=entry.log_offset, left=left)
    if isinstance(found, str):
        return False
    keys = index_keys(parse_properties(found.properties))
    return any(index_key_hash(index_key(found.topic, key)) == entry.key_hash for key in keys)

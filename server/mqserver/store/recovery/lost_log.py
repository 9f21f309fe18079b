"""Check before a start changes anything that the commit log of the queues is still there.

    queues with entries ── no file of the log          its disk is not mounted: the start stops
                        └─ files of zeros alone,       it was flushed once, and these files are new:
                           and a checkpoint of a log   the start stops
    an index file ─────── some of its entries ──>  the records that they point at: the same keys?

Rule: queues are derived from the log, so a start makes them agree with it. Without any file of the
log, that would empty the queues of a store in use, so such a start stops.
``startWithLostCommitLog=true`` confirms that the log is lost; a log that this start itself has cut
needs no confirmation. A log with any byte of a record counts, however short or damaged it is,
because a crash or a broken disk may have left it so, and its queues are rebuilt from it. A power
cut may also leave files of zeros alone, but only of a log that was never flushed.

Source: none; 4.9.7 empties the queues.
"""

from typing import Final

from mqserver.store.commitlog.log_files import CommitLog
from mqserver.store.commitlog.log_scan import parse_record
from mqserver.store.disk.disk import Disk
from mqserver.store.disk.zeros import is_blank_to
from mqserver.store.index.index import Index
from mqserver.store.recovery.safe_point import Listing
from storefmt.formats.consumequeue import CQ_ENTRY, ENTRY_SIZE
from storefmt.formats.index import IndexEntry, index_key
from storefmt.formats.javahash import index_key_hash
from storefmt.formats.message import RECORD_SIZE_MIN
from storefmt.formats.properties import index_keys, parse_properties
from storefmt.paths import StorePaths, log_file_name

LOOKS_A_FILE: Final = 16
"""Entries of an index file that are compared with the log before it is used."""
SETTING: Final = "startWithLostCommitLog"


def lost_log(
    disk: Disk, paths: StorePaths, *, listing: Listing, log: CommitLog, was_flushed: bool
) -> str:
    """Return why this start would empty queues; "" if there is a log, or no queue has an entry.

    Args:
        was_flushed: the checkpoint says that a message was flushed to the log, whose files all
            have their size.

    Raises:
        OSError: the disk could not be read.
    """
    if log.bases and not (was_flushed and _is_blank(log)):
        return ""
    for topic, queue_id, row in listing.queues:
        if row.minimum < 0:
            continue
        path = paths.consumequeue / topic / str(queue_id) / log_file_name(row.minimum)
        file = disk.open(path)
        try:
            data = file.pread(ENTRY_SIZE, 0)
        finally:
            file.close()
        if len(data) == ENTRY_SIZE and CQ_ENTRY.unpack(data)[1]:
            return f"the log is empty where the queues point, as queue {queue_id} of {topic} does"
    return ""


def _is_blank(log: CommitLog) -> bool:
    """Return whether the files of a log hold zeros alone."""
    return all(is_blank_to(log.file_at(base), 0, log.file_size) for base in log.bases)


def first_foreign(index: Index, log: CommitLog) -> int:
    """Return the number of the first index file that does not belong to this log.

    Some entries of each file are compared with the records that they point at. A file of another
    log covers log offsets of this one and lacks its keys.

    Raises:
        OSError: the disk refused.
    """
    for number, file in enumerate(index.files):
        step = max(1, file.entry_count // LOOKS_A_FILE)
        for entry_index in range(file.entry_count - 1, 0, -step):
            entry = file.entry(entry_index)
            if entry.log_offset >= log.min_offset and not _is_key_of(entry, log):
                return number
    return len(index.files)


def _is_key_of(entry: IndexEntry, log: CommitLog) -> bool:
    """Return whether an entry points at a record with such a key."""
    base = entry.log_offset - entry.log_offset % log.file_size
    if base not in log.bases:
        return False
    pos, left = entry.log_offset - base, log.file_size - (entry.log_offset - base)
    size = int.from_bytes(log.file_at(base).pread(4, pos), "big")
    if not RECORD_SIZE_MIN <= size <= left:
        return False
    data = log.file_at(base).pread(size, pos)
    record = parse_record(data, 0, log_offset=entry.log_offset, left=left)
    if isinstance(record, str):
        return False
    keys = index_keys(parse_properties(record.properties))
    return any(index_key_hash(index_key(record.topic, key)) == entry.key_hash for key in keys)

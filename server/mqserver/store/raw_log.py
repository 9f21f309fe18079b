"""The commit log as raw bytes: a master reads them for its slaves, and a slave appends them.

    master   read ── unchanged bytes of one file ──> a slave
    slave    append ──> log ──write──> page cache ──flush──> disk, acknowledged
                                          └─ make_entries ──> each whole record ──> queue and index

Rule: a slave's log equals the master's byte for byte, including blanks and damage. Queues and
index are derived from its records, with the queue offsets that the master assigned. Bytes of
a record that is still incomplete are part of the log only; ``cut`` removes them before a
proper shutdown and before this log gets records of its own.

Source: store/CommitLog.java#getData, #appendData, store/DefaultMessageStore.java
(ReputMessageService), store/ConsumeQueue.java#putMessagePositionInfo.
"""

import logging
import struct
from typing import Final

from mqserver.runtime.observers import Observers
from mqserver.store.commitlog.append import Appender
from mqserver.store.commitlog.dispatch_requests import dispatch_entries
from mqserver.store.commitlog.log_scan import (
    ScannedRecord,
    magic_positions,
    parse_record,
    parse_records,
)
from mqserver.store.queues.queue import ConsumeQueue
from mqserver.store.queues.queue_table import QueueHandle
from mqserver.store.recovery.opening import OpenedStore
from mqserver.store.recovery.safe_point_file import SafePointFile
from mqserver.store.results import DispatchEntry
from mqserver.store.store_config import StoreConfig
from storefmt.dispatch.record_entries import DueTimes, copy_offsets, copy_queue_id, is_queued
from storefmt.errors import BadCall
from storefmt.formats.consumequeue import FILLER_SIZE
from storefmt.formats.message import MAGIC_BLANK, RECORD_SIZE_MIN

LOG = logging.getLogger(__name__)

MISSING_COUNT_MAX: Final = 1 << 20
"""Gap of entries that is filled in a queue; a larger gap means a damaged offset."""
_FRONT: Final = struct.Struct(">ii")
_SKIP_SIZE: Final = 1 << 20
TAKE_SIZE: Final = 64 << 10
"""Bytes of records for which entries are made in one call: about a millisecond of work."""


class RawLog:
    """Access to the bytes of one store's log.

    Args:
        config: the settings of the store.
        opened: the parts of the open store.
        appender: holds the entries of records until the next ``write``.
        safe_file: records where the log begins.
    """

    def __init__(
        self,
        config: StoreConfig,
        opened: OpenedStore,
        appender: Appender,
        safe_file: SafePointFile,
    ) -> None:
        self.topic_remade = Observers[[str, int]]()
        """Called when a topic's queues have to be removed because its records start again at 0.

        The arguments are the topic and the log offset of its first new record."""
        self._config = config
        self._log = opened.log
        self._table = opened.table
        self._dispatcher = opened.dispatcher
        self._appender = appender
        self._safe_file = safe_file
        self._due = DueTimes(config.delays_ms())
        self._whole: int | None = None
        self._need = 1

    @property
    def file_size(self) -> int:
        """Return the bytes of one log file."""
        return self._log.file_size

    @property
    def whole_offset(self) -> int:
        """Log offset at the end of the last complete record."""
        return self._log.end if self._whole is None else self._whole

    @property
    def end(self) -> int:
        """Log offset after the last byte that was appended, written or not."""
        return self._log.end

    @property
    def is_empty(self) -> bool:
        """Return whether the log has never held a byte."""
        return self._log.end == 0

    def read(self, log_offset: int, size_max: int) -> bytes:
        """Return written bytes of one file from ``log_offset`` on; b"" if there are none.

        Raises:
            ColdRead: under ``no_wait``, the bytes are not in the page cache.
            OSError: the disk could not be read.
        """
        file_end = log_offset - log_offset % self._log.file_size + self._log.file_size
        end = min(log_offset + size_max, file_end, self._log.written_offset)
        return (end > log_offset and self._log.read(log_offset, end - log_offset)) or b""

    def start_at(self, log_offset: int) -> None:
        """Make an empty log begin at ``log_offset``, where a file of the master begins.

        Raises:
            ValueError: the log is not empty, or no file begins at ``log_offset``.
            OSError: the disk refused.
        """
        if not self.is_empty or log_offset % self._log.file_size:
            raise ValueError(f"a log that ends at {self._log.end} cannot begin at {log_offset}")
        for base in list(self._log.bases):
            self._log.remove(base)
        # Without the safe point, a start after a crash would take earlier files for missing.
        self._safe_file.advance(log_offset, (), None)
        self._log.set_end(log_offset)
        self._whole = log_offset
        self._dispatcher.dispatched_offset = log_offset

    def append(self, data: bytes) -> None:
        """Append the next bytes of the master's log; ``MessageStore.write`` stores them.

        Raises:
            OSError: the next file could not be made; call ``undo`` before the next append.
            ValueError: the bytes cross the end of a file.
        """
        if self._whole is None:
            self._whole = self._log.end
        self._log.append(data)

    def undo(self) -> None:
        """Discard what was appended since the last write began."""
        self._appender.undo()

    def make_entries(self, size_max: int = TAKE_SIZE) -> bool:
        """Make entries for complete records; ``MessageStore.dispatch_copied`` dispatches them.

        Only records that are written are taken, with SYNC_FLUSH those that are on the disk.

        Args:
            size_max: bytes to examine, unless one record is larger.

        Returns:
            Whether there may be more records to take.

        Raises:
            OSError: the log could not be read.
        """
        start = self.whole_offset
        size = max(size_max, self._need)
        end = self._log.flushed_offset if self._config.is_sync_flush else self._log.written_offset
        size = min(size, end - start)
        if size < self._need:
            return False
        data = self.read(start, size)
        self._need = 1
        pos = self._take_whole(data, start)
        self._whole = start + pos
        return pos > 0 or self._need <= end - start

    def cut(self) -> int:
        """Remove the written bytes of an incomplete record; return their number.

        All complete records must have been taken, and no appended bytes may wait for a write.

        Raises:
            OSError: the disk refused.
        """
        size = self._log.end - self.whole_offset
        if size:
            self._log.cut(self.whole_offset)
            self._need = 1
        return size

    def _take_whole(self, data: bytes, start: int) -> int:
        """Take the complete records in ``data``; return how many bytes are processed."""
        size_max, pos = self._log.file_size, 0
        while pos < len(data):
            log_offset = start + pos
            left = size_max - log_offset % size_max
            records, reason = parse_records(data, pos, log_offset=log_offset, left=left)
            for record in records:
                try:
                    self._make_entry(record)
                except OSError:
                    raise
                except Exception:
                    self._dispatcher.note_incomplete(record.log_offset)
                    LOG.exception(
                        "record at %d gets no entries until the next start", record.log_offset
                    )
                pos += record.size
            if records:
                continue
            size, need = _size_of_other(data, pos, log_offset, left, reason)
            if need:
                # The next call begins at this position, so this size counts from here.
                self._need = need
                break
            pos += size
        return pos

    def _make_entry(self, record: ScannedRecord) -> None:
        (entry,) = dispatch_entries((record,), self._due)
        try:
            handle = self._handle(entry)
        except BadCall as error:
            LOG.warning("record at %d gets no queue: %s", record.log_offset, error)
            return
        if handle is None:
            return
        self._appender.entries.append(entry)
        self._appender.handles.append(handle)
        if self._config.enable_multi_dispatch and is_queued(record.sys_flag):
            self._take_copies(entry, record.properties)

    def _take_copies(self, entry: DispatchEntry, properties: bytes) -> None:
        """Add the entries in other queues that a record's properties name."""
        for name, queue_offset in copy_offsets(properties).items():
            queue_id = copy_queue_id(name, entry.queue_id, enable_lmq=self._config.enable_lmq)
            if (name, queue_id) == (entry.topic, entry.queue_id):
                continue
            copy = entry._replace(topic=name, queue_id=queue_id, queue_offset=queue_offset, keys=())
            handle = self._handle(copy)
            if handle is not None:
                self._appender.entries.append(copy)
                self._appender.handles.append(handle)
                self._appender.extra_count += 1

    def _handle(self, entry: DispatchEntry) -> QueueHandle | None:
        """Return the queue of a record after assigning its offset there; None if it gets no entry.

        Raises:
            BadCall: the topic or the queue id cannot be part of a path.
        """
        key = entry.topic, entry.queue_id
        handle = self._table.queues.get(key) or self._table.handle(*key)
        if not is_queued(entry.sys_flag):
            return handle
        if isinstance(handle, int):
            columns = self._table.columns
            if columns.next_offset(handle) == entry.queue_offset:
                columns.assign_offsets(handle, 1)
                return handle
        queue = self._at_its_place(self._table.obtain(*key), entry)
        if queue is not None:
            queue.next_offset += 1
        return queue

    def _at_its_place(self, queue: ConsumeQueue, entry: DispatchEntry) -> ConsumeQueue | None:
        """Return the queue, filled up to the record's offset; None if the record gets no entry."""
        missing = entry.queue_offset - queue.next_offset
        if missing == 0:
            return queue
        if entry.queue_offset == 0:
            # The master has deleted the topic and created it again.
            self.topic_remade(entry.topic, entry.log_offset)
            queue = self._table.obtain(entry.topic, entry.queue_id)
            return queue if queue.next_offset == 0 else None
        if queue.next_offset == 0 and entry.queue_offset * RECORD_SIZE_MIN <= entry.log_offset:
            queue.fill_until(entry.queue_offset)
            return queue
        if not 0 < missing <= MISSING_COUNT_MAX:
            LOG.warning(
                "record at %d: queue offset %d in %s queue %d, expected %d; it gets no entry",
                entry.log_offset, entry.queue_offset, entry.topic, entry.queue_id,
                queue.next_offset,
            )  # fmt: skip
            return None
        filler = entry._replace(log_offset=0, size=FILLER_SIZE, tags_code=0, keys=(), sys_flag=0)
        self._appender.entries += [filler] * missing
        self._appender.handles += [queue] * missing
        self._appender.extra_count += missing
        queue.next_offset += missing
        return queue


def _size_of_other(
    data: bytes, pos: int, log_offset: int, left: int, reason: str
) -> tuple[int, int]:
    """Return the size of the non-record at ``pos``, or how many bytes are needed to know it.

    Args:
        data: bytes of the log.
        pos: where in ``data`` the non-record begins.
        log_offset: the log offset of that position.
        left: bytes from there to the end of the file.
        reason: why ``parse_records`` found no record.

    Returns:
        (size, 0) if the size is known, else (0, bytes needed).
    """
    have = len(data) - pos
    if have < _FRONT.size:
        return 0, _FRONT.size
    size, magic = _FRONT.unpack_from(data, pos)
    if magic == MAGIC_BLANK and size == left:
        return (left, 0) if have >= left else (0, left)
    if reason == "truncated":
        return 0, min(max(size, RECORD_SIZE_MIN, have + 1), left)
    # Damage, copied from the master's log: skip to the next whole record.
    for magic_pos in magic_positions(data[pos : pos + left]):
        start = magic_pos - _FRONT.size // 2
        if start > 0 and _is_item(data, pos + start, log_offset + start, left - start):
            return start, 0
    return (left, 0) if have >= left else (0, min(have + _SKIP_SIZE, left))


def _is_item(data: bytes, pos: int, log_offset: int, left: int) -> bool:
    size, magic = _FRONT.unpack_from(data, pos)
    if magic == MAGIC_BLANK:
        return bool(size == left)
    return not isinstance(parse_record(data, pos, log_offset=log_offset, left=left), str)

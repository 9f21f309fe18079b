"""The log as bytes: what a master sends of it, and how a slave's grows out of them.

    master   read ── bytes as they are in one file ──> a slave
    slave    append ──> log ──write──> page cache ──flush──> disk, acknowledged
                                          └─ take ──> each whole record ──> queue and index

Rule: a slave's log is the master's, byte for byte, blanks and damage among them; queues and
index follow from the records, by the offsets that the master gave out. What came of a record
that is not whole yet is part of the log and of nothing else; ``cut`` takes it back, for a
stop in order or before this log gets records of its own.

Source: store/CommitLog.java#getData, #appendData, store/DefaultMessageStore.java
(ReputMessageService), store/ConsumeQueue.java#putMessagePositionInfo.
"""

import logging
import struct
from collections.abc import Callable
from typing import Final

from server.store.commitlog.append import Appender, is_queued
from server.store.commitlog.dispatch_requests import Entries
from server.store.commitlog.log_scan import Found, candidates, parse_record, parse_records
from server.store.commitlog.multi_dispatch import copy_offsets, copy_queue_id
from server.store.config import StoreConfig
from server.store.queues.queue import ConsumeQueue
from server.store.queues.queue_table import Taker
from server.store.recovery.opening import OpenedStore
from server.store.recovery.safe_point_file import SafePointFile
from server.store.results import DispatchEntry
from storefmt.errors import BadCall
from storefmt.formats.consumequeue import FILLER_SIZE
from storefmt.formats.message import MAGIC_BLANK, RECORD_SIZE_MIN

LOG = logging.getLogger(__name__)

MISSING_COUNT_MAX: Final = 1 << 20
"""Entries that a queue may lack; more is a damaged offset."""
_FRONT: Final = struct.Struct(">ii")
_SKIP_SIZE: Final = 1 << 20
TAKE_SIZE: Final = 64 << 10
"""Bytes of records whose entries are made in one go: about a millisecond."""


class RawLog:
    """The bytes of one store's log.

    Args:
        appender: where the entries of records wait for the next ``write``.
        safe_file: told where the log begins.
    """

    def __init__(
        self,
        config: StoreConfig,
        opened: OpenedStore,
        appender: Appender,
        safe_file: SafePointFile,
    ) -> None:
        self.topic_remade: Callable[[str, int], None] = lambda topic, log_offset: None
        """Told that the records of a topic begin anew at a log offset: its queues are to go."""
        self._config = config
        self._log = opened.log
        self._table = opened.table
        self._dispatcher = opened.dispatcher
        self._appender = appender
        self._safe_file = safe_file
        self._entries = Entries(config.delays_ms())
        self._whole: int | None = None
        self._need = 1

    @property
    def file_size(self) -> int:
        """Bytes of one log file."""
        return self._log.file_size

    @property
    def whole_offset(self) -> int:
        """Log offset after the last record that is whole."""
        return self._log.end if self._whole is None else self._whole

    @property
    def is_empty(self) -> bool:
        """Tell whether the log has no byte and never had one."""
        return self._log.end == 0

    def read(self, log_offset: int, size_max: int) -> bytes:
        """Return written bytes from ``log_offset`` on, of one file; b"" where there are none.

        Raises:
            ColdRead: under ``no_wait``, when they are not in the page cache.
            OSError: the disk cannot be read there.
        """
        file_end = log_offset - log_offset % self._log.file_size + self._log.file_size
        end = min(log_offset + size_max, file_end, self._log.written_offset)
        return (end > log_offset and self._log.read(log_offset, end - log_offset)) or b""

    def start_at(self, log_offset: int) -> None:
        """Let an empty log begin at ``log_offset``, where a file of the master begins.

        Raises:
            OSError: the disk refused.
        """
        if not self.is_empty or log_offset % self._log.file_size:
            raise ValueError(f"a log that ends at {self._log.end} cannot begin at {log_offset}")
        for base in list(self._log.bases):
            self._log.remove(base)
        # Without it a start after a crash takes the first file for one that came too late.
        self._safe_file.advance(log_offset, (), None)
        self._log.set_end(log_offset)
        self._whole = log_offset
        self._dispatcher.dispatched_offset = log_offset

    def append(self, data: bytes) -> None:
        """Take the next bytes of the master's log; ``MessageStore.write`` stores them.

        Raises:
            OSError: there is no next file; ``undo`` before anything else is appended.
        """
        if self._whole is None:
            self._whole = self._log.end
        self._log.append(data)

    def undo(self) -> None:
        """Take back what was appended since the last write."""
        self._appender.undo()

    def take(self, size_max: int = TAKE_SIZE) -> bool:
        """Give records that came whole their entries; ``MessageStore.write`` dispatches them.

        Nothing appended may wait for a write. With SYNC_FLUSH records are taken that are on
        the disk.

        Args:
            size_max: bytes to look at, unless one record has more.

        Returns:
            Whether there may be more to take.

        Raises:
            OSError: the log cannot be read.
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
        """Take back what is written of a record that is not whole; returns its bytes.

        Everything else has to be taken, and nothing may wait for a write.

        Raises:
            OSError: the disk refused.
        """
        size = self._log.end - self.whole_offset
        if size:
            self._log.cut(self.whole_offset)
            self._need = 1
        return size

    def _take_whole(self, data: bytes, start: int) -> int:
        """Take the records in ``data``; returns the bytes that are done with."""
        size_max, pos = self._log.file_size, 0
        while pos < len(data):
            log_offset = start + pos
            left = size_max - log_offset % size_max
            records, reason = parse_records(data, pos, log_offset=log_offset, left=left)
            for found in records:
                self._take(found)
                pos += found.size
            if records:
                continue
            size, need = _size_of_other(data, pos, log_offset, left, reason)
            if need:
                # What is known of it counts from where the next look begins.
                self._need = need
                break
            pos += size
        return pos

    def _take(self, found: Found) -> None:
        entry = self._entries.of(found)
        try:
            taker = self._taker(entry)
        except BadCall as error:
            LOG.warning("record at %d gets no queue: %s", found.log_offset, error)
            return
        if taker is None:
            return
        self._appender.entries.append(entry)
        self._appender.takers.append(taker)
        if self._config.enable_multi_dispatch and is_queued(found.sys_flag):
            self._take_copies(entry, found.properties)

    def _take_copies(self, entry: DispatchEntry, properties: bytes) -> None:
        """Give a record the entries in other queues that its properties name."""
        for name, queue_offset in copy_offsets(properties).items():
            queue_id = copy_queue_id(self._config, name, entry.queue_id)
            copy = entry._replace(topic=name, queue_id=queue_id, queue_offset=queue_offset, keys=())
            taker = self._taker(copy)
            if taker is not None:
                self._appender.entries.append(copy)
                self._appender.takers.append(taker)
                self._appender.extra_count += 1

    def _taker(self, entry: DispatchEntry) -> Taker | None:
        """Return the queue of a record, once it has given it its offset; None where it has none.

        Raises:
            BadCall: the topic or the queue id cannot be a path.
        """
        key = entry.topic, entry.queue_id
        taker = self._table.queues.get(key) or self._table.taker(*key)
        if not is_queued(entry.sys_flag):
            return taker
        if isinstance(taker, int):
            columns = self._table.columns
            if columns.next_offset(taker) == entry.queue_offset:
                columns.give(taker, 1)
                return taker
        queue = self._at_its_place(self._table.obtain(*key), entry)
        if queue is not None:
            queue.next_offset += 1
        return queue

    def _at_its_place(self, queue: ConsumeQueue, entry: DispatchEntry) -> ConsumeQueue | None:
        """Return the queue whose next entry is that of a record; None where it has none."""
        missing = entry.queue_offset - queue.next_offset
        if missing == 0:
            return queue
        if entry.queue_offset == 0:
            # The master has deleted the topic and made it again.
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
        self._appender.takers += [queue] * missing
        self._appender.extra_count += missing
        queue.next_offset += missing
        return queue


def _size_of_other(
    data: bytes, pos: int, log_offset: int, left: int, reason: str
) -> tuple[int, int]:
    """Return the size of what is no record at ``pos``, or how many bytes it takes to tell.

    Args:
        left: bytes from there to the end of the file.
        reason: why it is none.
    """
    have = len(data) - pos
    if have < _FRONT.size:
        return 0, _FRONT.size
    size, magic = _FRONT.unpack_from(data, pos)
    if magic == MAGIC_BLANK and size == left:
        return (left, 0) if have >= left else (0, left)
    if reason == "truncated":
        return 0, min(max(size, RECORD_SIZE_MIN, have + 1), left)
    # Damage, as it is in the master's log: the next whole record goes on.
    for at in candidates(data[pos : pos + left]):
        start = at - _FRONT.size // 2
        if start > 0 and _is_item(data, pos + start, log_offset + start, left - start):
            return start, 0
    return (left, 0) if have >= left else (0, min(have + _SKIP_SIZE, left))


def _is_item(data: bytes, pos: int, log_offset: int, left: int) -> bool:
    size, magic = _FRONT.unpack_from(data, pos)
    if magic == MAGIC_BLANK:
        return bool(size == left)
    return not isinstance(parse_record(data, pos, log_offset=log_offset, left=left), str)

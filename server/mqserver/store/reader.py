"""Reading messages by queue offset, by time and by log offset.

    queue entries ──pick: tag codes, limits──> parts of the log ──> copied from memory, or read

Rule: the status, the next offset and every limit are Java's, because clients depend on
them. Only dispatched messages can be read, and every dispatched message is written.
Fillers (entries without a record) are skipped silently.

Source: store/DefaultMessageStore.java#getMessage, #isTheBatchFull, #checkInDiskByCommitOffset;
store/ConsumeQueue.java#getOffsetInQueueByTime (4.9.7).
"""

import logging
import os
import struct
from collections.abc import Iterator
from functools import partial
from typing import Final

from mqserver.store.commitlog.log_files import CommitLog
from mqserver.store.commitlog.log_read import read_parts, warm
from mqserver.store.commitlog.log_scan import LogWalk, ScannedRecord
from mqserver.store.commitlog.log_window import LogWindow, StoreFilter
from mqserver.store.commitlog.picking import GetLimits, Picked, TagCodes, pick, pick_each
from mqserver.store.disk.nowait import ColdRead, no_wait
from mqserver.store.index.index import Index
from mqserver.store.queues.queue import ConsumeQueue
from mqserver.store.queues.queue_table import QueueTable
from mqserver.store.results import GetResult, GetStatus
from mqserver.store.store_config import StoreConfig
from storefmt.formats.consumequeue import (
    CQ_ENTRY,
    ENTRY_SIZE,
    EXT_ADDRESS_MAX,
    FILLER_SIZE,
    entry_columns,
)
from storefmt.formats.consumequeue_ext import ExtUnit
from storefmt.formats.message import MAGIC_V1, MAGIC_V2, RECORD_SIZE_MIN
from storefmt.formats.sysflag import BORN_HOST_V6

LOG = logging.getLogger(__name__)

SCAN_COUNT: Final = 800
"""Queue entries that one get examines, at most (more only if it may return more messages)."""
_HEAD: Final = struct.Struct(">ii20xqi")
_TIME_V4: Final = struct.Struct(">q")
_STORE_MS_POS: Final = 56
_STORE_MS_POS_V6: Final = 68
_HEAD_SIZE: Final = 76

RawEntry = tuple[int, int, int, ExtUnit | None]
"""Log offset, size, tags code, and the ext unit if the tags code is its address."""


class Reader:
    """All reads of one store.

    Args:
        config: the settings of the store.
        log: the commit log.
        table: the consume queues.
        index: the index; None if the store has none.
    """

    def __init__(
        self, config: StoreConfig, log: CommitLog, table: QueueTable, index: Index | None
    ) -> None:
        self._log = log
        self._find = table.find
        self._exts = table.exts
        self._index = index
        self.settings_changed(config)

    def settings_changed(self, config: StoreConfig) -> None:
        """Apply the current limits."""
        self._count_max = config.max_transfer_count_on_message_in_memory
        self._size_max = config.max_transfer_bytes_on_message_in_memory
        self._disk_count_max = config.max_transfer_count_on_message_in_disk
        self._disk_size_max = config.max_transfer_bytes_on_message_in_disk
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        self._memory_size = memory * config.access_message_in_memory_max_ratio // 100

    def get_message(
        self,
        topic: str,
        queue_id: int,
        queue_offset: int,
        *,
        count_max: int,
        size_max: int | None = None,
        codes: TagCodes | None = None,
        wants: StoreFilter | None = None,
        may_wait: bool = True,
    ) -> GetResult:
        """Return the messages of a queue from ``queue_offset`` on.

        Args:
            topic: the topic of the queue.
            queue_id: its id.
            queue_offset: the first message to return.
            count_max: most messages to return; 0 still returns one.
            size_max: most bytes to return, None for the configured limit; the first message is
                returned whatever its size.
            codes: tag codes of the messages to return; None for all messages.
            wants: tests more of a message than its tag code, which is tested first. The cost of
                these tests is limited, so fewer entries may be examined.
            may_wait: if False, raise ``ColdRead`` instead of waiting for the disk.

        Raises:
            ColdRead: data is not in the page cache; call ``warm`` on it and read again.
            OSError: the disk could not be read.
        """
        queue = self._find(topic, queue_id)
        if queue is None:
            return GetResult(GetStatus.NO_MATCHED_LOGIC_QUEUE, [], 0, 0, 0, 0)
        low, high = queue.min_offset, queue.max_offset
        if low <= queue_offset < high:
            limits = self._limits(count_max, size_max)
            # The newest messages were just written, so they are in the page cache.
            with no_wait(not may_wait and queue_offset < queue.tail_start):
                picked = self._pick(queue, queue_offset, limits, codes, wants)
                if picked is not None:
                    return GetResult(
                        picked.status,
                        read_parts(self._log, picked.parts),
                        picked.record_count,
                        queue_offset + picked.scanned_count,
                        low,
                        high,
                        suggest_slave=limits.log_end - picked.log_offset > limits.memory_size,
                    )
            skip = queue.file_entry_count
            following = queue_offset + skip - queue_offset % skip
            return GetResult(GetStatus.OFFSET_FOUND_NULL, [], 0, following, low, high)
        if high == 0:
            return GetResult(GetStatus.NO_MESSAGE_IN_QUEUE, [], 0, 0, low, high)
        if queue_offset < low:
            return GetResult(GetStatus.OFFSET_TOO_SMALL, [], 0, low, low, high)
        if queue_offset == high:
            return GetResult(GetStatus.OFFSET_OVERFLOW_ONE, [], 0, high, low, high)
        return GetResult(GetStatus.OFFSET_OVERFLOW_BADLY, [], 0, high, low, high)

    def _limits(self, count_max: int, size_max: int | None) -> GetLimits:
        log = self._log
        return GetLimits(
            min(count_max, self._count_max),
            self._size_max if size_max is None else min(size_max, self._size_max),
            min(count_max, self._disk_count_max),
            self._disk_size_max,
            self._memory_size,
            log.min_offset,
            log.written_offset,
            log.file_size,
        )

    def _pick(
        self,
        queue: ConsumeQueue,
        queue_offset: int,
        limits: GetLimits,
        codes: TagCodes | None,
        wants: StoreFilter | None,
    ) -> Picked | None:
        """Examine the entries from ``queue_offset`` on; None if none of them can be read."""
        entry_count = max(SCAN_COUNT, limits.count_max)
        window, counts = None, [min(entry_count, max(1, limits.count_max) + 1), entry_count]
        if wants is not None and wants.by_properties is not None:
            # No record is to be tested twice.
            window, counts = LogWindow(self._log, wants), [entry_count]
        # In nearly every get all entries are wanted, and one more than that shows what is left.
        for count in counts:
            try:
                data = queue.read(queue_offset, count)
            except ColdRead as cold:
                # The records of these entries are most likely not cached either.
                cold.then = self._warm_records
                raise
            if not data:
                return None
            plain = pick(data, limits, codes) if window is None else None
            picked = plain or pick_each(
                data,
                limits,
                codes,
                wants,
                window=window,
                unit_at=partial(self._exts.read, queue),
            )
            if picked.scanned_count < count:
                break
        for number, log_offset in picked.behind:
            _say_behind(queue, queue_offset + number, log_offset)
        return picked

    def _warm_records(self, data: bytes) -> None:
        """Read the records of these entries into the page cache; runs in a thread."""
        log_offsets, sizes, _ = entry_columns(data[: len(data) // ENTRY_SIZE * ENTRY_SIZE])
        if 0 < sum(sizes) <= self._size_max and min(sizes) > 0 <= min(log_offsets):
            warm(self._log, list(zip(log_offsets, sizes, strict=True)))

    def warm_parts(self, parts: list[tuple[int, int]]) -> None:
        """Read parts of the log, each a log offset and a size, into the page cache.

        It runs in a thread.
        """
        if parts:
            warm(self._log, parts)

    def read_record(self, log_offset: int) -> bytes | None:
        """Return the record that starts at ``log_offset``, or None if none does."""
        head = self._log.read(log_offset, _HEAD.size)
        if head is None:
            return None
        size, magic, position, _ = _HEAD.unpack(head)
        if magic not in (MAGIC_V1, MAGIC_V2) or position != log_offset or size < RECORD_SIZE_MIN:
            return None
        return self._log.read(log_offset, size)

    def store_ms(self, log_offset: int) -> int:
        """Return when the record at ``log_offset`` was stored (ms), or -1 if there is none."""
        head = self._log.read(log_offset, _HEAD_SIZE)
        if head is None:
            return -1
        sys_flag: int = _HEAD.unpack_from(head)[3]
        pos = _STORE_MS_POS_V6 if sys_flag & BORN_HOST_V6 else _STORE_MS_POS
        store_ms: int = _TIME_V4.unpack_from(head, pos)[0]
        return store_ms

    def store_time(self, topic: str, queue_id: int, queue_offset: int) -> int:
        """Return when a message was stored (ms), or -1 if it does not exist."""
        queue = self._find(topic, queue_id)
        entry = None if queue is None else queue.entry(queue_offset)
        if entry is None or entry[1] == FILLER_SIZE:
            return -1
        return self.store_ms(entry[0])

    def entries(self, topic: str, queue_id: int, *, start: int, count: int) -> list[RawEntry]:
        """Return up to ``count`` queue entries from ``start`` on.

        Fillers are included; the list ends with the queue or with one of its files, as in Java.

        Args:
            topic: the topic of the queue.
            queue_id: its id.
            start: queue offset of the first entry.
            count: most entries to return.

        Raises:
            OSError: the disk could not be read.
        """
        queue = self._find(topic, queue_id)
        if queue is None or start < queue.min_offset:
            return []
        return [
            (*entry, self._exts.read(queue, entry[2]) if entry[2] <= EXT_ADDRESS_MAX else None)
            for entry in CQ_ENTRY.iter_unpack(queue.read(start, count))
        ]

    def offset_by_time(self, topic: str, queue_id: int, timestamp_ms: int) -> int:
        """Return the queue offset of the message whose store time is nearest to ``timestamp_ms``.

        As in Java, the search stays within one queue file: the first file whose last message is
        not older than the time, else the last file. Java compares the modification times of
        one file after another; here files are found by binary search on store times. The result
        is 0 if there is no message or its store time cannot be read.
        """
        queue = self._find(topic, queue_id)
        if queue is None or queue.max_offset == queue.min_offset:
            return 0
        low, high = self._file_by_time(queue, timestamp_ms)
        base = low - low % queue.file_entry_count
        low, high = (low - base) * ENTRY_SIZE, (high - 1 - base) * ENTRY_SIZE
        left = right = -1
        left_ms = right_ms = -1
        while high >= low:
            middle = (low + high) // (2 * ENTRY_SIZE) * ENTRY_SIZE
            entry = queue.entry(base + middle // ENTRY_SIZE)
            if entry is None or entry[0] < self._log.min_offset or entry[1] == FILLER_SIZE:
                low = middle + ENTRY_SIZE
                left = middle
                continue
            found_ms = self.store_ms(entry[0])
            if found_ms < 0:
                return 0
            if found_ms == timestamp_ms:
                return base + middle // ENTRY_SIZE
            if found_ms > timestamp_ms:
                high, right, right_ms = middle - ENTRY_SIZE, middle, found_ms
            else:
                low, left, left_ms = middle + ENTRY_SIZE, middle, found_ms
        if left_ms == -1:
            nearest = right
        elif right_ms == -1 or timestamp_ms - left_ms <= right_ms - timestamp_ms:
            nearest = left
        else:
            nearest = right
        return base + max(nearest, 0) // ENTRY_SIZE

    def _file_by_time(self, queue: ConsumeQueue, timestamp_ms: int) -> tuple[int, int]:
        """Return the first entry and the end of the entries in the file to search."""
        count = queue.file_entry_count
        # Numbers of the first and last file; every file but the last is full.
        low, high = queue.min_offset // count, (queue.max_offset - 1) // count
        while low < high:
            middle = (low + high) // 2
            last = queue.entry((middle + 1) * count - 1)
            if last is not None and self.store_ms(last[0]) >= timestamp_ms:
                high = middle
            else:
                low = middle + 1
        return max(low * count, queue.min_offset), min((low + 1) * count, queue.max_offset)

    def records_from(self, log_offset: int) -> Iterator[list[ScannedRecord]]:
        """Yield the records written so far, from a record's start at ``log_offset`` on.

        They come in lists, in the order of the log; ranges that are not records are skipped.

        Raises:
            OSError: the disk could not be read.
        """
        end = self._log.written_offset
        walk = LogWalk(self._log, list(self._log.bases))
        for item in walk.items(max(log_offset, self._log.min_offset)):
            if (item[0].log_offset if isinstance(item, list) else item.start) >= end:
                return
            if isinstance(item, list):
                yield item

    def index_end(self) -> tuple[int, int]:
        """Return store time (ms) and log offset of the last record with keys, 0 and 0 for none."""
        if self._index is None or not self._index.files:
            return 0, 0
        last = self._index.files[-1]
        return last.end_ms, last.end_log_offset


def _say_behind(queue: ConsumeQueue, number: int, log_offset: int) -> None:
    """Log that an entry is skipped; Java skips all entries before the file that it names."""
    LOG.error(
        "skipped entry %d of queue %d of %s, which points past the end of the log, to %d",
        number, queue.queue_id, queue.topic, log_offset,
    )  # fmt: skip

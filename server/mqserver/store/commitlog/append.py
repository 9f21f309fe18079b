"""Puts: each message becomes a record with its offsets in the log and in its queue.

    PutMessage ──> head | body | topic | properties ──> CommitLog.parts
               └─> DispatchEntry + its queue          ──> taken after the write

Rule: a message costs no system call. The record head is packed here with the layout of
``storefmt``, and the parts of all messages of a write are joined once; a test compares the bytes
with ``storefmt.formats.message.encode_record``. Queue offsets are assigned here and taken back if
the write fails. ``send_kernel`` of the broker does the same in C for plain sends.

Source: store/CommitLog.java#doAppend, #encode; store/DefaultMessageStore.java#checkMessage.
"""

import struct
from typing import Final, NamedTuple

from mqserver.store.commitlog.log_files import CommitLog
from mqserver.store.commitlog.multi_dispatch import MultiDispatch
from mqserver.store.queues.queue import ConsumeQueue
from mqserver.store.queues.queue_table import QueueHandle, QueueTable
from mqserver.store.results import (
    DispatchEntry,
    PutMessage,
    PutResult,
    PutRun,
    PutStatus,
    RunResult,
)
from mqserver.store.store_config import StoreConfig
from storefmt.dispatch.record_entries import is_queued
from storefmt.formats import layout
from storefmt.formats.message import BLANK_SIZE_MIN, CRC_MASK, MAGIC_V1, TOPIC_SIZE_V1_MAX, crc32
from storefmt.formats.properties import PROPERTIES_SIZE_MAX
from storefmt.formats.sysflag import BORN_HOST_V6, HOSTS_V6, STORE_HOST_V6

# By the sizes of born host and store host: the head, its size and its flag bits.
_HEADS: Final = {
    (born, store): (head, head.size, bits)
    for born, store, bits in (
        (8, 8, 0),
        (20, 8, BORN_HOST_V6),
        (8, 20, STORE_HOST_V6),
        (20, 20, HOSTS_V6),
    )
    for head in (layout.MESSAGE.part("body_size").struct(v6=bits),)
}
_NOT_HOSTS: Final = ~HOSTS_V6
_OK: Final = PutStatus.PUT_OK
_ILLEGAL: Final = PutResult(PutStatus.MESSAGE_ILLEGAL, -1, -1, 0)
_RUN_ILLEGAL: Final = RunResult(PutStatus.MESSAGE_ILLEGAL, -1, [], 0)


class PutGroup(NamedTuple):
    """The messages that one write stores."""

    entries: list[DispatchEntry]
    """In log order."""
    handles: list[QueueHandle]
    """The queue of each entry."""
    record_count: int
    """Number of records; the other entries are copies, and fillers of gaps."""


class Appender:
    """The messages of one store that are put and not yet written."""

    def __init__(self, config: StoreConfig, log: CommitLog, table: QueueTable) -> None:
        self.log = log
        self.table = table
        self._run_size_max = log.file_size - BLANK_SIZE_MIN
        self.settings_changed(config)
        self.entries: list[DispatchEntry] = []
        """Entries of what was put since the last write, in log order."""
        self.handles: list[QueueHandle] = []
        """The queue of each entry."""
        self.put_count = 0
        """Number of records stored since the start."""
        self.extra_count = 0
        """Pending entries that are not a record's own: copies, and fillers of gaps."""
        self._copies = MultiDispatch(config, table) if config.enable_multi_dispatch else None

    def settings_changed(self, config: StoreConfig) -> None:
        """Apply the current limits."""
        self._body_size_max = config.max_message_size
        self.size_max = min(config.record_size_max, self._run_size_max)
        """Bytes of the largest record."""

    def append_message(self, message: PutMessage, now_ms: int) -> PutResult:
        """Make a record of a message, to be written with the next write.

        If other queues get copies of the message, its stored properties are set in it.

        Raises:
            BadCall: the topic or the queue id cannot be part of a path.
            OSError: the next commit log file could not be made; nothing was taken.
        """
        copies: list[ConsumeQueue] = []
        if self._copies is not None:
            status, message.properties, copies = self._copies.prepare(
                message.topic, message.queue_id, message.properties, {}
            )
            if status is not _OK:
                return PutResult(status, -1, -1, 0)
        result = self._append(message, now_ms)
        if copies and result.status is _OK and is_queued(message.sys_flag):
            self._copy(self.entries[-1], copies)
        return result

    def _append(self, message: PutMessage, now_ms: int) -> PutResult:
        topic, queue_id, topic_bytes = message.topic, message.queue_id, message.topic_bytes
        if len(topic_bytes) > TOPIC_SIZE_V1_MAX:
            return _ILLEGAL
        handle: QueueHandle | None = self.table.queues.get((topic, queue_id))
        if handle is None:
            handle = self.table.handle(topic, queue_id)
        topic_part = self.table.place(topic).part
        body, properties = message.body, message.properties
        head, head_size, host_bits = _HEADS[len(message.born_host), len(message.store_host)]
        size = head_size + len(body) + len(topic_part) + 2 + len(properties)
        if len(properties) > PROPERTIES_SIZE_MAX:
            return PutResult(PutStatus.PROPERTIES_SIZE_EXCEEDED, -1, -1, 0)
        if len(body) > self._body_size_max or size > self.size_max:
            return _ILLEGAL
        sys_flag = message.sys_flag & _NOT_HOSTS | host_bits
        log_offset = self.log.place(size)
        queue_offset = self._assign_offsets(handle, 1) if is_queued(sys_flag) else 0
        try:
            packed = head.pack(
                size, MAGIC_V1, crc32(body) & CRC_MASK, queue_id, message.flag, queue_offset,
                log_offset, sys_flag, message.born_ms, message.born_host, now_ms,
                message.store_host, message.reconsume_times, message.prepared_transaction_offset,
                len(body),
            )  # fmt: skip
        except struct.error:
            # A number has too many bits: give back what the record would have taken.
            self.log.give_back(size)
            if is_queued(sys_flag):
                self._assign_offsets(handle, -1)
            return _ILLEGAL
        self.log.parts += (packed, body, topic_part, len(properties).to_bytes(2, "big"), properties)
        self.entries.append(
            DispatchEntry(
                topic, queue_id, queue_offset, log_offset, size, message.tags_code, now_ms,
                sys_flag, message.keys,
            )
        )  # fmt: skip
        self.handles.append(handle)
        return PutResult(_OK, queue_offset, log_offset, size)

    def _copy(self, record: DispatchEntry, queues: list[ConsumeQueue]) -> None:
        """Add entries in other queues for the last record."""
        for queue in queues:
            self.entries.append(
                record._replace(
                    topic=queue.topic,
                    queue_id=queue.queue_id,
                    queue_offset=queue.next_offset,
                    keys=(),
                )
            )
            self.handles.append(queue)
            queue.next_offset += 1
        self.extra_count += len(queues)

    def put_run(self, run: PutRun, now_ms: int) -> RunResult:
        """Make records of all messages of a run, adjacent in one file, or of none of them.

        Raises:
            BadCall: the topic or the queue id cannot be part of a path.
            OSError: the next commit log file could not be made; nothing was taken.
        """
        copies: list[list[ConsumeQueue]] = [[]] * len(run.messages)
        if self._copies is not None:
            status, run, copies = self._copies.prepare_run(run)
            if status is not _OK:
                return RunResult(status, -1, [], 0)
        total = self._run_size(run)
        if not total:
            return _RUN_ILLEGAL
        self.log.make_room(total)
        results = []
        first = run.messages[0]
        # One object for all of them, because ``_append`` keeps none.
        message = PutMessage(
            topic=run.topic,
            topic_bytes=run.topic_bytes,
            queue_id=run.queue_id,
            body=first.body,
            properties=first.properties,
            sys_flag=run.sys_flag,
            born_ms=run.born_ms,
            born_host=run.born_host,
            store_host=run.store_host,
            reconsume_times=run.reconsume_times,
        )
        for each, queues in zip(run.messages, copies, strict=True):
            message.body, message.properties, message.flag, message.tags_code, message.keys = each
            results.append(self._append(message, now_ms))
            if results[0].status is not _OK:
                # Their numbers are those of the whole run, so the first one stands for all.
                return _RUN_ILLEGAL
            if queues and is_queued(run.sys_flag):
                self._copy(self.entries[-1], queues)
        log_offsets = [result.log_offset for result in results]
        return RunResult(_OK, results[0].queue_offset, log_offsets, total)

    def _assign_offsets(self, handle: QueueHandle, count: int) -> int:
        """Assign the next ``count`` offsets of a queue; return the first."""
        if isinstance(handle, int):
            return self.table.columns.assign_offsets(handle, count)
        handle.next_offset += count
        return handle.next_offset - count

    def _run_size(self, run: PutRun) -> int:
        """Return the size of the records of a run, 0 if the run cannot be stored."""
        _, head_size, _ = _HEADS[len(run.born_host), len(run.store_host)]
        other_size = head_size + len(run.topic_bytes) + 3
        total = 0
        for message in run.messages:
            size = other_size + len(message.body) + len(message.properties)
            if (
                size > self.size_max
                or len(message.body) > self._body_size_max
                or len(message.properties) > PROPERTIES_SIZE_MAX
            ):
                return 0
            total += size
        fits = len(run.topic_bytes) <= TOPIC_SIZE_V1_MAX and total <= self._run_size_max
        return total if fits else 0

    def take_unwritten(self) -> "PutGroup":
        """Return what was put since the last call, for the write that begins now."""
        count = len(self.entries) - self.extra_count
        taken = PutGroup(self.entries, self.handles, count)
        self.entries, self.handles = [], []
        self.put_count += count
        self.extra_count = 0
        return taken

    def undo(self, written: "PutGroup | None" = None) -> None:
        """Take back every log offset and queue offset assigned since the last ``take_unwritten``.

        Args:
            written: what a failed write should have stored, which is taken back as well.
        """
        if written is not None:
            self.put_count -= written.record_count
            self._give_back(written.entries, written.handles)
        self._give_back(self.entries, self.handles)
        self.log.undo_pending()
        self.entries, self.handles = [], []
        self.extra_count = 0

    def _give_back(self, entries: list[DispatchEntry], handles: list[QueueHandle]) -> None:
        for entry, handle in zip(entries, handles, strict=True):
            queue = self.table.at(handle) if isinstance(handle, int) else handle
            if queue is not None and is_queued(entry.sys_flag):
                queue.next_offset -= 1

"""Puts: each message becomes a record with its offsets in the log and in its queue.

    PutMessage ──> head | body | topic | properties ──> CommitLog.parts
               └─> DispatchEntry + its queue          ──> taken after the write

Rule: a message costs one struct pack and no system call. The record head is packed here with
the layout of ``storefmt``, and the parts of all messages of a write are joined once; a test
compares the bytes with ``storefmt.formats.message.encode_record``. Queue offsets are assigned
here and taken back if the write fails.

Source: store/CommitLog.java#doAppend, #encode; store/DefaultMessageStore.java#checkMessage.
"""

import struct
from collections.abc import Callable
from typing import Final, cast

from server.store.commitlog.log_files import CommitLog
from server.store.commitlog.multi_dispatch import Copies
from server.store.config import StoreConfig
from server.store.queues.queue import ConsumeQueue
from server.store.queues.queue_table import QueueTable, Taker
from server.store.results import (
    DispatchEntry,
    PutMessage,
    PutResult,
    PutRun,
    PutStatus,
    RunResult,
)
from storefmt.formats import layout
from storefmt.formats.message import BLANK_SIZE_MIN, CRC_MASK, MAGIC_V1, TOPIC_SIZE_V1_MAX, crc32
from storefmt.formats.properties import PROPERTIES_SIZE_MAX
from storefmt.formats.sysflag import (
    BORN_HOST_V6,
    HOSTS_V6,
    STORE_HOST_V6,
    TRANSACTION_COMMIT,
    TRANSACTION_MASK,
)

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
# The same for a run: the fields that all its records share are packed once, as one field.
_RUN_FRONT: Final = layout.MESSAGE.part("log_offset").struct()
_RUN_HEADS: Final = {
    hosts: struct.Struct(f"{_RUN_FRONT.format}{size - _RUN_FRONT.size - 4}si")
    for hosts, (_, size, _) in _HEADS.items()
}
_NOT_HOSTS: Final = ~HOSTS_V6
# Creating a named tuple this way takes half the time; each message needs two.
new_entry: Final = cast(
    "Callable[[type[DispatchEntry], tuple[object, ...]], DispatchEntry]", tuple.__new__
)
_new_result: Final = cast(
    "Callable[[type[PutResult], tuple[object, ...]], PutResult]", tuple.__new__
)
_OK: Final = PutStatus.PUT_OK
_ILLEGAL: Final = PutResult(PutStatus.MESSAGE_ILLEGAL, -1, -1, 0)
_RUN_ILLEGAL: Final = RunResult(PutStatus.MESSAGE_ILLEGAL, -1, [], 0)


def is_queued(sys_flag: int) -> bool:
    """Tell whether a record gets an entry in its queue: all except half and rollback do."""
    return sys_flag & TRANSACTION_MASK in (0, TRANSACTION_COMMIT)


class Appender:
    """The messages of one store that are put and not yet written."""

    def __init__(self, config: StoreConfig, log: CommitLog, table: QueueTable) -> None:
        self._log = log
        self._table = table
        self._queues = table.queues
        self._columns = table.columns
        self._run_size_max = log.file_size - BLANK_SIZE_MIN
        self.settings_changed(config)
        self.entries: list[DispatchEntry] = []
        """Entries of what was put since the last write, in log order."""
        self.takers: list[Taker] = []
        """The queue of each entry."""
        self.put_count = 0
        """Number of records stored since the start."""
        self.extra_count = 0
        """Pending entries that are not a record's own: copies, and fillers of gaps."""
        self._copies = Copies(config, table) if config.enable_multi_dispatch else None

    def settings_changed(self, config: StoreConfig) -> None:
        """Apply the current limits."""
        self._body_size_max = config.max_message_size
        self._size_max = min(config.record_size_max, self._run_size_max)

    def put(self, message: PutMessage, now_ms: int) -> PutResult:
        """Make a record of a message as ``append`` does, to be written with the next write.

        If other queues get copies of the message, its stored properties are set in it.

        Raises:
            BadCall: the topic or the queue id cannot be part of a path.
            OSError: the next commit log file could not be made; nothing was taken.
        """
        copies: list[ConsumeQueue] = []
        if self._copies is not None:
            status, copies = self._copies.prepare(message)
            if status is not _OK:
                return PutResult(status, -1, -1, 0)
        result = self.append(
            message.topic,
            message.topic_bytes,
            message.queue_id,
            message.body,
            message.properties,
            message.flag,
            message.sys_flag,
            message.born_ms,
            message.born_host,
            message.store_host,
            message.reconsume_times,
            message.prepared_transaction_offset,
            message.tags_code,
            message.keys,
            now_ms,
        )
        if copies and result.status is _OK and is_queued(message.sys_flag):
            self._copy(self.entries[-1], copies)
        return result

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
            self.takers.append(queue)
            queue.next_offset += 1
        self.extra_count += len(queues)

    # Arguments are positional: a ``PutMessage`` would cost more than the rest of the call.
    def append(
        self, topic: str, topic_bytes: bytes, queue_id: int, body: bytes, properties: bytes,
        flag: int, sys_flag: int, born_ms: int, born_host: bytes, store_host: bytes,
        reconsume_times: int, prepared_transaction_offset: int, tags_code: int,
        keys: tuple[str, ...], now_ms: int,
    ) -> PutResult:  # fmt: skip
        """Make a record of the fields of a ``PutMessage``.

        Args:
            now_ms: the store time; the other arguments are the fields of a ``PutMessage``.

        Raises:
            BadCall: the topic or the queue id cannot be part of a path.
            OSError: the next commit log file could not be made; nothing was taken.
        """
        taker: Taker | None = self._queues.get((topic, queue_id))
        if taker is None:
            if len(topic_bytes) > TOPIC_SIZE_V1_MAX:
                return _ILLEGAL
            taker = self._table.taker(topic, queue_id)
        # ``isinstance`` would take twice as long.
        if type(taker) is ConsumeQueue:
            topic_part = taker.topic_part
        else:
            topic_part = self._table.place(topic).part
        body_size, properties_size = len(body), len(properties)
        head, head_size, host_bits = _HEADS[len(born_host), len(store_host)]
        size = head_size + body_size + len(topic_part) + 2 + properties_size
        if properties_size > PROPERTIES_SIZE_MAX:
            return PutResult(PutStatus.PROPERTIES_SIZE_EXCEEDED, -1, -1, 0)
        if body_size > self._body_size_max or size > self._size_max:
            return _ILLEGAL
        sys_flag = sys_flag & _NOT_HOSTS | host_bits
        log_offset = self._log.place(size)
        queue_offset = 0
        if not sys_flag & TRANSACTION_MASK or is_queued(sys_flag):
            if type(taker) is ConsumeQueue:
                queue_offset = taker.next_offset
                taker.next_offset = queue_offset + 1
            else:
                queue_offset = self._columns.give(taker, 1)
        crc = crc32(body) & CRC_MASK
        self._log.parts += (
            head.pack(
                size, MAGIC_V1, crc, queue_id, flag, queue_offset, log_offset, sys_flag, born_ms,
                born_host, now_ms, store_host, reconsume_times, prepared_transaction_offset,
                body_size,
            ),
            body, topic_part, properties_size.to_bytes(2, "big"), properties,
        )  # fmt: skip
        entry = topic, queue_id, queue_offset, log_offset, size, tags_code, now_ms, sys_flag, keys
        self.entries.append(new_entry(DispatchEntry, entry))
        self.takers.append(taker)
        return _new_result(PutResult, (_OK, queue_offset, log_offset, size))

    def put_run(self, run: PutRun, now_ms: int) -> RunResult:
        """Make records of all messages of a run, adjacent in one file, or of none of them.

        It costs half as much per message as ``put``.

        Raises:
            BadCall: the topic or the queue id cannot be part of a path.
            OSError: the next commit log file could not be made; nothing was taken.
        """
        hosts = len(run.born_host), len(run.store_host)
        sizes = self._run_sizes(run, _HEADS[hosts][1] + len(run.topic_bytes) + 3)
        if not sizes:
            return _RUN_ILLEGAL
        topic, queue_id, log = run.topic, run.queue_id, self._log
        taker: Taker | None = self._queues.get((topic, queue_id))
        if taker is None:
            taker = self._table.taker(topic, queue_id)
        topic_part = self._table.place(topic).part
        pack = _RUN_HEADS[hosts].pack
        shared, sys_flag = _shared_head(run, now_ms)
        total = sum(sizes)
        log_offset = log.place(total)
        queued = 1 if is_queued(sys_flag) else 0
        add_entry, add_taker = self.entries.append, self.takers.append
        first = queue_offset = self._give(taker, len(sizes)) if queued else 0
        log_offsets: list[int] = []
        known_size, middle = -1, b""
        for size, (body, properties, flag, tags_code, keys) in zip(
            sizes, run.messages, strict=True
        ):
            crc = crc32(body) & CRC_MASK
            properties_size = len(properties)
            if properties_size != known_size:
                # The properties of a batch's messages mostly have the same length.
                known_size = properties_size
                middle = topic_part + properties_size.to_bytes(2, "big")
            log.parts += (
                pack(size, MAGIC_V1, crc, queue_id, flag, queue_offset, log_offset, shared,
                     len(body)),
                body, middle, properties,
            )  # fmt: skip
            entry = (
                topic, queue_id, queue_offset, log_offset, size, tags_code, now_ms, sys_flag, keys,
            )  # fmt: skip
            add_entry(new_entry(DispatchEntry, entry))
            add_taker(taker)
            log_offsets.append(log_offset)
            log_offset += size
            queue_offset += queued
        return RunResult(PutStatus.PUT_OK, first, log_offsets, total)

    def _give(self, taker: Taker, count: int) -> int:
        """Assign the next ``count`` offsets of a queue; return the first."""
        if isinstance(taker, int):
            return self._columns.give(taker, count)
        taker.next_offset += count
        return taker.next_offset - count

    def _run_sizes(self, run: PutRun, other_size: int) -> list[int]:
        """Return the size of each record of a run, [] if the run cannot be stored."""
        messages = run.messages
        sizes = [other_size + len(message[0]) + len(message[1]) for message in messages]
        if not sizes or len(run.topic_bytes) > TOPIC_SIZE_V1_MAX or sum(sizes) > self._run_size_max:
            return []
        largest = max(sizes)
        if largest > self._body_size_max and any(
            len(message.body) > self._body_size_max for message in messages
        ):
            return []
        if largest > PROPERTIES_SIZE_MAX and any(
            len(message.properties) > PROPERTIES_SIZE_MAX for message in messages
        ):
            return []
        return sizes if largest <= self._size_max else []

    def take(self) -> tuple[list[DispatchEntry], list[Taker]]:
        """Return the entries since the last call and their queues, once they are written."""
        taken = self.entries, self.takers
        self.entries, self.takers = [], []
        self.put_count += len(taken[0]) - self.extra_count
        self.extra_count = 0
        return taken

    def undo(self) -> None:
        """Take back every log offset and queue offset assigned since the last ``take``."""
        for entry, taker in zip(self.entries, self.takers, strict=True):
            queue = self._table.at(taker) if isinstance(taker, int) else taker
            if queue is not None and is_queued(entry.sys_flag):
                queue.next_offset -= 1
        self._log.undo_pending()
        self.entries, self.takers = [], []
        self.extra_count = 0


def _shared_head(run: PutRun, now_ms: int) -> tuple[bytes, int]:
    """Return the bytes between log offset and body size in every record, and the sys flag."""
    head, _, host_bits = _HEADS[len(run.born_host), len(run.store_host)]
    sys_flag = run.sys_flag & _NOT_HOSTS | host_bits
    packed: bytes = head.pack(
        0,
        MAGIC_V1,
        0,
        run.queue_id,
        0,
        0,
        0,
        sys_flag,
        run.born_ms,
        run.born_host,
        now_ms,
        run.store_host,
        run.reconsume_times,
        0,
        0,
    )
    return packed[_RUN_FRONT.size : -4], sys_flag

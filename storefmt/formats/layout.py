"""Declares every fixed layout of a store directory, once.

A layout is a list of fields; a field has a name, a kind (which gives its width), a unit and a
sentence. The codecs take their struct formats and sizes from here, and hexdump and
``docs/format.md`` print them. ``Layout.spans`` decodes any record directly from the declaration;
it is slow, and tests compare the fast codecs with it.

Rule: all integers are big endian and signed, and nothing is padded. A HOST is 4 address bytes and
an int32 port; it has 16 address bytes if the named bit of ``sys_flag`` is set. The field before a
BYTES field gives its length.

Source: store/CommitLog.java, store/ConsumeQueue.java, store/ConsumeQueueExt.java,
store/index/IndexFile.java, store/index/IndexHeader.java, store/StoreCheckpoint.java,
common/message/MessageDecoder.java (RocketMQ 4.9.7); store/queue/BatchConsumeQueue.java,
store/timer/Slot.java, TimerLog.java, TimerCheckpoint.java (5.3.3);
dledger/entry/DLedgerEntryCoder.java, store/file/MmapFileList.java (DLedger 0.3.1.2);
store/queue/RocksDBConsumeQueueTable.java, RocksDBConsumeQueueOffsetTable.java (5.4.0).
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, NamedTuple

from storefmt.errors import DamageKind, RecordDamaged
from storefmt.formats.sysflag import BORN_HOST_V6, STORE_HOST_V6

HOST_V4_SIZE: Final = 8
HOST_V6_SIZE: Final = 20
_PORT_SIZE: Final = 4


class FieldKind(Enum):
    """The encoding of a field; the value is the struct letter if there is one."""

    I8 = "b"
    I16 = "h"
    I32 = "i"
    I64 = "q"
    HOST = "host"
    BYTES = "bytes"


I8: Final = FieldKind.I8
I16: Final = FieldKind.I16
I32: Final = FieldKind.I32
I64: Final = FieldKind.I64
HOST: Final = FieldKind.HOST
BYTES: Final = FieldKind.BYTES


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its name in Python, its encoding, and its unit."""

    name: str
    kind: FieldKind
    unit: str
    doc: str
    v6_bit: int = 0
    """The bit of ``sys_flag`` that makes a HOST 20 bytes long."""


class FieldValue(NamedTuple):
    """One field found in bytes: its position and its value."""

    field: Field
    pos: int
    size: int
    value: int | bytes


@dataclass(frozen=True, slots=True)
class Layout:
    """A named list of fields, in the order of the bytes."""

    name: str
    doc: str
    fields: tuple[Field, ...]

    def part(self, last: str) -> "Layout":
        """Return the fields up to and including ``last`` as a layout of their own."""
        names = [field.name for field in self.fields]
        return replace(self, fields=self.fields[: names.index(last) + 1])

    def struct(self, *, v6: int = 0, only: tuple[str, ...] | None = None) -> struct.Struct:
        """Return the precompiled struct of a layout without BYTES fields.

        Args:
            v6: the HOST bits (as in ``sys_flag``) of the hosts that are 20 bytes long.
            only: the fields to unpack; the others are skipped. All when None.
        """
        letters = (
            _letter(field, v6) if only is None or field.name in only else f"{_width(field, v6, 0)}x"
            for field in self.fields
        )
        return struct.Struct(">" + "".join(letters))

    def numpy_fields(self, *, v6: int = 0) -> list[tuple[str, str]]:
        """Return the fields for ``numpy.dtype``: names and types, of a layout without BYTES.

        A HOST becomes two: its address, as bytes, and ``<name>_port``.

        Args:
            v6: as in ``struct``.
        """
        columns: list[tuple[str, str]] = []
        for field in self.fields:
            if field.kind is HOST:
                size = _width(field, v6, 0) - _PORT_SIZE
                columns += [(field.name, f"V{size}"), (f"{field.name}_port", ">i4")]
            else:
                columns.append((field.name, f">{_letter(field, v6)}"))
        return columns

    def spans(self, data: bytes, pos: int = 0) -> Iterator[FieldValue]:
        """Yield each field of the record at ``pos``, decoded straight from the declaration.

        Raises:
            RecordDamaged: the bytes end inside a field, or a length is negative.
        """
        start, sys_flag, length = pos, 0, 0
        for field in self.fields:
            size = _width(field, sys_flag, length)
            if size < 0 or pos + size > len(data):
                raise RecordDamaged(
                    f"{self.name} at byte {start}: {field.name} needs {size} bytes, "
                    f"{len(data) - pos} are left",
                    kind=DamageKind.TRUNCATED if size >= 0 else DamageKind.BAD_LENGTH,
                    pos=start,
                    field=field.name,
                    found=size,
                )
            raw = bytes(data[pos : pos + size])
            value = raw if field.kind in _OPAQUE else int.from_bytes(raw, "big", signed=True)
            if isinstance(value, int):
                length = value
                sys_flag = value if field.name == "sys_flag" else sys_flag
            yield FieldValue(field, pos, size, value)
            pos += size


_OPAQUE = (HOST, BYTES)


def _letter(field: Field, v6: int) -> str:
    if field.kind is HOST:
        return f"{HOST_V6_SIZE if v6 & field.v6_bit else HOST_V4_SIZE}s"
    if field.kind is BYTES:
        raise TypeError(f"{field.name} has no fixed width; take a part() that ends before it")
    letter: str = field.kind.value
    return letter


def _width(field: Field, sys_flag: int, length: int) -> int:
    if field.kind is BYTES:
        return length
    return struct.calcsize(">" + _letter(field, sys_flag))


MESSAGE: Final = Layout(
    "message record",
    "One message in the commit log, in a pull answer and in a query answer.",
    (
        Field("size", I32, "bytes", "the whole record, this field included"),
        Field("magic", I32, "", "daa320a7; daa320ab when topic_size is an int16 (5.x)"),
        Field("body_crc", I32, "", "CRC-32 of the stored body & 7fffffff; 0 when empty"),
        Field("queue_id", I32, "", "queue of the topic"),
        Field("flag", I32, "", "a number of the user's, which RocketMQ ignores"),
        Field("queue_offset", I64, "entries", "position in the consume queue"),
        Field("log_offset", I64, "bytes", "position of this record in the commit log"),
        Field("sys_flag", I32, "", "compression, transaction and host bits"),
        Field("born_ms", I64, "ms", "when the producer made it"),
        Field("born_host", HOST, "", "address and port of the producer", BORN_HOST_V6),
        Field("store_ms", I64, "ms", "when the broker stored it"),
        Field("store_host", HOST, "", "address and port of the broker", STORE_HOST_V6),
        Field("reconsume_times", I32, "deliveries", "how often it was sent back"),
        Field(
            "prepared_transaction_offset",
            I64,
            "bytes",
            "commit log position of the half message; 0 for none",
        ),
        Field("body_size", I32, "bytes", "length of the stored body"),
        Field("body", BYTES, "", "as the producer sent it, perhaps compressed"),
        Field("topic_size", I8, "bytes", "length of the topic"),
        Field("topic", BYTES, "", "UTF-8"),
        Field("properties_size", I16, "bytes", "length of the properties"),
        Field("properties", BYTES, "", "name 01 value 02 name 01 value …, UTF-8"),
    ),
)
MESSAGE_V2: Final = replace(
    MESSAGE,
    name="message record V2",
    doc="As a message record, for topics of more than 127 bytes (5.x).",
    fields=tuple(
        replace(field, kind=I16) if field.name == "topic_size" else field
        for field in MESSAGE.fields
    ),
)
BLANK: Final = Layout(
    "blank",
    "Fills the end of a commit log file that the next record did not fit into.",
    (
        Field("size", I32, "bytes", "from here to the end of the file"),
        Field("magic", I32, "", "cbd43194"),
    ),
)
BATCH_ENTRY: Final = Layout(
    "batch entry",
    "One message in the body of a batch send.",
    (
        Field("size", I32, "bytes", "the whole entry, this field included"),
        Field("magic", I32, "", "0, ignored"),
        Field("body_crc", I32, "", "0, ignored"),
        Field("flag", I32, "", "the user's own number"),
        Field("body_size", I32, "bytes", "length of the body"),
        Field("body", BYTES, "", ""),
        Field("properties_size", I16, "bytes", "length of the properties"),
        Field("properties", BYTES, "", "name 01 value 02 name 01 value …, UTF-8"),
    ),
)
CONSUME_QUEUE_ENTRY: Final = Layout(
    "consume queue entry",
    "Points at one record of the commit log.",
    (
        Field("log_offset", I64, "bytes", "position of the record in the commit log"),
        Field("size", I32, "bytes", "size of the record; 7fffffff in a filler"),
        Field("tags_code", I64, "", "hash of the tag, a due time, or an ext address"),
    ),
)
CONSUME_QUEUE_EXT_UNIT: Final = Layout(
    "consume queue ext unit",
    "What does not fit into a consume queue entry.",
    (
        Field("size", I16, "bytes", "the whole unit; -1 marks the end of the file"),
        Field("tags_code", I64, "", "hash of the tag"),
        Field("store_ms", I64, "ms", "when the message was stored"),
        Field("bit_map_size", I16, "bytes", "length of the bit map"),
        Field("bit_map", BYTES, "", "Bloom filter bits of the groups that match"),
    ),
)
INDEX_HEADER: Final = Layout(
    "index header",
    "The first 40 bytes of an index file.",
    (
        Field("begin_ms", I64, "ms", "store time of the first message"),
        Field("end_ms", I64, "ms", "store time of the last message"),
        Field("begin_log_offset", I64, "bytes", "the first message's position"),
        Field("end_log_offset", I64, "bytes", "the last message's position"),
        Field("slot_count", I32, "slots", "slots in use"),
        Field("entry_count", I32, "entries", "next free entry; starts at 1"),
    ),
)
INDEX_SLOT: Final = Layout(
    "index slot",
    "Head of one hash chain.",
    (Field("entry", I32, "", "number of the newest entry; 0 for an empty slot"),),
)
INDEX_ENTRY: Final = Layout(
    "index entry",
    "One key of one message.",
    (
        Field("key_hash", I32, "", "hash of topic#key, not negative"),
        Field("log_offset", I64, "bytes", "the message's position in the commit log"),
        Field("time_diff_s", I32, "s", "seconds after begin_ms of the header"),
        Field("previous", I32, "", "next older entry of the slot; 0 ends the chain"),
    ),
)
CHECKPOINT: Final = Layout(
    "checkpoint",
    "How far each part was flushed; the rest of the 4096 bytes is zero.",
    (
        Field("physic_ms", I64, "ms", "store time of the last flushed record"),
        Field("logics_ms", I64, "ms", "store time up to which queues are flushed"),
        Field("index_ms", I64, "ms", "store time up to which index files are flushed"),
        Field("master_flushed_offset", I64, "bytes", "what the master flushed (5.x; else 0)"),
        Field("confirm_offset", I64, "bytes", "what enough replicas have (5.x; else 0)"),
    ),
)
BATCH_QUEUE_ENTRY: Final = Layout(
    "batch consume queue entry",
    "Points at one record that counts as several messages (5.x topics with queue.type BatchCQ).",
    (
        Field("log_offset", I64, "bytes", "position of the record in the commit log"),
        Field("size", I32, "bytes", "size of the record"),
        Field("tags_code", I64, "", "hash of the tag"),
        Field("store_ms", I64, "ms", "when the record was stored"),
        Field("base_queue_offset", I64, "entries", "queue offset of its first message"),
        Field("message_count", I16, "messages", "messages in the record; 1 for a plain one"),
        Field("compacted_offset", I32, "bytes", "position in a compacted log; -1 for none"),
        Field("reserved", I32, "", "0"),
    ),
)
TIMER_SLOT: Final = Layout(
    "timer wheel slot",
    "One tick of the timer wheel (5.x): the chain of messages that are due then.",
    (
        Field("due_tick", I64, "ticks", "due time divided by the precision (1000 ms)"),
        Field("first_pos", I64, "bytes", "timer log position of the oldest unit; -1 for none"),
        Field("last_pos", I64, "bytes", "timer log position of the newest unit; -1 for none"),
        Field("message_count", I32, "messages", "due then, less those deleted"),
        Field("magic", I32, "", "0, ignored"),
    ),
)
TIMER_UNIT: Final = Layout(
    "timer log unit",
    "One message that entered the timer wheel (5.x).",
    (
        Field("size", I32, "bytes", "52"),
        Field("previous_pos", I64, "bytes", "position of the slot's older unit; -1 for none"),
        Field("magic", I32, "", "1, plus 2 to be rolled on, plus 4 for a deletion"),
        Field("enqueue_ms", I64, "ms", "tick in which it entered the wheel"),
        Field("delay_ms", I32, "ms", "due so long after enqueue_ms"),
        Field("log_offset", I64, "bytes", "its record of rmq_sys_wheel_timer"),
        Field("record_size", I32, "bytes", "size of that record"),
        Field("topic_hash", I32, "", "hash of the topic it will be delivered to"),
        Field("reserved", I64, "", "0"),
    ),
)
TIMER_BLANK: Final = Layout(
    "timer log blank",
    "Fills the end of a timer log file that the next unit did not fit into.",
    (
        Field("size", I32, "bytes", "from here to the end of the file"),
        Field("previous_pos", I64, "", "0"),
        Field("magic", I32, "", "cbd43194"),
    ),
)
TIMER_CHECKPOINT: Final = Layout(
    "timer checkpoint",
    "How far the timer got (config/timercheck, 5.x); of the rest of the 4096 bytes `mqbroker` "
    "uses 12.",
    (
        Field("last_read_ms", I64, "ms", "tick up to which messages were delivered"),
        Field("log_flush_pos", I64, "bytes", "timer log position that is on disk"),
        Field("queue_offset", I64, "entries", "of rmq_sys_wheel_timer: next one to enter"),
        Field("master_queue_offset", I64, "entries", "the same on the master"),
        Field("state_version", I64, "", "version of the state: which master"),
        Field("version_ms", I64, "ms", "when the version was raised last"),
        Field("version_counter", I64, "", "how often"),
    ),
)
DLEDGER_ENTRY: Final = Layout(
    "DLedger entry",
    "One entry of a Raft log; its body is a message record (dledger-<id>/data).",
    (
        Field("magic", I32, "", "1; ffffffff in the blank at the end of a file"),
        Field("size", I32, "bytes", "the whole entry, these fields included"),
        Field("entry_index", I64, "entries", "number of the entry, from 0 without gaps"),
        Field("term", I64, "", "Raft term of the leader that appended it"),
        Field("pos", I64, "bytes", "position of this entry in the log"),
        Field("channel", I32, "", "0, reserved"),
        Field("chain_crc", I32, "", "0, never computed"),
        Field("body_crc", I32, "", "0, never computed"),
        Field("body_size", I32, "bytes", "length of the body"),
        Field("body", BYTES, "", "a message record; its log_offset is pos + 48"),
    ),
)
DLEDGER_BLANK: Final = Layout(
    "DLedger blank",
    "Fills the end of a file of the Raft log that the next entry did not fit into.",
    (
        Field("magic", I32, "", "ffffffff"),
        Field("size", I32, "bytes", "from here to the end of the file"),
    ),
)
DLEDGER_INDEX: Final = Layout(
    "DLedger index entry",
    "Where the entry with this number lies (dledger-<id>/index, 32 bytes a number).",
    (
        Field("magic", I32, "", "that of the entry"),
        Field("pos", I64, "bytes", "position of the entry in the log"),
        Field("size", I32, "bytes", "size of the entry"),
        Field("entry_index", I64, "entries", "number of the entry"),
        Field("term", I64, "", "term of the entry"),
    ),
)
ROCKSDB_QUEUE_VALUE: Final = Layout(
    "consume queue entry in RocksDB",
    "The value of one entry of a consume queue (5.x, storeType=defaultRocksDB); its key has topic, "
    "queue id and queue offset.",
    (
        Field("log_offset", I64, "bytes", "position of the record in the commit log"),
        Field("size", I32, "bytes", "size of the record"),
        Field("tags_code", I64, "", "hash of the tag, or when a delayed message is due"),
        Field("store_ms", I64, "ms", "when the record was stored"),
    ),
)
ROCKSDB_OFFSET_VALUE: Final = Layout(
    "consume queue end in RocksDB",
    "The first or the last entry of a consume queue (5.x, column family offset).",
    (
        Field("log_offset", I64, "bytes", "position of its record in the commit log"),
        Field("queue_offset", I64, "entries", "its place in the queue"),
    ),
)
LAYOUTS: Final = (
    MESSAGE,
    MESSAGE_V2,
    BLANK,
    BATCH_ENTRY,
    CONSUME_QUEUE_ENTRY,
    CONSUME_QUEUE_EXT_UNIT,
    INDEX_HEADER,
    INDEX_SLOT,
    INDEX_ENTRY,
    CHECKPOINT,
    BATCH_QUEUE_ENTRY,
    TIMER_SLOT,
    TIMER_UNIT,
    TIMER_BLANK,
    TIMER_CHECKPOINT,
    DLEDGER_ENTRY,
    DLEDGER_BLANK,
    DLEDGER_INDEX,
    ROCKSDB_QUEUE_VALUE,
    ROCKSDB_OFFSET_VALUE,
)

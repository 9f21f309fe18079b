"""One message record: the bytes of the commit log, of pull answers and of query answers.

    0      4       8     12       16     20             28           36         40
    | size | magic | crc | queue_id | flag | queue_offset | log_offset | sys_flag |
    | born_ms | born_host | store_ms | store_host | reconsume_times |
    | prepared_transaction_offset | body_size | body | topic_size | topic |
    | properties_size | properties |

Rule: this module knows bytes and nothing about files. ``layout.MESSAGE`` declares the fields; the
functions here are on the broker's hot path, so encoding is one pack of the whole fixed head and
one join. The CRC covers only the stored (perhaps compressed) body, so a good CRC says nothing
about the other fields.

Source: store/CommitLog.java#doAppend, #checkMessageAndReturnSize,
common/message/MessageDecoder.java#decode (4.9.7); the V2 magic from 5.3.3.
"""

import struct
from collections.abc import Callable
from typing import Final, NamedTuple

from storefmt.errors import BadCall, DamageKind, RecordDamaged
from storefmt.formats import layout
from storefmt.formats.javahash import tags_code
from storefmt.formats.msgid import offset_id
from storefmt.formats.properties import (
    KEYS,
    PROPERTIES_SIZE_MAX,
    TAGS,
    UNIQUE_KEY,
    parse_properties,
    split_keys,
)
from storefmt.formats.sysflag import BORN_HOST_V6, HOSTS_V6, STORE_HOST_V6
from storefmt.kernels import load

try:
    # An eighth of zlib's time on a body of 1 KiB.
    from isal.isal_zlib import crc32 as crc32
except ImportError:
    from zlib import crc32 as crc32

MAGIC_V1: Final = 0xDAA320A7 - (1 << 32)
MAGIC_V2: Final = 0xDAA320AB - (1 << 32)
MAGIC_BLANK: Final = 0xCBD43194 - (1 << 32)
TOPIC_SIZE_V1_MAX: Final = 127
TOPIC_SIZE_V2_MAX: Final = 32767
_TOPIC_SIZES_MAX: Final = {MAGIC_V1: TOPIC_SIZE_V1_MAX, MAGIC_V2: TOPIC_SIZE_V2_MAX}
CRC_MASK: Final = 0x7FFFFFFF
CALENDAR_MS: Final = range(-62_135_596_800_000, 253_402_300_800_000)
"""Times in ms within the years 1 to 9999; a record with another time is damaged."""

# The head of each of the four combinations of hosts, by (sys_flag & HOSTS_V6) >> 4.
_HEADS: Final = tuple(layout.MESSAGE.part("body_size").struct(v6=bits << 4) for bits in range(4))
_HEAD_V4: Final = _HEADS[0]
_BLANK: Final = layout.BLANK.struct()
_I16: Final = struct.Struct(">h")
_TAIL_V1: Final = 1 + _I16.size
RECORD_SIZE_MIN: Final = _HEAD_V4.size + _TAIL_V1
"""Size in bytes of a record with IPv4 hosts and neither body, topic nor properties."""
BLANK_SIZE_MIN: Final = _BLANK.size
"""Bytes that a record must leave free at the end of its commit log file."""
_HOST_GROWTH: Final = layout.HOST_V6_SIZE - layout.HOST_V4_SIZE
# What encode_record needs of each: pack, size with the two small lengths, bits of sys_flag.
_ENCODERS: Final = {
    (8, 8): (_HEADS[0].pack, _HEADS[0].size + _TAIL_V1, 0),
    (20, 8): (_HEADS[1].pack, _HEADS[1].size + _TAIL_V1, BORN_HOST_V6),
    (8, 20): (_HEADS[2].pack, _HEADS[2].size + _TAIL_V1, STORE_HOST_V6),
    (20, 20): (_HEADS[3].pack, _HEADS[3].size + _TAIL_V1, HOSTS_V6),
}
_TOPIC_HEADS_V1: Final = tuple(size.to_bytes(1, "big") for size in range(TOPIC_SIZE_V1_MAX + 1))
_pack_i16: Final = _I16.pack
assert _HEAD_V4.size == 88
assert RECORD_SIZE_MIN == 91
assert BLANK_SIZE_MIN == 8


class Record(NamedTuple):
    """One decoded record; hosts are packed, the body is as stored.

    Offsets: ``queue_offset`` in entries, ``log_offset`` and
    ``prepared_transaction_offset`` in bytes; ``size`` is the whole record in bytes.
    """

    size: int
    magic: int
    body_crc: int
    queue_id: int
    flag: int
    queue_offset: int
    log_offset: int
    sys_flag: int
    born_ms: int
    born_host: bytes
    store_ms: int
    store_host: bytes
    reconsume_times: int
    prepared_transaction_offset: int
    body: bytes
    topic: str
    properties_raw: bytes

    @property
    def properties(self) -> dict[str, str]:
        """Parse and return the properties; keep the result when more than one is needed."""
        return parse_properties(self.properties_raw)

    @property
    def tags(self) -> str | None:
        """The tag, None without one."""
        return self.properties.get(TAGS)

    @property
    def keys(self) -> list[str]:
        """The user's keys, as the index has them: split at blanks, empty ones dropped."""
        return list(split_keys("", self.properties.get(KEYS, "")))

    @property
    def unique_key(self) -> str | None:
        """The id the producer gave, None where it gave none."""
        return self.properties.get(UNIQUE_KEY)

    @property
    def msg_id(self) -> str:
        """The offset message id: store host and log offset in upper-case hex."""
        return offset_id(self.store_host, self.log_offset)

    @property
    def tags_code(self) -> int:
        """Hash of the tag, 0 without; delay topic entries hold the due time instead."""
        return tags_code(self.tags)

    def encode(self) -> bytes:
        """Return the bytes of the record; ``size``, magic and host bits follow from its parts.

        Raises:
            BadCall: a part is too long, or a number does not fit into its field.
        """
        return encode_record(
            topic=self.topic.encode(),
            queue_id=self.queue_id,
            queue_offset=self.queue_offset,
            log_offset=self.log_offset,
            flag=self.flag,
            sys_flag=self.sys_flag,
            born_ms=self.born_ms,
            born_host=self.born_host,
            store_ms=self.store_ms,
            store_host=self.store_host,
            reconsume_times=self.reconsume_times,
            prepared_transaction_offset=self.prepared_transaction_offset,
            body=self.body,
            properties=self.properties_raw,
            body_crc=self.body_crc,
        )


DecodeGood = Callable[[bytes, bool], tuple[list[Record], int]]
"""Takes bytes and whether to check CRCs; returns the first records and the position after them.
It may stop before any record, and stops before a damaged one."""


def body_crc(data: bytes | memoryview) -> int:
    """Return the CRC that a record with this stored body holds; 0 for an empty one."""
    crc: int = crc32(data)
    return crc & CRC_MASK


def record_size(
    topic_size: int,
    body_size: int,
    properties_size: int,
    *,
    v6_born: bool = False,
    v6_store: bool = False,
) -> int:
    """Return the size in bytes of a record whose parts have these sizes in bytes."""
    size = RECORD_SIZE_MIN + topic_size + body_size + properties_size
    return size + _HOST_GROWTH * (v6_born + v6_store) + (1 if topic_size > TOPIC_SIZE_V1_MAX else 0)


def layout_of(magic: int) -> layout.Layout:
    """Return the layout of a record with this magic."""
    return layout.MESSAGE_V2 if magic == MAGIC_V2 else layout.MESSAGE


def blank(size: int) -> bytes:
    """Return the first 8 bytes of a blank that fills ``size`` bytes, 8 at least."""
    if size < BLANK_SIZE_MIN:
        raise BadCall(f"blank of {size} bytes; it needs {BLANK_SIZE_MIN} for its own head")
    return _BLANK.pack(size, MAGIC_BLANK)


def encode_record(
    *,
    topic: bytes,
    queue_id: int,
    queue_offset: int,
    log_offset: int,
    flag: int,
    sys_flag: int,
    born_ms: int,
    born_host: bytes,
    store_ms: int,
    store_host: bytes,
    reconsume_times: int,
    prepared_transaction_offset: int,
    body: bytes,
    properties: bytes,
    body_crc: int | None = None,
) -> bytes:
    """Return the bytes of one record.

    The lengths of the hosts decide the host bits of ``sys_flag``; the given bits are ignored. A
    topic of more than 127 bytes gets the V2 magic, which only 5.x reads. The parameters are the
    fields of the record: offsets and sizes as in ``Record``, times in ms.

    Args:
        topic: UTF-8 bytes.
        born_host: packed host, as is ``store_host``.
        body_crc: known CRC of ``body``; None to compute it.

    Raises:
        BadCall: a part is too long, or a number does not fit into its field.
    """
    topic_size, body_size, properties_size = len(topic), len(body), len(properties)
    try:
        pack, size, hosts = _ENCODERS[len(born_host), len(store_host)]
        size += topic_size + body_size + properties_size
        if topic_size <= TOPIC_SIZE_V1_MAX:
            magic, topic_head = MAGIC_V1, _TOPIC_HEADS_V1[topic_size]
        else:
            magic, topic_head, size = MAGIC_V2, _pack_i16(topic_size), size + 1
        head = pack(
            size,
            magic,
            crc32(body) & CRC_MASK if body_crc is None else body_crc,
            queue_id,
            flag,
            queue_offset,
            log_offset,
            sys_flag & ~HOSTS_V6 | hosts,
            born_ms,
            born_host,
            store_ms,
            store_host,
            reconsume_times,
            prepared_transaction_offset,
            body_size,
        )
        return b"".join((head, body, topic_head, topic, _pack_i16(properties_size), properties))
    except (struct.error, KeyError) as error:
        raise _unfit(topic, len(properties), (len(born_host), len(store_host)), error) from error


def _unfit(topic: bytes, properties_size: int, hosts: tuple[int, int], error: Exception) -> BadCall:
    return BadCall(
        f"message of topic {topic[:64]!r} cannot be a record ({error}): topic {len(topic)} of "
        f"{TOPIC_SIZE_V2_MAX} bytes, properties {properties_size} of {PROPERTIES_SIZE_MAX}, "
        f"hosts {hosts[0]} and {hosts[1]} of 8 or 20, other numbers of 32 or 64 bits"
    )


def decode_record(
    data: bytes | memoryview, pos: int = 0, *, check_crc: bool = True, shift: int = 0
) -> Record:
    """Return the record that starts at ``pos``; the bytes after it are ignored.

    Args:
        data: any bytes; the record must lie wholly within them.
        check_crc: compare the body with its CRC (an empty body is not, as in Java).
        shift: where ``data`` lies in what the reader of an error knows; added to ``pos`` there.

    Raises:
        RecordDamaged: with ``pos``, the field, and a ``DamageKind``.
    """
    if isinstance(data, bytes):
        return _decode(data, pos, shift, check_crc)
    # One copy of the record, so that the kernel slices bytes.
    size = int.from_bytes(data[pos : pos + 4], "big", signed=True)
    return _decode(bytes(data[pos : pos + max(size, RECORD_SIZE_MIN)]), 0, pos + shift, check_crc)


def decode_records(data: bytes | memoryview, *, check_crc: bool = True) -> list[Record]:
    """Return the records of a pull or query answer: one after the other, nothing else.

    Raises:
        RecordDamaged: one of them is damaged; ``pos`` is where it starts.
    """
    whole = bytes(data)
    records, pos = _decode_good(whole, check_crc)
    while pos < len(whole):
        record = _decode(whole, pos, 0, check_crc)
        records.append(record)
        pos += record[0]
    return records


def decode_good_pure(data: bytes, check_crc: bool) -> tuple[list[Record], int]:
    """Leave every record to the general decoder."""
    return [], 0


def _decode(data: bytes, pos: int, shift: int, check_crc: bool) -> Record:
    """Decode the record at ``pos``; positions in errors are larger by ``shift``."""
    head = _HEAD_V4
    try:
        fields = head.unpack_from(data, pos)
        if fields[7] & HOSTS_V6:
            head = _HEADS[(fields[7] & HOSTS_V6) >> 4]
            fields = head.unpack_from(data, pos)
    except struct.error:
        raise _misfit(data, pos, shift) from None
    size, magic = fields[0], fields[1]
    body_pos = pos + head.size
    body_end: int = body_pos + fields[14]
    end: int = pos + size
    if end > len(data) or body_end < body_pos or body_end + _TAIL_V1 > end:
        raise _misfit(data, pos, shift)
    if magic == MAGIC_V1:
        topic_pos = body_end + 1
        topic_size = data[body_end]
    elif magic == MAGIC_V2:
        topic_pos = body_end + 2
        topic_size = (data[body_end] << 8) | data[body_end + 1]
    else:
        raise _misfit(data, pos, shift)
    topic_end = topic_pos + topic_size
    properties_pos = topic_end + 2
    # Lengths are signed in the format: what has the top bit set is damage.
    if properties_pos > end or topic_size > _TOPIC_SIZES_MAX[magic]:
        raise _misfit(data, pos, shift)
    properties_size = (data[topic_end] << 8) | data[topic_end + 1]
    if properties_pos + properties_size != end or properties_size > PROPERTIES_SIZE_MAX:
        raise _misfit(data, pos, shift)
    body = data[body_pos:body_end]
    if check_crc and body and crc32(body) & CRC_MASK != fields[2]:
        raise _bad_crc(body, fields[2], pos + shift)
    try:
        topic = str(data[topic_pos:topic_end], "utf-8")
    except UnicodeDecodeError:
        raise _bad_topic(data[topic_pos:topic_end], pos + shift) from None
    return Record._make(fields[:14] + (body, topic, data[properties_pos:end]))  # noqa: RUF005


def _misfit(data: bytes, pos: int, shift: int) -> RecordDamaged:
    """Return the error that says why the bytes at ``pos`` are not a complete record."""
    left, shown_pos = len(data) - pos, pos + shift
    if left < _BLANK.size:
        return _damage(DamageKind.TRUNCATED, shown_pos, "size", left, RECORD_SIZE_MIN)
    size, magic = _BLANK.unpack_from(data, pos)
    if magic not in (MAGIC_V1, MAGIC_V2):
        magic_text = f"{magic & 0xFFFFFFFF:08x}"
        return _damage(DamageKind.BAD_MAGIC, shown_pos, "magic", magic_text, "daa320a7 or daa320ab")
    if size < RECORD_SIZE_MIN:
        return _damage(DamageKind.BAD_SIZE, shown_pos, "size", size, RECORD_SIZE_MIN)
    if size > left:
        return _damage(DamageKind.TRUNCATED, shown_pos, "size", left, size)
    used = 0
    try:
        for span in layout_of(magic).spans(data[pos : pos + size]):
            used += span.size
    except RecordDamaged as error:
        return _damage(DamageKind.BAD_LENGTH, shown_pos, error.field, error.found, size - used)
    return _damage(DamageKind.BAD_LENGTH, shown_pos, "size", size, used)


_SAYS: Final = {
    DamageKind.TRUNCATED: "{field}: {found} bytes are there, {expected} are needed",
    DamageKind.BAD_MAGIC: "magic is {found}, expected {expected}",
    DamageKind.BAD_SIZE: "size is {found}, a record has {expected} bytes at least",
    DamageKind.BAD_LENGTH: "{field} says {found} bytes, {expected} fit",
}


def _damage(
    kind: DamageKind, pos: int, field: str, found: int | str | None, expected: int | str
) -> RecordDamaged:
    text = _SAYS[kind].format(field=field, found=found, expected=expected)
    return RecordDamaged(
        f"record at byte {pos}: {text}; run `mqadmin store verify` on a copy of the store",
        kind=kind,
        pos=pos,
        field=field,
        found=found,
        expected=expected,
    )


def _bad_crc(body: bytes, expected: int, pos: int) -> RecordDamaged:
    crc = body_crc(body)
    return RecordDamaged(
        f"record at byte {pos}: body of {len(body)} bytes has crc {crc:08x}, body_crc says "
        f"{expected & 0xFFFFFFFF:08x}; decode without the crc check to see the body",
        kind=DamageKind.BAD_CRC,
        pos=pos,
        field="body",
        found=crc,
        expected=expected,
    )


def _bad_topic(raw: bytes, pos: int) -> RecordDamaged:
    return RecordDamaged(
        f"record at byte {pos}: topic {raw!r} is not UTF-8; the record's lengths are damaged "
        "or its topic is",
        kind=DamageKind.BAD_TEXT,
        pos=pos,
        field="topic",
        found=raw.hex(),
    )


_decode_good: Final[DecodeGood] = load(
    "storefmt.formats.message_kernel", "decode_compiled", pure=decode_good_pure
)
"""The fast decoder in use."""

"""Targets of ``storefmt``: every format of a store directory, and what is read out of it."""

import struct
from collections.abc import Callable, Iterator

from storefmt.errors import RecordDamaged, StoreError
from storefmt.formats import consumequeue, consumequeue_ext, dledger, index
from storefmt.formats.batch import join_batch, split_batch
from storefmt.formats.checkpoint import Checkpoint
from storefmt.formats.hosts import host_text
from storefmt.formats.layout import LAYOUTS
from storefmt.formats.message import Record, decode_record, decode_records
from storefmt.formats.msgid import decode_unique_id, parse_offset_id
from storefmt.formats.properties import format_properties, hashmap_order, parse_properties
from storefmt.formats.scan import Blank, Damage, End, scan_items, scan_log, scan_pure
from storefmt.formats.sysflag import COMPRESSED, Compression, inflate
from storefmt.formats.timer import TimerCheckpoint
from storefmt.kernels import forms
from storefmt.names import kind_of
from storefmt.offline.analyse.message_history import describe
from tests.fuzz.seeds import golden_records, java_files, store_files
from tests.fuzz.target import Target

BODY_SIZE_MAX = 1 << 20
DEFECTS = (StoreError,)


def reader(data: bytes) -> Callable[[int, int], bytes]:
    return lambda pos, size: data[pos : pos + size]


def look_at(record: Record) -> None:
    """Ask a record for everything that it can tell."""
    found = record.properties
    assert parse_properties(format_properties(found)) == found
    assert sorted(hashmap_order(list(found))) == sorted(found)
    _ = record.tags, record.keys, record.unique_key, record.tags_code, record.msg_id
    assert parse_offset_id(record.msg_id) == (record.store_host, record.log_offset)
    assert host_text(record.born_host)
    assert describe(record).kind is kind_of(record.topic)


def read_record(data: bytes) -> None:
    record = decode_record(data)
    assert decode_record(data, check_crc=False) == record
    assert decode_records(data[: record.size]) == [record]
    look_at(record)
    inflate(record.body, record.sys_flag, size_max=BODY_SIZE_MAX)


def read_answer(data: bytes) -> None:
    """Decode the records of an answer: a kernel takes what is good, and stops before damage."""
    for check_crc in (False, True):
        wanted, refused = _one_by_one(data, check_crc)
        for name, decode in forms("decode_compiled").items():
            found, pos = decode(data, check_crc)
            assert found == ([] if name == "pure" else wanted)
            assert pos == sum(record.size for record in found)
            assert name == "pure" or refused == (pos < len(data))
    decode_records(data)


def _one_by_one(data: bytes, check_crc: bool) -> tuple[list[Record], bool]:
    found: list[Record] = []
    pos = 0
    while pos < len(data):
        try:
            found.append(decode_record(data, pos, check_crc=check_crc))
        except RecordDamaged:
            return found, True
        pos += found[-1].size
    return found, False


def read_log(data: bytes) -> None:
    """Walk a file of records: no byte is passed over, and all readers agree."""
    view = memoryview(data)
    for check_crc in (False, True):
        found = scan_log(data, 0, len(data), check_crc=check_crc)
        assert found == scan_pure(view, 0, len(data), check_crc)
    pos, starts = 0, []
    for item in scan_items(reader(data), base=0, size=len(data)):
        if isinstance(item, Record):
            assert decode_record(data, pos) == item
            starts.append(pos)
            pos += item.size
        elif isinstance(item, Damage):
            assert item.pos == pos
            assert item.size > 0
            pos += item.size
        else:
            assert isinstance(item, Blank | End)
            assert item.pos == pos
            pos = len(data)
    assert pos == len(data)
    whole = list(found[0])
    assert starts[: len(whole)] == whole or any(_refused(data, start) for start in whole)


def _refused(data: bytes, start: int) -> bool:
    # A scan looks at sizes and CRCs alone: lengths inside and topics are the decoder's.
    try:
        decode_record(data, start)
    except RecordDamaged:
        return True
    return False


def read_batch(data: bytes) -> None:
    entries = split_batch(data)
    assert split_batch(join_batch(entries)) == entries


def read_queue(data: bytes) -> None:
    entries = consumequeue.decode_entries(data)
    assert b"".join(consumequeue.CQ_ENTRY.pack(*entry) for entry in entries) == data
    for entry in entries:
        if consumequeue.is_ext_address(entry.tags_code):
            there = consumequeue.ext_offset(entry.tags_code)
            assert consumequeue.ext_address(there) == entry.tags_code


def read_ext(data: bytes) -> None:
    for pos, unit in consumequeue_ext.decode_units(data):
        assert consumequeue_ext.encode_unit(unit) == data[pos : pos + unit.size]


def read_index(data: bytes) -> None:
    header = index.IndexHeader.decode(data)
    rest = data[index.HEADER.size :]
    count = len(rest) // index.ENTRY.size

    def entry(number: int) -> index.IndexEntry:
        return index.IndexEntry.decode(rest[(number - 1) * 20 : number * 20])

    for first in range(1, count + 1):
        chain = index.walk_chain(first, read_entry=entry, entry_count=count + 1)
        index.select_offsets(
            chain,
            key_hash=header.slot_count,
            begin_ms=header.begin_ms,
            query_begin_ms=0,
            query_end_ms=1 << 62,
            count_max=64,
        )


def read_checkpoint(data: bytes) -> None:
    found = Checkpoint.decode(data)
    assert Checkpoint.decode(found.encode()) == found


def read_timer_checkpoint(data: bytes) -> None:
    TimerCheckpoint.decode(data)


def read_dledger(data: bytes) -> None:
    for pos, item in dledger.walk_entries(reader(data), base=0, size=len(data)):
        if isinstance(item, dledger.DledgerEntry):
            assert data[pos : pos + item.size].endswith(item.body)
            record = item.record()
            if record is not None:
                look_at(record)


def read_properties(data: bytes) -> None:
    found = parse_properties(data)
    assert parse_properties(format_properties(found)) == found
    assert sorted(hashmap_order(list(found))) == sorted(found)


def read_ids(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for decode in (decode_unique_id, parse_offset_id):
        decode(text)


CODECS = (*Compression, None)


def read_body(data: bytes) -> None:
    codec = CODECS[data[0] % len(CODECS)] if data else None
    flag = 0 if codec is None else COMPRESSED | codec
    assert len(inflate(data[1:], flag, size_max=BODY_SIZE_MAX)) <= BODY_SIZE_MAX


def read_layouts(data: bytes) -> None:
    """Name every byte, as the hexdump does."""
    if data:
        declared = LAYOUTS[data[0] % len(LAYOUTS)]
        end = 1
        for span in declared.spans(data, 1):
            assert span.pos == end
            end += span.size
        assert end <= len(data)


def _logs() -> Iterator[bytes]:
    yield from golden_records()
    for end in (bytes(40), struct.pack(">ii", 64, -875286124).ljust(64, b"\0")):
        yield from (record + end for record in golden_records()[::20])


def _answers() -> Iterator[bytes]:
    records = golden_records()
    yield from (b"".join(records[at : at + 3]) for at in range(0, len(records), 3))


def _bodies() -> Iterator[bytes]:
    plain = b"a body that has some words in it, a body of words" * 3
    import zlib

    import lz4.frame
    import zstandard

    for number, codec in enumerate(CODECS):
        pack = {
            Compression.LZ4: lz4.frame.compress,
            Compression.ZSTD: zstandard.compress,
            Compression.ZLIB: zlib.compress,
            None: bytes,
        }[codec]
        yield bytes([number]) + pack(plain)


def _ids() -> Iterator[bytes]:
    for record in golden_records()[::10]:
        found = decode_record(record)
        yield found.msg_id.encode()
        yield (found.unique_key or "").encode()


def store_targets() -> list[Target]:
    """Return the targets of the binary formats."""
    records = golden_records
    return [
        Target("record", read_record, DEFECTS, records),
        Target("answer", read_answer, DEFECTS, _answers),
        Target("log", read_log, DEFECTS, _logs),
        Target("batch", read_batch, DEFECTS, _batches),
        Target("queue", read_queue, DEFECTS, lambda: store_files("consumequeue/*/*/*", size=100)),
        Target("ext", read_ext, DEFECTS, lambda: store_files("consumequeue_ext/*/*/*", size=200)),
        Target("index", read_index, DEFECTS, _indexes),
        Target("checkpoint", read_checkpoint, DEFECTS, lambda: store_files("checkpoint", size=64)),
        Target(
            "timer",
            read_timer_checkpoint,
            DEFECTS,
            lambda: store_files("config/timercheck", size=64),
        ),
        Target("dledger", read_dledger, DEFECTS, lambda: java_files("dledger", "/data/")),
        Target("properties", read_properties, DEFECTS, _property_texts),
        Target("ids", read_ids, DEFECTS, _ids),
        Target("body", read_body, DEFECTS, _bodies),
        Target("layouts", read_layouts, DEFECTS, _layouts),
    ]


def _batches() -> Iterator[bytes]:
    yield join_batch([])
    for record in golden_records()[::20]:
        found = decode_record(record)
        yield join_batch([(found.flag, found.body[:200], found.properties_raw)] * 2)


def _indexes() -> Iterator[bytes]:
    for data in store_files("index/*", size=22040):
        yield data[:40] + data[2040:2340]


def _property_texts() -> Iterator[bytes]:
    return (decode_record(record).properties_raw for record in golden_records())


def _layouts() -> Iterator[bytes]:
    record = golden_records()[0]
    return (bytes([number]) + record for number in range(len(LAYOUTS)))

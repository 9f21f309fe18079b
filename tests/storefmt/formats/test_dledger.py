"""DLedger entries equal what the real 4.9.7 broker store with DLedger 0.3.1.2 wrote."""

from pathlib import Path

import pytest
from hypothesis import given

from storefmt.errors import DamageKind, RecordDamaged
from storefmt.formats import layout
from storefmt.formats.consumequeue import decode_entries
from storefmt.formats.dledger import (
    HEAD_SIZE,
    MAGIC_BLANK,
    MAGIC_NOOP,
    DledgerBlank,
    DledgerEntry,
    decode_entry,
    find_directories,
    walk_entries,
)
from storefmt.formats.message import RECORD_SIZE_MIN
from tests.storefmt.broken import ANY_BYTES, FUZZ, every_cut, every_flip, survives
from tests.storefmt.vectors import expected_of, files_of, raft_entries, unpack

FILE_SIZE = 2048
HEAD = layout.DLEDGER_ENTRY.part("body_size").struct()
BLANK = layout.DLEDGER_BLANK.struct()


def data_files() -> dict[int, bytes]:
    found = files_of("dledger")
    return {int(Path(p).name): data for p, data in found.items() if p.startswith("dledger-n0/data")}


def first() -> DledgerEntry:
    return raft_entries()[0]


def first_raw() -> bytes:
    return data_files()[0][: first().size]


def blank(size: int) -> bytes:
    return BLANK.pack(MAGIC_BLANK, size)


def walk(data: bytes, base: int = 0) -> list:
    return list(walk_entries(lambda at, size: data[at : at + size], base=base, size=len(data)))


def test_every_record_inside_is_the_one_that_java_put() -> None:
    java = expected_of("dledger")
    entries = raft_entries()
    records = [entry.record() for entry in entries]
    puts = len(java["puts"])

    assert [
        [record.log_offset, record.size, record.queue_offset] for record in records[:puts] if record
    ] == java["puts"]
    assert [record.msg_id for record in records[puts:] if record] == java["batch_ids"]
    assert [entry.entry_index for entry in entries] == list(range(puts + 5))
    assert {(entry.term, entry.chain_crc, entry.body_crc) for entry in entries} == {(0, 0, 0)}
    assert entries[-1].pos + entries[-1].size == java["log_max"]


def test_entries_cover_a_file_without_gaps() -> None:
    for base, data in data_files().items():
        end = 0
        for pos, item in walk(data, base):
            assert pos == end
            end += item.size
            if isinstance(item, DledgerEntry):
                fields = (*item[:8], len(item.body))
                assert HEAD.pack(*fields) + item.body == data[pos:end]
            else:
                assert blank(item.size).ljust(item.size, b"\0") == data[pos:end]
        assert data[end:] == bytes(FILE_SIZE - end)


def test_full_files_end_with_a_blank_and_the_newest_with_zeros() -> None:
    ends = [walk(data, base)[-1][1] for base, data in sorted(data_files().items())]

    assert all(isinstance(end, DledgerBlank) for end in ends[:-1])
    assert isinstance(ends[-1], DledgerEntry)


def test_index_says_where_each_entry_lies() -> None:
    data = files_of("dledger")["dledger-n0/index/00000000000000000000"]
    index = [
        layout.DLEDGER_INDEX.struct().pack(e.magic, e.pos, e.size, e.entry_index, e.term)
        for e in raft_entries()
    ]

    assert b"".join(index).ljust(len(data), b"\0") == data


@pytest.mark.parametrize("queue_id", [0, 1])
def test_consume_queues_point_at_the_record_inside(queue_id: int) -> None:
    data = files_of("dledger")[f"consumequeue/dl-topic/{queue_id}/{0:020d}"]
    by_offset = {entry.record_offset: entry.record() for entry in raft_entries()}

    entries = [entry for entry in decode_entries(data) if not entry.is_free]

    assert len(entries) == expected_of("dledger")["queue_max"][queue_id]
    for number, entry in enumerate(entries):
        record = by_offset[entry.log_offset]
        assert record.size == entry.size
        assert record.tags_code == entry.tags_code
        assert record.queue_id == queue_id
        assert record.queue_offset == number


def test_directory_of_a_member_is_found(tmp_path: Path) -> None:
    root = unpack("dledger", tmp_path)
    (root / "dledger-empty").mkdir()
    (root / "dledger-file").write_text("")

    (found,) = find_directories(root)

    assert found == root / "dledger-n0" / "data"
    assert sorted(path.name for path in found.iterdir()) == [
        f"{base:020d}" for base in range(0, 4 * FILE_SIZE, FILE_SIZE)
    ]


def test_entry_equals_the_declared_layout() -> None:
    entry = first()

    spans = [span.value for span in layout.DLEDGER_ENTRY.spans(first_raw())]

    assert spans == [*entry[:8], len(entry.body), entry.body]
    assert decode_entry(first_raw() + b"xx", shift=2) == entry
    assert entry.size == HEAD_SIZE + len(entry.body)


def test_entry_of_the_group_itself_holds_no_record() -> None:
    noop = DledgerEntry(MAGIC_NOOP, HEAD_SIZE, 3, 1, 0, 0, 0, 0, b"")

    assert decode_entry(HEAD.pack(*noop[:8], 0)) == noop
    assert noop.record() is None


def test_cut_entry_is_damage_at_every_byte() -> None:
    raw = first_raw()

    for cut in every_cut(raw)[4:]:
        with pytest.raises(RecordDamaged) as caught:
            decode_entry(cut)
        assert caught.value.kind == DamageKind.TRUNCATED
        with pytest.raises(RecordDamaged):
            walk(cut)


def test_entry_elsewhere_than_it_says_is_damage() -> None:
    raw = data_files()[0]

    with pytest.raises(RecordDamaged) as caught:
        walk(raw, base=8)

    assert caught.value.kind == DamageKind.OFFSET_MISMATCH
    assert caught.value.field == "pos"


def test_damage_names_the_position_in_the_file() -> None:
    (first_pos, _), (second_pos, _), *_ = walk(data_files()[0])
    raw = bytearray(data_files()[0])
    raw[second_pos] = 7

    with pytest.raises(RecordDamaged, match=f"at byte {second_pos}: bad magic") as caught:
        walk(bytes(raw))

    assert first_pos == 0
    assert caught.value.pos == second_pos


def test_record_that_lies_elsewhere_or_is_too_short_is_damage() -> None:
    entry = first()

    with pytest.raises(RecordDamaged, match="offset mismatch"):
        entry._replace(pos=entry.pos + 1).record()
    with pytest.raises(RecordDamaged, match="bad length"):
        entry._replace(body=entry.body + b"x").record()


def test_blank_that_does_not_reach_the_end_is_damage() -> None:
    with pytest.raises(RecordDamaged) as caught:
        walk(blank(9).ljust(10, b"\0"))

    assert caught.value.kind == DamageKind.BAD_SIZE
    assert caught.value.expected == 10


def test_entry_too_large_to_be_one_is_not_read() -> None:
    raw = first_raw()[:4] + (1 << 30).to_bytes(4, "big") + bytes(100)
    asked: list[int] = []

    def read(pos: int, size: int) -> bytes:
        asked.append(size)
        return raw[pos : pos + size]

    with pytest.raises(RecordDamaged):
        list(walk_entries(read, base=0, size=1 << 31))
    assert max(asked) <= HEAD_SIZE


@pytest.mark.parametrize(
    "raw",
    [
        blank(8)[:4] + bytes(4),
        (1).to_bytes(4, "big") + (HEAD_SIZE + RECORD_SIZE_MIN - 1).to_bytes(4, "big") + bytes(200),
        (4).to_bytes(4, "big") + (200).to_bytes(4, "big") + bytes(200),
        b"\0\0\0\1",
    ],
)
def test_sizes_and_magics_that_cannot_be_are_damage(raw: bytes) -> None:
    with pytest.raises(RecordDamaged):
        decode_entry(raw)


def test_every_flipped_bit_is_an_entry_or_damage() -> None:
    def decode(data: bytes) -> None:
        for _, item in walk(data):
            if isinstance(item, DledgerEntry):
                item.record()

    for broken in every_flip(first_raw() + blank(8)):
        survives(decode, broken)


@FUZZ
@given(ANY_BYTES)
def test_any_bytes_are_entries_or_damage(data: bytes) -> None:
    survives(walk, data)

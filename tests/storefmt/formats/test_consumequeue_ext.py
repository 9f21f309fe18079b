"""Ext units equal what Java reads through the queue entries that point at them."""

import pytest

from storefmt.errors import BadCall, RecordDamaged
from storefmt.formats import layout
from storefmt.formats.consumequeue import ext_offset
from storefmt.formats.consumequeue_ext import (
    END_OF_FILE,
    ExtUnit,
    decode_unit,
    decode_units,
    encode_unit,
)

UNIT = ExtUnit(-7, 1795234970333, b"\x01\x02\x03")


@pytest.mark.parametrize("name", ["kinds", "kinds-lmq"])
def test_every_golden_unit_equals_what_java_read(corpus, name: str) -> None:
    store = corpus(name)
    checked = 0

    for queue, found in store.expected["open"]["queues"].items():
        topic, _, queue_id = queue.rpartition("@")
        directory = store.root / "consumequeue_ext" / topic / queue_id
        if not directory.is_dir() or "list" not in found:
            continue
        files = {int(path.name): path.read_bytes() for path in directory.iterdir()}
        for entry in found["list"]:
            if len(entry) < 8:
                continue
            offset = ext_offset(entry[3])
            base = max(start for start in files if start <= offset)
            unit = decode_unit(files[base], offset - base)
            assert [unit.tags_code, unit.store_ms, unit.bit_map.hex() or None, unit.size] == (
                entry[4:8]
            )
            assert encode_unit(unit) == files[base][offset - base :][: unit.size]
            checked += 1

    assert checked > 100


def test_unit_equals_the_declared_layout() -> None:
    raw = encode_unit(UNIT)

    spans = [span.value for span in layout.CONSUME_QUEUE_EXT_UNIT.spans(raw)]

    assert spans == [23, -7, 1795234970333, 3, b"\x01\x02\x03"]
    assert decode_unit(b"xx" + raw, 2) == UNIT


def test_units_of_a_file_end_at_its_mark_or_at_free_space() -> None:
    raw = encode_unit(UNIT)

    for end in (b"", END_OF_FILE, END_OF_FILE + bytes(30), bytes(30)):
        assert list(decode_units(raw * 2 + end)) == [(0, UNIT), (23, UNIT)]


def test_cut_unit_is_damage_at_every_byte() -> None:
    raw = encode_unit(UNIT)

    for size in range(2, len(raw)):
        with pytest.raises(RecordDamaged):
            decode_unit(raw[:size])


@pytest.mark.parametrize(("pos", "value"), [(1, 19), (1, 24), (0, 0x80), (19, 2), (18, 0x80)])
def test_sizes_that_do_not_agree_are_damage(pos: int, value: int) -> None:
    raw = bytearray(encode_unit(UNIT) + bytes(10))
    raw[pos] = value

    with pytest.raises(RecordDamaged):
        decode_unit(bytes(raw))


def test_bit_map_that_does_not_fit_is_refused() -> None:
    with pytest.raises(BadCall, match="32748"):
        encode_unit(ExtUnit(0, 0, bytes(32748)))

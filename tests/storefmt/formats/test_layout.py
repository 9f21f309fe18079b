"""The declared layouts have the sizes that RocketMQ documents."""

import pytest

from storefmt.errors import DamageKind, RecordDamaged
from storefmt.formats import layout

SIZES = {
    "blank": 8,
    "consume queue entry": 20,
    "index header": 40,
    "index slot": 4,
    "index entry": 20,
    "checkpoint": 40,
}


def test_fixed_layouts_have_their_sizes() -> None:
    fixed = {found.name: found for found in layout.LAYOUTS if found.name in SIZES}

    assert {name: found.struct().size for name, found in fixed.items()} == SIZES


@pytest.mark.parametrize(("v6", "size"), [(0, 88), (0x10, 100), (0x20, 100), (0x30, 112)])
def test_head_of_a_record_grows_with_its_hosts(v6: int, size: int) -> None:
    head = layout.MESSAGE.part("body_size")

    assert head.struct(v6=v6).size == size
    assert head.struct(v6=v6, only=("size", "body_size")).size == size
    assert len(head.struct(v6=v6, only=("size", "body_size")).unpack(bytes(size))) == 2


def test_every_field_is_explained_and_named_once() -> None:
    for found in layout.LAYOUTS:
        names = [field.name for field in found.fields]
        assert len(names) == len(set(names))
        assert all(field.doc or field.kind is layout.BYTES for field in found.fields)


def test_spans_lie_one_after_the_other() -> None:
    raw = bytes.fromhex("00000000000000020000001e00000000000000aa")

    spans = list(layout.CONSUME_QUEUE_ENTRY.spans(b"xx" + raw, 2))

    assert [(span.pos, span.size, span.value) for span in spans] == [
        (2, 8, 2),
        (10, 4, 30),
        (14, 8, 170),
    ]


def test_spans_of_cut_bytes_name_the_field() -> None:
    with pytest.raises(RecordDamaged) as caught:
        list(layout.BLANK.spans(bytes(6)))

    assert caught.value.kind == DamageKind.TRUNCATED
    assert caught.value.field == "magic"


def test_layout_with_variable_fields_has_no_struct() -> None:
    with pytest.raises(TypeError, match="body has no fixed width"):
        layout.MESSAGE.struct()


@pytest.mark.parametrize("v6", [0, 0x10, 0x20, 0x30])
def test_numpy_reads_what_the_struct_reads(v6: int) -> None:
    numpy = pytest.importorskip("numpy")
    for found in (layout.MESSAGE.part("body_size"), layout.INDEX_ENTRY, layout.TIMER_UNIT):
        dtype = numpy.dtype(found.numpy_fields(v6=v6))
        data = bytes(range(dtype.itemsize))
        (row,) = numpy.frombuffer(data, dtype)

        assert dtype.itemsize == found.struct(v6=v6).size
        for field, value in zip(found.fields, found.struct(v6=v6).unpack(data), strict=True):
            if field.kind is layout.HOST:
                assert row[field.name].tobytes() == value[:-4]
                assert row[f"{field.name}_port"] == int.from_bytes(value[-4:], "big", signed=True)
            else:
                assert row[field.name] == value

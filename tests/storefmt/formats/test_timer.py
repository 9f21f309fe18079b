"""The timer's files equal what the real 5.4.0 classes wrote and read."""

import pytest
from hypothesis import given

from storefmt.errors import BadCall, DamageKind, RecordDamaged
from storefmt.formats import layout
from storefmt.formats.javahash import string_hash
from storefmt.formats.message import decode_record
from storefmt.formats.timer import (
    PRECISION_MS,
    SLOT_SIZE,
    UNIT_SIZE,
    WHEEL_SLOT_COUNT,
    TimerBlank,
    TimerCheckpoint,
    TimerSlot,
    TimerUnit,
    decode_slots,
    decode_unit,
    decode_units,
    encode_blank,
    encode_slot,
    encode_unit,
    slot_index,
    walk_slot,
)
from tests.storefmt.broken import ANY_BYTES, FUZZ, every_cut, every_flip, survives
from tests.storefmt.vectors import expected_of, files_of

UNIT = TimerUnit(52, 468, 5, 1795236598000, 700000, 52416, 424, 684920439)
SLOT = TimerSlot(1795237298, 468, 520, 0)
TIMER = ("timer", "wheelSlots_index_time_firstPos_lastPos_num_magic")
LOG = "timerlog_pos_size_prevPos_magic_enqueueTime_delay_offsetPy_sizePy_hashRealTopic"


@pytest.fixture(scope="module")
def java(corpus) -> dict:
    return corpus("v5").expected["open5"]["timer"]


@pytest.fixture(scope="module")
def wheel(corpus) -> list[tuple[int, TimerSlot]]:
    return list(decode_slots((corpus("v5").root / "timerwheel").read_bytes()))


@pytest.fixture(scope="module")
def log(corpus) -> bytes:
    return (corpus("v5").root / "timerlog" / f"{0:020d}").read_bytes()


def test_golden_slots_equal_what_java_read(java, wheel) -> None:
    assert [[number, *slot] for number, slot in wheel] == java[TIMER[1]]
    assert java["wheelLength"] == WHEEL_SLOT_COUNT * SLOT_SIZE
    for number, slot in wheel:
        assert slot_index(slot.due_ms(), slot_count=WHEEL_SLOT_COUNT) == number


def test_golden_units_equal_what_java_read(java, log: bytes) -> None:
    units = list(decode_units(log))

    assert [[pos, *unit[:8]] for pos, unit in units] == java[LOG]
    assert b"".join(encode_unit(unit) for _, unit in units) == log[: len(units) * UNIT_SIZE]


def test_golden_unit_points_at_the_waiting_record(corpus, log: bytes) -> None:
    data = (corpus("v5").root / "commitlog" / f"{0:020d}").read_bytes()

    for _, unit in decode_units(log):
        record = decode_record(data, unit.log_offset)
        assert record.topic == "rmq_sys_wheel_timer"
        assert record.size == unit.record_size
        assert string_hash(record.properties["REAL_TOPIC"]) == unit.topic_hash
        assert unit.is_deletion is ("TIMER_DEL_UNIQKEY" in record.properties)
        if not unit.is_rolled:
            due_ms = int(record.properties["TIMER_OUT_MS"])
            assert unit.due_ms == due_ms // PRECISION_MS * PRECISION_MS


def test_golden_chains_hold_as_many_messages_as_their_slots_say(wheel, log: bytes) -> None:
    units = dict(decode_units(log))

    for _, slot in wheel:
        chain = list(walk_slot(slot, units.__getitem__))
        deletions = sum(unit.is_deletion for _, unit in chain)
        assert chain[-1][0] == slot.first_pos
        assert len(chain) - 2 * deletions == slot.message_count
        assert {unit.due_ms for _, unit in chain} == {slot.due_ms()}
    assert sum(len(list(walk_slot(slot, units.__getitem__))) for _, slot in wheel) == len(units)


def test_golden_checkpoint_equals_what_java_read(corpus, java) -> None:
    data = (corpus("v5").root / "config" / "timercheck").read_bytes()

    found = TimerCheckpoint.decode(data)

    assert list(found[:6]) == java["timercheckLongs"]
    assert found.encode() == data


def test_wheel_of_another_precision_equals_what_java_wrote() -> None:
    slots = list(decode_slots(files_of("five")["timerwheel-500"]))

    indexes = expected_of("five")["wheel_indexes"]
    assert [number for number, _ in slots] == indexes
    assert slots[0][1] == TimerSlot(1795236598500 // 500, 52, 104, 2)
    assert slots[1][1].due_ms(precision_ms=500) == 1795236599000
    assert slot_index(1795236598500, slot_count=40, precision_ms=500) == indexes[0]


def test_log_file_ends_with_a_blank_where_the_next_unit_did_not_fit() -> None:
    data = files_of("five")[f"timerlog/{0:020d}"]
    units = dict(decode_units(data))

    blank = decode_unit(data, 156)

    assert list(units) == [pos for pos in expected_of("five")["timer_log_positions"] if pos < 156]
    assert blank == TimerBlank(20)
    assert data[156:] == encode_blank(20).ljust(20, b"\0")
    assert [*layout.TIMER_BLANK.spans(data, 156)][2].value == (
        expected_of("five")["timer_log_blank_magic"]
    )


def test_values_equal_the_declared_layouts() -> None:
    checkpoint = TimerCheckpoint(1, 2, 3, 4, 5, 6, 7)

    assert [span.value for span in layout.TIMER_UNIT.spans(encode_unit(UNIT))] == list(UNIT)
    assert [span.value for span in layout.TIMER_SLOT.spans(encode_slot(SLOT))] == list(SLOT)
    assert [span.value for span in layout.TIMER_CHECKPOINT.spans(checkpoint.encode())] == [
        *checkpoint
    ]
    assert decode_unit(b"xx" + encode_unit(UNIT), 2) == UNIT
    assert list(decode_slots(bytes(SLOT_SIZE) + encode_slot(SLOT))) == [(1, SLOT)]


def test_checkpoint_of_an_older_release_has_no_version() -> None:
    data = TimerCheckpoint(1, 2, 3, 4, 5, 6, 7).encode()

    assert TimerCheckpoint.decode(data[:32]) == TimerCheckpoint(1, 2, 3, 4)
    for size in range(32):
        with pytest.raises(RecordDamaged):
            TimerCheckpoint.decode(data[:size])


def test_cut_unit_is_damage_at_every_byte() -> None:
    for cut in every_cut(encode_unit(UNIT))[4:]:
        with pytest.raises(RecordDamaged) as caught:
            decode_unit(cut)
        assert caught.value.kind == DamageKind.TRUNCATED


def test_cut_wheel_is_damage_unless_between_slots() -> None:
    for size, cut in enumerate(every_cut(encode_slot(SLOT) * 2)):
        if size % SLOT_SIZE:
            with pytest.raises(RecordDamaged):
                list(decode_slots(cut))


@pytest.mark.parametrize(
    "unit",
    [
        UNIT._replace(size=51),
        UNIT._replace(magic=0),
        UNIT._replace(magic=9),
        UNIT._replace(previous_pos=-2),
        UNIT._replace(log_offset=-1),
        UNIT._replace(record_size=-1),
    ],
)
def test_values_that_cannot_be_are_damage(unit: TimerUnit) -> None:
    with pytest.raises(RecordDamaged):
        decode_unit(encode_unit(unit))


@pytest.mark.parametrize("previous", [520, 530, 400, -1])
def test_chain_that_does_not_lead_back_is_damage(previous: int) -> None:
    units = {520: UNIT._replace(previous_pos=previous), 468: UNIT._replace(previous_pos=-1)}

    with pytest.raises(RecordDamaged) as caught:
        list(walk_slot(SLOT, units.__getitem__))

    assert caught.value.kind == DamageKind.BAD_CHAIN


def test_empty_slot_has_no_chain() -> None:
    assert list(walk_slot(TimerSlot(1, -1, -1, 0), {}.__getitem__)) == []


def test_units_end_at_free_space_of_any_size() -> None:
    for size in (0, 3, 15, 16, 60):
        assert list(decode_units(encode_unit(UNIT) + bytes(size))) == [(0, UNIT)]


def test_what_does_not_fit_is_refused() -> None:
    for make in (
        lambda: encode_unit(UNIT._replace(delay_ms=1 << 31)),
        lambda: encode_slot(SLOT._replace(message_count=1 << 31)),
        lambda: TimerCheckpoint(1 << 63).encode(),
        lambda: encode_blank(15),
    ):
        with pytest.raises(BadCall):
            make()


def test_every_flipped_bit_is_a_value_or_damage() -> None:
    for broken in every_flip(encode_unit(UNIT) + bytes(8)):
        survives(lambda data: list(decode_units(data)), broken)
    for broken in every_flip(encode_slot(SLOT)):
        survives(lambda data: list(decode_slots(data)), broken)


@FUZZ
@given(ANY_BYTES)
def test_any_bytes_are_values_or_damage(data: bytes) -> None:
    survives(lambda data: list(decode_units(data)), data)
    survives(lambda data: list(decode_slots(data)), data)
    survives(TimerCheckpoint.decode, data)

"""The timer's files equal what the real 5.4.0 classes wrote and read."""

import pytest
from hypothesis import given

from storefmt.errors import DamageKind
from storefmt.formats import layout
from storefmt.formats.javahash import string_hash
from storefmt.formats.message import decode_record
from storefmt.formats.timer import CHECKPOINT_SIZE, TimerCheckpoint
from tests.storefmt.broken import ANY_BYTES, FUZZ, assert_cuts_are_damage, survives
from tests.storefmt.vectors import expected_of, files_of

SLOT = layout.TIMER_SLOT.struct()
UNIT = layout.TIMER_UNIT.struct()
CHECKPOINT = layout.TIMER_CHECKPOINT.struct()
SLOTS_OF_JAVA = "wheelSlots_index_time_firstPos_lastPos_num_magic"
UNITS_OF_JAVA = "timerlog_pos_size_prevPos_magic_enqueueTime_delay_offsetPy_sizePy_hashRealTopic"
DELETION = 4


@pytest.fixture(scope="module")
def java(corpus) -> dict:
    return corpus("v5").expected["open5"]["timer"]


@pytest.fixture(scope="module")
def units(corpus) -> dict[int, dict[str, int]]:
    """The units of the golden log, by position."""
    log = (corpus("v5").root / "timerlog" / f"{0:020d}").read_bytes()
    names = [field.name for field in layout.TIMER_UNIT.fields]
    whole = log[: len(log) - len(log) % UNIT.size]
    return {
        number * UNIT.size: dict(zip(names, values, strict=True))
        for number, values in enumerate(UNIT.iter_unpack(whole))
        if any(values)
    }


def used_slots(data: bytes) -> list[list[int]]:
    return [[n, *values] for n, values in enumerate(SLOT.iter_unpack(data)) if any(values)]


def test_golden_slots_equal_what_java_read(corpus, java) -> None:
    data = (corpus("v5").root / "timerwheel").read_bytes()

    assert used_slots(data) == java[SLOTS_OF_JAVA]
    assert len(data) == java["wheelLength"]
    for number, due_tick, *_ in used_slots(data):
        assert due_tick % (len(data) // SLOT.size) == number


def test_golden_units_equal_what_java_read(java, units) -> None:
    assert [[pos, *list(unit.values())[:8]] for pos, unit in units.items()] == java[UNITS_OF_JAVA]


def test_golden_unit_points_at_the_waiting_record(corpus, units) -> None:
    data = (corpus("v5").root / "commitlog" / f"{0:020d}").read_bytes()

    for unit in units.values():
        record = decode_record(data, unit["log_offset"])
        assert record.topic == "rmq_sys_wheel_timer"
        assert record.size == unit["record_size"]
        assert string_hash(record.properties["REAL_TOPIC"]) == unit["topic_hash"]
        assert bool(unit["magic"] & DELETION) is ("TIMER_DEL_UNIQKEY" in record.properties)


def test_golden_chains_hold_as_many_messages_as_their_slots_say(java, units) -> None:
    for _, due_tick, first_pos, last_pos, message_count, _ in java[SLOTS_OF_JAVA]:
        chain, pos = [], last_pos
        while pos != -1:
            chain.append(units[pos])
            pos = -1 if pos == first_pos else units[pos]["previous_pos"]
        deletions = sum(bool(unit["magic"] & DELETION) for unit in chain)
        assert len(chain) - 2 * deletions == message_count
        assert {unit["enqueue_ms"] + unit["delay_ms"] for unit in chain} == {due_tick * 1000}


def test_golden_checkpoint_equals_what_java_read(corpus, java) -> None:
    data = (corpus("v5").root / "config" / "timercheck").read_bytes()

    found = TimerCheckpoint.decode(data)

    assert list(found[:6]) == java["timercheckLongs"]
    assert CHECKPOINT.pack(*found).ljust(CHECKPOINT_SIZE, b"\0") == data


def test_wheel_of_another_precision_equals_what_java_wrote() -> None:
    slots = used_slots(files_of("five")["timerwheel-500"])

    assert [number for number, *_ in slots] == expected_of("five")["wheel_indexes"]
    assert slots[0][1:5] == [1795236598500 // 500, 52, 104, 2]
    assert slots[1][1] * 500 == 1795236599000


def test_log_file_ends_with_a_blank_where_the_next_unit_did_not_fit() -> None:
    data = files_of("five")[f"timerlog/{0:020d}"]

    size, _, magic = (span.value for span in layout.TIMER_BLANK.spans(data, 156))

    assert size == len(data) - 156
    assert magic == expected_of("five")["timer_log_blank_magic"]


def test_checkpoint_of_an_older_release_has_no_version() -> None:
    data = CHECKPOINT.pack(1, 2, 3, 4, 5, 6, 7).ljust(CHECKPOINT_SIZE, b"\0")

    assert TimerCheckpoint.decode(data) == TimerCheckpoint(1, 2, 3, 4, 5, 6, 7)
    assert TimerCheckpoint.decode(data[:32]) == TimerCheckpoint(1, 2, 3, 4)
    assert_cuts_are_damage(TimerCheckpoint.decode, data[:32], kind=DamageKind.TRUNCATED)


@FUZZ
@given(ANY_BYTES)
def test_any_bytes_are_values_or_damage(data: bytes) -> None:
    survives(TimerCheckpoint.decode, data)

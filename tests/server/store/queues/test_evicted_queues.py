"""The columns of evicted queues: slots are found, compared, and used again."""

import random

import pytest

from mqserver.store.queues import evicted_queues
from mqserver.store.queues.evicted_queues import NONE, Numbers, QueueColumns


def numbers(synced: int, written: int, end: int, next_offset: int | None = None) -> Numbers:
    waiting = NONE if written == end else 0
    return Numbers(0, 0, synced, written, end, waiting, next_offset or end)


@pytest.mark.parametrize("room", [2, evicted_queues.FEW])
def test_slots_are_what_a_dict_would_hold(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    monkeypatch.setattr(evicted_queues, "FEW", room)
    chance = random.Random(1)
    columns, expected = QueueColumns(), dict[tuple[str, int], int]()
    for number in range(3_000):
        key = chance.choice("abcdef"), chance.choice((0, 1, 2, 3, 70, 1 << 30))
        if chance.random() < 0.4 and key in expected:
            columns.remove(columns.slot(*key))
            del expected[key]
        else:
            expected[key] = number
            columns.set_row(columns.add(*key), numbers(number, number, number))
        assert (columns.slot(*key) == NONE) is (key not in expected)
        assert len(columns) == len(expected)

    found = {(columns.topic(n), columns.queue_ids[n]): columns.get(n).end for n in columns}
    assert found == expected
    assert [columns.queue_ids[n] for n in columns.slots_of("a")] == sorted(
        queue_id for topic, queue_id in expected if topic == "a"
    )
    # Never more slots than there were queues at a time.
    assert columns._end <= 36


def test_what_is_not_written_and_not_synced_is_found() -> None:
    columns = QueueColumns()
    columns.set_row(columns.add("even", 0), numbers(7, 7, 7))
    columns.set_row(columns.add("unsynced", 0), numbers(5, 7, 7))
    columns.set_row(columns.add("unwritten", 0), numbers(7, 7, 9))
    columns.set_row(columns.add("both", 0), numbers(5, 6, 7))
    columns.set_row(columns.add("gone", 0), numbers(5, 5, 7))
    columns.remove(columns.slot("gone", 0))
    columns.set_row(columns.add("loaded", 0), numbers(5, 5, 7))
    columns.clear(columns.slot("loaded", 0))

    found = [columns.topic(slot) for slot in columns.with_unwritten()]
    assert found == ["unwritten", "both"]
    found = [columns.topic(slot) for slot in columns.with_unsynced()]
    assert found == ["unsynced", "unwritten", "both"]


def test_no_queue_has_a_negative_id() -> None:
    columns = QueueColumns()
    columns.add("a", 0)
    assert [columns.slot("a", number) for number in (-1, -5, 1, 1 << 40)] == [NONE] * 4


def test_far_more_unsynced_entries_than_a_column_holds_are_all_of_them() -> None:
    columns = QueueColumns()
    kept = Numbers(10, 11, 20, 1 << 40, 1 << 40, NONE, 1 << 40)
    columns.set_row(columns.add("a", 0), kept)
    assert columns.get(columns.slot("a", 0)) == kept._replace(synced=10)


def test_numbers_come_back_as_they_were() -> None:
    columns = QueueColumns()
    slots = [columns.add("a", number) for number in range(3)]
    far = 1 << 62
    kept = Numbers(far, far + 1, far + 2, far + 3, far + 500, 1 << 30, far + 501)
    columns.set_row(slots[1], kept)

    assert columns.get(slots[1]) == kept
    assert columns.assign_offsets(slots[1], 3) == far + 501
    assert columns.get(slots[1]) == kept._replace(next_offset=far + 504)


def test_a_slot_taken_away_for_good_is_never_given_again() -> None:
    columns = QueueColumns()
    lost = columns.add("a", 0)
    columns.remove(lost, for_good=True)

    assert len(columns) == 0
    assert columns.add("a", 0) != lost
    assert columns.topic(lost) == ""

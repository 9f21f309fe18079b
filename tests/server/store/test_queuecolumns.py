"""Columns of queues at rest: slots are found, given away again, and compared."""

import random

from server.store.queuecolumns import NONE, QueueColumns


def test_slots_are_what_a_dict_would_hold() -> None:
    chance = random.Random(1)
    columns, expected = QueueColumns(), dict[tuple[str, int], int]()
    for number in range(3_000):
        key = chance.choice(["a", "b", "c"]), chance.choice((0, 1, 2, 3, 70, 1 << 30))
        if chance.random() < 0.4 and key in expected:
            columns.remove(columns.slot(*key))
            del expected[key]
        else:
            expected[key] = number
            columns.put(columns.add(*key), 0, 0, number, number, number, NONE)
        assert (columns.slot(*key) == NONE) is (key not in expected)
        assert len(columns) == len(expected)

    found = {(columns.topics[n], columns.queue_ids[n]): columns.get(n)[4] for n in columns}
    assert found == expected
    assert [columns.queue_ids[n] for n in columns.slots_of("a")] == sorted(
        queue_id for topic, queue_id in expected if topic == "a"
    )
    # Never more slots than there were queues at a time.
    assert len(columns.topics) <= 18


def test_what_is_not_written_and_not_synced_is_found() -> None:
    columns = QueueColumns()
    columns.put(columns.add("even", 0), 0, 0, 7, 7, 7, NONE)
    columns.put(columns.add("unsynced", 0), 0, 0, 5, 7, 7, NONE)
    columns.put(columns.add("unwritten", 0), 0, 0, 5, 5, 7, 0)
    columns.put(columns.add("gone", 0), 0, 0, 5, 5, 7, 0)
    columns.remove(columns.slot("gone", 0))

    assert [columns.topics[slot] for slot in columns.unwritten()] == ["unwritten"]
    assert [columns.topics[slot] for slot in columns.unsynced()] == ["unsynced", "unwritten"]

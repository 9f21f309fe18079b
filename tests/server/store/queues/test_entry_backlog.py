"""The backlog returns the entries of evicted queues and uses its space again."""

import random

from mqserver.store.queues.entry_backlog import CHUNK_SIZE, Backlog
from storefmt.formats.consumequeue import ENTRY_SIZE


def entries(number: int, count: int = 1) -> bytes:
    return b"".join(b"%020d" % (number + place) for place in range(count))


def test_entries_of_many_queues_come_out_as_they_went_in() -> None:
    chance = random.Random(5)
    backlog, expected = Backlog(), dict[int, bytes]()
    places = dict.fromkeys(range(200), -1)
    for number in range(8_000):
        queue = chance.randrange(len(places))
        if chance.random() < 0.1:
            assert backlog.take_entries(places[queue]) == expected.pop(queue, b"")
            places[queue] = -1
        else:
            new = entries(number, chance.choice((1, 1, 1, 2, 30)))
            expected[queue] = expected.get(queue, b"") + new
            places[queue] = backlog.add(places[queue], new)

    for queue, place in places.items():
        assert backlog.take_entries(place) == expected.get(queue, b"")


def test_chunks_that_were_taken_out_are_used_again() -> None:
    backlog = Backlog()
    new = entries(0, 10)
    for _ in range(20):
        places = [backlog.add(-1, new) for _ in range(3 * CHUNK_SIZE // len(new))]
        assert all(backlog.take_entries(place) == new for place in places)

    assert backlog.chunk_count <= 5


def test_more_than_a_chunk_holds_is_kept_in_several() -> None:
    backlog = Backlog()
    many = entries(0, 3 * CHUNK_SIZE // ENTRY_SIZE)

    place = backlog.add(backlog.add(-1, entries(7)), many)

    assert backlog.take_entries(place) == entries(7) + many

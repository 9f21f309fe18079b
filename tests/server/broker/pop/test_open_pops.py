"""The table of open pops: what closes one, what is due, and what a million take."""

import gc
import tracemalloc

import pytest

from mqserver.broker.pop.checkpoints import PopCheckpoint, PopKey
from mqserver.broker.pop.open_pops import (
    OPEN_COUNT_MAX,
    OPEN_POP_SIZE,
    OpenPop,
    OpenPops,
    open_count_max,
)

SAMPLE = 100_000


def checkpoint(number: int, *, count: int = 1, pop_ms: int = 1_000_000) -> PopCheckpoint:
    key = PopKey("T", "G", number % 8, 1_000_000 + number * count, pop_ms + number // 100)
    return PopCheckpoint(key, 60_000, tuple(range(count)))


def opened(*checkpoints: PopCheckpoint) -> OpenPops:
    """Return a table in which these were written in this order."""
    table = OpenPops()
    for at, one in enumerate(checkpoints):
        table.open(one, at=at, store_ms=0)
    return table


def offsets(*distances: int) -> tuple[int, ...]:
    return tuple(1_000_000 + distance for distance in distances)


def due(table: OpenPops, until_ms: int) -> list[OpenPop]:
    return table.due(until_ms, count_max=1_000)


def test_pop_is_closed_when_its_last_message_is_acknowledged() -> None:
    one = checkpoint(0, count=3)
    table = opened(one)

    table.acknowledge(one.key, offsets(2, 0))
    assert table.get(one.key).left() == [1_000_001]
    table.acknowledge(one.key, offsets(2, 77))
    assert len(table) == 1
    table.acknowledge(one.key, offsets(1))
    assert len(table) == 0
    assert table.oldest() is None


def test_messages_of_a_queue_that_are_left_are_counted() -> None:
    one, other = checkpoint(0, count=3), checkpoint(8, count=2)
    place = one.key.place
    assert other.key.place == place

    table = opened(one, other)
    assert table.left_count(place) == 5
    assert table.left_count(("other", *place[1:])) == 0
    table.acknowledge(one.key, offsets(2, 2, 77))
    assert table.left_count(place) == 4
    table.mark(table.get(one.key), 1_000_000)
    assert table.left_count(place) == 3
    # A checkpoint that is written again replaces the former one.
    table.open(one._replace(done=0b101), at=2, store_ms=0)
    assert table.left_count(place) == 3
    table.acknowledge(one.key, offsets(1))
    assert table.left_count(place) == 2


def test_pops_are_due_by_second_and_never_before_their_time() -> None:
    table = OpenPops()
    for number in (0, 250):
        table.open(checkpoint(number, pop_ms=1_000_500), at=number, store_ms=0)

    assert due(table, 1_060_499) == []
    assert [pop.at for pop in due(table, 1_060_500)] == [0]
    assert [pop.at for pop in due(table, 1_060_502)] == [0, 250]


def test_closed_pop_is_never_due() -> None:
    one = checkpoint(0)
    table = opened(one)
    table.acknowledge(one.key, offsets(0))

    assert due(table, 1 << 60) == []


def test_checkpoint_that_is_written_again_takes_its_new_place() -> None:
    first, second = checkpoint(0), checkpoint(1)
    table = opened(first, second, first)

    assert (table.oldest().checkpoint, len(table)) == (second, 2)


@pytest.mark.parametrize(("count", "size_max"), [(1, 620), (32, 900)], ids=["one by one", "by 32"])
def test_a_million_popped_messages_take_what_is_stated(count: int, size_max: int) -> None:
    """Popped one by one a million messages take 620 MB at most; by 32, 28 MB."""
    table = OpenPops()
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(SAMPLE // count):
            table.open(checkpoint(number, count=count), at=number, store_ms=1_000_000 + number)
        size = (tracemalloc.get_traced_memory()[0] - before) / (SAMPLE // count)
    finally:
        tracemalloc.stop()
    print(f"{size:.0f} bytes a pop of {count}")

    assert size < size_max


def test_memory_of_closed_pops_is_given_back_behind_one_that_stays_open() -> None:
    table = opened(checkpoint(0))
    tracemalloc.start()
    try:
        for number in range(1, 50_000):
            one = checkpoint(number)
            table.open(one, at=number, store_ms=0)
            table.acknowledge(one.key, (one.key.start_offset,))
        size = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()

    assert size < 2 << 20
    assert len(table) == 1


def test_open_pop_never_takes_more_than_it_is_charged() -> None:
    """The worst are pops of 32 messages that are due at 100,000 different times."""
    table = OpenPops()
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(SAMPLE // 4):
            one = checkpoint(number, count=32)._replace(invisible_ms=1_000 * number)
            table.open(one, at=number, store_ms=1_000_000 + number)
        size = (tracemalloc.get_traced_memory()[0] - before) / (SAMPLE // 4)
    finally:
        tracemalloc.stop()
    print(f"{size:.0f} bytes a pop")

    assert size < OPEN_POP_SIZE


def test_little_memory_allows_fewer_pops() -> None:
    assert open_count_max(32 << 20) == (16 << 20) // OPEN_POP_SIZE
    assert open_count_max(1 << 40) == OPEN_COUNT_MAX


def test_memory_of_pops_that_would_be_due_at_ever_other_times_is_given_back() -> None:
    table = OpenPops()
    for number in range(20_000):
        one = checkpoint(number)._replace(invisible_ms=1_000 * number)
        table.open(one, at=number, store_ms=0)
        table.acknowledge(one.key, (one.key.start_offset,))

    assert len(table._ticks) < 5_000


def test_pops_of_a_group_are_counted() -> None:
    one, other = checkpoint(0), checkpoint(1)
    other = other._replace(key=other.key._replace(group="H"))
    table = opened(one, other)

    assert (table.count_of("G"), table.count_of("H"), table.count_of("I")) == (1, 1, 0)
    table.acknowledge(one.key, (one.key.start_offset,))
    assert (table.count_of("G"), len(table)) == (0, 1)
    table.drop(lambda place: place[1] == "H")
    assert (table.count_of("H"), len(table)) == (0, 0)


def test_dropped_pops_are_gone_at_once_and_due_until_they_are_finished() -> None:
    one = checkpoint(0, count=2)
    table = opened(one)

    (dropped,) = table.drop(lambda place: place[0] == "T")
    assert (table.get(one.key), table.left_count(one.key.place)) == (None, 0)
    # A topic of the same name is made, and its first pop has the same name.
    table.open(one, at=1, store_ms=0)
    table.finish(dropped, offsets(0, 1))

    assert [pop.at for pop in due(table, 1 << 60)] == [1]
    assert table.oldest().at == 1
    assert table.get(one.key).left() == [1_000_000, 1_000_001]


def test_reset_cuts_off_the_pops_behind_an_offset() -> None:
    place = ("T", "G", 0)
    keys = [PopKey(*place, start, 1_000_000 + start) for start in (0, 8, 4, 12)]
    table = opened(*(PopCheckpoint(key, 60_000, (0, 1, 2, 3)) for key in keys))

    assert table.cut(("T", "G", 1), 0) == []
    cut = table.cut(place, 9)
    assert [pop.checkpoint.key.start_offset for pop in cut] == [8, 12]
    # Nothing else finds them while they are written, but they are open.
    assert table.cut(place, 9) == []
    assert table.left_count(place) == 16

    for pop in cut:
        table.finish(pop, tuple(at for at in pop.left() if at >= 9))
    assert table.left_count(place) == 9
    assert table.get(keys[1]).left() == [8]
    assert [pop.checkpoint.key.start_offset for pop in table.cut(place, 0)] == [0, 4, 8]


def test_no_more_due_pops_are_returned_than_were_asked_for() -> None:
    table = opened(*(checkpoint(number) for number in range(50)))

    assert [pop.at for pop in table.due(1 << 60, count_max=3)] == [0, 1, 2]

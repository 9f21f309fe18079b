"""Delay offsets past the queues: delayOffset.json was edited, or is that of another store."""

import pytest

from storefmt.config.tables import DelayOffsets
from tests.server.broker.delay.test_schedule import SECOND, Desk, waiting, waiting_store


@pytest.mark.parametrize("count", [0, 1, 3])
def test_progress_past_the_end_goes_back_to_it_and_skips_nothing_that_comes(count: int) -> None:
    store = waiting_store(count)
    desk = Desk(store, DelayOffsets({1: 100, 2: 7}))
    desk.deliver(0)

    store.records.append(waiting(b"new", store_ms=0, queue_offset=count))
    desk.service.arrived(0, count, store_ms=0, times=desk.times(0))
    desk.deliver(SECOND)
    desk.settle()

    assert desk.bodies() == [b"new"]
    assert desk.service.offsets() == DelayOffsets({1: count + 1, 2: 0})


def test_progress_that_went_back_is_saved_so_that_the_next_start_skips_nothing() -> None:
    store = waiting_store(1)
    desk = Desk(store, DelayOffsets({1: 100}))
    before = desk.service.change_count
    desk.deliver(0)
    desk.service.settle()
    assert desk.service.change_count > before

    store.records.append(waiting(b"new", store_ms=0, queue_offset=1))
    again = Desk(store, desk.service.durable_offsets())
    again.deliver(SECOND)

    assert again.bodies() == [b"new"]

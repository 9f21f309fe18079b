"""Which event leads a slave where."""

import pytest

from server.broker.ha.receiving import MOVES, SlaveEvent, SlaveState


def after(*events: SlaveEvent) -> SlaveState:
    state = SlaveState.IDLE
    for event in events:
        state = MOVES.get((state, event), state)
    return state


def test_slave_receives_only_after_its_log_was_compared() -> None:
    assert after(SlaveEvent.ADDRESS, SlaveEvent.CONNECTED) is SlaveState.COMPARING
    assert after(SlaveEvent.ADDRESS, SlaveEvent.CONNECTED, SlaveEvent.SAME) is SlaveState.RECEIVING
    leading = {event for (_, event), state in MOVES.items() if state is SlaveState.RECEIVING}
    assert leading == {SlaveEvent.SAME}


@pytest.mark.parametrize(
    "event", [SlaveEvent.CONNECTED, SlaveEvent.SAME, SlaveEvent.LOST, SlaveEvent.BROKEN]
)
def test_slave_whose_log_parts_stays_so_until_it_is_told_of_a_master(event: SlaveEvent) -> None:
    parted = (SlaveEvent.ADDRESS, SlaveEvent.CONNECTED, SlaveEvent.DIFFERS)
    assert after(*parted, event) is SlaveState.DIVERGED
    assert after(*parted, SlaveEvent.ADDRESS) is SlaveState.CONNECTING


def test_slave_whose_disk_breaks_stops_whatever_it_was_at() -> None:
    for events in ((SlaveEvent.CONNECTED,), (SlaveEvent.CONNECTED, SlaveEvent.SAME)):
        assert after(SlaveEvent.ADDRESS, *events, SlaveEvent.BROKEN) is SlaveState.FAILED


def test_every_state_can_end_and_nothing_follows() -> None:
    assert {state for state, event in MOVES if event is SlaveEvent.END} == set(SlaveState)
    assert {event for state, event in MOVES if state is SlaveState.ENDED} == {SlaveEvent.END}

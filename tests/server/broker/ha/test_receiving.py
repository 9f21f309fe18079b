"""Which event leads a slave where."""

import pytest

from server.broker.ha.receiving import MOVES, Event, SlaveState


def after(*events: Event) -> SlaveState:
    state = SlaveState.IDLE
    for event in events:
        state = MOVES.get((state, event), state)
    return state


def test_slave_receives_only_after_its_log_was_compared() -> None:
    assert after(Event.ADDRESS, Event.CONNECTED) is SlaveState.COMPARING
    assert after(Event.ADDRESS, Event.CONNECTED, Event.SAME) is SlaveState.RECEIVING
    leading = {event for (_, event), state in MOVES.items() if state is SlaveState.RECEIVING}
    assert leading == {Event.SAME}


@pytest.mark.parametrize("event", [Event.CONNECTED, Event.SAME, Event.LOST, Event.BROKEN])
def test_slave_whose_log_parts_stays_so_until_it_is_told_of_a_master(event: Event) -> None:
    parted = (Event.ADDRESS, Event.CONNECTED, Event.DIFFERS)
    assert after(*parted, event) is SlaveState.DIVERGED
    assert after(*parted, Event.ADDRESS) is SlaveState.CONNECTING


def test_slave_whose_disk_breaks_stops_whatever_it_was_at() -> None:
    for events in ((Event.CONNECTED,), (Event.CONNECTED, Event.SAME)):
        assert after(Event.ADDRESS, *events, Event.BROKEN) is SlaveState.FAILED


def test_every_state_can_end_and_nothing_follows() -> None:
    assert {state for state, event in MOVES if event is Event.END} == set(SlaveState)
    assert {event for state, event in MOVES if state is SlaveState.ENDED} == {Event.END}

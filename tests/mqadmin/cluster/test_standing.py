"""Where a group stands: every state of a queue with every side of an offset, and the totals."""

from collections import Counter
from itertools import product

import pytest

from mqadmin.cluster.standing import (
    MEANINGS,
    STANDINGS,
    GroupStanding,
    OffsetSide,
    QueuePosition,
    QueueState,
    StandingTotal,
)


def position(
    offset: int | None, low: int | None = 10, end: int | None = 20, *, state: str = "readable"
) -> QueuePosition:
    return QueuePosition(
        group="g",
        topic="T",
        broker="b",
        queue_id=0,
        state=QueueState(state),
        consumer_offset=offset,
        min_offset=low,
        end_offset=end,
    )


def test_every_state_and_side_has_a_standing_and_every_standing_a_meaning() -> None:
    assert STANDINGS.keys() == set(product(QueueState, OffsetSide))
    assert MEANINGS.keys() == set(GroupStanding) == set(STANDINGS.values())


@pytest.mark.parametrize(
    ("offset", "side", "standing", "lag", "unread"),
    [
        (None, OffsetSide.WITHIN, GroupStanding.BEHIND, 20, 10),
        (9, OffsetSide.BELOW, GroupStanding.BELOW_MINIMUM, 11, 10),
        (10, OffsetSide.WITHIN, GroupStanding.BEHIND, 10, 10),
        (19, OffsetSide.WITHIN, GroupStanding.BEHIND, 1, 1),
        (20, OffsetSide.END, GroupStanding.AT_END, 0, 0),
        (21, OffsetSide.PAST, GroupStanding.AHEAD, -1, 10),
    ],
)
def test_a_readable_queue(
    offset: int | None, side: OffsetSide, standing: GroupStanding, lag: int, unread: int
) -> None:
    found = position(offset)

    assert (found.side, found.standing) == (side, standing)
    assert (found.lag, found.unread_count) == (lag, unread)
    assert found.is_wrong == MEANINGS[standing].is_wrong


@pytest.mark.parametrize(
    ("state", "offset", "standing"),
    [
        ("unreadable", 5, GroupStanding.UNREADABLE),
        ("unreadable", 15, GroupStanding.UNREADABLE),
        ("unreadable", 20, GroupStanding.AT_END),
        ("unreadable", 28, GroupStanding.AHEAD),
        ("unsubscribed", 15, GroupStanding.UNSUBSCRIBED),
        ("unsubscribed", 20, GroupStanding.AT_END),
        ("local", 15, GroupStanding.LOCAL),
        ("gone", 15, GroupStanding.GONE),
        ("gone", 28, GroupStanding.GONE),
        ("silent", None, GroupStanding.UNKNOWN),
        ("silent", 20, GroupStanding.UNKNOWN),
    ],
)
def test_other_queues(state: str, offset: int | None, standing: GroupStanding) -> None:
    found = position(offset, state=state)

    assert found.standing is standing
    assert found.waiting_count == 0


def test_an_empty_queue_without_an_offset_is_at_its_end() -> None:
    assert position(None, 0, 0).standing is GroupStanding.AT_END
    assert position(None, None, None).standing is GroupStanding.AT_END


def test_a_total_counts_what_waits_and_names_what_it_leaves_out() -> None:
    total = StandingTotal.of(
        [position(15), position(18), position(28), position(15, state="unreadable")]
    )

    assert (total.waiting_count, total.queue_count, total.unread_count) == (7, 4, 15)
    assert total.standings == Counter(
        {GroupStanding.BEHIND: 2, GroupStanding.AHEAD: 1, GroupStanding.UNREADABLE: 1}
    )
    assert not total.is_sure
    assert total.text == (
        "7; 1 queue ahead of the end, so new messages are skipped; "
        "1 queue no longer readable, with unread messages"
    )


def test_a_total_of_queues_that_stand_well_is_a_number() -> None:
    total = StandingTotal.of([position(15), position(20)])

    assert total.is_sure
    assert total.text == "5"

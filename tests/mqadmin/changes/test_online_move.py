"""What a member's own times show of a reset that its committed offset did not show."""

import pytest

from mqadmin.changes.offset_change import OffsetMove, row_of
from mqadmin.changes.online_move import Reopened, reopening_of
from remoting.bodies import MessageQueue, ProcessQueueInfo

QUEUE = MessageQueue("orders", "broker-a", 0)
BEFORE = ProcessQueueInfo(
    last_lock_timestamp=1_000, last_pull_timestamp=9_000, last_consume_timestamp=8_000
)


def after(opened_ms: int, consumed_ms: int, *, locked: bool = False) -> ProcessQueueInfo:
    return ProcessQueueInfo(
        last_lock_timestamp=opened_ms, last_consume_timestamp=consumed_ms, locked=locked
    )


@pytest.mark.parametrize(
    ("high", "offset", "later", "expected"),
    [
        pytest.param(20, 20, after(1_000, 8_000), Reopened.NO, id="same process queue"),
        pytest.param(20, 20, after(20_000, 20_005), Reopened.READ_AGAIN, id="consumed since"),
        pytest.param(20, 20, after(20_000, 20_000), Reopened.STAYED, id="opened, consumed nothing"),
        pytest.param(30, 20, after(20_000, 20_005), Reopened.UNSEEN, id="messages were waiting"),
        pytest.param(20, 25, after(20_000, 20_005), Reopened.UNSEEN, id="new messages came"),
        pytest.param(20, 20, after(20_000, 8_000, locked=True), Reopened.NO, id="lock renewed"),
        pytest.param(
            20, 20, after(20_000, 20_005, locked=True), Reopened.READ_AGAIN, id="orderly, consumed"
        ),
        pytest.param(20, 20, None, Reopened.NO, id="member says nothing"),
    ],
)
def test_a_queue_that_was_opened_anew_says_what_can_be_known(
    high: int, offset: int, later: ProcessQueueInfo | None, expected: Reopened
) -> None:
    row = row_of("billing", OffsetMove(QUEUE, "127.0.0.1:1", 20, 0, 0, high), "told")

    assert reopening_of(row, offset, before=BEFORE, after=later) is expected


def test_a_queue_that_the_member_did_not_have_before_shows_nothing() -> None:
    row = row_of("billing", OffsetMove(QUEUE, "127.0.0.1:1", 20, 0, 0, 20), "told")

    assert reopening_of(row, 20, before=None, after=after(20_000, 20_005)) is Reopened.NO

"""Which queue offset a record gets that is not the next one of its queue."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from storefmt.dispatch.queue_offsets import fits_log, is_plausible, settle_claim
from storefmt.formats.message import RECORD_SIZE_MIN

FAR = 1_000 * RECORD_SIZE_MIN


class Record(NamedTuple):
    queue_offset: int
    log_offset: int = FAR


def old(*queue_offsets: int) -> Callable[[int], bool]:
    return lambda queue_offset: queue_offset in queue_offsets


@pytest.mark.parametrize(
    ("claimed", "expected", "entries", "lost", "is_late", "believed"),
    [
        (0, None, (), 0, False, True),
        (7, None, (), 0, False, False),
        (7, None, (7,), 0, False, True),
        (7, None, (), 0, True, True),
        (5_000, None, (5_000,), 0, True, False),
        (0, 7, (), 0, False, False),
        (0, 7, (0,), 0, False, True),
        (9, 7, (), 2 * RECORD_SIZE_MIN, False, True),
        (9, 7, (), 2 * RECORD_SIZE_MIN - 1, False, False),
        (6, 7, (), 9 * RECORD_SIZE_MIN, False, False),
    ],
)
def test_claim_out_of_order_is_believed_for_a_reason(
    claimed: int,
    expected: int | None,
    entries: tuple[int, ...],
    lost: int,
    is_late: bool,
    believed: bool,
) -> None:
    found = is_plausible(
        Record(claimed), old(*entries), expected=expected, lost_size=lost, is_late=is_late
    )

    assert found is believed


@pytest.mark.parametrize(
    ("claimed", "expected", "following", "entries", "queue_offset"),
    [
        pytest.param(0, 7, 1, (), 0, id="the topic was made again"),
        pytest.param(0, 7, None, (), 0, id="made again, with one message so far"),
        pytest.param(0, 7, None, (7,), 7, id="the old entry 7 points at the record"),
        pytest.param(99, 7, 8, (), 7, id="the field is damaged"),
        pytest.param(99, 7, None, (), 7, id="the field of the last record is damaged"),
        pytest.param(99, 7, 7, (), None, id="the queue goes on without it"),
        pytest.param(99, None, 5, (), 4, id="the field of the first record is damaged"),
        pytest.param(99, None, None, (), 0, id="the only record"),
    ],
)
def test_next_record_decides(
    claimed: int,
    expected: int | None,
    following: int | None,
    entries: tuple[int, ...],
    queue_offset: int | None,
) -> None:
    next_one = None if following is None else Record(following)

    found = settle_claim(Record(claimed), old(*entries), expected=expected, following=next_one)

    assert found == queue_offset


def test_queue_offset_counts_records_that_fit_before_the_record() -> None:
    assert [fits_log(number, RECORD_SIZE_MIN) for number in (-1, 0, 2, 3)] == [
        False,
        True,
        True,
        False,
    ]

"""Store times in log order: the same times whatever parts the log is cut into."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from storefmt.offline.analyse.time_gaps import (
    RecordTime,
    StoreTimes,
    TimeGap,
    joined_times,
    store_times_of,
)

TIMES = st.lists(st.integers(0, 60), max_size=30)
CUTS = st.sets(st.integers(0, 30))


def marks(times: list[int]) -> list[RecordTime]:
    return [RecordTime(100 * number, ms) for number, ms in enumerate(times)]


def test_a_pause_and_a_clock_that_went_back_are_steps() -> None:
    row = marks([5, 6, 16, 15, 24])

    times = store_times_of(row, pause_ms=10)

    assert times == StoreTimes(row[0], row[4], (TimeGap(row[1], row[2]), TimeGap(row[2], row[3])))
    assert [gap.span_ms for gap in times.gaps] == [10, -1]


@given(times=TIMES, cuts=CUTS)
def test_parts_that_are_joined_are_the_whole(times: list[int], cuts: set[int]) -> None:
    row = marks(times)
    ends = [0, *sorted(cuts), len(row)]
    parts = [row[start:end] for start, end in pairwise(ends)]

    whole = joined_times((store_times_of(part, pause_ms=10) for part in parts), pause_ms=10)

    assert whole == store_times_of(row, pause_ms=10)

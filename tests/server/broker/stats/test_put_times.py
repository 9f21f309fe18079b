"""The bands and percentiles of put times are those that Java computes."""

import pytest

from mqserver.broker.stats.counters import PutTimes

BANDS = (
    "[<=0ms]:{} [0~10ms]:{} [10~50ms]:{} [50~100ms]:{} [100~200ms]:{} [200~500ms]:{} "
    "[500ms~1s]:{} [1~2s]:{} [2~3s]:{} [3~4s]:{} [4~5s]:{} [5~10s]:{} [10s~]:{} "
)


def test_nothing_is_shown_before_the_first_minute() -> None:
    times = PutTimes(0)
    times.add(7, count=3)
    times.roll(60_000)

    assert (times.text(), times.percentile(0.99), times.longest_ms) == ("null", 0.0, 7)


@pytest.mark.parametrize(
    ("elapsed_ms", "band"),
    [
        (-5, 0), (0, 0), (1, 1), (9, 1), (10, 2), (49, 2), (50, 3), (100, 4), (200, 5), (500, 6),
        (999, 6), (1_000, 7), (2_000, 8), (3_000, 9), (4_000, 10), (5_000, 11), (9_999, 11),
        (10_000, 12), (10**9, 12),
    ],
)  # fmt: skip
def test_time_is_counted_in_its_band(elapsed_ms: int, band: int) -> None:
    times = PutTimes(0)
    times.add(elapsed_ms, count=4)
    times.roll(60_001)

    assert times.text() == BANDS.format(*[4 if at == band else 0 for at in range(13)])


def test_minute_that_ended_is_shown_until_the_next_one_ends() -> None:
    times = PutTimes(0)
    times.add(0, count=1)
    times.roll(60_001)
    first = times.text()
    times.add(3, count=9)
    times.roll(90_000)

    assert times.text() == first
    times.roll(120_002)
    assert times.text() == BANDS.format(0, 9, *[0] * 11)
    assert times.longest_ms == 3


def test_percentile_lies_between_the_edges_of_its_bucket() -> None:
    times = PutTimes(0)
    times.add(0, count=980)
    times.add(30, count=20)
    times.roll(60_001)

    assert times.percentile(0.5) == pytest.approx(500 / 980)
    # The last 20 of 1,000 lie in the bucket from 28 to 30 ms: the 990th in its middle.
    assert times.percentile(0.99) == pytest.approx(29.0)
    assert PutTimes(0).percentile(0.999) == 0.0

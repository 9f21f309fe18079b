"""Rates, time to drain and sparklines, on made-up time."""

import pytest

from mqadmin.output.trend import SAMPLES_MAX, Trend, sparkline


def trend(*samples: tuple[int, int, int]) -> Trend:
    """Return the trend of (seconds, lag, consumer offset)."""
    made = Trend()
    for at_s, lag, offset in samples:
        made.add(at_s * 1000, lag=lag, consumer_offset=offset)
    return made


def test_one_sample_says_no_rate() -> None:
    one = trend((0, 100, 5))

    assert (one.rate, one.lag_rate, one.drain_s, one.lags) == (None, None, None, (100,))
    assert (trend().rate, trend().drain_s, trend().lags) == (None, None, ())


def test_a_shrinking_lag_says_when_it_is_drained() -> None:
    two = trend((0, 100, 0), (10, 60, 50))

    assert (two.rate, two.lag_rate, two.drain_s) == (5.0, -4.0, 15.0)


def test_a_growing_or_steady_lag_never_drains() -> None:
    assert trend((0, 10, 0), (10, 30, 0)).drain_s is None
    assert trend((0, 10, 0), (10, 10, 0)).drain_s is None
    assert trend((0, 10, 0), (10, 0, 10)).drain_s == 0.0


def test_only_the_last_minute_counts() -> None:
    stopped = trend((0, 100, 0), (50, 50, 50), (100, 50, 50), (110, 50, 50))

    assert stopped.rate == 0.0
    assert stopped.lag_rate == 0.0


def test_slow_ticks_take_the_last_two_samples() -> None:
    assert trend((0, 100, 0), (600, 40, 60), (1200, 10, 90)).rate == 0.05


def test_a_reset_begins_anew() -> None:
    back = trend((0, 0, 100), (10, 100, 0))

    assert (back.rate, back.lags) == (None, (100,))


def test_two_samples_at_once_say_no_rate() -> None:
    assert trend((5, 9, 1), (5, 8, 2)).rate is None


def test_only_so_many_samples_are_kept() -> None:
    long = trend(*((at, at, 0) for at in range(100)))

    assert long.lags == tuple(range(100 - SAMPLES_MAX, 100))


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        ((), ""),
        ((0, 0), "▁▁"),
        ((1,), "█"),
        ((0, 1, 2, 3, 4, 5, 6, 7), "▁▂▃▄▅▆▇█"),
        ((1, 1000), "▂█"),
        ((-5, 5), "▁█"),
    ],
)
def test_a_sparkline_has_a_cell_a_value(values: tuple[int, ...], drawn: str) -> None:
    assert sparkline(values) == drawn

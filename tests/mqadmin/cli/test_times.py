"""Spans of time that can be counted by; times of storing: open ends, and the widest range."""

import pytest

from mqadmin.cli.times import END_OF_TIME, START_OF_TIME, bound_ms, parse_span
from mqadmin.output.times import When


@pytest.mark.parametrize(("text", "span_ms"), [("90s", 90_000), ("1h30m", 5_400_000)])
def test_a_span_is_a_duration(text: str, span_ms: int) -> None:
    assert parse_span(text) == span_ms


@pytest.mark.parametrize(
    ("text", "said"),
    [("0s", "the duration must be longer than 0s"), ("soon", "'soon' is not a duration")],
)
def test_what_nothing_can_be_counted_by_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_span(text)


NOW_MS = 1_700_000_000_000


def test_an_end_that_is_left_out_is_open() -> None:
    assert bound_ms(None, NOW_MS) is None


def test_an_end_is_worked_out_against_now() -> None:
    assert bound_ms(When("-1h"), NOW_MS) == NOW_MS - 3_600_000


def test_the_widest_range_holds_every_time_that_can_be_typed() -> None:
    assert bound_ms(START_OF_TIME, NOW_MS) == 0
    assert bound_ms(END_OF_TIME, NOW_MS) == 253_402_300_799_000

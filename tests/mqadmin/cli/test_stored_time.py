"""Times of storing as options: open ends, and the widest range."""

from mqadmin.cli.times import END_OF_TIME, START_OF_TIME, bound_ms
from mqadmin.output.times import When

NOW_MS = 1_700_000_000_000


def test_an_end_that_is_left_out_is_open() -> None:
    assert bound_ms(None, NOW_MS) is None


def test_an_end_is_worked_out_against_now() -> None:
    assert bound_ms(When("-1h"), NOW_MS) == NOW_MS - 3_600_000


def test_the_widest_range_holds_every_time_that_can_be_typed() -> None:
    assert bound_ms(START_OF_TIME, NOW_MS) == 0
    assert bound_ms(END_OF_TIME, NOW_MS) == 253_402_300_799_000

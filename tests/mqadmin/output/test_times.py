"""Times in every form that cli users and RocketMQ's tools write."""

import time
from collections.abc import Iterator

import pytest

from mqadmin.output.times import iso_utc, parse_duration, parse_time, parse_when

NOW_MS = 1_795_000_000_123


@pytest.fixture(autouse=True)
def berlin() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        yield
    # The variable is back; the C library has to be told, or every later test is in Berlin.
    time.tzset()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", NOW_MS),
        ("NOW", NOW_MS),
        ("-1h", NOW_MS - 3_600_000),
        ("+30m", NOW_MS + 1_800_000),
        ("-1d12h", NOW_MS - 129_600_000),
        ("-500ms", NOW_MS - 500),
        ("-100000w", NOW_MS - 60_480_000_000_000),
        ("1700000000000", 1_700_000_000_000),
        ("0", 0),
        ("2026-11-21T10:00:00Z", 1_795_255_200_000),
        ("2026-11-21t10:00:00z", 1_795_255_200_000),
        ("1969-12-31T23:59:59Z", -1000),
        ("2026-11-21T10:00:00.250+02:00", 1_795_248_000_250),
        ("2026-11-21T10:00:00", 1_795_251_600_000),
        ("2026-11-21 10:00", 1_795_251_600_000),
        ("2026-11-21", 1_795_215_600_000),
        ("2026-11-21#10:00:00:007", 1_795_251_600_007),
        ("20261121100000", 1_795_251_600_000),
        ("today", 1_794_956_400_000),
        ("yesterday 10:00", 1_794_906_000_000),
        ("10:30", 1_794_994_200_000),
    ],
)
def test_a_time_is_understood(text: str, expected: int) -> None:
    assert parse_time(text, now_ms=NOW_MS) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "-1y",
        "1h",
        "2026-13-01",
        "2026-11-21#10:00:00",
        "20261321100000",
        "yesterday 25:00",
        "99999999999999999",
        "-99999999999w",
        "-",
        "²",
    ],
)
def test_what_is_no_time_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a time|out of range"):
        parse_time(text, now_ms=NOW_MS)


def test_a_relative_time_is_checked_before_now_is_known() -> None:
    when = parse_when("-1h")

    assert when.ms(NOW_MS) == NOW_MS - 3_600_000


@pytest.mark.parametrize(
    ("text", "expected"), [("90s", 90_000), ("1h30m", 5_400_000), ("500ms", 500), ("5", 5_000)]
)
def test_a_duration_is_understood(text: str, expected: int) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize(
    "text", ["", "h", "1x", "1h 30m", "-1h", "9999999999w", "9" * 30, "9" * 5000]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a duration|is out of range|limit"):
        parse_duration(text)


def test_a_time_is_printed_in_utc_with_ms() -> None:
    assert iso_utc(1_795_255_200_007) == "2026-11-21T10:00:00.007Z"
    assert iso_utc(0) == "1970-01-01T00:00:00.000Z"


@pytest.mark.parametrize("epoch_ms", [-1, 1 << 62])
def test_a_time_outside_the_calendar_is_printed_as_a_number(epoch_ms: int) -> None:
    assert iso_utc(epoch_ms) == str(epoch_ms)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2h ago", "-2h"),
        ("1h30m ago", "-1h30m"),
        ("1 hour ago", "-1h"),
        ("2 days 30 minutes ago", "-2d30m"),
        ("90 secs ago", "-90s"),
    ],
)
def test_a_time_may_be_so_long_ago(text: str, same: str) -> None:
    assert parse_time(text, now_ms=10**12) == parse_time(same, now_ms=10**12)

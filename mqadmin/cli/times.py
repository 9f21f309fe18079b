"""Times and time spans as options.

    When | None  --bound_ms-->  epoch ms, None for an open end

Rule: both ends belong to a time range.
"""

from typing import Final, NamedTuple

from mqadmin.cli.types import TextType, ValueKind
from mqadmin.output.times import When, parse_duration, parse_when


def parse_span(text: str) -> int:
    """Return the ms of a time span, which must be longer than 0.

    Raises:
        ValueError: it is not a duration, or not longer than 0.
    """
    span_ms = parse_duration(text)
    if span_ms <= 0:
        raise ValueError(f"the duration must be longer than {text}")
    return span_ms


TIME: Final = TextType(ValueKind.TIME, parse_when, metavar="TIME")
DURATION: Final = TextType(read=parse_duration, metavar="TIME")
SPAN: Final = TextType(read=parse_span, metavar="SPAN")
START_OF_TIME: Final = When("0")
END_OF_TIME: Final = When("9999-12-31T23:59:59Z")


def bound_ms(when: When | None, now_ms: int) -> int | None:
    """Return the epoch ms of one end of a time range; None for an open end.

    Raises:
        ValueError: the text is not a time.
    """
    return None if when is None else when.ms(now_ms)


class TimeSpan(NamedTuple):
    """A time range as typed."""

    from_: When
    to: When

    def ms(self, now_ms: int) -> tuple[int, int]:
        """Return both ends in epoch ms."""
        return self.from_.ms(now_ms), self.to.ms(now_ms)


class OpenTimeSpan(NamedTuple):
    """A time range as typed, whose ends may be open."""

    from_: When | None
    to: When | None

    def ms(self, now_ms: int) -> tuple[int | None, int | None]:
        """Return both ends in epoch ms, None for an open one."""
        return bound_ms(self.from_, now_ms), bound_ms(self.to, now_ms)

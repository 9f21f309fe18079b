"""Times and spans of time, as options take them.

    When | None  --bound_ms-->  epoch ms, None for an open end

Rule: both ends of a range of times belong to it.
"""

from typing import Final

from mqadmin.cli.types import Kind, Word
from mqadmin.output.times import When, parse_duration, parse_when


def parse_span(text: str) -> int:
    """Return the ms of a span of time that can be counted by.

    Raises:
        ValueError: it is no duration, or one of nothing.
    """
    span_ms = parse_duration(text)
    if span_ms <= 0:
        raise ValueError(f"a span of {text} is no span")
    return span_ms


TIME: Final = Word(Kind.TIME, parse_when, metavar="TIME")
DURATION: Final = Word(read=parse_duration, metavar="TIME")
SPAN: Final = Word(read=parse_span, metavar="SPAN")
START_OF_TIME: Final = When("0")
END_OF_TIME: Final = When("9999-12-31T23:59:59Z")


def bound_ms(when: When | None, now_ms: int) -> int | None:
    """Return the epoch ms of one end of a range of times; None for an open end.

    Raises:
        ValueError: the text is no time.
    """
    return None if when is None else when.ms(now_ms)

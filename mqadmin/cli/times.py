"""Times and spans of time, as options take them."""

from typing import Final

from mqadmin.cli.types import Kind, Word
from mqadmin.output.times import parse_duration, parse_when


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

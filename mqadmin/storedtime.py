"""When messages were stored, as options ask for it: ``--from``, ``--to`` and ``--every``.

    from_: Annotated[When | None, STORED_FROM] = None  --bound_ms--> epoch ms, None for open

Rule: both ends of a range of times belong to it.
"""

from typing import Final

from mqadmin.parameters import Kind, option
from mqadmin.times import When, parse_duration, parse_when

START_OF_TIME: Final = When("0")
END_OF_TIME: Final = When("9999-12-31T23:59:59Z")


def bound_ms(when: When | None, now_ms: int) -> int | None:
    """Return the epoch ms of one end of a range of times; None for an open end.

    Raises:
        ValueError: the text is no time.
    """
    return None if when is None else when.ms(now_ms)


def parse_span(text: str) -> int:
    """Return the ms of a span of time that can be counted by.

    Raises:
        ValueError: it is no duration, or one of nothing.
    """
    span_ms = parse_duration(text)
    if span_ms <= 0:
        raise ValueError(f"a span of {text} is no span")
    return span_ms


STORED_FROM: Final = option(
    "stored then or later", metavar="TIME", kind=Kind.TIME, parse=parse_when
)
STORED_TO: Final = option("stored then or before", metavar="TIME", kind=Kind.TIME, parse=parse_when)
EVERY: Final = option(
    "length of a span: 10s, 5m, 1h, 1d; chosen if left out", metavar="SPAN", parse=parse_span
)
PAUSE: Final = option(
    "what is shorter is no pause: 10s, 5m; an hour if left out", metavar="SPAN", parse=parse_span
)

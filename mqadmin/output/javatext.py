"""How the Java tool writes numbers, times, truth and names; shared by its layouts.

Rule: times are local and without zone, names are cut where Java cuts them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final

Record = Mapping[str, object]
Layout = Callable[[Iterable[Record]], Iterator[str]]
BROKER_MAX: Final = 32
NAME_MAX: Final = 64


def cut(value: object, most: int) -> str:
    """Return the front of a name (UtilAll.frontStringAtLeast)."""
    return str(value)[:most]


def number(value: object) -> int:
    """Return a whole number of a record; 0 for none."""
    return int(str(value or 0))


def rate(value: object) -> float:
    """Return a number with a fraction; 0 for none."""
    return float(str(value or 0))


def truth(value: object) -> str:
    """Return a value as Java's ``%s`` prints it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def time_text(epoch_ms: object, *, millis: bool) -> str:
    """Return a time as ``yyyy-MM-dd HH:mm:ss``, with ``,SSS`` where ``millis``."""
    at_ms = number(epoch_ms)
    text = f"{datetime.fromtimestamp(at_ms / 1000):%Y-%m-%d %H:%M:%S}"
    return f"{text},{at_ms % 1000:03d}" if millis else text

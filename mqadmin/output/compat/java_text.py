"""How the Java tool writes numbers, times, truth, names and objects; shared by its layouts.

Rule: times are local and without zone; names are cut where Java cuts them.
"""

from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain
from typing import Final, NamedTuple

from mqadmin.output.rows import CHANGED, UNCHANGED
from storefmt.formats.javahash import string_hash
from storefmt.formats.javamaps import hash_order

Record = Mapping[str, object]
Layout = Callable[[Iterable[Record]], Iterator[str]]


class Line(NamedTuple):
    """What a layout may need of the command line besides the rows.

    Attributes:
        name: Java's name of the command, or ours.
        values: of the parameters of our command, by their names.
        flags: the values of Java's flags on the line, as typed, by their letters.
        namesrv: the value of ``-n``, None if it is left out.
    """

    name: str
    values: Mapping[str, object]
    flags: Mapping[str, str]
    namesrv: str | None = None

    def is_on(self, flag: str, *, default: bool = False) -> bool:
        """Return whether a flag of Java is true; for Java, anything but true is false."""
        return self.flags[flag].strip().lower() == "true" if flag in self.flags else default


LineLayout = Callable[[Iterable[Record], Line], Iterator[str]]
"""A layout that also shows parts of the command line."""

DONE: Final = frozenset({CHANGED, UNCHANGED})
"""Results of a write for which Java's tool prints a line; for a failure it prints a trace."""
BROKER_MAX: Final = 32
NAME_MAX: Final = 64


def peek(records: Iterable[Record]) -> Iterator[Record]:
    """Return the records once the first has come, so that an earlier error prints nothing."""
    iterator = iter(records)
    first = next(iterator, None)
    return iterator if first is None else chain((first,), iterator)


def each(form: str) -> Layout:
    """Return the layout that prints every record by one form, as ``{topic} {queue_id}``."""
    return lambda records: (form.format_map(record) for record in records)


def each_done(form: str) -> Layout:
    """Return the same for writes: a failed write has no line."""
    return lambda records: (
        form.format_map(record) for record in records if record["result"] in DONE
    )


def cut(value: object, most: int) -> str:
    """Return the front of a name (UtilAll.frontStringAtLeast)."""
    return str(value)[:most]


def number(value: object) -> int:
    """Return a whole number of a record; 0 for none."""
    return int(str(value or 0))


def rate(value: object) -> float:
    """Return a number with a fraction; 0 for none."""
    return float(str(value or 0))


def body_of(record: Record) -> bytes:
    """Return the body of a message."""
    base64 = record.get("body_base64")
    return b64decode(str(base64)) if base64 is not None else str(record.get("body") or "").encode()


def java_string(value: object) -> str:
    """Return a value as Java's ``%s`` prints it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def mapping(value: object) -> Mapping[str, object]:
    """Return an object of a record; an empty one if it is missing."""
    return value if isinstance(value, Mapping) else {}


def parts(value: object) -> list[Record]:
    """Return the objects that a list of a record holds."""
    return [part for part in value if isinstance(part, Mapping)] if isinstance(value, list) else []


def map_text(value: object, *, capacity: int = 16) -> str:
    """Return properties as a HashMap prints them, in its order.

    Args:
        value: the properties.
        capacity: the size that the map was made with; 128 for those of a message in 5.x.
    """
    fields = mapping(value)
    keys = hash_order(fields, string_hash, capacity=capacity)
    return "{" + ", ".join(f"{key}={fields[key]}" for key in keys) + "}"


def object_text(name: str, fields: Mapping[str, object]) -> str:
    """Return an object as its ``toString`` prints it: its name, and its fields in brackets."""
    return f"{name} [{', '.join(f'{key}={java_string(value)}' for key, value in fields.items())}]"


def queue_text(topic: object, broker: object, queue_id: object) -> str:
    """Return a queue as Java prints it."""
    return object_text("MessageQueue", {"topic": topic, "brokerName": broker, "queueId": queue_id})


def time_text(epoch_ms: object, *, millis: bool) -> str:
    """Return a time as ``yyyy-MM-dd HH:mm:ss``, with ``,SSS`` where ``millis``."""
    at_ms = number(epoch_ms)
    text = f"{datetime.fromtimestamp(at_ms / 1000):%Y-%m-%d %H:%M:%S}"
    return f"{text},{at_ms % 1000:03d}" if millis else text

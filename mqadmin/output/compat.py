"""``--compat``: rows printed as RocketMQ's own mqadmin 4.9.7 prints them, for scripts.

    topic status   #Broker Name  #QID  #Min Offset ...     fixed widths, names cut as Java cuts them

Rule: a layout is here where a test has compared it with the output of the real tool; any other
command refuses ``--compat`` by name. Times are local and without zone, exit codes stay ours.

Source: tools/command/** (4.9.7), the printf of each command.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final

from mqadmin.errors import Usage

Record = Mapping[str, object]
Layout = Callable[[Iterable[Record]], Iterator[str]]
BROKER_MAX: Final = 32
NAME_MAX: Final = 64


def layout_of(command: str) -> Layout:
    """Return how a command is printed.

    Raises:
        Usage: there is no layout for it.
    """
    found = LAYOUTS.get(command)
    if found is None:
        raise Usage(
            f"{command} has no --compat layout", hint="it is there for " + ", ".join(LAYOUTS)
        )
    return found


def _cut(value: object, most: int) -> str:
    return str(value)[:most]


def _number(value: object) -> int:
    return int(str(value or 0))


def _time(epoch_ms: object, *, millis: bool) -> str:
    at_ms = _number(epoch_ms)
    text = datetime.fromtimestamp(at_ms / 1000).strftime("%Y-%m-%d %H:%M:%S")
    return f"{text},{at_ms % 1000:03d}" if millis else text


def _topics(records: Iterable[Record]) -> Iterator[str]:
    for record in records:
        yield f"{record['topic']}\n"


def _clusters(records: Iterable[Record]) -> Iterator[str]:
    for record in records:
        yield f"{record['cluster']}\n"


def _topic_status(records: Iterable[Record]) -> Iterator[str]:
    form = "%-32s  %-4s  %-20s  %-20s    %s\n"
    yield form % ("#Broker Name", "#QID", "#Min Offset", "#Max Offset", "#Last Updated")
    for record in records:
        last_ms = _number(record["last_updated_ms"])
        yield form % (
            _cut(record["broker"], BROKER_MAX),
            record["queue_id"],
            record["min_offset"],
            record["max_offset"],
            _time(last_ms, millis=True) if last_ms > 0 else "",
        )


def _by_key(records: Iterable[Record]) -> Iterator[str]:
    form = "%-50s %4s %40s\n"
    yield form % ("#Message ID", "#QID", "#Offset")
    for record in records:
        shown = record["unique_key"] or record["msg_id"]
        yield form % (shown, record["queue_id"], record["queue_offset"])


def _status(records: Iterable[Record]) -> Iterator[str]:
    for record in records:
        yield f"{record['key']!s:<32}: {record['value']}\n"


def _settings(records: Iterable[Record]) -> Iterator[str]:
    address = None
    for record in records:
        if record["address"] != address:
            address = record["address"]
            yield f"============{address}============\n"
        yield f"{record['key']!s:<50}=  {record['value']}\n"


def _consume_stats(records: Iterable[Record]) -> Iterator[str]:
    form = "%-64s  %-64s  %-32s  %-4s  %-20s  %-20s  %-20s  %s\n"
    yield form % (
        *("#Topic", "#Group", "#Broker Name", "#QID"),
        *("#Broker Offset", "#Consumer Offset", "#Diff", "#LastTime"),
    )
    total = 0
    for record in records:
        lag, last_ms = _number(record["lag"]), _number(record["last_consumed_ms"])
        total += lag
        if last_ms <= 0:
            continue
        yield form % (
            _cut(record["topic"], NAME_MAX),
            _cut(record["group"], NAME_MAX),
            _cut(record["broker"], BROKER_MAX),
            record["queue_id"],
            record["broker_offset"],
            record["consumer_offset"],
            lag,
            _time(last_ms, millis=False),
        )
    yield f"\nDiff Total: {total}\n"


def _sent(records: Iterable[Record]) -> Iterator[str]:
    form = "%-32s  %-4s  %-20s    %s\n"
    yield form % ("#Broker Name", "#QID", "#Send Result", "#MsgId")
    for record in records:
        yield form % (
            record["broker"],
            record["queue_id"],
            record["status"],
            record["unique_key"],
        )


LAYOUTS: Final[dict[str, Layout]] = {
    "topic list": _topics,
    "topic clusters": _clusters,
    "topic status": _topic_status,
    "message query key": _by_key,
    "message send": _sent,
    "broker status": _status,
    "broker config get": _settings,
    "namesrv config get": _settings,
    "broker consume-stats": _consume_stats,
}
"""By the native name; the Java names are aliases of these."""

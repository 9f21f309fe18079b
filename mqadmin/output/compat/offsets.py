"""Java's layouts of moved offsets.

For a group with members online, only the new offsets are printed; for an offline group, Java's tool
prints what it read before and what it wrote.

Source: tools/command/offset/ResetOffsetByTimeCommand.java, ResetOffsetByTimeOldCommand.java,
SkipAccumulationSubCommand.java, CloneGroupOffsetCommand.java (4.9.7).
"""

from collections.abc import Iterable, Iterator
from typing import Final

from mqadmin.output.compat.java_text import BROKER_MAX, Line, Record, cut, java_string, number
from mqadmin.output.times import parse_time
from storefmt.formats.javamaps import hash_order, queue_hash

NOW: Final = "now"
ONLINE: Final = "%-40s  %-40s  %-40s\n"
OFFLINE: Final = "%-20s  %-20s  %-20s  %-20s  %-20s  %-20s\n"


def reset(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``resetOffsetByTime``."""
    moved = _in_order(records)
    if {"b", "q"} <= line.flags.keys():
        yield from _reset_queue(moved, line)
        return
    text = line.flags.get("s", str(line.values["to"])).strip()
    at_ms = -1 if text in {NOW, "-1", "latest"} else parse_time(text, now_ms=0)
    group = "group" if _were_told(moved) else "consumerGroup"
    yield (
        f"rollback consumer offset by specified {group}[{line.values['group']}], "
        f"topic[{_topics(line)}], "
        f"force[{java_string(line.is_on('f', default=True))}], "
        f"timestamp(string)[{text}], timestamp(long)[{at_ms}]\n"
    )
    yield from _moved(moved)


def _reset_queue(moved: list[Record], line: Line) -> Iterator[str]:
    """Print ``resetOffsetByTime -b -q``, which came with 5.x."""
    text = line.flags["s"].strip()
    at_ms = 0 if text == NOW else parse_time(text, now_ms=0)
    yield (
        f"start reset consumer offset by specified, group[{line.values['group']}], "
        f"topic[{_topics(line)}], queueId[{_queues(line)}], "
        f"broker[{line.flags['b'].strip()}], timestamp(string)[{text}], "
        f"timestamp(long)[{at_ms}]\n"
    )
    for record in moved:
        yield f"reset consumer offset to {record['new_offset']}\n"


def skip(records: Iterable[Record]) -> Iterator[str]:
    """Print ``skipAccumulatedMessage``."""
    yield from _moved(_in_order(records))


def clone(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``cloneGroupOffset``, which names the one topic of its line."""
    # An error of the writes comes before the line that reports success.
    list(records)
    yield (
        f"clone group offset success. srcGroup[{line.values['source']}], "
        f"destGroup=[{line.values['target']}], topic[{_topics(line)}]"
    )


def _topics(line: Line) -> str:
    topics = line.values["topic"]
    return ",".join(topics) if isinstance(topics, tuple) else str(topics)


def _queues(line: Line) -> str:
    queues = line.values["queue"]
    return ",".join(queues) if isinstance(queues, tuple) else str(queues)


def _in_order(records: Iterable[Record]) -> list[Record]:
    return hash_order(
        records,
        lambda record: queue_hash(
            str(record["topic"]), str(record["broker"]), number(record["queue_id"])
        ),
    )


def _were_told(moved: list[Record]) -> bool:
    return any(record["how"] == "told" for record in moved)


def _moved(moved: list[Record]) -> Iterator[str]:
    if _were_told(moved):
        yield ONLINE % ("#brokerName", "#queueId", "#offset")
        for record in moved:
            broker = cut(record["broker"], BROKER_MAX)
            yield ONLINE % (broker, record["queue_id"], record["new_offset"])
        return
    yield OFFLINE % (
        *("#brokerName", "#queueId", "#brokerOffset"),
        *("#consumerOffset", "#timestampOffset", "#rollbackOffset"),
    )
    for record in moved:
        old = record["min_offset"] if record["old_offset"] is None else record["old_offset"]
        yield OFFLINE % (
            *(cut(record["broker"], BROKER_MAX), record["queue_id"], record["max_offset"]),
            *(old, record["asked_offset"], record["new_offset"]),
        )

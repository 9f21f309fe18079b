"""Java's layout of the state of consumers: one as text, a whole group as a file for each.

Rule: the files of a group are written to a directory, named after the time, in the current one;
scripts find their names in the list.

Source: tools/command/consumer/ConsumerStatusSubCommand.java,
common/protocol/body/ConsumerRunningInfo.java#formatString (4.9.7).
"""

import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from mqadmin.output.compat.java_text import (
    Line,
    Record,
    mapping,
    number,
    object_text,
    parts,
    queue_text,
    rate,
)

LISTED: Final = "%-10s %-40s %-20s %s\n"
SUBSCRIBED: Final = "%03d Topic: %-40s ClassFilter: %-8s SubExpression: %s\n"
QUEUE_HEAD: Final = "%-64s  %-32s  %-4s  %-20s\n"
OFFSET: Final = "%-32s  %-32s  %-4s  %-20s\n"
HELD: Final = "%-64s  %-32s  %-4s  %s\n"
PACE_HEAD: Final = "%-64s  %14s %14s %14s %14s %18s %25s\n"
PACE: Final = "%-32s  %14.2f %14.2f %14.2f %14.2f %18.2f %25d\n"
SETTLED_MS: Final = 120_000
"""Members that have run for less may still be learning their subscriptions."""
BLOCKED_MS: Final = 60_000
PUSHED: Final = "CONSUME_PASSIVELY"


def members(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``consumerStatus``."""
    answered = [record for record in records if record["error"] is None]
    if line.values["client"] is not None:
        yield from (text for record in answered for text in inside(record))
        return
    now_ms = time.time_ns() // 1_000_000
    yield LISTED % ("#Index", "#ClientId", "#Version", "#ConsumerRunningInfoFile")
    for count, record in enumerate(answered, 1):
        properties = mapping(record["properties"])
        file = Path(str(now_ms), str(record["client_id"]).replace("/", "_"))
        file.parent.mkdir(exist_ok=True)
        file.write_text("".join(inside(record)))
        version = properties.get("PROP_CLIENT_VERSION", "")
        yield LISTED % (count, record["client_id"], version, file)
    if answered and not _have_same_subscription(answered, now_ms):
        yield "\n\nWARN: Different subscription in the same group of consumer!!!"
    elif answered:
        yield "\n\nSame subscription in the same group of consumer\n\nRebalance OK\n"
        yield from (text for record in answered for text in _blocked(record, now_ms))


def _have_same_subscription(records: list[Record], now_ms: int) -> bool:
    properties = mapping(records[0]["properties"])
    is_settled = now_ms - number(records[0]["started_ms"]) > SETTLED_MS
    if properties.get("PROP_CONSUME_TYPE") != PUSHED or not is_settled:
        return True
    return all(record["subscriptions"] == records[0]["subscriptions"] for record in records)


def _blocked(record: Record, now_ms: int) -> Iterator[str]:
    """Report the queues of a member that do not progress."""
    properties = mapping(record["properties"])
    if properties.get("PROP_CONSUME_TYPE") != PUSHED:
        return
    is_orderly = properties.get("PROP_CONSUMEORDERLY") == "true"
    for queue in parts(record["queues"]):
        who = f"{record['client_id']} {_queue(queue)}"
        idle_ms = now_ms - number(queue["last_consumed_ms"])
        if is_orderly and not queue["locked"]:
            yield f"{who} can't lock for a while, {now_ms - number(queue['last_lock_ms'])}ms\n"
        elif is_orderly and queue["dropped"] and number(queue["try_unlock_times"]) > 0:
            yield f"{who} unlock {queue['try_unlock_times']} times, still failed\n"
        elif not is_orderly and idle_ms > BLOCKED_MS and number(queue["cached_count"]) > 0:
            yield f"{who} can't consume for a while, maybe blocked, {idle_ms}ms\n"


def inside(record: Record) -> Iterator[str]:
    """Return the text about one consumer; settings are sorted, unlike in Java."""
    yield "#Consumer Properties#\n"
    for name, value in mapping(record["properties"]).items():
        yield f"{name:<40}: {value}\n"
    yield "\n\n#Consumer Subscription#\n"
    for count, (topic, expression) in enumerate(mapping(record["subscriptions"]).items(), 1):
        # Clients of 4.9 do not have filter classes.
        yield SUBSCRIBED % (count, topic, "false", expression)
    queues = parts(record["queues"])
    yield "\n\n#Consumer Offset#\n"
    yield QUEUE_HEAD % ("#Topic", "#Broker Name", "#QID", "#Consumer Offset")
    for queue in queues:
        yield OFFSET % (queue["topic"], queue["broker"], queue["queue_id"], queue["commit_offset"])
    yield "\n\n#Consumer MQ Detail#\n"
    yield QUEUE_HEAD % ("#Topic", "#Broker Name", "#QID", "#ProcessQueueInfo")
    for queue in queues:
        yield HELD % (queue["topic"], queue["broker"], queue["queue_id"], _process_queue(queue))
    yield "\n\n#Consumer RT&TPS#\n"
    yield PACE_HEAD % (
        *("#Topic", "#Pull RT", "#Pull TPS", "#Consume RT"),
        *("#ConsumeOK TPS", "#ConsumeFailed TPS", "#ConsumeFailedMsgsInHour"),
    )
    for pace in parts(record["rates"]):
        yield PACE % (
            *(pace["topic"], rate(pace["pull_rt_ms"]), rate(pace["pull_tps"])),
            *(rate(pace["consume_rt_ms"]), rate(pace["ok_tps"]), rate(pace["failed_tps"])),
            number(pace["failed_last_hour"]),
        )
    if record["jstack"] is not None:
        yield f"\n\n#Consumer jstack#\n{record['jstack']}"


def _queue(record: Record) -> str:
    return queue_text(record["topic"], record["broker"], record["queue_id"])


def _process_queue(record: Record) -> str:
    fields = {
        "commitOffset": record["commit_offset"],
        "cachedMsgMinOffset": record["cached_min_offset"],
        "cachedMsgMaxOffset": record["cached_max_offset"],
        "cachedMsgCount": record["cached_count"],
        "cachedMsgSizeInMiB": record["cached_mib"],
        "transactionMsgMinOffset": record["transaction_min_offset"],
        "transactionMsgMaxOffset": record["transaction_max_offset"],
        "transactionMsgCount": record["transaction_count"],
        "locked": record["locked"],
        "tryUnlockTimes": record["try_unlock_times"],
        "lastLockTimestamp": _digits(record["last_lock_ms"]),
        "droped": record["dropped"],
        "lastPullTimestamp": _digits(record["last_pull_ms"]),
        "lastConsumeTimestamp": _digits(record["last_consumed_ms"]),
    }
    return object_text("ProcessQueueInfo", fields)


def _digits(epoch_ms: object) -> str:
    """Return a time as ``yyyyMMddHHmmssSSS``."""
    at_ms = number(epoch_ms)
    return f"{datetime.fromtimestamp(at_ms // 1000):%Y%m%d%H%M%S}{at_ms % 1000:03d}"

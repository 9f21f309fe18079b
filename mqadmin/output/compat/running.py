"""Java's layout of the inside of consumers: of one as text, of a whole group as a file each.

Rule: of a group the files are written to the current directory, in one named after the time, as
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
"""Members of a group that has run for less may still learn their subscriptions."""
BLOCKED_MS: Final = 60_000
PUSHED: Final = "CONSUME_PASSIVELY"


def members(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``consumerStatus``."""
    told = [record for record in records if record["error"] is None]
    if line.values["client"] is not None:
        yield from (text for record in told for text in inside(record))
        return
    now_ms = time.time_ns() // 1_000_000
    yield LISTED % ("#Index", "#ClientId", "#Version", "#ConsumerRunningInfoFile")
    for count, record in enumerate(told, 1):
        properties = mapping(record["properties"])
        file = Path(str(now_ms), str(record["client_id"]).replace("/", "_"))
        file.parent.mkdir(exist_ok=True)
        file.write_text("".join(inside(record)))
        version = properties.get("PROP_CLIENT_VERSION", "")
        yield LISTED % (count, record["client_id"], version, file)
    if told and not _have_same_subscription(told, now_ms):
        yield "\n\nWARN: Different subscription in the same group of consumer!!!"
    elif told:
        yield "\n\nSame subscription in the same group of consumer\n\nRebalance OK\n"
        yield from (text for record in told for text in _blocked(record, now_ms))


def _have_same_subscription(told: list[Record], now_ms: int) -> bool:
    properties = mapping(told[0]["properties"])
    is_settled = now_ms - number(told[0]["started_ms"]) > SETTLED_MS
    if properties.get("PROP_CONSUME_TYPE") != PUSHED or not is_settled:
        return True
    return all(record["subscriptions"] == told[0]["subscriptions"] for record in told)


def _blocked(record: Record, now_ms: int) -> Iterator[str]:
    """Say which queues of a member stand still."""
    properties = mapping(record["properties"])
    if properties.get("PROP_CONSUME_TYPE") != PUSHED:
        return
    is_orderly = properties.get("PROP_CONSUMEORDERLY") == "true"
    for held in parts(record["queues"]):
        who = f"{record['client_id']} {_queue(held)}"
        idle_ms = now_ms - number(held["last_consumed_ms"])
        if is_orderly and not held["locked"]:
            yield f"{who} can't lock for a while, {now_ms - number(held['last_lock_ms'])}ms\n"
        elif is_orderly and held["dropped"] and number(held["try_unlock_times"]) > 0:
            yield f"{who} unlock {held['try_unlock_times']} times, still failed\n"
        elif not is_orderly and idle_ms > BLOCKED_MS and number(held["cached_count"]) > 0:
            yield f"{who} can't consume for a while, maybe blocked, {idle_ms}ms\n"


def inside(record: Record) -> Iterator[str]:
    """Return the text about one consumer; settings are sorted, in Java's they are not."""
    yield "#Consumer Properties#\n"
    for name, value in mapping(record["properties"]).items():
        yield f"{name:<40}: {value}\n"
    yield "\n\n#Consumer Subscription#\n"
    for count, (topic, expression) in enumerate(mapping(record["subscriptions"]).items(), 1):
        # Clients of 4.9 have no filter classes of their own.
        yield SUBSCRIBED % (count, topic, "false", expression)
    queues = parts(record["queues"])
    yield "\n\n#Consumer Offset#\n"
    yield QUEUE_HEAD % ("#Topic", "#Broker Name", "#QID", "#Consumer Offset")
    for held in queues:
        yield OFFSET % (held["topic"], held["broker"], held["queue_id"], held["commit_offset"])
    yield "\n\n#Consumer MQ Detail#\n"
    yield QUEUE_HEAD % ("#Topic", "#Broker Name", "#QID", "#ProcessQueueInfo")
    for held in queues:
        yield HELD % (held["topic"], held["broker"], held["queue_id"], _process_queue(held))
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


def _queue(held: Record) -> str:
    return queue_text(held["topic"], held["broker"], held["queue_id"])


def _process_queue(held: Record) -> str:
    told = {
        "commitOffset": held["commit_offset"],
        "cachedMsgMinOffset": held["cached_min_offset"],
        "cachedMsgMaxOffset": held["cached_max_offset"],
        "cachedMsgCount": held["cached_count"],
        "cachedMsgSizeInMiB": held["cached_mib"],
        "transactionMsgMinOffset": held["transaction_min_offset"],
        "transactionMsgMaxOffset": held["transaction_max_offset"],
        "transactionMsgCount": held["transaction_count"],
        "locked": held["locked"],
        "tryUnlockTimes": held["try_unlock_times"],
        "lastLockTimestamp": _digits(held["last_lock_ms"]),
        "droped": held["dropped"],
        "lastPullTimestamp": _digits(held["last_pull_ms"]),
        "lastConsumeTimestamp": _digits(held["last_consumed_ms"]),
    }
    return object_text("ProcessQueueInfo", told)


def _digits(epoch_ms: object) -> str:
    """Return a time as ``yyyyMMddHHmmssSSS``."""
    at_ms = number(epoch_ms)
    return f"{datetime.fromtimestamp(at_ms // 1000):%Y%m%d%H%M%S}{at_ms % 1000:03d}"

"""Rows as messages: the sink of ``rocketmq``.

    columns  body (binary or string, needed), topic, tags, keys (string or list), properties (map),
             flag, sys_flag (of it, how the body is compressed), delay_level or deliver_at (a
             timestamp), sharding_key, broker_name, queue_id
    ignored  the other columns of the source, which the broker sets anew, and RocketMQ's own
             properties, so that what was read can be written
    later    by the shortest delay level that is not before its time, as 4.9 has them, or by
             the property that timers of 5.x look at (option ``deliverBy``)
    lanes    rows of one sharding key or queue are sent one after the other, others side by side

Rule: each row is sent at least once. A send whose answer is lost is repeated, and Spark repeats a
task that failed; ``dedup`` gives every row an id that is the same each time (property
``RMQ_SPARK_ID``: query, batch, partition, row), as long as the plan returns the same rows in the
same order. The number of unanswered sends is bounded. Half messages are not used, since they cannot
be committed for all tasks together.

Source: mqclient.producer.producer; the ids follow Delta's (txnAppId, txnVersion).
"""

import asyncio
import math
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from mqclient.errors import ClientError, NoRoute
from mqclient.message import BODY_SIZE_MAX, DELAY_LEVEL_MAX, Message
from mqclient.producer.producer import Producer
from mqclient.producer.producer_settings import ProducerSettings
from mqspark.errors import BadOption
from mqspark.schemas import LIVE
from mqspark.sources.inflated import body_as_sent
from mqspark.sources.live.options import SinkSettings
from remoting.bodies import MessageQueue
from storefmt.errors import RecordDamaged, StoreError
from storefmt.formats.properties import (
    DELAY,
    KEYS,
    SYSTEM_NAMES,
    TAGS,
    TIMER_DELIVER_MS,
    check_property,
    split_keys,
)
from storefmt.names import DELAYS_MS
from storefmt.paths import check_topic_name

DEDUP_PROPERTY: Final = "RMQ_SPARK_ID"
_TEXT, _NUMBER = ("string",), ("int", "smallint", "tinyint", "bigint")
SINK_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "body": ("binary", "string"),
    "topic": _TEXT,
    "tags": _TEXT,
    "keys": ("array<string>", "string"),
    "properties": ("map<string,string>",),
    "flag": _NUMBER,
    "sys_flag": _NUMBER,
    "delay_level": _NUMBER,
    "deliver_at": ("timestamp",),
    "sharding_key": _TEXT,
    "broker_name": _TEXT,
    "queue_id": _NUMBER,
}
"""The columns that are sent, each with its types as Spark calls them."""
PRODUCER_GROUP: Final = "PY_SPARK_SINK"
_PAUSE_S: Final = 0.5


class Outgoing(NamedTuple):
    """A row, ready to send.

    Attributes:
        number: of the row in its partition.
        lane: rows of one lane are sent in order; None if the order of the row does not matter.
    """

    number: int
    message: Message
    sharding_key: str | None
    broker_name: str | None
    queue_id: int | None
    lane: tuple[object, ...] | None


def check_columns(types: Mapping[str, str], sink: SinkSettings) -> None:
    """Check that all columns can be sent, and that rows have a topic and a body.

    Args:
        types: the type of each column, as Spark calls it.
        sink: the settings of the sink.

    Raises:
        BadOption: a column is unknown or missing, or has another type.
    """
    have = set(types)
    column_names = {*SINK_COLUMNS, *LIVE.names, sink.dedup_key} - {""}
    if have - column_names:
        raise BadOption(
            f"the rocketmq sink has no column {', '.join(sorted(have - column_names))}; "
            f"it has {', '.join(SINK_COLUMNS)}"
        )
    if {"delay_level", "deliver_at"} <= have:
        raise BadOption("the rocketmq sink has columns delay_level and deliver_at: give one")
    if "body" not in have:
        raise BadOption("the rocketmq sink needs a column body, string or binary")
    if "topic" not in have and not sink.topic:
        raise BadOption("the rocketmq sink needs a column topic, or option topic")
    if sink.dedup_key and sink.dedup_key not in have:
        raise BadOption(f"option dedupKey names {sink.dedup_key!r}, which is no column")
    for name, kind in types.items():
        expected = SINK_COLUMNS.get(name, (kind,))
        if re.sub(r"(varchar|char)\(\d+\)", "string", kind) not in expected:
            raise BadOption(
                f"column {name} of the rocketmq sink has type {kind}, "
                f"expected {' or '.join(expected)}; cast it"
            )


def send_rows(sink: SinkSettings, batches: Iterable[Any], *, run_id: str) -> int:
    """Send the rows of record batches; return how many were stored.

    Args:
        sink: the settings of the sink.
        batches: the rows.
        run_id: query, batch and partition, which make ids differ between writes.

    Raises:
        BadOption: a row cannot be a message; the error names row, column and value.
        ClientError: a row could not be sent in any attempt; rows before it may be stored.
    """
    count = 0
    with asyncio.Runner() as runner:
        client = sink.access.client()
        try:
            sender = RowSender(Producer(client, PRODUCER_GROUP, ProducerSettings()), sink)
            for batch in batches:
                now_ms = time.time_ns() // 1_000_000
                rows = list(outgoing(batch, sink, run_id=run_id, first_row=count, now_ms=now_ms))
                runner.run(sender.send_all(rows))
                count += len(rows)
        finally:
            runner.run(client.close())
    return count


def outgoing(
    batch: Any, sink: SinkSettings, *, run_id: str, first_row: int, now_ms: int
) -> Iterator[Outgoing]:
    """Yield the rows of a record batch as messages.

    Args:
        batch: the rows.
        sink: the settings of the sink.
        run_id: query, batch and partition, which make ids differ between writes.
        first_row: the number of the first row in the partition.
        now_ms: the time from which delays count, ms since 1970.

    Raises:
        BadOption: as ``send_rows``.
    """
    for number, row in enumerate(batch.to_pylist(), first_row):
        topic, body = sink.topic or row.get("topic"), row["body"]
        if not topic or body is None:
            raise BadOption(f"row {number} has no {'body' if topic else 'topic'} to send")
        given = dict(row.get("properties") or {})
        properties = _own_properties(given, number)
        # Rows of the source have both also among their properties.
        tags = row.get("tags", given.get(TAGS))
        keys = row.get("keys", list(split_keys("", given.get(KEYS, ""))))
        if "||" in (tags or ""):
            raise BadOption(
                f"row {number}, column tags: {tags!r}; a message has one tag, and || is for the "
                "expressions of consumers"
            )
        if sink.dedup_key:
            properties[DEDUP_PROPERTY] = str(row[sink.dedup_key])
        elif sink.dedup:
            properties[DEDUP_PROPERTY] = f"{run_id}/{number}"
        level = row.get("delay_level") or 0
        if (moment := row.get("deliver_at")) is not None:
            at_ms = _at_ms(moment, number)
            if sink.by_timer:
                properties[TIMER_DELIVER_MS] = str(at_ms)
            else:
                level = _level(at_ms - now_ms, number)
        message = Message(
            topic,
            _plain_body(body, row.get("sys_flag") or 0, number),
            tags=tags,
            keys=keys,
            flag=row.get("flag") or 0,
            properties=properties,
            delay_level=level,
        )
        _check(message, number)
        yield _addressed(message, row, number)


def _check(message: Message, number: int) -> None:
    """Check the values of a message that a producer would refuse.

    Raises:
        BadOption: there is one.
    """
    if not 0 < len(message.body) <= BODY_SIZE_MAX:
        raise BadOption(
            f"row {number}, column body: {len(message.body)} bytes, expected 1 to {BODY_SIZE_MAX}"
        )
    if not -(2**31) <= message.flag < 2**31:
        raise BadOption(f"row {number}, column flag: {message.flag}, expected 32 bits")
    if not 0 <= message.delay_level <= DELAY_LEVEL_MAX:
        raise BadOption(
            f"row {number}, column delay_level: {message.delay_level}, "
            f"expected 0 to {DELAY_LEVEL_MAX}"
        )
    values: list[tuple[str, object, str, str]] = [("topic", message.topic, "", message.topic)]
    values += [("properties", item, *item) for item in message.properties.items()]
    values += [("tags", message.tags, TAGS, message.tags)] if message.tags else []
    values += [("keys", message.keys, KEYS, message.keys_text)] if message.keys_text else []
    for column, shown, name, value in values:
        try:
            if column == "topic":
                check_topic_name(value)
            else:
                check_property(name, value)
        except (StoreError, TypeError) as error:
            raise BadOption(f"row {number}, column {column}: {shown!r}: {error}") from error


def _own_properties(given: Mapping[str, str], number: int) -> dict[str, str]:
    """Return the properties of a row that a user may set.

    Raises:
        BadOption: the row has a delay level among its properties, which a broker would not see.
    """
    if DELAY in given:
        raise BadOption(
            f"row {number} has property {DELAY}, which is RocketMQ's own; "
            "column delay_level sets it"
        )
    return {name: value for name, value in given.items() if name not in SYSTEM_NAMES}


def _plain_body(body: bytes | str, sys_flag: int, number: int) -> bytes:
    """Return the body of a row as its first producer gave it; ours compresses it again.

    Raises:
        BadOption: it is not compressed as ``sys_flag`` says.
    """
    data = body.encode() if isinstance(body, str) else body
    try:
        return body_as_sent(data, sys_flag)
    except RecordDamaged as error:
        raise BadOption(f"row {number}: {error}") from error


def _at_ms(moment: object, number: int) -> int:
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise BadOption(f"row {number} has deliver_at {moment!r}, expected a timestamp")
    return math.ceil(moment.timestamp() * 1000)


def _level(delay_ms: int, number: int) -> int:
    """Return the shortest delay level of at least ``delay_ms``, 0 for a time that has come."""
    if delay_ms <= 0:
        return 0
    for level, level_ms in enumerate(DELAYS_MS, start=1):
        if level_ms >= delay_ms:
            return level
    raise BadOption(
        f"row {number} is to be delivered in {delay_ms / 1000:.0f} s, the longest delay level "
        f"has {DELAYS_MS[-1] / 1000:.0f} s; brokers of 5.x can with option deliverBy=timer"
    )


def _addressed(message: Message, row: Mapping[str, Any], number: int) -> Outgoing:
    key, queue_id = row.get("sharding_key"), row.get("queue_id")
    broker = row.get("broker_name")
    lane: tuple[object, ...] | None = None
    if queue_id is not None:
        lane = (message.topic, broker, queue_id)
    elif key is not None:
        lane = (message.topic, key)
    return Outgoing(number, message, key, broker, queue_id, lane)


class RowSender:
    """Sends rows, with a bounded number of unanswered sends."""

    def __init__(self, producer: Producer, sink: SinkSettings) -> None:
        self._producer = producer
        self._retries = sink.retries
        self._turns = asyncio.Semaphore(sink.in_flight)

    async def send_all(self, rows: Iterable[Outgoing]) -> None:
        """Send rows and return when all are stored.

        Raises:
            ClientError: a row could not be sent; a note names it.
        """
        lanes: dict[tuple[object, ...], list[Outgoing]] = {}
        for row in rows:
            # No row can name a lane that is only a number.
            lanes.setdefault(row.lane or (row.number,), []).append(row)
        try:
            async with asyncio.TaskGroup() as group:
                for lane in lanes.values():
                    group.create_task(self._send_lane(lane))
        except* ClientError as failed:
            # The others failed for the same reason, or were cancelled.
            first = failed.exceptions[0]
        else:
            return
        raise first from None

    async def _send_lane(self, rows: Iterable[Outgoing]) -> None:
        for row in rows:
            async with self._turns:
                await self._send(row)

    async def _send(self, row: Outgoing) -> None:
        for turn in range(self._retries + 1):
            try:
                queue = await self._queue(row)
                # The producer tries a queue of the caller's choice only once, so repeat it here.
                await self._producer.send(
                    row.message,
                    queue=queue,
                    sharding_key=None if queue is not None else row.sharding_key,
                )
            except ClientError as error:
                if turn == self._retries or not error.retriable:
                    error.add_note(f"row {row.number} could not be sent to {row.message.topic}")
                    raise
                await asyncio.sleep(_PAUSE_S * 2**turn)
            else:
                return

    async def _queue(self, row: Outgoing) -> MessageQueue | None:
        if row.queue_id is None:
            return None
        queues = await self._producer.queues(row.message.topic)
        for queue in queues:
            if queue.queue_id == row.queue_id and row.broker_name in (None, queue.broker_name):
                return queue
        raise NoRoute(
            row.message.topic,
            address=f"queue {row.queue_id} of {row.broker_name or 'any broker'}",
        )

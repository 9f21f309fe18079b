"""``delay list``: list the delayed messages that wait, by level, and timer messages by topic.

    level N = queue N-1 of SCHEDULE_TOPIC_XXXX
    pending    behind the broker's position in the queue: not delivered yet
    due        of those, the ones whose time has come (their tags_code is that time)

Requests on each master: GET_BROKER_CONFIG, GET_ALL_DELAY_OFFSET, and per level that waits
QUERY_CONSUME_QUEUE: the times in a queue rise, so that a search of a few steps finds them.
PULL_MESSAGE reads the first messages of a level, which name their topics.
GET_TIMER_METRICS gives the number of messages in the timer wheel of a broker of RocketMQ 5 for each
topic; older brokers do not have timer messages.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import click

from mqadmin.cli.declare import Call, EpochMs, Needs, Outcome, Row, command
from mqadmin.cli.decorators import Where, broker_option
from mqadmin.cluster.brokers import ServerNode, masters
from mqadmin.cluster.partial_answers import Answers
from mqadmin.messages.broker_reader import QueueSpan, read_queue
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.errors import BrokerRefused, NotFound
from remoting.bodies import MessageQueue
from remoting.codes import ResponseCode
from storefmt.formats.properties import REAL_TOPIC
from storefmt.names import (
    DELAY_LEVELS,
    RETRY_PREFIX,
    SCHEDULE_TOPIC,
    TOOLS_GROUP,
    parse_delay_levels,
)

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

READ_MAX: Final = 1_000
"""How many messages of a level are read to find out whose they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayRow(Row):
    """One level: ``queue_offset`` is the next entry to deliver, ``next_due_ms`` its time.

    ``whose`` counts the first ``READ_MAX`` of a level by topic, or by the group that retries them;
    it is empty for a store directory. Timer messages do not have a level: ``topic`` is their topic,
    and only their number is known.
    """

    broker: str | None
    level: int | None = None
    topic: str | None = None
    delay_ms: int | None = None
    pending: int
    due: int | None = None
    queue_offset: int | None = None
    max_offset: int | None = None
    next_due_ms: EpochMs = 0
    whose: tuple[str, ...] = ()


@command(
    "delay list",
    examples=(
        ("mqadmin delay list", "levels with waiting messages, and their topics"),
        ("mqadmin delay list --all", "every level"),
        ("mqadmin delay list --store DIR", "from a store directory"),
    ),
    rows=DelayRow,
    columns=("broker", "level", "topic", "delay_ms", "pending", "due", "next_due_time", "whose"),
    needs=Needs.EITHER,
)
@broker_option(help="only on this broker")
@click.option("--waiting", is_flag=True, help="only levels with waiting messages (the default)")
@click.option("--all", "all_", is_flag=True, help="also levels without waiting messages")
async def list_delays(call: Call, *, broker: str | None, waiting: bool, all_: bool) -> Outcome:
    """Return one row for each broker and level with waiting messages.

    Raises:
        NotFound: the broker does not exist.
    """
    answers = Answers(call)
    if call.is_offline:
        rows = _offline(call)
    else:
        admin = await call.admin()
        nodes = await masters(admin, Where(broker=broker), every=True)
        now_ms = call.now_ms()
        reader = PullConsumer(await call.client(), TOOLS_GROUP)
        rows_by_node = await answers.each(
            nodes, lambda node: _of_broker(admin, reader, node, now_ms)
        )
        rows = [row for _, part in rows_by_node for row in part]
    shown = [row for row in rows if row.pending or (all_ and not waiting)]
    return Outcome(shown, exit_code=answers.exit_code)


async def _of_broker(
    admin: "Admin", reader: PullConsumer, node: ServerNode, now_ms: int
) -> list[DelayRow]:
    levels = [
        replace(row, whose=await _whose(reader, node, row)) if row.pending else row
        for row in await _levels(admin, node, now_ms)
    ]
    return levels + await _timers(admin, node)


async def _whose(reader: PullConsumer, node: ServerNode, row: DelayRow) -> tuple[str, ...]:
    """Return whose messages wait in a level, such as "orders: 12", "retries of billing: 3".

    A message that is delivered in the meantime is still counted.
    """
    start, end = row.queue_offset or 0, row.max_offset or 0
    queue = MessageQueue(SCHEDULE_TOPIC, node.broker, (row.level or 1) - 1)
    counts: Counter[str] = Counter()
    async for message in read_queue(reader, QueueSpan(queue, start, min(end, start + READ_MAX))):
        counts[message.properties.get(REAL_TOPIC, "")] += 1
    texts = [
        f"retries of {name.removeprefix(RETRY_PREFIX)}: {count}"
        if name.startswith(RETRY_PREFIX)
        else f"{name}: {count}"
        for name, count in counts.most_common()
    ]
    if end - start > READ_MAX:
        texts.append(f"{end - start - READ_MAX} more not read")
    return tuple(texts)


async def _timers(admin: "Admin", node: ServerNode) -> list[DelayRow]:
    try:
        counts = await admin.timer_metrics(node.address)
    except BrokerRefused as error:
        if error.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            return []
        raise
    return [
        DelayRow(broker=node.broker, topic=topic, pending=count)
        for topic, count in sorted(counts.items())
    ]


async def _levels(admin: "Admin", node: ServerNode, now_ms: int) -> list[DelayRow]:
    settings, offsets = await asyncio.gather(
        admin.broker_config(node.address), admin.delay_offsets(node.address)
    )
    delays = parse_delay_levels(settings.get("messageDelayLevel", DELAY_LEVELS))
    return list(
        await asyncio.gather(
            *(
                _level(admin, node, level, delay_ms, offsets.get(level, 0), now_ms)
                for level, delay_ms in enumerate(delays, start=1)
            )
        )
    )


async def _level(
    admin: "Admin", node: ServerNode, level: int, delay_ms: int, offset: int, now_ms: int
) -> DelayRow:
    ends = await _entry(admin, node, level, offset)
    if ends is None:
        # The broker does not have this queue, or nothing waits in it.
        return _row(node.broker, level, delay_ms, offset, offset, 0, 0)
    first_ms, low, high = ends
    offset = max(offset, low)
    begin, end = offset, high
    while begin < end:
        middle = (begin + end) // 2
        entry = await _entry(admin, node, level, middle)
        if entry is not None and entry[0] <= now_ms:
            begin = middle + 1
        else:
            end = middle
    return _row(node.broker, level, delay_ms, offset, high, begin - offset, first_ms)


async def _entry(
    admin: "Admin", node: ServerNode, level: int, queue_offset: int
) -> tuple[int, int, int] | None:
    """Return (due time, min, max of the queue) of an entry; None if it does not exist."""
    try:
        entries = await admin.query_consume_queue(
            node.address, SCHEDULE_TOPIC, level - 1, queue_offset=queue_offset, count=1
        )
    except (NotFound, BrokerRefused):
        return None
    if not entries.queue_data:
        return None
    return entries.queue_data[0].tags_code, entries.min_queue_index, entries.max_queue_index


def _offline(call: Call) -> list[DelayRow]:
    from mqadmin.store_access.stored_rows import open_store

    now_ms = call.now_ms()
    rows = []
    with open_store(call) as store:
        offsets = store.delay_offsets()
        here = {
            number: store.queue(SCHEDULE_TOPIC, number)
            for topic, number in store.queues()
            if topic == SCHEDULE_TOPIC
        }
        for level, delay_ms in enumerate(parse_delay_levels(DELAY_LEVELS), start=1):
            view = here.get(level - 1)
            offset = offsets.get(level, 0)
            times = [entry.tags_code for _, entry in view.entries(offset, None)] if view else []
            due = sum(at_ms <= now_ms for at_ms in times)
            first_ms = times[0] if times else 0
            rows.append(_row(None, level, delay_ms, offset, offset + len(times), due, first_ms))
    return rows


def _row(
    broker: str | None, level: int, delay_ms: int, offset: int, high: int, due: int, first_ms: int
) -> DelayRow:
    return DelayRow(
        broker=broker,
        level=level,
        delay_ms=delay_ms,
        pending=high - offset,
        due=due,
        queue_offset=offset,
        max_offset=high,
        next_due_ms=first_ms,
    )

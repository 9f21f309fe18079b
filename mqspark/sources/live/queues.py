"""Questions to brokers: which queues there are, where they begin and end, and offsets by time.

    QueueSelection --queues_of--> queues --ends--> Ends --positions--> queue offset by queue

Rule: one request for each topic and broker asks about all its queues, so that 50,000 queues take
seconds; queues that the answer leaves out are asked for one by one. A time means the first message
that was stored at that time or later.

Source: mqclient.client.queue_offsets, mqclient.admin.topic, mqclient.admin.message.
"""

import asyncio
import heapq
import logging
import re
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping
from typing import Any, Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from mqclient.admin.message import MessageCalls
from mqclient.admin.topic import TopicCalls
from mqclient.client import queue_offsets, routes
from mqclient.client.instance import MQClient
from mqclient.consumer.pull.pull_request import PullApi, PullRequest
from mqclient.consumer.subscription import TAG, Subscription, TopicSubscription
from mqclient.errors import BrokerRefused, ClientError, NoRoute, NotFound
from mqspark.errors import BadOption, DataLost
from mqspark.sources.live.options import (
    EARLIEST,
    Edge,
    LiveReadOptions,
    QueueSelection,
    queue_text,
)
from mqspark.sources.live.patience import Patience
from mqspark.sources.live.plan import (
    GO_ON,
    Ends,
    Task,
    backlog_of,
    batch_end,
    ranges_of,
    tasks_of,
)
from remoting.bodies import MessageQueue
from remoting.codes import ResponseCode
from storefmt.formats.message import Record, decode_records
from storefmt.names import TOOLS_GROUP

LOG = logging.getLogger(__name__)

_AT_ONCE: Final = 16
_LOOK_COUNT: Final = 32
_SIZES_COUNT: Final = 64
_SIZED_QUEUES: Final = 256

_K = TypeVar("_K")
_T = TypeVar("_T")
_V = TypeVar("_V")
Positions = dict[MessageQueue, int]
"""Queue offset to read next, by queue."""
StoreTimes = dict[MessageQueue, int]
"""The store time (ms since 1970) of the message before a position, by queue."""


def ask_brokers(
    live: LiveReadOptions, question: Callable[[MQClient, LiveReadOptions], Coroutine[Any, Any, _T]]
) -> _T:
    """Return the answer of ``question``, which gets a client with connections of its own.

    Each call makes its own client because Spark calls from several processes.

    Raises:
        ClientError, BadOption, DataLost: as ``question``.
    """

    async def with_client() -> _T:
        async with live.access.client() as client:
            return await question(client, live)

    return asyncio.run(with_client())


def ask_patiently(
    live: LiveReadOptions, question: Callable[[MQClient, LiveReadOptions], Coroutine[Any, Any, _T]]
) -> _T:
    """Return what ``ask_brokers`` does; while servers are away, ask again, see ``patience``.

    Raises:
        ClientError, BadOption, DataLost: as ``question``.
    """
    patience = Patience(live.retry_s)
    while True:
        try:
            return ask_brokers(live, question)
        except ClientError as error:
            pause_s = patience.next_pause_s(error, now_s=time.monotonic())
            if pause_s is None:
                raise
            LOG.warning("%s; asked again in %.1f s (retryTimeoutMs)", error, pause_s)
            time.sleep(pause_s)


async def batch_tasks(client: MQClient, live: LiveReadOptions) -> list[Task]:
    """Return the tasks of a batch read; raises as ``queues_of``, ``ends``, ``positions``."""
    queue_ends = await checked_span(client, live)
    first = await _first(client, live, queue_ends)
    last = await positions(client, live.ending, queue_ends, late_is_latest=True, side="ending")
    return tasks_of(
        ranges_of(first, last), min_partitions=live.min_partitions, max_records=live.max_records
    )


async def starting(
    client: MQClient, live: LiveReadOptions
) -> tuple[Positions, dict[MessageQueue, Ends]]:
    """Return where reading begins, and the ends of the queues; raises as ``batch_tasks``."""
    queue_ends = await span(client, live)
    return await _first(client, live, queue_ends), queue_ends


async def _first(
    client: MQClient, live: LiveReadOptions, queue_ends: Mapping[MessageQueue, Ends]
) -> Positions:
    first = await positions(
        client, live.starting, queue_ends, late_is_latest=live.late_is_latest, side="starting"
    )
    for queue, offset in first.items():
        if offset > queue_ends[queue].high and live.fail_on_data_loss:
            raise DataLost(
                f"startingOffsets has {queue_text(queue)} at {offset}, which ends at "
                f"{queue_ends[queue].high}: it was made anew, or its broker lost data; {GO_ON}"
            )
    given = {queue: first[queue] for queue in live.starting.store_times}
    for queue, time_ms in (await store_times_at(client, given, queue_ends)).items():
        if time_ms == live.starting.store_times[queue]:
            continue
        if live.fail_on_data_loss:
            raise DataLost(
                f"startingOffsets has {queue_text(queue)} at {first[queue]}, but message "
                f"{first[queue] - 1} is another one now: the topic was made anew; {GO_ON}"
            )
        first[queue] = queue_ends[queue].low
    return {queue: min(offset, queue_ends[queue].high) for queue, offset in first.items()}


async def span(client: MQClient, live: LiveReadOptions) -> dict[MessageQueue, Ends]:
    """Return all queues that are wanted, with their ends; raises as ``batch_tasks``."""
    return await ends(client, await queues_of(client, live.wanted))


async def checked_span(client: MQClient, live: LiveReadOptions) -> dict[MessageQueue, Ends]:
    """Return what ``span`` does, after every broker has read the filter expression.

    A broker ignores an SQL92 expression that it cannot read, so a pull would return all messages.

    Raises:
        BadOption: a broker cannot read the expression, or filters by tags only.
        ClientError: as ``batch_tasks``.
    """
    queue_ends = await span(client, live)
    await check_filter(client, live, queue_ends)
    return queue_ends


async def check_filter(
    client: MQClient, live: LiveReadOptions, queues: Iterable[MessageQueue]
) -> None:
    """Let every broker of these queues read the filter expression.

    Raises:
        BadOption: a broker cannot read the expression, or filters by tags only.
        ClientError: a broker did not answer.
    """
    if live.filter_kind == TAG:
        return
    filter_ = Subscription.parse(live.filter, kind=live.filter_kind)

    async def at_broker(queue: MessageQueue) -> None:
        subscription = TopicSubscription.of(
            queue.topic, filter_, version=time.time_ns() // 1_000_000
        )
        try:
            await subscription.check_at(client, await client.master_of(queue), group=TOOLS_GROUP)
        except BrokerRefused as error:
            if error.code == ResponseCode.NO_PERMISSION:
                raise
            raise BadOption(
                f"option filterExpression is {live.filter!r}, which {error.address} refuses as "
                f"{live.filter_kind}: {error.remark}"
            ) from error

    await _each({queue.broker_name: queue for queue in queues}.values(), at_broker)


async def queues_of(
    client: MQClient, selection: QueueSelection, missing: set[str] | None = None
) -> list[MessageQueue]:
    """Return the queues that are wanted and readable now, sorted.

    Args:
        client: the client that asks the name servers.
        selection: which queues.
        missing: gets the named topics that do not exist; None if that is an error.

    Raises:
        BadOption: the pattern is not a regular expression.
        NoRoute: a named topic, or the broker of a queue, does not exist.
        ClientError: no name server answered.
    """
    if selection.queues and missing is None:
        return list(selection.queues)
    topics: Iterable[str] = selection.topics or {queue.topic for queue in selection.queues}
    if selection.pattern:
        topics = matching(await TopicCalls(client).topic_list(), selection.pattern)

    async def of_topic(topic: str) -> list[MessageQueue]:
        try:
            route = await client.route(topic, fresh=True)
        except NoRoute:
            if missing is None:
                raise
            missing.add(topic)
            return []
        if routes.logical_queues(topic, route):
            raise BadOption(
                f"topic {topic} is static: the live source reads no logical queues; read the "
                "stores of its brokers instead"
            )
        brokers = {data.broker_name for data in route.broker_datas}
        if selection.queues:
            return [
                queue
                for queue in selection.queues
                if queue.topic == topic and queue.broker_name in brokers
            ]
        return routes.subscribe_queues(topic, route)

    found = await _each(topics, of_topic)
    return sorted(queue for queues in found.values() for queue in queues)


def matching(topics: Collection[str], pattern: str) -> list[str]:
    """Return the topics that match an expression as a whole.

    Names are those of strangers, so RE2 matches them, in linear time. What it lacks (lookaround,
    references) is left to Python, whose time has no bound.

    Raises:
        BadOption: the pattern is not a regular expression.
    """
    try:
        re.compile(pattern)
    except re.error as error:
        raise BadOption(
            f"option subscribePattern is {pattern!r}, no regular expression: {error}"
        ) from error
    names = list(topics)
    try:
        found = pc.match_substring_regex(pa.array(names, pa.string()), rf"\A(?:{pattern})\z")
    except pa.ArrowInvalid:
        matches = re.compile(pattern).fullmatch
        return [name for name in names if matches(name)]
    return [name for name, is_match in zip(names, found.to_pylist(), strict=True) if is_match]


async def ends(
    client: MQClient, queues: Iterable[MessageQueue], missing: set[str] | None = None
) -> dict[MessageQueue, Ends]:
    """Return where each queue begins and ends.

    Args:
        client: the client that asks the brokers.
        queues: the queues.
        missing: gets the topics that a broker does not have, although a name server still says so;
            their queues there are left out. None if that is an error.

    Raises:
        ClientError: a broker did not answer.
    """
    asked = set(queues)
    calls = TopicCalls(client)

    async def of_topic(place: tuple[str, str]) -> dict[MessageQueue, Ends]:
        topic, broker = place
        address = await client.master_of(MessageQueue(topic, broker))
        try:
            stats = await calls.topic_stats_at(address, topic)
        except NotFound:
            if missing is None:
                raise
            missing.add(topic)
            asked.difference_update(
                [queue for queue in asked if (queue.topic, queue.broker_name) == place]
            )
            return {}
        return {
            queue: Ends(item.min_offset, item.max_offset, item.last_update_timestamp)
            for queue, item in stats.items()
        }

    async def of_queue(queue: MessageQueue) -> Ends:
        return Ends(
            await queue_offsets.min_offset(client, queue),
            await queue_offsets.max_offset(client, queue),
        )

    places = {(queue.topic, queue.broker_name) for queue in asked}
    answers = await _each(places, of_topic)
    ends_by_queue = {queue: item for answer in answers.values() for queue, item in answer.items()}
    # A broker lists only the queues that can be written; a topic may have more that can be read.
    ends_by_queue |= await _each(asked - set(ends_by_queue), of_queue)
    return {queue: ends_by_queue[queue] for queue in sorted(asked)}


async def positions(
    client: MQClient,
    edge: Edge,
    queue_ends: Mapping[MessageQueue, Ends],
    *,
    late_is_latest: bool,
    side: str,
) -> Positions:
    """Return the queue offset that an edge means for each queue.

    Args:
        client: the client that asks the brokers.
        edge: where reading begins or ends.
        queue_ends: the queues with their ends.
        late_is_latest: whether a starting time after the last message means the end; otherwise it
            is an error.
        side: "starting" or "ending", for errors.

    Raises:
        BadOption: offsets are given for some queues only, or for a queue that does not exist; or a
            starting time is after the last message, and ``late_is_latest`` is false.
        ClientError: a broker did not answer.
    """
    strange = sorted(set(edge.by_queue) - set(queue_ends))
    if strange:
        raise BadOption(f"{side} offsets name {queue_text(strange[0])}, which is not read here")
    if edge.by_queue and len(edge.by_queue) < len(queue_ends):
        missing = min(set(queue_ends) - set(edge.by_queue))
        raise BadOption(f"{side} offsets do not name {queue_text(missing)}; name every queue")

    async def of_queue(queue: MessageQueue) -> int:
        there = queue_ends[queue]
        value = edge.by_queue.get(queue, edge.offset)
        if edge.is_time:
            time_ms = edge.by_queue.get(queue, edge.time_ms)
            assert time_ms is not None
            place = await first_at(client, queue, there, time_ms=time_ms)
            if place == there.high and side == "starting" and not late_is_latest:
                raise BadOption(
                    f"{queue_text(queue)} has no message at or after {time_ms} ms; "
                    "startingOffsetsByTimestampStrategy=latest begins at its end"
                )
            return place
        if value < 0:
            return there.low if value == EARLIEST else there.high
        return value

    return await _each(queue_ends, of_queue)


async def first_at(client: MQClient, queue: MessageQueue, there: Ends, *, time_ms: int) -> int:
    """Return the first queue offset stored at a time or later, or the end of the queue if none.

    Args:
        client: asks the master of the queue.
        queue: the queue, with its namespace.
        there: the queue offsets between which to look, in entries.
        time_ms: the store time, in ms since 1970.

    Raises:
        ClientError: the broker did not answer.
    """
    if there.low >= there.high:
        return there.high
    near = await queue_offsets.search_offset(client, queue, timestamp_ms=time_ms)
    # The broker returns a neighbour, and any one of several messages of one millisecond.
    place = min(max(near, there.low), there.high - 1)
    puller = PullApi(client, TOOLS_GROUP)
    while place > there.low:
        first = max(there.low, place - _LOOK_COUNT + 1)
        times = await _stored(puller, queue, first, place + 1 - first)
        place = first
        if not times or min(times.values()) < time_ms:
            break
    while place < there.high:
        times = await _stored(puller, queue, place, _LOOK_COUNT)
        late = [offset for offset, store_ms in times.items() if store_ms >= time_ms]
        if late:
            return min(late)
        if not times:
            break
        place = max(times) + 1
    return there.high


async def _stored(puller: PullApi, queue: MessageQueue, first: int, count: int) -> dict[int, int]:
    """Return the store times of messages from ``first`` on, by queue offset."""
    raw = await puller.pull_raw(PullRequest(queue, first, Subscription.parse("*"), count))
    records: list[Record] = decode_records(raw.data, check_crc=False)
    return {record.queue_offset: record.store_ms for record in records}


async def store_times_at(
    client: MQClient, positions: Positions, queue_ends: Mapping[MessageQueue, Ends]
) -> StoreTimes:
    """Return the store time of the message before each position, where there is one.

    The time of the last message of a queue comes with its ends. Any other one takes a pull.

    Raises:
        ClientError: a broker did not answer.
    """
    puller = PullApi(client, TOOLS_GROUP)
    inside = {
        queue: offset
        for queue, offset in positions.items()
        if queue in queue_ends and queue_ends[queue].low < offset <= queue_ends[queue].high
    }

    async def of_queue(queue: MessageQueue) -> int:
        there, offset = queue_ends[queue], inside[queue]
        if offset == there.high and there.last_ms > 0:
            return there.last_ms
        return (await _stored(puller, queue, offset - 1, 1)).get(offset - 1, 0)

    times = await _each(inside, of_queue)
    return {queue: time_ms for queue, time_ms in times.items() if time_ms > 0}


def next_batch_end(
    live: LiveReadOptions, old: Positions, reached: Positions, *, max_offsets: int | None
) -> Positions:
    """Return how far one batch goes, by offsets and by ``live.max_bytes``.

    Args:
        live: the settings of the source.
        old: the queue offset to read next, by queue.
        reached: the queue offset behind the last message, by queue.
        max_offsets: the limit for all queues together, None for no limit.

    Raises:
        ClientError: a broker did not answer.
    """
    sizes = {}
    if live.max_bytes is not None:
        sizes = ask_patiently(live, lambda client, _: record_sizes(client, old, reached))
    return batch_end(old, reached, max_offsets=max_offsets, max_bytes=live.max_bytes, sizes=sizes)


async def record_sizes(client: MQClient, old: Positions, reached: Positions) -> Positions:
    """Return the approximate size in bytes of a record between two positions, by queue.

    Brokers tell the sizes of a queue's next messages without sending the messages. Only the queues
    with the largest backlog are asked; the others count with the mean of those.

    Raises:
        ClientError: a broker did not answer.
    """
    backlog = {queue: left for queue, left in backlog_of(old, reached).items() if left}
    calls = MessageCalls(client)

    async def of_queue(queue: MessageQueue) -> int:
        try:
            found = await calls.query_consume_queue(
                await client.master_of(queue),
                queue.topic,
                queue.queue_id,
                queue_offset=old[queue],
                count=min(_SIZES_COUNT, backlog[queue]),
            )
        except NotFound:
            # Retention has deleted these messages; reading them reports that.
            return 0
        entries = found.queue_data or []
        # A broker may return more entries than requested.
        some = [entry.physic_size for entry in entries[: min(_SIZES_COUNT, backlog[queue])]]
        return -(-sum(some) // len(some)) if some else 0

    asked = heapq.nlargest(_SIZED_QUEUES, backlog, key=lambda queue: backlog[queue])
    sizes = {queue: size for queue, size in (await _each(asked, of_queue)).items() if size}
    mean = -(-sum(sizes.values()) // len(sizes)) if sizes else 0
    return {queue: sizes.get(queue, mean) for queue in backlog}


async def report(client: MQClient, group: str, reached: Positions) -> list[str]:
    """Set a group's offsets, from which tools show its lag; return the failures as text.

    The source does not read from these offsets, so an unreachable broker does not stop it.
    """

    async def of_queue(queue: MessageQueue) -> str:
        try:
            await queue_offsets.commit(client, queue, group=group, queue_offset=reached[queue])
        except ClientError as error:
            return str(error)
        return ""

    return [text for text in (await _each(reached, of_queue)).values() if text]


async def _each(keys: Iterable[_K], ask: Callable[[_K], Awaitable[_V]]) -> dict[_K, _V]:
    """Return the answer for each key, asking for a few at a time; raise the first error."""
    turns = asyncio.Semaphore(_AT_ONCE)

    async def one(key: _K) -> tuple[_K, _V]:
        async with turns:
            return key, await ask(key)

    return dict(await asyncio.gather(*(one(key) for key in keys)))

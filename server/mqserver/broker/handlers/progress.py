"""The consume progress of groups: per queue (208, 317) and in time (303); statistics (315).

Source: broker/processor/AdminBrokerProcessor.java.
"""

from functools import partial

from mqserver.broker.cold_handler import read_each
from mqserver.broker.state import Broker
from mqserver.broker.stats.counters import StatsSnapshot
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request, RequestRefused
from mqserver.runtime.slices import SMALL_COUNT, Steps, chunks, in_slices, large
from remoting.bodies import (
    BrokerStatsData,
    BrokerStatsItem,
    ConsumeStats,
    ConsumeStatsList,
    MessageQueue,
    OffsetWrapper,
    QueryConsumeTimeSpanBody,
    QueueTimeSpan,
)
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import (
    GetConsumeStats,
    GetConsumeStatsInBroker,
    QueryConsumeTimeSpan,
    ViewBrokerStatsData,
)
from storefmt.config.tables import TopicConfig


@handles(RequestCode.GET_CONSUME_STATS)
@in_slices
def get_consume_stats(broker: Broker, request: Request) -> Steps[Command]:
    """Return a group's offset and the max offset of every queue that it reads."""
    fields = request.command.header(GetConsumeStats)
    group = fields.consumer_group
    blank = not (fields.topic or "").strip()
    stats = ConsumeStats()
    for topic in broker.offsets.topics_of(group) if blank else [fields.topic or ""]:
        config = _readable(broker, group, topic)
        if config is not None:
            yield from _add(broker, stats, group, config, config.read_queue_nums)
    text = yield from large(stats.encode, count=len(stats.offset_table))
    return request.command.response(body=text)


@handles(RequestCode.GET_BROKER_CONSUME_STATS)
@in_slices
def get_all_consume_stats(broker: Broker, request: Request) -> Steps[Command]:
    """Return the consume progress of every group, with one entry per topic."""
    ordered_only = request.command.header(GetConsumeStatsInBroker).is_order
    rows, behind, queue_count = [], 0, 0
    topics = broker.offsets.topics_by_group()
    for group in broker.groups.names():
        per_group = []
        for topic in topics.get(group, ()):
            config = _readable(broker, group, topic)
            if config is None or (ordered_only and not config.order):
                continue
            stats = ConsumeStats()
            yield from _add(broker, stats, group, config, config.write_queue_nums)
            yield None
            behind += stats.total_diff()
            queue_count += len(stats.offset_table)
            per_group.append(stats)
        rows.append({group: per_group})
    body = ConsumeStatsList(
        consume_stats_list=rows, broker_addr=broker.config.broker_addr, total_diff=behind
    )
    text = yield from large(body.encode, count=len(rows) + queue_count)
    return request.command.response(body=text)


def _readable(broker: Broker, group: str, topic: str) -> TopicConfig | None:
    """Return the topic's settings; None if it is missing or the online group does not read it."""
    members = broker.consumers.group(group)
    if members is not None and members.subscriptions and topic not in members.subscriptions:
        return None
    return broker.topics.get(topic)


def _add(
    broker: Broker,
    stats: ConsumeStats,
    group: str,
    config: TopicConfig,
    queue_count: int,
) -> Steps[None]:
    topic, store = config.topic_name, broker.store

    def progress(queue_id: int) -> OffsetWrapper:
        reached = max(0, broker.offsets.get(group, topic, queue_id=queue_id))
        last_ms = store.reader.store_time(topic, queue_id, reached - 1) if reached > 0 else 0
        inflight = broker.pops.left_count((topic, group, queue_id))
        return OffsetWrapper(
            broker_offset=store.max_offset(topic, queue_id),
            consumer_offset=reached,
            last_timestamp=max(0, last_ms),
            # A tool of RocketMQ 5 shows the difference as in flight. Without it the body is Java's.
            pull_offset=reached + inflight if inflight else None,
        )

    queue_ids = range(queue_count)
    entries = yield from read_each(broker, (partial(progress, number) for number in queue_ids))
    for numbers in chunks(queue_ids, SMALL_COUNT):
        for queue_id in numbers:
            stats.offset_table[_queue(broker, topic, queue_id)] = entries[queue_id]
        yield None
    stats.consume_tps += broker.stats.group_get_tps(topic, group)


def _queue(broker: Broker, topic: str, queue_id: int) -> MessageQueue:
    return MessageQueue(topic=topic, broker_name=broker.config.broker_name, queue_id=queue_id)


@handles(RequestCode.QUERY_CONSUME_TIME_SPAN)
@in_slices
def query_time_span(broker: Broker, request: Request) -> Steps[Command]:
    """Return the store times at the min, max and consumer offset of each queue."""
    fields = request.command.header(QueryConsumeTimeSpan)
    topic = fields.topic
    config = broker.topics.get(topic)
    if config is None:
        raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, f"topic[{topic}] not exist")
    queue_ids, now_ms = range(config.write_queue_nums), request.now_ms
    spans = yield from read_each(
        broker, (partial(_time_span, broker, fields, queue_id, now_ms) for queue_id in queue_ids)
    )
    body = QueryConsumeTimeSpanBody(consume_time_span_set=spans)
    return request.command.response(body=(yield from large(body.encode, count=len(spans))))


def _time_span(
    broker: Broker, fields: QueryConsumeTimeSpan, queue_id: int, now_ms: int
) -> QueueTimeSpan:
    topic, store = fields.topic, broker.store
    first_ms = store.reader.store_time(topic, queue_id, store.min_offset(topic, queue_id))
    end = store.max_offset(topic, queue_id)
    reached = broker.offsets.get(fields.group, topic, queue_id=queue_id)
    span = QueueTimeSpan(
        message_queue=_queue(broker, topic, queue_id),
        min_time_stamp=first_ms,
        max_time_stamp=store.reader.store_time(topic, queue_id, end - 1),
        consume_time_stamp=(
            store.reader.store_time(topic, queue_id, reached - 1) if reached > 0 else first_ms
        ),
    )
    if reached < end:
        # For a group without an offset this is the time since 1970, as in Java.
        span.delay_time = now_ms - store.reader.store_time(topic, queue_id, reached)
    return span


@handles(RequestCode.VIEW_BROKER_STATS_DATA)
def view_stats(broker: Broker, request: Request) -> Command:
    """Return one statistic of the last minute, hour and day."""
    fields = request.command.header(ViewBrokerStatsData)
    counter = broker.stats.find(fields.stats_name, fields.stats_key)
    if counter is None:
        raise RequestRefused(
            ResponseCode.SYSTEM_ERROR,
            f"The stats <{fields.stats_name}> <{fields.stats_key}> not exist",
        )
    body = BrokerStatsData(
        stats_minute=_item(counter.minute()),
        stats_hour=_item(counter.hour()),
        stats_day=_item(counter.day()),
    )
    return request.command.response(body=body.encode())


def _item(snapshot: StatsSnapshot) -> BrokerStatsItem:
    return BrokerStatsItem(sum=snapshot.sum, tps=snapshot.tps, avgpt=snapshot.average)

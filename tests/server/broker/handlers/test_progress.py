"""The consume progress of groups over the wire."""

import pytest

from remoting.bodies import (
    BrokerStatsData,
    ConsumeStats,
    ConsumeStatsList,
    MessageQueue,
    OffsetWrapper,
    QueryConsumeTimeSpanBody,
)
from remoting.codes import RequestCode
from remoting.headers import (
    GetConsumeStats,
    GetConsumeStatsInBroker,
    QueryConsumeTimeSpan,
    ViewBrokerStatsData,
)
from tests.server.broker.desk import GROUP, TOPIC, Desk
from tests.server.broker.pop.popdesk import ack, pop
from tests.waiting import eventually

QUEUE = MessageQueue(topic=TOPIC, broker_name="broker-a", queue_id=0)


async def behind(desk: Desk, *, sent: int = 3, reached: int = 1) -> None:
    """Send messages and let the group read some of them."""
    await desk.create_topic()
    for _ in range(sent):
        await desk.send()
    await desk.commit(reached)


async def test_group_is_behind_by_what_it_has_not_committed(desk: Desk) -> None:
    await behind(desk)
    code = RequestCode.GET_CONSUME_STATS
    first_ms = desk.app.broker.store.reader.store_time(TOPIC, 0, 0)
    known = await desk.ask(code, GetConsumeStats(consumer_group=GROUP))
    unknown = await desk.ask(code, GetConsumeStats(consumer_group=GROUP, topic="Nowhere"))
    row = ConsumeStats.decode(known.body).offset_table[QUEUE]

    assert (row.broker_offset, row.consumer_offset, row.last_timestamp) == (3, 1, first_ms)
    assert ConsumeStats.decode(unknown.body).offset_table == {}


@pytest.mark.parametrize("in_order", [False, True])
async def test_what_is_popped_and_not_acknowledged_is_in_flight(desk: Desk, in_order: bool) -> None:
    await desk.create_topic()
    for _ in range(3):
        await desk.send()
    popped = await pop(desk, order=in_order)

    async def row() -> OffsetWrapper:
        header = GetConsumeStats(consumer_group=GROUP)
        answer = await desk.ask(RequestCode.GET_CONSUME_STATS, header)
        return ConsumeStats.decode(answer.body).offset_table[QUEUE]

    three = await eventually(row, lambda row: row.inflight == 3)
    await ack(desk, popped[0].handle)
    two = await eventually(row, lambda row: row.inflight == 2)
    for one in popped[1:]:
        await ack(desk, one.handle)
    none = await eventually(row, lambda row: row.inflight is None)

    # In order a group is behind until it acknowledges.
    reached = [0, 1, 3] if in_order else [3, 3, 3]
    assert [row.consumer_offset for row in (three, two, none)] == reached


async def test_progress_of_all_groups_adds_up(desk: Desk) -> None:
    await behind(desk)
    await desk.pull(queue_offset=1)
    header = GetConsumeStatsInBroker(is_order=False)
    answer = await desk.ask(RequestCode.GET_BROKER_CONSUME_STATS, header)
    body = ConsumeStatsList.decode(answer.body)
    groups = {name: stats for row in body.consume_stats_list for name, stats in row.items()}

    assert (body.total_diff, body.broker_addr) == (2, desk.address)
    assert groups["TOOLS_CONSUMER"] == []
    assert groups[GROUP][0].offset_table[QUEUE].broker_offset == 3


async def test_time_span_shows_how_old_the_next_message_is(desk: Desk) -> None:
    await behind(desk)
    store = desk.app.broker.store
    times = [store.reader.store_time(TOPIC, 0, at) for at in range(3)]
    code = RequestCode.QUERY_CONSUME_TIME_SPAN
    known = await desk.ask(code, QueryConsumeTimeSpan(topic=TOPIC, group=GROUP))
    unknown = await desk.ask(code, QueryConsumeTimeSpan(topic="Nowhere", group=GROUP))
    (span,) = QueryConsumeTimeSpanBody.decode(known.body).consume_time_span_set

    assert (span.min_time_stamp, span.max_time_stamp) == (times[0], times[2])
    assert span.consume_time_stamp == times[0]
    assert 0 <= span.delay_time < 60_000
    assert unknown.code == 17


async def test_statistic_is_there_once_something_was_counted(desk: Desk) -> None:
    await behind(desk)
    stats = desk.app.broker.stats
    now_ms = stats.boot_ms + 20_000
    stats.sample(now_ms, put_count=0)
    await desk.send()
    stats.sample(now_ms + 20_000, put_count=0)
    code = RequestCode.VIEW_BROKER_STATS_DATA
    known = await desk.ask(code, ViewBrokerStatsData(stats_name="TOPIC_PUT_NUMS", stats_key=TOPIC))
    unknown = await desk.ask(
        code, ViewBrokerStatsData(stats_name="TOPIC_PUT_NUMS", stats_key="Nowhere")
    )
    minute = BrokerStatsData.decode(known.body).stats_minute

    assert (minute.sum, minute.tps, minute.avgpt) == (4, 0.1, 1.0)
    assert (unknown.code, unknown.remark) == (1, "The stats <TOPIC_PUT_NUMS> <Nowhere> not exist")

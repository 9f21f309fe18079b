"""Offsets of queues and of consumer groups.

Codes 14, 15 (a group's offset), 29 to 32 (a queue's min and max offset and times), 43, 45 (all
consumer and delay offsets, for a slave), 308, 314 (compare and copy offsets of groups).

Source: broker/processor/ConsumerManageProcessor.java, AdminBrokerProcessor.java.
"""

from mqserver.broker import names
from mqserver.broker.clients.consumer_offsets import LONG_MAX, NO_OFFSET
from mqserver.broker.cold_handler import reads_cold
from mqserver.broker.state import Broker
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request, RequestRefused
from mqserver.runtime.slices import Steps, in_slices, large
from remoting.bodies import DelayOffsetSerializeWrapper, QueryCorrectionOffsetBody
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import (
    CloneGroupOffset,
    GetAllConsumerOffset,
    GetEarliestMsgStoretime,
    GetEarliestMsgStoretimeResponse,
    GetMaxOffset,
    GetMaxOffsetResponse,
    GetMinOffset,
    GetMinOffsetResponse,
    QueryConsumerOffset,
    QueryConsumerOffsetResponse,
    QueryCorrectionOffset,
    SearchOffset,
    SearchOffsetResponse,
    UpdateConsumerOffset,
    UpdateConsumerOffsetResponse,
)
from storefmt.config.fastjson import dumps


@handles(RequestCode.QUERY_CONSUMER_OFFSET)
@reads_cold
def query_consumer_offset(broker: Broker, request: Request) -> Command:
    """Return a group's offset in a queue; without one, 0 for a young queue, else not found."""
    fields = request.command.header(QueryConsumerOffset)
    topic, queue_id = fields.topic, fields.queue_id
    queue_offset = broker.offsets.get(fields.consumer_group, topic, queue_id=queue_id)
    if queue_offset == NO_OFFSET:
        if broker.store.min_offset(topic, queue_id) > 0 or _is_old(broker, topic, queue_id):
            raise RequestRefused(
                ResponseCode.QUERY_NOT_FOUND,
                "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first",
            )
        queue_offset = 0
    return request.command.response(header=QueryConsumerOffsetResponse(offset=queue_offset))


def _is_old(broker: Broker, topic: str, queue_id: int) -> bool:
    """Return whether the first message is so far back that Java assumes it is not in memory."""
    return broker.store.reader.get_message(topic, queue_id, 0, count_max=1).suggest_slave


@handles(RequestCode.UPDATE_CONSUMER_OFFSET)
def update_consumer_offset(broker: Broker, request: Request) -> Command:
    """Set a group's offset in a queue; it may go forwards or backwards."""
    fields = request.command.header(UpdateConsumerOffset)
    names.check_topic(fields.topic)
    names.check_group(fields.consumer_group)
    group, topic, queue_id = fields.consumer_group, fields.topic, fields.queue_id
    before = broker.offsets.get(group, topic, queue_id=queue_id)
    try:
        broker.offsets.commit(group, topic, queue_id=queue_id, queue_offset=fields.commit_offset)
    except ValueError as error:
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, str(error)) from error
    if fields.commit_offset < before:
        # The queue delivers these messages again, so their open pops need not do so.
        place = topic, group, queue_id
        broker.pops.revive.end_from(place, fields.commit_offset, now_ms=request.now_ms)
    return request.command.response(header=UpdateConsumerOffsetResponse())


@handles(RequestCode.GET_MAX_OFFSET)
def get_max_offset(broker: Broker, request: Request) -> Command:
    """Return the queue offset of the next message to come; 0 for an unknown queue."""
    fields = request.command.header(GetMaxOffset)
    queue_offset = broker.store.max_offset(fields.topic, fields.queue_id)
    return request.command.response(header=GetMaxOffsetResponse(offset=queue_offset))


@handles(RequestCode.GET_MIN_OFFSET)
def get_min_offset(broker: Broker, request: Request) -> Command:
    """Return the first readable queue offset; 0 for an unknown queue."""
    fields = request.command.header(GetMinOffset)
    queue_offset = broker.store.min_offset(fields.topic, fields.queue_id)
    return request.command.response(header=GetMinOffsetResponse(offset=queue_offset))


@handles(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP)
@reads_cold
def search_offset(broker: Broker, request: Request) -> Command:
    """Return the queue offset of the message whose store time is nearest to a time."""
    fields = request.command.header(SearchOffset)
    queue_offset = broker.store.reader.offset_by_time(
        fields.topic, fields.queue_id, fields.timestamp
    )
    return request.command.response(header=SearchOffsetResponse(offset=queue_offset))


@handles(RequestCode.GET_EARLIEST_MSG_STORETIME)
@reads_cold
def get_earliest_store_time(broker: Broker, request: Request) -> Command:
    """Return the store time of the first message of a queue; -1 for an empty queue."""
    fields = request.command.header(GetEarliestMsgStoretime)
    first = broker.store.min_offset(fields.topic, fields.queue_id)
    store_ms = broker.store.reader.store_time(fields.topic, fields.queue_id, first)
    return request.command.response(header=GetEarliestMsgStoretimeResponse(timestamp=store_ms))


@handles(RequestCode.GET_ALL_CONSUMER_OFFSET)
@in_slices
def get_all_consumer_offsets(broker: Broker, request: Request) -> Steps[Command]:
    """Return all consumer offsets, or those that a slave did not copy from its master."""
    table = None
    if request.command.header(GetAllConsumerOffset).ha_beyond_master:
        table = broker.ha.offsets_beyond_master()
    if table is None:
        table = broker.saved_offsets()
    count = len(table.offsets) + len(table.lmq_offsets or ())
    text = yield from large(lambda: dumps(table.to_json()).encode(), count=count)
    return request.command.response(body=text)


@handles(RequestCode.GET_ALL_DELAY_OFFSET)
def get_all_delay_offsets(broker: Broker, request: Request) -> Command:
    """Return the delay offset of every level."""
    body = DelayOffsetSerializeWrapper(offset_table=broker.delay.offsets().offsets)
    return request.command.response(body=body.encode())


@handles(RequestCode.QUERY_CORRECTION_OFFSET)
@in_slices
def query_correction_offset(broker: Broker, request: Request) -> Steps[Command]:
    """Return the lowest offset of all groups in each queue, to correct a group's offsets.

    Where the lowest offset is above that of ``compareGroup``, the answer is Long.MAX_VALUE. Java
    deletes the offsets of the groups in ``filterGroups``; here they are only left out of the
    comparison.
    """
    fields = request.command.header(QueryCorrectionOffset)
    lowest = yield from broker.offsets.lowest(
        fields.topic,
        min_offset=lambda queue_id: broker.store.min_offset(fields.topic, queue_id),
        without=frozenset((fields.filter_groups or "").split(",")),
    )
    for queue_id, other in broker.offsets.queues(fields.compare_group, fields.topic).items():
        lowest_offset = lowest.get(queue_id, LONG_MAX)
        lowest[queue_id] = LONG_MAX if lowest_offset > other else lowest_offset
    body = QueryCorrectionOffsetBody(correction_offsets=lowest)
    return request.command.response(body=(yield from large(body.encode, count=len(lowest))))


@handles(RequestCode.CLONE_GROUP_OFFSET)
def clone_group_offset(broker: Broker, request: Request) -> Command:
    """Copy a group's offsets to another group, for one topic or (an extension) for all topics."""
    fields = request.command.header(CloneGroupOffset)
    names.check_group(fields.dest_group)
    source = fields.src_group
    blank = not (fields.topic or "").strip()
    for topic in broker.offsets.topics_of(source) if blank else [fields.topic or ""]:
        if broker.topics.get(topic) is None:
            continue
        group = broker.consumers.group(source)
        if not fields.offline and group is not None and topic not in group.subscriptions:
            continue
        broker.offsets.copy(source, fields.dest_group, topic=topic)
    return request.command.response()

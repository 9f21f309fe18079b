"""Single messages: by id (33), by key (12), and raw queue entries (321).

Source: broker/processor/QueryMessageProcessor.java, AdminBrokerProcessor.java#queryConsumeQueue.
"""

from remoting.bodies import ConsumeQueueData, QueryConsumeQueueResponseBody
from remoting.codes import RequestCode, ResponseCode
from remoting.command import UNSET_REMARK, Command
from remoting.headers import QueryConsumeQueue, QueryMessage, QueryMessageResponse, ViewMessage
from server.broker.coldhandler import reads_cold
from server.broker.state import Broker
from server.runtime.registry import handles
from server.runtime.request import Request
from server.store.calls import GetStatus
from storefmt.errors import RecordDamaged
from storefmt.fastjson import dumps
from storefmt.message import decode_records

UNIQUE_KEY_QUERY = "_UNIQUE_KEY_QUERY"
QUEUE_ENTRY_COUNT_MAX = 1_024


@handles(RequestCode.VIEW_MESSAGE_BY_ID)
@reads_cold
def view_message(broker: Broker, request: Request) -> Command:
    """Return the record at a commit log offset."""
    fields = request.command.header(ViewMessage)
    record = broker.store.read_record(fields.offset) if fields.offset >= 0 else None
    if record is None:
        return request.command.response(
            ResponseCode.SYSTEM_ERROR,
            remark=f"can not find message by the offset, {fields.offset}",
        )
    return request.command.response(body=record)


@handles(RequestCode.QUERY_MESSAGE)
@reads_cold
def query_message(broker: Broker, request: Request) -> Command:
    """Return the records that the index has under a key; callers compare the key itself."""
    fields = request.command.header(QueryMessage)
    count_max = max(0, fields.max_num)
    if request.command.ext.get(UNIQUE_KEY_QUERY) == "true":
        count_max = broker.config.default_query_max_num
    found = broker.store.query(
        fields.topic,
        fields.key,
        count_max=count_max,
        begin_ms=fields.begin_timestamp,
        end_ms=fields.end_timestamp,
    )
    header = QueryMessageResponse(
        index_last_update_timestamp=found.index_last_update_ms,
        index_last_update_phyoffset=found.index_last_log_offset,
    )
    if found.records:
        return request.command.response(header=header, body=b"".join(found.records))
    return request.command.response(
        ResponseCode.QUERY_NOT_FOUND,
        remark="can not find message, maybe time range not correct",
        header=header,
    )


@handles(RequestCode.QUERY_CONSUME_QUEUE)
@reads_cold
def query_consume_queue(broker: Broker, request: Request) -> Command:
    """Return entries of one queue; a queue that is not there has none.

    Whether the group's subscription takes an entry (``eval``) is only looked up for entries
    with an extension, as in Java; this store has none.
    """
    fields = request.command.header(QueryConsumeQueue)
    topic, queue_id = fields.topic, fields.queue_id
    if topic is None:
        remark = "the field topic is missing; say which topic's queue is meant"
        return request.command.response(ResponseCode.SYSTEM_ERROR, remark=remark)
    found = broker.store.get_message(
        topic,
        queue_id,
        fields.index,
        count_max=max(1, min(fields.count, QUEUE_ENTRY_COUNT_MAX)),
        size_max=None,
    )
    body = QueryConsumeQueueResponseBody(
        max_queue_index=found.max_offset, min_queue_index=found.min_offset
    )
    group = fields.consumer_group
    subscription = None if group is None else broker.consumers.subscription(group, topic)
    if group is not None:
        body.subscription_data = subscription
        known = broker.filters.get(topic, group)
        text = "null" if known is None else dumps(known.data.to_json(), pretty=True)
        body.filter_data = text if subscription else f"{group}@{topic} is not online!"
    if found.status is not GetStatus.FOUND:
        return request.command.response(
            remark=f"Index {fields.index} of {queue_id}@{topic} is not exist!"
        )
    try:
        records = decode_records(b"".join(found.chunks), check_crc=False)
    except RecordDamaged as error:
        return request.command.response(ResponseCode.SYSTEM_ERROR, remark=str(error))
    body.queue_data = [
        ConsumeQueueData(
            physic_offset=record.log_offset,
            physic_size=record.size,
            tags_code=record.tags_code,
        )
        for record in records[: max(0, fields.count)]
    ]
    return request.command.response(remark=UNSET_REMARK, body=body.encode())

"""Query messages by id (33) and by key (12), and raw consume queue entries (321).

Source: broker/processor/QueryMessageProcessor.java, AdminBrokerProcessor.java#queryConsumeQueue.
"""

import base64
from collections.abc import Iterable
from functools import partial

from mqserver.broker.cold_handler import read_in_slices, reads_cold
from mqserver.broker.filters.bloom import bit_text
from mqserver.broker.filters.messagefilter import MessageFilter, subscription_filter
from mqserver.broker.state import Broker
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request, RequestRefused
from mqserver.runtime.slices import Steps, in_slices
from mqserver.store.reader import RawEntry
from remoting.bodies import ConsumeQueueData, QueryConsumeQueueResponseBody
from remoting.codes import RequestCode, ResponseCode
from remoting.command import UNSET_REMARK, Command
from remoting.headers import QueryConsumeQueue, QueryMessage, QueryMessageResponse, ViewMessage
from storefmt.config.fastjson import Json, Key, dumps
from storefmt.errors import RecordDamaged
from storefmt.formats.consumequeue import is_ext_address
from storefmt.formats.consumequeue_ext import ExtUnit
from storefmt.formats.message import decode_record
from storefmt.formats.properties import index_keys

UNIQUE_KEY_QUERY = "_UNIQUE_KEY_QUERY"
QUEUE_ENTRY_COUNT_MAX = 1_024
ANSWER_SIZE_MAX = 8 << 20
"""Largest answer of several records. Building one of 16 MiB, the most that clients of 4.9 accept,
would block the event loop for some 20 ms."""
SMALL_SIZE = 65_536
"""After a record of more bytes than this, other requests get a turn."""


@handles(RequestCode.VIEW_MESSAGE_BY_ID)
@reads_cold
def view_message(broker: Broker, request: Request) -> Command:
    """Return the message at a commit log offset."""
    fields = request.command.header(ViewMessage)
    record = broker.store.reader.read_record(fields.offset) if fields.offset >= 0 else None
    if record is None:
        raise RequestRefused(
            ResponseCode.SYSTEM_ERROR, f"can not find message by the offset, {fields.offset}"
        )
    return request.command.response(body=record)


@handles(RequestCode.QUERY_MESSAGE)
@in_slices
def query_message(broker: Broker, request: Request) -> Steps[Command]:
    """Return the messages of a topic that have a key or a unique key.

    The index holds only the hash of topic and key, which other messages may share, so each record
    is compared with both before it is returned. Java leaves that to the client. Of records
    that are too large for one answer the newest are returned.
    """
    fields = request.command.header(QueryMessage)
    count_max = max(0, fields.max_num)
    if request.command.ext.get(UNIQUE_KEY_QUERY) == "true":
        count_max = broker.config.default_query_max_num
    search = broker.store.search(
        fields.topic,
        fields.key,
        count_max=count_max,
        begin_ms=fields.begin_timestamp,
        end_ms=fields.end_timestamp,
    )
    records: list[bytes] = []
    if search is not None:
        while not (yield from read_in_slices(broker, search.advance)):
            yield None
        records = yield from _newest(broker, request, fields, search.log_offsets)
    # If there is none, answer as for an unknown key, which reveals nothing about other messages.
    last_ms, last_log_offset = broker.store.reader.index_end() if records else (0, 0)
    header = QueryMessageResponse(
        index_last_update_timestamp=last_ms, index_last_update_phyoffset=last_log_offset
    )
    if records:
        return request.command.response(header=header, body=b"".join(records))
    return request.command.response(
        ResponseCode.QUERY_NOT_FOUND,
        remark="can not find message, maybe time range not correct",
        header=header,
    )


def _newest(
    broker: Broker, request: Request, fields: QueryMessage, log_offsets: Iterable[int]
) -> Steps[list[bytes]]:
    """Return the newest records under a key that fit into an answer, the oldest of them first."""
    records: list[bytes] = []
    size = 0
    try:
        for log_offset in sorted(log_offsets, reverse=True):
            data = yield from read_in_slices(
                broker, partial(broker.store.reader.read_record, log_offset)
            )
            if data is not None and _is_under(data, fields.topic, fields.key):
                if records and size + len(data) > ANSWER_SIZE_MAX:
                    break
                records.append(data)
                size += len(data)
                request.conn.count_held(len(data))
            if data is not None and len(data) > SMALL_SIZE:
                yield None
    finally:
        request.conn.count_held(-size)
    return records[::-1]


def _is_under(data: bytes, topic: str, key: str) -> bool:
    """Return whether a record belongs to this topic and has this key or unique key."""
    try:
        record = decode_record(data, check_crc=False)
    except RecordDamaged:
        return False
    return record.topic == topic and key in index_keys(record.properties)


@handles(RequestCode.QUERY_CONSUME_QUEUE)
@reads_cold
def query_consume_queue(broker: Broker, request: Request) -> Command:
    """Return entries of one consume queue; a queue that was never written to is refused.

    The field ``eval`` says whether the group's filter may accept an entry. As in Java it is set
    only for entries with an ext unit and is computed from that unit alone.
    """
    fields = request.command.header(QueryConsumeQueue)
    topic, queue_id, group = fields.topic, fields.queue_id, fields.consumer_group
    if topic is None:
        remark = "the field topic is missing; set it to the topic of the queue"
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, remark)
    if not broker.store.has(topic, queue_id):
        remark = f"{queue_id}@{topic} is not exist!"
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, remark)
    body = QueryConsumeQueueResponseBody(
        max_queue_index=broker.store.max_offset(topic, queue_id),
        min_queue_index=broker.store.min_offset(topic, queue_id),
    )
    wants = None
    if group is not None:
        subscription = broker.consumers.subscription(group, topic)
        consumer_filter = broker.filters.get(topic, group)
        body.subscription_data = subscription
        if subscription is None:
            body.filter_data = f"{group}@{topic} is not online!"
        else:
            text = (
                "null"
                if consumer_filter is None
                else dumps(consumer_filter.data.to_json(), pretty=True)
            )
            body.filter_data = text
            wants = subscription_filter(subscription, consumer_filter, broker.filters)
    count = min(fields.count, QUEUE_ENTRY_COUNT_MAX)
    entries = broker.store.reader.entries(topic, queue_id, start=fields.index, count=max(1, count))
    if not entries:
        return request.command.response(
            remark=f"Index {fields.index} of {queue_id}@{topic} is not exist!"
        )
    body.queue_data = [_shown(entry, wants) for entry in entries[: max(0, count)]]
    return request.command.response(remark=UNSET_REMARK, body=body.encode())


def _shown(entry: RawEntry, wants: MessageFilter | None) -> ConsumeQueueData:
    log_offset, size, tags_code, unit = entry
    shown = ConsumeQueueData(physic_offset=log_offset, physic_size=size, tags_code=tags_code)
    if unit is not None:
        bits = unit.bit_map
        described: dict[Key, Json] = {
            "filterBitMap": base64.b64encode(bits).decode() if bits else None,
            "msgStoreTime": unit.store_ms,
            "size": unit.size,
            "tagsCode": unit.tags_code,
        }
        shown.extend_data_json = dumps(described)
        shown.bit_map = bit_text(bits) if bits else None
        shown.eval = wants is not None and _may_want(wants, unit)
    elif is_ext_address(tags_code):
        shown.msg = f"Cq extend not exist!addr: {tags_code}"
    return shown


def _may_want(wants: MessageFilter, unit: ExtUnit) -> bool:
    codes = wants.codes
    return (codes is None or unit.tags_code in codes) and wants.takes_unit(unit)

"""Make the new message for one that a consumer could not process and sent back.

    reconsume times below the maximum      -> %RETRY%group, through the schedule topic, with the
                                              delay level requested or 3 + reconsume times
    maximum reached, or a delay level < 0  -> %DLQ%group, at once

The new message has the old body, properties, born time and born host, reconsume times + 1, and
the properties RETRY_TOPIC (the topic it was sent to first) and ORIGIN_MESSAGE_ID (its first
offset id).

Source: broker/processor/SendMessageProcessor.java#asyncConsumerSendMsgBack.
"""

import random
from typing import Final

from remoting.codes import ResponseCode
from remoting.headers import ConsumerSendMsgBack
from server.broker import names
from server.broker.clients.groups import Groups
from server.broker.delay.schedule import DelayLevels, redirect
from server.broker.names import is_writable
from server.broker.send.topic_rules import RETRY_TIMES_VERSION
from server.broker.stored_properties import put_again
from server.broker.topics import Topics
from server.runtime.request import RequestRefused
from server.store.results import PutMessage
from server.store.store import MessageStore
from storefmt.config.tables import UNIT_SUB_FLAG, SubscriptionGroup
from storefmt.errors import RecordDamaged
from storefmt.formats.message import Record, decode_record
from storefmt.formats.properties import (
    DELAY,
    ORIGIN_MESSAGE_ID,
    RETRY_TOPIC,
    WAIT,
    parse_properties,
)

FIRST_LEVEL: Final = 3


def retry_or_dead_letter(
    fields: ConsumerSendMsgBack,
    *,
    client_version: int,
    store: MessageStore,
    topics: Topics,
    groups: Groups,
    levels: DelayLevels,
    permission: int,
    now_ms: int,
) -> PutMessage | None:
    """Return the message to store, or None when the group has no retry queues.

    Args:
        fields: the header of the request.
        client_version: the MQVersion of the client.
        store: has the message that is sent back.
        topics: gets the retry or dead letter topic if it is missing.
        groups: the settings of consumer groups.
        levels: the delay of each level.
        permission: the permission of the broker (``brokerPermission``).
        now_ms: the delay counts from here.

    Raises:
        RequestRefused: the group or message does not exist, or writing is forbidden.
    """
    group = _group(fields, groups, permission, now_ms)
    if group.retry_queue_nums <= 0:
        return None
    retry = topics.create_for_group(
        names.retry_topic(fields.group),
        queue_count=group.retry_queue_nums,
        sys_flag=UNIT_SUB_FLAG if fields.unit_mode else 0,
        now_ms=now_ms,
    )
    if not is_writable(retry.perm):
        text = f"the topic[{retry.topic_name}] sending message is forbidden"
        raise RequestRefused(ResponseCode.NO_PERMISSION, text)
    record = _record(fields, store)
    named = parse_properties(record.properties_raw)
    named.setdefault(RETRY_TOPIC, record.topic)
    named[WAIT] = "false"
    most = group.retry_max_times
    if client_version >= RETRY_TIMES_VERSION and fields.max_reconsume_times is not None:
        most = fields.max_reconsume_times
    if record.reconsume_times >= most or fields.delay_level < 0:
        dead = topics.create_for_group(names.dlq_topic(fields.group), queue_count=1, now_ms=now_ms)
        named[DELAY] = "0"
        named.setdefault(ORIGIN_MESSAGE_ID, record.msg_id)
        return _message(record, named, topic=dead.topic_name, queue_id=0)
    level = fields.delay_level or FIRST_LEVEL + record.reconsume_times
    level = min(level, levels.highest)
    named[DELAY] = str(level)
    named.setdefault(ORIGIN_MESSAGE_ID, record.msg_id)
    queue_id = random.randrange(group.retry_queue_nums)
    message = _message(record, named, topic=retry.topic_name, queue_id=queue_id)
    redirect(message, named, level=level, delay_ms=levels.delay_ms(level), now_ms=now_ms)
    return message


def _group(
    fields: ConsumerSendMsgBack, groups: Groups, permission: int, now_ms: int
) -> SubscriptionGroup:
    group = groups.find(fields.group, now_ms=now_ms)
    if group is None:
        text = names.see_faq(f"subscription group not exist, {fields.group} ")
        raise RequestRefused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, text)
    # The retry topic's name is longer than the group's, so it can be too long for a topic.
    fault = names.topic_fault(names.retry_topic(fields.group))
    if fault is not None:
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, fault)
    if not is_writable(permission):
        raise RequestRefused(ResponseCode.NO_PERMISSION, "the broker sending message is forbidden")
    return group


def _record(fields: ConsumerSendMsgBack, store: MessageStore) -> Record:
    data = store.reader.read_record(fields.offset) if fields.offset >= 0 else None
    if data is not None:
        try:
            # A damaged body goes to the dead letter topic as it is. In the retry topic it would
            # get a new, correct CRC and be delivered as if nothing were wrong with it.
            return decode_record(data, check_crc=fields.delay_level >= 0)
        except RecordDamaged as error:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, str(error)) from None
    text = f"look message by offset failed, {fields.offset}"
    raise RequestRefused(ResponseCode.SYSTEM_ERROR, text)


def _message(record: Record, named: dict[str, str], *, topic: str, queue_id: int) -> PutMessage:
    message = put_again(record, named, topic=topic, queue_id=queue_id)
    message.reconsume_times += 1
    return message

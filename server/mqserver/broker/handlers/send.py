"""Send messages (10, 310, 320), and send one back that a consumer could not process (36).

Where the kernel was built, ``send_kernel`` stores plain sends before they come here. A message
that is sent back is stored again:

    reconsume times below the maximum      -> %RETRY%group, through the schedule topic, with the
                                              delay level requested or 3 + reconsume times
    maximum reached, or a delay level < 0  -> %DLQ%group, at once

The new message has the old body, properties, born time and born host, reconsume times + 1, and
the properties RETRY_TOPIC (the topic it was sent to first) and ORIGIN_MESSAGE_ID (its first
offset id).

Source: broker/processor/SendMessageProcessor.java#parseRequestHeader, #asyncConsumerSendMsgBack.
"""

import random
from typing import Final

from mqserver.broker import names
from mqserver.broker.cold_handler import reads_cold
from mqserver.broker.delay.schedule import redirect
from mqserver.broker.names import is_writable
from mqserver.broker.send.topic_rules import RETRY_TIMES_VERSION
from mqserver.broker.state import Broker
from mqserver.broker.stored_properties import put_again
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request, RequestRefused
from mqserver.store.results import PutMessage
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import ConsumerSendMsgBack
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


@handles(RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE)
def send(broker: Broker, request: Request) -> None:
    """Store a message or a batch; the answer leaves when it is safe on disk."""
    broker.sender.handle_send(request)


@handles(RequestCode.CONSUMER_SEND_MSG_BACK)
@reads_cold
def consumer_send_back(broker: Broker, request: Request) -> Command | None:
    """Store the message for a retry or as a dead letter; answered when it is safe on disk.

    Raises:
        RequestRefused: the group or message does not exist, or writing is forbidden.
    """
    fields = request.command.header(ConsumerSendMsgBack)
    group = _group(broker, fields, request.now_ms)
    if group.retry_queue_nums <= 0:
        return request.command.response()
    message = _message(broker, request, fields, group)
    broker.sender.put(message, request.now_ms)
    broker.stats.count_given_back(fields.group, fields.origin_topic or message.topic)

    def safe(code: ResponseCode) -> None:
        remark = None if code is ResponseCode.SUCCESS else code.name
        failed = ResponseCode.SUCCESS if remark is None else ResponseCode.SYSTEM_ERROR
        request.reply(request.command.response(failed, remark=remark))

    broker.when_safe(safe)
    return None


def _message(
    broker: Broker, request: Request, fields: ConsumerSendMsgBack, group: SubscriptionGroup
) -> PutMessage:
    """Return the message for the retry topic, or for the dead letter topic."""
    topics, levels, now_ms = broker.topics, broker.levels, request.now_ms
    retry = topics.create_for_group(
        names.retry_topic(fields.group),
        queue_count=group.retry_queue_nums,
        sys_flag=UNIT_SUB_FLAG if fields.unit_mode else 0,
        now_ms=now_ms,
    )
    if not is_writable(retry.perm):
        text = f"the topic[{retry.topic_name}] sending message is forbidden"
        raise RequestRefused(ResponseCode.NO_PERMISSION, text)
    record = _record(broker, fields)
    named = parse_properties(record.properties_raw)
    named.setdefault(RETRY_TOPIC, record.topic)
    named[WAIT] = "false"
    most = group.retry_max_times
    if request.command.version >= RETRY_TIMES_VERSION and fields.max_reconsume_times is not None:
        most = fields.max_reconsume_times
    is_dead = record.reconsume_times >= most or fields.delay_level < 0
    level = min(fields.delay_level or FIRST_LEVEL + record.reconsume_times, levels.highest)
    named[DELAY] = "0" if is_dead else str(level)
    named.setdefault(ORIGIN_MESSAGE_ID, record.msg_id)
    if is_dead:
        dead = topics.create_for_group(names.dlq_topic(fields.group), queue_count=1, now_ms=now_ms)
        topic, queue_id = dead.topic_name, 0
    else:
        topic, queue_id = retry.topic_name, random.randrange(group.retry_queue_nums)
    message = put_again(record, named, topic=topic, queue_id=queue_id)
    message.reconsume_times += 1
    if not is_dead:
        redirect(message, named, level=level, delay_ms=levels.delay_ms(level), now_ms=now_ms)
    return message


def _group(broker: Broker, fields: ConsumerSendMsgBack, now_ms: int) -> SubscriptionGroup:
    group = broker.groups.find(fields.group, now_ms=now_ms)
    if group is None:
        text = names.see_faq(f"subscription group not exist, {fields.group} ")
        raise RequestRefused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, text)
    # The retry topic's name is longer than the group's, so it can be too long for a topic.
    names.check_topic(names.retry_topic(fields.group))
    if not is_writable(broker.config.broker_permission):
        raise RequestRefused(ResponseCode.NO_PERMISSION, "the broker sending message is forbidden")
    return group


def _record(broker: Broker, fields: ConsumerSendMsgBack) -> Record:
    data = broker.store.reader.read_record(fields.offset) if fields.offset >= 0 else None
    if data is not None:
        try:
            # A damaged body goes to the dead letter topic as it is. In the retry topic it would
            # get a new, correct CRC and be delivered as if nothing were wrong with it.
            return decode_record(data, check_crc=fields.delay_level >= 0)
        except RecordDamaged as error:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, str(error)) from None
    text = f"look message by offset failed, {fields.offset}"
    raise RequestRefused(ResponseCode.SYSTEM_ERROR, text)

"""Replies of request-reply messaging: codes 324 and 325 come in, 326 goes out.

    replying consumer ── 325, REPLY_TO_CLIENT=<client id> ──> broker
    broker ── 326, the same body ──> the producer with that client id, which answers
    broker ── also stores the reply (storeReplyMessageEnable) ──> answers 325

Rule: the code of the answer says whether the requester received the reply. Only the message id
says whether the reply was stored: it is ``0`` if it was not. A reply that could not be delivered
(code 1) is stored as well.

Source: broker/processor/ReplyMessageProcessor.java.
"""

import logging
from typing import NamedTuple

from mqserver.broker.clients.client_requests import ANSWER_WAIT_MS
from mqserver.broker.send.topic_rules import Route, SendFields, send_fields
from mqserver.broker.state import Broker
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request, RequestRefused
from mqserver.store.results import PutMessage
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import ReplyMessage, SendMessageResponse
from storefmt.formats.javahash import tags_code
from storefmt.formats.properties import (
    MSG_REGION,
    PUSH_REPLY_TIME,
    REPLY_TO_CLIENT,
    TAGS,
    TRACE_ON,
    in_java_order,
    index_keys,
    parse_properties,
)

LOG = logging.getLogger(__name__)


class _Reply(NamedTuple):
    """A reply that is being delivered."""

    request: Request
    fields: SendFields
    route: Route
    queue_id: int
    properties: dict[str, str]
    text: str
    """The properties as they are sent to the requester and stored."""


@handles(RequestCode.SEND_REPLY_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2)
def send_reply(broker: Broker, request: Request) -> Command | None:
    """Deliver a reply to its requester."""
    fields = send_fields(request.command)
    try:
        route, queue_id = broker.sender.route_of(request.conn, fields, request.now_ms)
    except RequestRefused as refused:
        response = request.command.response(refused.code, remark=refused.remark)
        response.ext.update(_told_with_every_send(broker))
        return response
    properties = parse_properties(fields.properties or "")
    requester = properties.get(REPLY_TO_CLIENT)
    member = None if requester is None else broker.producers.find(requester)
    text = fields.properties or ""
    if member is not None:
        properties[PUSH_REPLY_TIME] = str(request.now_ms)
        text = in_java_order(properties)
    reply = _Reply(request, fields, route, queue_id, properties, text)
    if member is None:
        fault = f"push reply message fail, channel of <{requester}> not found."
        if requester is None:
            fault = f"reply message properties[{REPLY_TO_CLIENT}] is null"
        LOG.warning("%s: %s", request.conn.address, fault)
        _end(broker, reply, fault)
        return None

    def answered(answer: Command | None) -> None:
        taken = answer is not None and answer.code == ResponseCode.SUCCESS
        if not taken:
            why = "no answer" if answer is None else f"code {answer.code}, {answer.remark}"
            LOG.warning("<%s> did not accept a reply: %s", requester, why)
        _end(broker, reply, None if taken else f"push reply message to {requester}fail.")

    broker.calls.call(
        member.conn,
        _pushed(broker, reply),
        deadline_ms=request.now_ms + ANSWER_WAIT_MS,
        answered=answered,
    )
    return None


def _pushed(broker: Broker, reply: _Reply) -> Command:
    """Return the request that carries a reply to its requester."""
    request, fields = reply.request, reply.fields
    header = ReplyMessage(
        producer_group=fields.producer_group,
        topic=fields.topic,
        default_topic=fields.default_topic,
        default_topic_queue_nums=fields.default_topic_queue_nums,
        queue_id=fields.queue_id,
        sys_flag=fields.sys_flag,
        born_timestamp=fields.born_timestamp,
        flag=fields.flag,
        properties=reply.text,
        reconsume_times=fields.reconsume_times,
        unit_mode=fields.unit_mode,
        born_host=request.conn.address,
        store_host=broker.config.broker_addr,
        store_timestamp=request.now_ms,
    )
    return Command.request(
        RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, header, body=request.command.body
    )


def _end(broker: Broker, reply: _Reply, fault: str | None) -> None:
    """Store the reply if storeReplyMessageEnable is set, and answer its sender."""
    ext = _told_with_every_send(broker)
    if fault is None:
        # Clients expect the three fields of a send's answer even if nothing was stored.
        ext |= SendMessageResponse(msg_id="0", queue_id=reply.queue_id, queue_offset=0).to_ext()
    stored = _store(broker, reply) if broker.config.store_reply_message_enable else None
    response = reply.request.command.response(
        ResponseCode.SUCCESS if fault is None else ResponseCode.SYSTEM_ERROR, remark=fault
    )
    response.ext = ext if stored is None else ext | stored.to_ext()
    if stored is None:
        reply.request.reply(response)
    else:
        broker.when_safe(lambda code: reply.request.reply(response))


def _store(broker: Broker, reply: _Reply) -> SendMessageResponse | None:
    """Put a reply into its topic; when that fails, log it and return None."""
    fields, route, request = reply.fields, reply.route, reply.request
    message = PutMessage(
        topic=route.topic,
        topic_bytes=route.topic_bytes,
        queue_id=reply.queue_id,
        body=request.command.body,
        properties=reply.text.encode(),
        flag=fields.flag,
        born_ms=fields.born_timestamp,
        born_host=request.conn.peer_host,
        store_host=broker.store_host,
        reconsume_times=fields.reconsume_times or 0,
        tags_code=tags_code(reply.properties.get(TAGS)),
        keys=index_keys(reply.properties),
    )
    try:
        result = broker.sender.put(message, broker.clock.now_ms())
    except RequestRefused as refused:
        LOG.warning("a reply to topic %s was not stored: %s", route.topic, refused.remark)
        return None
    broker.sender.count(route, 1, result.size)
    return SendMessageResponse(
        msg_id=broker.sender.message_id(result.log_offset),
        queue_id=reply.queue_id,
        queue_offset=result.queue_offset,
    )


def _told_with_every_send(broker: Broker) -> dict[str, str]:
    config = broker.config
    return {TRACE_ON: "true" if config.trace_on else "false", MSG_REGION: config.region_id}

"""Which groups pop or pull (401, 402), and which queues the members of a group get (400).

Rule: with POP and 0 shares every member pops all queues, so that no member waits for a rebalance.

Source: broker/processor/QueryAssignmentProcessor.java (5.4.0).
"""

import logging
from collections.abc import Sequence
from typing import Final

from mqserver.broker import names
from mqserver.broker.files.saves import answer_when_saved
from mqserver.broker.state import Broker
from mqserver.broker.topics import require_master
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request, RequestRefused
from mqserver.runtime.slices import Steps, decoded, in_slices, large
from remoting.bodies import (
    MessageModel,
    MessageQueue,
    MessageQueueAssignment,
    MessageRequestMode,
    QueryAssignmentRequestBody,
    QueryAssignmentResponseBody,
    SetMessageRequestModeRequestBody,
)
from remoting.codes import LaterCode, LaterResponseCode, ResponseCode
from remoting.command import Command
from storefmt.names import RETRY_PREFIX

LOG = logging.getLogger(__name__)

ANY_QUEUE: Final = -1
AVERAGELY: Final = "AVG"
BY_CIRCLE: Final = "AVG_BY_CIRCLE"


@handles(LaterCode.QUERY_ASSIGNMENT)
@in_slices
def query_assignment(broker: Broker, request: Request) -> Steps[Command]:
    """Return which queues a member of a group gets, and whether it pops or pulls them."""
    query = yield from decoded(QueryAssignmentRequestBody.decode, request.command.body)
    assigned = _assignments(broker, query)
    body = QueryAssignmentResponseBody(message_queue_assignments=assigned)
    return request.command.response(body=(yield from large(body.encode, count=len(assigned or ()))))


def _assignments(
    broker: Broker, query: QueryAssignmentRequestBody
) -> list[MessageQueueAssignment] | None:
    """Return the queues that a member of a group gets.

    Returns:
        None if the member is to keep its queues: the topic or the group does not exist, or the
        strategy is unknown.
    """
    topic = broker.topics.get(query.topic)
    if topic is None or query.message_model is None:
        return None
    queues = [
        MessageQueue(query.topic, broker.config.broker_name, number)
        for number in range(topic.read_queue_nums)
    ]
    mode = broker.pops.modes.get(query.topic, query.consumer_group)
    if query.topic.startswith(RETRY_PREFIX):
        mode = SetMessageRequestModeRequestBody(
            topic=query.topic, consumer_group=query.consumer_group
        )
    assigned: list[MessageQueue] | None = queues
    if query.message_model is MessageModel.CLUSTERING:
        group = broker.consumers.group(query.consumer_group)
        if group is None:
            LOG.warning("group %s has no members to assign queues to", query.consumer_group)
            return None
        assigned = _share(query, mode, queues, sorted(group.client_ids()))
    if assigned is None:
        return None
    unique = dict.fromkeys(assigned)
    return [MessageQueueAssignment(message_queue=queue, mode=mode.mode) for queue in unique]


def _share(
    query: QueryAssignmentRequestBody,
    mode: SetMessageRequestModeRequestBody,
    queues: Sequence[MessageQueue],
    members: Sequence[str],
) -> list[MessageQueue] | None:
    name, own = query.strategy_name, query.client_id
    if name not in (AVERAGELY, BY_CIRCLE):
        LOG.warning("group %s asks for the unknown strategy %s", query.consumer_group, name)
        return None
    if mode.mode is not MessageRequestMode.POP:
        return _part(name, own, queues, members)
    if mode.pop_share_queue_num <= 0:
        return [MessageQueue(queue.topic, queue.broker_name, ANY_QUEUE) for queue in queues]
    if len(members) > len(queues):
        return [queues[members.index(own) % len(queues)]] if own in members and queues else []
    if own not in members:
        return []
    first = members.index(own)
    share: list[MessageQueue] = []
    for step in range(min(mode.pop_share_queue_num, len(members)) + 1):
        share += _part(name, members[(first + step) % len(members)], queues, members)
    return share


def _part(
    strategy: str, own: str, queues: Sequence[MessageQueue], members: Sequence[str]
) -> list[MessageQueue]:
    """Return the queues of one member, as every client of 4.9 computes them."""
    if own not in members:
        return []
    number, count = members.index(own), len(members)
    if strategy == BY_CIRCLE:
        return list(queues[number::count])
    size, more = divmod(len(queues), count)
    start = number * size + min(number, more)
    return list(queues[start : start + size + (number < more)])


@handles(LaterCode.SET_MESSAGE_REQUEST_MODE)
@in_slices
def set_request_mode(broker: Broker, request: Request) -> Steps[None]:
    """Set whether a group pops or pulls a topic; answered when it is saved."""
    require_master(broker.config)
    mode = yield from decoded(SetMessageRequestModeRequestBody.decode, request.command.body)
    if mode.topic.startswith(RETRY_PREFIX):
        text = "retry topic is not allowed to set mode"
        raise RequestRefused(ResponseCode.NO_PERMISSION, text)
    fault = names.topic_fault(mode.topic) or names.group_fault(mode.consumer_group)
    if fault is None and mode.mode is None:
        fault = "the mode is neither PULL nor POP"
    if fault is not None:
        raise RequestRefused(LaterResponseCode.INVALID_PARAMETER, fault)
    if broker.topics.get(mode.topic) is None:
        text = f"topic[{mode.topic}] not exist"
        raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, text)
    broker.pops.modes.put(mode)
    answer_when_saved(broker.files, request, name="messageRequestMode")


@handles(LaterCode.GET_ALL_MESSAGE_REQUEST_MODE)
@in_slices
def get_all_request_modes(broker: Broker, request: Request) -> Steps[Command]:
    """Return every mode that was set."""
    modes = broker.pops.modes
    return request.command.response(
        body=(yield from large(modes.snapshot().encode, count=modes.count))
    )

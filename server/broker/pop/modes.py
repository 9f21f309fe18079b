"""Which groups pop, and which queues the members of a group get.

    SET_MESSAGE_REQUEST_MODE -> messageRequestMode.json: topic -> group -> PULL, or POP with the
                                number of members that share a queue
    QUERY_ASSIGNMENT         -> the queues of one member, as this broker has the topic

Rule: a group without a mode pulls. With POP and 0 shares every member pops all queues, so that
nobody waits for a rebalance. The file is written when a mode is set for the first time.

Source: broker/processor/QueryAssignmentProcessor.java,
broker/loadbalance/MessageRequestModeManager.java (5.4.0).
"""

import logging
from collections.abc import Sequence
from typing import Final

from remoting.bodies import (
    MessageModel,
    MessageQueue,
    MessageQueueAssignment,
    MessageRequestMode,
    MessageRequestModeSerializeWrapper,
    QueryAssignmentRequestBody,
    SetMessageRequestModeRequestBody,
)
from server.broker.clients.members import Consumers
from server.broker.config import BrokerConfig
from server.broker.topics import Topics
from storefmt.config.fastjson import dumps
from storefmt.names import RETRY_PREFIX

LOG = logging.getLogger(__name__)

FILE_NAME: Final = "messageRequestMode.json"
ANY_QUEUE: Final = -1
AVERAGELY: Final = "AVG"
BY_CIRCLE: Final = "AVG_BY_CIRCLE"


class RequestModes:
    """The modes of one broker.

    Args:
        stored: the content of the file; None without one.
    """

    def __init__(self, stored: MessageRequestModeSerializeWrapper | None) -> None:
        self.table = stored or MessageRequestModeSerializeWrapper()
        """All modes, by topic and group."""

    @property
    def count(self) -> int:
        """How many modes were set."""
        return sum(map(len, self.table.message_request_mode_map.values()))

    def snapshot(self) -> MessageRequestModeSerializeWrapper:
        """Return the modes of this moment."""
        table = self.table.message_request_mode_map
        return MessageRequestModeSerializeWrapper(
            message_request_mode_map={topic: dict(groups) for topic, groups in table.items()}
        )

    def put(self, mode: SetMessageRequestModeRequestBody) -> None:
        """Set the mode of a group in a topic."""
        self.table.message_request_mode_map.setdefault(mode.topic, {})[mode.consumer_group] = mode

    def get(self, topic: str, group: str) -> SetMessageRequestModeRequestBody:
        """Return the mode of a group in a topic; PULL without one."""
        found = self.table.message_request_mode_map.get(topic, {}).get(group)
        if found is not None:
            return found
        return SetMessageRequestModeRequestBody(topic=topic, consumer_group=group)

    def adopt(self, table: MessageRequestModeSerializeWrapper) -> bool:
        """Replace the modes by those of a master; return whether any differs."""
        if table == self.table:
            return False
        self.table = table
        return True

    def text(self) -> str:
        """Return the text of the file."""
        return dumps(self.table.to_json(), pretty=True)


def assignments(
    query: QueryAssignmentRequestBody,
    *,
    config: BrokerConfig,
    topics: Topics,
    consumers: Consumers,
    modes: RequestModes,
) -> list[MessageQueueAssignment] | None:
    """Return the queues that a member of a group gets.

    Args:
        query: who asks for which topic.
        config: gives the name of this broker.
        topics: the topics.
        consumers: the members of the groups.
        modes: the modes that were set.

    Returns:
        None if the member is to keep what it has: the topic or the group does not exist, or the
        strategy is not known here.
    """
    topic = topics.get(query.topic)
    if topic is None or query.message_model is None:
        return None
    queues = [
        MessageQueue(query.topic, config.broker_name, number)
        for number in range(topic.read_queue_nums)
    ]
    mode = modes.get(query.topic, query.consumer_group)
    if query.topic.startswith(RETRY_PREFIX):
        mode = SetMessageRequestModeRequestBody(
            topic=query.topic, consumer_group=query.consumer_group
        )
    found: list[MessageQueue] | None = queues
    if query.message_model is MessageModel.CLUSTERING:
        group = consumers.group(query.consumer_group)
        if group is None:
            LOG.warning("group %s has no members, so none gets queues", query.consumer_group)
            return None
        found = _share(query, mode, queues, sorted(group.client_ids()))
    if found is None:
        return None
    unique = dict.fromkeys(found)
    return [MessageQueueAssignment(message_queue=queue, mode=mode.mode) for queue in unique]


def _share(
    query: QueryAssignmentRequestBody,
    mode: SetMessageRequestModeRequestBody,
    queues: Sequence[MessageQueue],
    members: Sequence[str],
) -> list[MessageQueue] | None:
    name, own = query.strategy_name, query.client_id
    if name not in (AVERAGELY, BY_CIRCLE):
        LOG.warning("group %s asks for strategy %s", query.consumer_group, name)
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
    found: list[MessageQueue] = []
    for step in range(min(mode.pop_share_queue_num, len(members)) + 1):
        found += _part(name, members[(first + step) % len(members)], queues, members)
    return found


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

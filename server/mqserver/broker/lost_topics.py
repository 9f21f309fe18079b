"""Create again the topics that have messages and that topics.json does not know.

A crash does not cause this, because a message is acknowledged only when topics.json has its topic.
It happens when the file was lost, and when a slave is promoted before it copied a topic whose
messages it has.

Source: none; the messages of such a topic cannot be read from a broker of 4.9.7.
"""

import logging

from mqserver.broker.broker_context import BrokerContext
from mqserver.broker.names import first_names, topic_fault
from mqserver.broker.topics import LOST_QUEUE_COUNT, topic_config
from storefmt.names import DLQ_PREFIX, RETRY_PREFIX, is_light

LOG = logging.getLogger(__name__)


def make_lost_topics(context: BrokerContext, *, now_ms: int) -> None:
    """Create each lost topic with as many queues as have messages, to be read and written.

    Topics that were deleted are not created.
    """
    queue_counts: dict[str, int] = {}
    for topic, queue_id in context.store.queues():
        if context.topics.get(topic) is None and _can_be_lost(context, topic):
            queue_counts[topic] = max(queue_counts.get(topic, 0), queue_id + 1)
    for topic, queue_count in queue_counts.items():
        least = LOST_QUEUE_COUNT
        if topic.startswith((RETRY_PREFIX, DLQ_PREFIX)):
            group = context.groups.get(topic.removeprefix(RETRY_PREFIX))
            least = 1 if group is None else group.retry_queue_nums
        config = topic_config(topic, queue_count=max(queue_count, least))
        context.topics.put(config, now_ms=now_ms)
    if queue_counts:
        LOG.warning(
            "topics.json does not know %d topics that have messages (%s); they are made again, "
            "with %d queues or as many as have messages, to be read and written",
            len(queue_counts), first_names(sorted(queue_counts)), LOST_QUEUE_COUNT,
        )  # fmt: skip


def _can_be_lost(context: BrokerContext, topic: str) -> bool:
    return (
        topic_fault(topic) is None
        and not is_light(topic)
        and not context.topics.is_system(topic)
        and not context.store.was_deleted(topic)
    )

"""A topic table made of queues, for a store whose own cannot be read.

    consumequeue/orders/0 … /3  ──>  orders: 4 queues to read and write

Rule: without its line in topics.json a topic has no route and no reader gets its
messages, so a rough line is better than none. Queues behind the last one that has
messages are not known. What a broker makes by itself when it starts is left to it: its
own topics have numbers of queues that messages do not tell.

Source: broker/topic/TopicConfigManager.java (4.9.7).
"""

from collections.abc import Iterable
from typing import Final

from storefmt.config.tables import DataVersion, TopicConfig, TopicTable
from storefmt.names import TopicKind, kind_of
from storefmt.offline.views.tree import QueueKey

QUEUE_COUNT_MAX: Final = 1 << 16
"""A queue id beyond it is damage; Java allocates by this number."""
_USERS: Final = (TopicKind.ORDINARY, TopicKind.RETRY, TopicKind.DLQ)


def topics_of(queues: Iterable[QueueKey], *, now_ms: int) -> TopicTable:
    """Return a table with the users' topics that have these queues.

    Args:
        now_ms: version of the table.
    """
    counts: dict[str, int] = {}
    for topic, queue_id in sorted(queues):
        if kind_of(topic) in _USERS and queue_id < QUEUE_COUNT_MAX:
            counts[topic] = max(counts.get(topic, 0), queue_id + 1)
    topics = {
        topic: TopicConfig(topic, read_queue_nums=count, write_queue_nums=count)
        for topic, count in counts.items()
    }
    return TopicTable(topics, DataVersion(now_ms, 1))

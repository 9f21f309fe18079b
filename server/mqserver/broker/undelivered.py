"""Messages whose topic was deleted while they waited: they go to ``rmq_sys_UNDELIVERED``.

    delayed, timer or half message ── due, or committed ──> its topic, if that is the same one
                                                       └──> rmq_sys_UNDELIVERED, queue 0
                                                            + UNDELIVERED_REASON

Rule: what was stored before its topic was deleted is of the deleted topic, even if a topic of that
name exists again. It keeps REAL_TOPIC, REAL_QID and its keys, is kept as long as the log keeps any
message, and can be sent again by hand. The store remembers at which log offset a topic was deleted.
A topic that is merely unknown, as after the loss of topics.json, was not deleted.

Source: none; 4.9.7 stores the message into the deleted topic, where it is read once the topic is
created again.
"""

from collections.abc import Callable
from typing import Final

from mqserver.broker.topics import Topics
from mqserver.store.results import PutMessage
from mqserver.store.store import MessageStore
from storefmt.formats.properties import PROPERTIES_SIZE_MAX, in_java_order, parse_properties
from storefmt.names import UNDELIVERED_TOPIC

REASON: Final = "UNDELIVERED_REASON"

Route = Callable[[PutMessage, str, int, int], PutMessage]
"""Returns the message to put for one that waited: arguments as of ``Undelivered.route``."""


def as_it_is(message: PutMessage, topic: str, log_offset: int, now_ms: int) -> PutMessage:
    """Return the message itself: no topic was deleted."""
    return message


class Undelivered:
    """Decides where a message goes that has waited.

    Args:
        store: knows the deleted topics.
        topics: gets the topic for undelivered messages when it is first needed.
    """

    def __init__(self, store: MessageStore, topics: Topics) -> None:
        self._store = store
        self._topics = topics

    def route(self, message: PutMessage, topic: str, log_offset: int, now_ms: int) -> PutMessage:
        """Return the message, changed if its topic was deleted after it was stored.

        Args:
            message: what would be put; changed in place.
            topic: the topic that it is for.
            log_offset: where it waited in the log.
            now_ms: the present time.
        """
        if log_offset >= self._store.deleted_until(topic):
            return message
        self._topics.create_for_group(UNDELIVERED_TOPIC, queue_count=1, now_ms=now_ms)
        reason = f"topic {topic} was deleted while this message waited"
        named = {**parse_properties(message.properties), REASON: reason}
        properties = in_java_order(named).encode()
        if len(properties) <= PROPERTIES_SIZE_MAX:
            message.properties = properties
        message.topic, message.topic_bytes = UNDELIVERED_TOPIC, UNDELIVERED_TOPIC.encode()
        message.queue_id = 0
        return message

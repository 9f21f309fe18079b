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

from typing import Final

from mqserver.broker.broker_context import BrokerContext
from mqserver.store.results import PutMessage
from storefmt.formats.properties import PROPERTIES_SIZE_MAX, in_java_order, parse_properties
from storefmt.names import UNDELIVERED_TOPIC

REASON: Final = "UNDELIVERED_REASON"


def route_waiting(
    context: BrokerContext, message: PutMessage, *, topic: str, log_offset: int, now_ms: int
) -> None:
    """Change a message that waited if its topic was deleted after it was stored.

    Args:
        context: the store knows the deleted topics; the topic for undelivered messages is created
            when it is first needed.
        message: what would be put; changed in place.
        topic: the topic that it is for.
        log_offset: where it waited in the log.
        now_ms: the present time.
    """
    if log_offset >= context.store.deleted_until(topic):
        return
    context.topics.create_for_group(UNDELIVERED_TOPIC, queue_count=1, now_ms=now_ms)
    reason = f"topic {topic} was deleted while this message waited"
    named = {**parse_properties(message.properties), REASON: reason}
    properties = in_java_order(named).encode()
    if len(properties) <= PROPERTIES_SIZE_MAX:
        message.properties = properties
    message.topic, message.topic_bytes = UNDELIVERED_TOPIC, UNDELIVERED_TOPIC.encode()
    message.queue_id = 0

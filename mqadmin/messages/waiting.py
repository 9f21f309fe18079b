"""Messages that wait before they are in their topic: delayed, timer and half messages.

A message that waits is indexed by its keys under the topic that it waits in, and names its own in
REAL_TOPIC. So two more queries distinguish a waiting message from a missing one.
"""

from typing import Final, Protocol

from mqclient.errors import ClientError
from mqclient.message import MessageExt
from storefmt.formats.properties import DELAY, REAL_TOPIC
from storefmt.names import HALF_TOPIC, SCHEDULE_TOPIC, TIMER_TOPIC

_WAITS: Final = {
    SCHEDULE_TOPIC: "until its delay has passed",
    TIMER_TOPIC: "for its time of delivery",
    HALF_TOPIC: "for the commit of its transaction",
}


class KeyQueries(Protocol):
    """What looks messages up by key."""

    async def query_message(
        self, topic: str, key: str, *, unique: bool = False, route_of: str | None = None
    ) -> list[MessageExt]: ...


async def waiting_hint(messages: KeyQueries, topic: str, key: str, *, unique: bool = False) -> str:
    """Return where a message with this key waits, as a hint; "" if no such message waits.

    Call it when ``topic`` has no message with the key.
    """
    for place, until in _WAITS.items():
        try:
            messages_found = await messages.query_message(place, key, unique=unique, route_of=topic)
        except ClientError:
            # The answer is a hint of an error that is reported anyway.
            continue
        for message in messages_found:
            if message.properties.get(REAL_TOPIC) == topic:
                level = message.properties.get(DELAY)
                detail = f" (delay level {level})" if place == SCHEDULE_TOPIC and level else ""
                return f"such a message is in {place} and waits {until}{detail}"
    return ""

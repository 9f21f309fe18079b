"""Find a message by id, key or place, in the same way for every command.

    offset id   store host | log offset          -> VIEW_MESSAGE_BY_ID at that host
    unique id   client ip | pid | ... | counter  -> QUERY_MESSAGE in a topic
    key         any text                         -> QUERY_MESSAGE in a topic
    place       BROKER:QUEUE:OFFSET, QUEUE:OFFSET -> PULL_MESSAGE in a topic

Ids of both kinds have 32 digits (56 with IPv6). The port in an offset id is a valid port; the same
bytes of a unique id almost never are.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from mqadmin.cli.types import split_at_commas
from mqadmin.cluster.brokers import all_brokers, choose_queue
from mqadmin.errors import ItemNotFound, Usage
from mqadmin.messages.waiting import waiting_hint
from storefmt.errors import BadCall
from storefmt.formats.hosts import host_text, port_of
from storefmt.formats.msgid import parse_offset_id
from storefmt.names import TOOLS_GROUP

if TYPE_CHECKING:
    from mqadmin.session.call import Call
    from mqclient.message import MessageExt

PORT_MAX: Final = 65535
PLACE: Final = re.compile(r"(?:(?P<broker>[^:]+):)?(?P<queue>\d+):(?P<offset>\d+)")


def split_ids(given: Sequence[str]) -> list[str]:
    """Return ids given one by one or, as for Java's tool, separated by commas.

    Raises:
        Usage: no id is given.
    """
    ids = split_at_commas(given)
    if not ids:
        raise Usage("no message id given", hint="give one or more")
    return ids


def is_offset_id(text: str) -> bool:
    """Return whether a text is an offset id, rather than a unique id or a key."""
    try:
        store_host, log_offset = parse_offset_id(text)
    except BadCall:
        return False
    return 0 < port_of(store_host) <= PORT_MAX and log_offset >= 0


async def find_messages(
    call: "Call", text: str, *, topic: str | None, route_of: str | None = None
) -> "list[MessageExt]":
    """Return the messages that a text names, at least one; only a key can name several.

    Args:
        topic: where to look for everything but an offset id.
        route_of: the topic or cluster whose brokers are asked for an id or key; ``topic`` itself
            if it is None.

    Raises:
        ItemNotFound: no message has this id or key, or the queue has none at the offset.
        Usage: it is not an offset id, and no topic is given.
        NoRoute: the topic does not exist.
    """
    # Not `call.admin()`, which takes longer to load than it takes to find a message.
    from mqclient.admin.message import MessageCalls

    messages = MessageCalls(await call.client())
    if is_offset_id(text):
        store_host, log_offset = parse_offset_id(text)
        places = await all_brokers(await call.topics())
        address = host_text(store_host)
        broker = next((place.broker for place in places if place.address == address), "")
        return [await messages.view_message_at(address, log_offset, broker_name=broker)]
    if topic is None:
        raise Usage(f"{text} is not an offset id", hint="add --topic TOPIC to look for it there")
    if place := PLACE.fullmatch(text):
        return [await _message_in_queue(call, topic, place)]
    messages_found = await messages.query_message(topic, text, unique=True, route_of=route_of)
    if not messages_found:
        messages_found = await messages.query_message(topic, text, route_of=route_of)
    if not messages_found:
        raise ItemNotFound(
            f"no message with id or key {text} in topic {topic}",
            hint=await waiting_hint(messages, topic, text, unique=True)
            or await waiting_hint(messages, topic, text)
            or "check both; brokers index a message shortly after they stored it",
        )
    return messages_found


async def find_message(
    call: "Call", text: str, *, topic: str | None, route_of: str | None = None
) -> "MessageExt":
    """Return the one message that a text names; of several copies with one id, the first.

    Raises:
        Usage: several messages have this key.
        ItemNotFound, Usage, NoRoute: as ``find_messages``.
    """
    messages = await find_messages(call, text, topic=topic, route_of=route_of)
    ids = {message.unique_key or message.msg_id for message in messages}
    if len(ids) > 1:
        names = ", ".join(sorted(ids)[:3])
        raise Usage(
            f"{len(ids)} messages have the key {text} ({names})", hint="choose one by its id"
        )
    return messages[0]


async def _message_in_queue(call: "Call", topic: str, place: re.Match[str]) -> "MessageExt":
    # These need an event loop; finding a message by id does not.
    from mqadmin.messages.broker_reader import message_at
    from mqclient.consumer.pull_consumer import PullConsumer

    consumer = PullConsumer(await call.client(), TOOLS_GROUP)
    queue = choose_queue(await consumer.queues(topic), place["queue"], place["broker"])
    message = await message_at(consumer, queue, int(place["offset"]))
    if message is None or message.queue_offset != int(place["offset"]):
        raise ItemNotFound(
            f"queue {queue.broker_name}:{queue.queue_id} of topic {topic} has no message at "
            f"{place['offset']}",
            hint=f"`topic status {topic}` shows the ends",
        )
    return message

"""Find one message by any of its ids, for every command that takes an id.

    offset id   store host | log offset          -> VIEW_MESSAGE_BY_ID at that host
    unique id   client ip | pid | ... | counter  -> QUERY_MESSAGE in a topic

Both have 32 digits (56 with IPv6); the port of an offset id is a port, the same bytes of
a unique id nearly never are.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mqadmin.cluster.brokers import all_brokers
from mqadmin.errors import ItemNotFound, Usage
from storefmt.errors import BadCall
from storefmt.formats.hosts import host_text, port_of
from storefmt.formats.msgid import parse_offset_id

if TYPE_CHECKING:
    from mqadmin.session.call import Call
    from mqclient.message import MessageExt

PORT_MAX = 65535


def split_ids(given: Sequence[str]) -> list[str]:
    """Return ids that stand alone or, as Java's tool takes them, joined by commas.

    Raises:
        Usage: there is none.
    """
    found = [one.strip() for text in given for one in text.split(",") if one.strip()]
    if not found:
        raise Usage("no message id given", hint="give one or more")
    return found


def is_offset_id(text: str) -> bool:
    """Return whether a text is an offset id, rather than a unique id or a key."""
    try:
        store_host, log_offset = parse_offset_id(text)
    except BadCall:
        return False
    return 0 < port_of(store_host) <= PORT_MAX and log_offset >= 0


async def find_message(call: "Call", message_id: str, *, topic: str | None) -> "MessageExt":
    """Return the message with an offset id, or with a unique id in ``topic``.

    Raises:
        BadCall: that is no id.
        ItemNotFound: no message has this id.
        Usage: it looks like a unique id and no topic is given.
    """
    # Not `call.admin()`: all calls together take longer to load than a message to find.
    from mqclient.admin.message import MessageCalls

    messages = MessageCalls(await call.client())
    store_host, log_offset = parse_offset_id(message_id)
    if is_offset_id(message_id):
        places = await all_brokers(await call.topics())
        address = host_text(store_host)
        broker = next((place.broker for place in places if place.address == address), "")
        return await messages.view_message_at(address, log_offset, broker_name=broker)
    if topic is None:
        raise Usage(
            f"{message_id} looks like a unique id", hint="add --topic TOPIC to look for it there"
        )
    found = await messages.query_message(topic, message_id, unique=True)
    if not found:
        raise ItemNotFound(
            f"no message {message_id} in topic {topic}", hint="check the topic and the id"
        )
    return found[0]

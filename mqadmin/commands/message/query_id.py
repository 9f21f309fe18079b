"""``message query id``: the message with an offset id or a unique id.

    offset id   store host | log offset          -> VIEW_MESSAGE_BY_ID at that host
    unique id   client ip | pid | ... | counter  -> QUERY_MESSAGE in --topic

Both have 32 digits (56 with IPv6); the port of an offset id is a port, the same bytes of
a unique id nearly never are.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from mqadmin.call import Call
from mqadmin.errors import NotFound, Usage
from mqadmin.messages import MESSAGE_COLUMNS, MessageRow, row_of
from mqadmin.parameters import Kind, argument, option
from mqadmin.places import all_brokers
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import Outcome, one
from storefmt.hosts import host_text, port_of
from storefmt.msgid import parse_offset_id

if TYPE_CHECKING:
    from mqclient.admin import Admin
    from mqclient.message import MessageExt


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which message."""

    id: Annotated[str, argument("an offset id, or with --topic a unique id")]
    topic: Annotated[str | None, option("where to look for a unique id", kind=Kind.TOPIC)] = None
    no_body: Annotated[bool, option("leave the body out")] = False


NOT_HERE = "it needs a consumer that is asked directly"


@command(
    "message query id",
    "find a message by its id",
    examples=(
        ("mqadmin message query id 7F00000100002A9F0000000000000000", "by offset id"),
        ("mqadmin message query id 7F0000013A2118B4AAC2... --topic orders", "by unique id"),
    ),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    java=(
        Java(
            "queryMsgById",
            (
                JavaOption("i", "msgId", "id", required=True),
                JavaOption("g", "consumerGroup", why_not=NOT_HERE),
                JavaOption("d", "clientId", why_not=NOT_HERE),
                JavaOption("s", "sendMessage", why_not="`message send` sends it again"),
                JavaOption("u", "unitName", why_not="there are no units here"),
            ),
        ),
    ),
)
async def query_id(call: Call, args: Arguments) -> Outcome:
    """Return the message.

    Raises:
        BadCall: that is no id.
        NotFound: no message has this id.
        Usage: it looks like a unique id and no topic is given.
    """
    store_host, log_offset = parse_offset_id(args.id)
    admin = await call.admin()
    if 0 < port_of(store_host) <= 65535 and log_offset >= 0:
        places = await all_brokers(admin)
        address = host_text(store_host)
        broker = next((place.broker for place in places if place.address == address), "")
        found = await admin.view_message_at(address, log_offset, broker_name=broker)
    elif args.topic is not None:
        found = await _by_unique_id(admin, args.topic, args.id)
    else:
        raise Usage(
            f"{args.id} looks like a unique id", hint="add --topic TOPIC to look for it there"
        )
    return one(row_of(found, body=not args.no_body))


async def _by_unique_id(admin: "Admin", topic: str, unique_id: str) -> "MessageExt":
    found = await admin.query_message(topic, unique_id, unique=True)
    if not found:
        raise NotFound(
            f"no message {unique_id} in topic {topic}", hint="check the topic and the id"
        )
    return found[0]

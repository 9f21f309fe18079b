"""``message query unique-key``: the message that a producer gave an id.

Requests: GET_ROUTEINFO_BY_TOPIC, QUERY_MESSAGE on each broker.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import NotFound
from mqadmin.messages import MESSAGE_COLUMNS, MessageRow, row_of
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import Branch, Java, JavaOption, Needs, command
from mqadmin.rows import Outcome
from mqadmin.storedtime import END_OF_TIME, START_OF_TIME, STORED_FROM, STORED_TO
from mqadmin.times import When

COPIES_MAX = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which message."""

    topic: Annotated[str, argument("the topic", kind=Kind.TOPIC)]
    id: Annotated[str, argument("the id that the producer got")]
    from_: Annotated[When, STORED_FROM] = START_OF_TIME
    to: Annotated[When, STORED_TO] = END_OF_TIME
    all: Annotated[bool, option("every copy of it, not only the first")] = False
    no_body: Annotated[bool, option("leave the body out")] = False


@command(
    "message query unique-key",
    "find a message by the id that its producer got",
    examples=(("mqadmin message query unique-key orders 7F0000013A2118B4AAC2...", "that one"),),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.EITHER,
    java=(
        Java(
            "queryMsgByUniqueKey",
            (
                JavaOption("t", "topic", "topic", required=True),
                JavaOption("i", "msgId", "id", required=True),
                JavaOption("a", "showAll", "all", has_arg=False),
                JavaOption("g", "consumerGroup"),
                JavaOption("d", "clientId"),
                JavaOption("c", "cluster", since_5=True),
                JavaOption("s", "startTime", "from_", since_5=True),
                JavaOption("e", "endTime", "to", since_5=True),
            ),
            branches=(Branch(("g", "d"), "message consume-direct"),),
        ),
    ),
)
async def query_unique_key(call: Call, args: Arguments) -> Outcome:
    """Return one row, or with ``--all`` one a copy.

    Raises:
        NotFound: no message has the id.
        NoRoute: there is no such topic.
    """
    now_ms = call.now_ms()
    begin_ms, end_ms = args.from_.ms(now_ms), args.to.ms(now_ms)
    if call.is_offline:
        # A store is read by numpy, which nobody should wait for who asks a broker.
        from mqadmin.offline import stored_by_key

        return stored_by_key(
            call,
            args.topic,
            args.id,
            begin_ms=begin_ms,
            end_ms=end_ms,
            count_max=COPIES_MAX if args.all else 1,
            no_body=args.no_body,
            unique=True,
        )
    admin = await call.admin()
    found = await admin.query_message(
        args.topic, args.id, begin_ms=begin_ms, end_ms=end_ms, unique=True
    )
    if not found:
        raise NotFound(f"no message {args.id} in topic {args.topic}", hint="check topic and id")
    shown = found if args.all else found[:1]
    return Outcome([row_of(message, warn=call.warn, body=not args.no_body) for message in shown])

"""``message query key``: the messages of a topic that have a key.

Requests: GET_ROUTEINFO_BY_TOPIC, QUERY_MESSAGE on each broker.
"""

from dataclasses import dataclass
from typing import Annotated, Final

from mqadmin.call import Call
from mqadmin.errors import NotFound
from mqadmin.messages import MESSAGE_COLUMNS, MessageRow, row_of
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import Java, JavaOption, Needs, command
from mqadmin.rows import Outcome
from mqadmin.storedtime import END_OF_TIME, START_OF_TIME, STORED_FROM, STORED_TO
from mqadmin.times import When

KEYS_ONLY: Final = "brokers of 4.9 index keys only; `message print TOPIC --tag TAG` finds tags"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which messages."""

    topic: Annotated[str, argument("the topic", kind=Kind.TOPIC)]
    key: Annotated[str, argument("the key")]
    from_: Annotated[When, STORED_FROM] = START_OF_TIME
    to: Annotated[When, STORED_TO] = END_OF_TIME
    count: Annotated[int, option("so many at most", short="c")] = 64
    no_body: Annotated[bool, option("leave the bodies out")] = False


@command(
    "message query key",
    "find the messages with a key",
    examples=(
        ("mqadmin message query key orders o-17", "all with this key"),
        ("mqadmin message query key orders o-17 --from -1h", "of the last hour"),
    ),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.EITHER,
    java=(
        Java(
            "queryMsgByKey",
            (
                JavaOption("t", "topic", "topic", required=True),
                JavaOption("k", "msgKey", "key", required=True),
                JavaOption("b", "beginTimestamp", "from_", since_5=True),
                JavaOption("e", "endTimestamp", "to", since_5=True),
                JavaOption("m", "maxNum", "count", since_5=True),
                JavaOption("c", "cluster", since_5=True),
                JavaOption("p", "keyType", since_5=True, refused=KEYS_ONLY),
                JavaOption("l", "lastKey", since_5=True, refused="--from starts further on"),
            ),
        ),
    ),
)
async def query_key(call: Call, args: Arguments) -> Outcome:
    """Return one row a message, oldest first.

    Raises:
        NotFound: no message has the key.
        NoRoute: there is no such topic.
    """
    now_ms = call.now_ms()
    if call.is_offline:
        # A store is read by numpy, which nobody should wait for who asks a broker.
        from mqadmin.offline import stored_by_key

        return stored_by_key(
            call,
            args.topic,
            args.key,
            begin_ms=args.from_.ms(now_ms),
            end_ms=args.to.ms(now_ms),
            count_max=args.count,
            no_body=args.no_body,
        )
    admin = await call.admin()
    found = await admin.query_message(
        args.topic,
        args.key,
        count_max=args.count,
        begin_ms=args.from_.ms(now_ms),
        end_ms=args.to.ms(now_ms),
    )
    if not found:
        raise NotFound(
            f"no message with key {args.key!r} in topic {args.topic}",
            hint="check the key, and the time span where one is given",
        )
    return Outcome([row_of(message, warn=call.warn, body=not args.no_body) for message in found])

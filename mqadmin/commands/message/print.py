"""``message print``: the messages of a topic, or of one of its queues, to where it ends now.

Requests: GET_ROUTEINFO_BY_TOPIC, GET_MIN_OFFSET, GET_MAX_OFFSET, SEARCH_OFFSET_BY_TIMESTAMP
with ``--from``, then PULL_MESSAGE; nothing is committed.
"""

import re
from dataclasses import dataclass
from typing import Annotated

from mqadmin.browse import Wish, browse
from mqadmin.call import Call
from mqadmin.jsonwish import JsonWish, parse_json_wish
from mqadmin.messages import MESSAGE_COLUMNS, MessageRow
from mqadmin.namevalue import parse_name_value
from mqadmin.parameters import Kind, argument, falsehood, option
from mqadmin.registry import NOT_IN_4, Java, JavaOption, Needs, command
from mqadmin.rows import Outcome
from mqadmin.storedtime import STORED_FROM, STORED_TO, bound_ms
from mqadmin.times import When
from mqadmin.wanted import Filter, parse_pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which messages, and how much of them."""

    topic: Annotated[str, argument("the topic", kind=Kind.TOPIC)]
    queue: Annotated[
        str | None, argument("only this queue", metavar="ID|BROKER:ID", kind=Kind.QUEUE)
    ] = None
    broker: Annotated[str | None, option("only queues of this broker", kind=Kind.BROKER)] = None
    from_: Annotated[When | None, STORED_FROM] = None
    to: Annotated[When | None, STORED_TO] = None
    start: Annotated[int | None, option("from this queue offset on", metavar="OFFSET")] = None
    tag: Annotated[str, option("only these tags, as 'A || B'", short="t")] = "*"
    key: Annotated[str | None, option("with this key or unique key", short="k")] = None
    property: Annotated[
        tuple[tuple[str, str], ...],
        option("with this property", short="p", metavar="NAME=VALUE", parse=parse_name_value),
    ] = ()
    grep: Annotated[
        re.Pattern[str] | None,
        option("with this pattern in the body", metavar="PATTERN", parse=parse_pattern),
    ] = None
    json: Annotated[
        JsonWish | None,
        option("with this in a JSON body", metavar="PATH[=VALUE]", parse=parse_json_wish),
    ] = None
    limit: Annotated[int | None, option("so many at most", short="c")] = None
    bytes: Annotated[int | None, option("bodies of so many bytes in all at most")] = None
    scan: Annotated[int | None, option("look at so many of each queue at most")] = None
    count_tags: Annotated[bool, option("say at the end how many there are of each tag")] = False
    no_body: Annotated[bool, option("leave the bodies out")] = False


TIMES = (
    JavaOption("b", "beginTimestamp", "from_"),
    JavaOption("e", "endTimestamp", "to"),
    JavaOption("s", "subExpression", "tag"),
    JavaOption("c", "charsetName"),
    JavaOption("d", "printBody", "no_body", parse=falsehood),
)
"""Flags of both printing commands; text is UTF-8 here, other bodies are base64."""


@command(
    "message print",
    "print the messages of a topic",
    examples=(
        ("mqadmin message print orders --from -1h", "the last hour of all queues"),
        ("mqadmin message print orders broker-a:3 --start 17 -c 10", "ten of one queue"),
        ("mqadmin message print orders -p region=eu -o jsonl", "by a property, for a program"),
        ("mqadmin message print orders --json 'order.items[0].id=17'", "by a field of the body"),
        ("mqadmin message print orders --grep '\"total\": 0' --scan 10000", "by what is in it"),
    ),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.EITHER,
    java=(
        Java(
            "printMsg",
            (
                JavaOption("t", "topic", "topic", required=True),
                *TIMES,
                JavaOption("l", "lmqParentTopic", since_5=True, refused=NOT_IN_4),
            ),
        ),
        Java(
            "printMsgByQueue",
            (
                JavaOption("t", "topic", "topic", required=True),
                JavaOption("a", "brokerName", "broker", required=True),
                JavaOption("i", "queueId", "queue", required=True),
                JavaOption("p", "print msg"),
                JavaOption("f", "calculate", "count_tags"),
                *TIMES,
            ),
        ),
        Java(
            "consumeMessage",
            (
                JavaOption("t", "topic", "topic", required=True),
                JavaOption("b", "brokerName", "broker"),
                JavaOption("i", "queueId", "queue"),
                JavaOption("o", "offset", "start"),
                JavaOption("c", "MessageNumber", "limit"),
                JavaOption("s", "beginTimestamp", "from_"),
                JavaOption("e", "endTimestamp", "to"),
                JavaOption("g", "consumerGroup"),
            ),
            preset=(("limit", "128"),),
        ),
    ),
)
async def print_messages(call: Call, args: Arguments) -> Outcome:
    """Return one row a message, queue by queue.

    Raises:
        NoRoute: there is no such topic.
        NotFound: there is no such queue.
    """
    now_ms = call.now_ms()
    wanted = Filter(
        topic=args.topic if call.is_offline else None,
        key=args.key,
        begin_ms=bound_ms(args.from_, now_ms),
        end_ms=bound_ms(args.to, now_ms),
        property=args.property,
        body=args.grep,
        json=args.json,
    )
    return await browse(
        call,
        Wish(
            topic=args.topic,
            filter=wanted,
            queue=args.queue,
            broker=args.broker,
            start=args.start,
            tags=args.tag,
            limit=args.limit,
            bytes_max=args.bytes,
            scan=args.scan,
            no_body=args.no_body,
            count_tags=args.count_tags,
        ),
    )

"""``message query time``: the messages of a topic that were stored in a span of time.

Requests: as ``message print``.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.browse import Wish, browse
from mqadmin.call import Call
from mqadmin.errors import Usage
from mqadmin.messages import MESSAGE_COLUMNS, MessageRow
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome
from mqadmin.storedtime import STORED_FROM, STORED_TO
from mqadmin.times import When
from mqadmin.wanted import Filter

NOW = When("now")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which messages, and how much of them."""

    topic: Annotated[str, argument("the topic", kind=Kind.TOPIC)]
    from_: Annotated[When, STORED_FROM]
    to: Annotated[When, STORED_TO] = NOW
    limit: Annotated[int | None, option("so many at most", short="c")] = None
    no_body: Annotated[bool, option("leave the bodies out")] = False


@command(
    "message query time",
    "find the messages that were stored in a span of time",
    examples=(
        ("mqadmin message query time orders --from -10m", "of the last ten minutes"),
        ("mqadmin message query time orders --from 10:00 --to 10:05", "of five minutes today"),
    ),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.EITHER,
)
async def query_time(call: Call, args: Arguments) -> Outcome:
    """Return one row a message, queue by queue; none where nothing was stored then.

    Raises:
        NoRoute: there is no such topic.
        Usage: the span ends before it begins.
    """
    now_ms = call.now_ms()
    begin_ms, end_ms = args.from_.ms(now_ms), args.to.ms(now_ms)
    if end_ms < begin_ms:
        raise Usage(f"--to {args.to.text} is before --from {args.from_.text}")
    wanted = Filter(topic=args.topic if call.is_offline else None, begin_ms=begin_ms, end_ms=end_ms)
    return await browse(
        call, Wish(topic=args.topic, filter=wanted, limit=args.limit, no_body=args.no_body)
    )

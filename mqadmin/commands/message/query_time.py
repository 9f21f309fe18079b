"""``message query time``: the messages of a topic that were stored in a span of time.

Requests: as ``message print``.
"""

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.decorators import (
    limit_option,
    no_bodies_option,
    stored_from,
    stored_to,
    topic_argument,
)
from mqadmin.errors import Usage
from mqadmin.messages.browse import Wish, browse
from mqadmin.messages.filter import Filter
from mqadmin.messages.message_rows import MESSAGE_COLUMNS, MessageRow
from mqadmin.output.rows import Outcome
from mqadmin.output.times import When
from mqadmin.session.call import Call

NOW = When("now")


@command(
    "message query time",
    examples=(
        ("mqadmin message query time orders --from -10m", "of the last ten minutes"),
        ("mqadmin message query time orders --from 10:00 --to 10:05", "of five minutes today"),
    ),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.EITHER,
)
@topic_argument()
@stored_from(required=True)
@stored_to(default=NOW)
@limit_option()
@no_bodies_option
async def query_time(
    call: Call, *, topic: str, from_: When, to: When, limit: int | None, no_body: bool
) -> Outcome:
    """Return one row a message, queue by queue; none where nothing was stored then.

    Raises:
        NoRoute: there is no such topic.
        Usage: the span ends before it begins.
    """
    now_ms = call.now_ms()
    begin_ms, end_ms = from_.ms(now_ms), to.ms(now_ms)
    if end_ms < begin_ms:
        raise Usage(f"--to {to.text} is before --from {from_.text}")
    wanted = Filter(topic=topic if call.is_offline else None, begin_ms=begin_ms, end_ms=end_ms)
    return await browse(call, Wish(topic=topic, filter=wanted, limit=limit, no_body=no_body))

"""``message query key``: the messages of a topic that have a key.

Requests: GET_ROUTEINFO_BY_TOPIC, QUERY_MESSAGE on each broker.
"""

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.decorators import no_bodies_option, stored_from, stored_to, topic_argument
from mqadmin.cli.times import END_OF_TIME, START_OF_TIME
from mqadmin.cli.types import INTEGER
from mqadmin.cluster.partial_answers import Answers
from mqadmin.errors import NotFound
from mqadmin.messages.message_rows import MESSAGE_COLUMNS, MessageRow, row_of
from mqadmin.output.rows import Outcome
from mqadmin.output.times import When
from mqadmin.session.call import Call


@command(
    "message query key",
    examples=(
        ("mqadmin message query key orders o-17", "all with this key"),
        ("mqadmin message query key orders o-17 --from -1h", "of the last hour"),
        ("mqadmin message query key orders o-17 --store DIR", "as `store query` finds them"),
    ),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.EITHER,
)
@topic_argument()
@click.argument("key", help="the key")
@stored_from(default=START_OF_TIME)
@stored_to(default=END_OF_TIME)
@click.option("--count", "-c", type=INTEGER, default=64, help="so many at most")
@no_bodies_option
async def query_key(
    call: Call, *, topic: str, key: str, from_: When, to: When, count: int, no_body: bool
) -> Outcome:
    """Return one row a message, oldest first.

    Raises:
        NotFound: no message has the key.
        NoRoute: there is no such topic.
    """
    now_ms = call.now_ms()
    if call.is_offline:
        # A store is read by numpy, which nobody should wait for who asks a broker.
        from mqadmin.store.offline import stored_by_key

        return stored_by_key(
            call,
            topic,
            key,
            begin_ms=from_.ms(now_ms),
            end_ms=to.ms(now_ms),
            count_max=count,
            body="none" if no_body else "inflated",
        )
    admin = await call.admin()
    answers = Answers(call)
    found = await admin.query_message(
        topic,
        key,
        count_max=count,
        begin_ms=from_.ms(now_ms),
        end_ms=to.ms(now_ms),
        on_silent=answers.miss,
    )
    if not found and not answers.exit_code():
        raise NotFound(
            f"no message with key {key!r} in topic {topic}",
            hint="check the key, and the time span where one is given",
        )
    rows = [row_of(message, warn=call.warn, body=not no_body) for message in found]
    return Outcome(rows, exit_code=answers.exit_code)

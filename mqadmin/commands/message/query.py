"""``message query key``, ``message query unique-key``: messages by what brokers index.

Requests: GET_ROUTEINFO_BY_TOPIC, QUERY_MESSAGE on each broker.
"""

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.decorators import (
    no_bodies_option,
    no_body_option,
    stored_from,
    stored_to,
    topic_argument,
)
from mqadmin.cli.times import END_OF_TIME, START_OF_TIME
from mqadmin.cli.types import INTEGER
from mqadmin.cluster.partial_answers import Answers
from mqadmin.errors import NotFound
from mqadmin.messages.message_rows import MESSAGE_COLUMNS, MessageRow, row_of
from mqadmin.messages.track import with_tracks
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


COPIES_MAX = 64


@command(
    "message query unique-key",
    examples=(("mqadmin message query unique-key orders 7F0000013A2118B4AAC2...", "that one"),),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.EITHER,
)
@topic_argument()
@click.argument("message_id", metavar="ID", help="the id that the producer got")
@stored_from(default=START_OF_TIME)
@stored_to(default=END_OF_TIME)
@click.option("--all", "all_", is_flag=True, help="every copy of it, not only the first")
@no_body_option
async def query_unique_key(
    call: Call, *, topic: str, message_id: str, from_: When, to: When, all_: bool, no_body: bool
) -> Outcome:
    """Return one row, or with ``--all`` one a copy.

    Raises:
        NotFound: no message has the id.
        NoRoute: there is no such topic.
    """
    now_ms = call.now_ms()
    begin_ms, end_ms = from_.ms(now_ms), to.ms(now_ms)
    if call.is_offline:
        # A store is read by numpy, which nobody should wait for who asks a broker.
        from mqadmin.store.offline import stored_by_key

        return stored_by_key(
            call,
            topic,
            message_id,
            begin_ms=begin_ms,
            end_ms=end_ms,
            count_max=COPIES_MAX if all_ else 1,
            body="none" if no_body else "inflated",
            unique=True,
        )
    admin = await call.admin()
    answers = Answers(call)
    found = await admin.query_message(
        topic, message_id, begin_ms=begin_ms, end_ms=end_ms, unique=True, on_silent=answers.miss
    )
    if not found and not answers.exit_code():
        raise NotFound(f"no message {message_id} in topic {topic}", hint="check topic and id")
    shown = found if all_ else found[:1]
    if call.settings.compat:
        # Java's tool also tells who has read the message.
        return Outcome(with_tracks(call, shown), exit_code=answers.exit_code)
    rows = [row_of(message, warn=call.warn, body=not no_body) for message in shown]
    return Outcome(rows, exit_code=answers.exit_code)

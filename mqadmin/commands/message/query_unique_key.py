"""``message query unique-key``: the message that a producer gave an id.

Requests: GET_ROUTEINFO_BY_TOPIC, QUERY_MESSAGE on each broker.
"""

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.decorators import no_body_option, stored_from, stored_to, topic_argument
from mqadmin.cli.times import END_OF_TIME, START_OF_TIME
from mqadmin.cluster.partial_answers import Answers
from mqadmin.errors import NotFound
from mqadmin.messages.message_rows import MESSAGE_COLUMNS, MessageRow, row_of
from mqadmin.messages.track import with_tracks
from mqadmin.output.rows import Outcome
from mqadmin.output.times import When
from mqadmin.session.call import Call

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

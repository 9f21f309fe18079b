"""``store query``: find the messages with a key.

``message query key --store DIR`` runs the same search and prints the messages like those of a
broker's answer.
"""

from mqadmin.cli.declare import Call, Needs, Outcome, argument, command
from mqadmin.cli.decorators import limit_option, stored_at_any_time, topic_argument
from mqadmin.cli.times import TimeSpan
from mqadmin.cli.types import Integer
from mqadmin.messages.message_rows import MESSAGE_COLUMNS, BodyForm, MessageRow
from mqadmin.messages.record_rows import body_options
from mqadmin.store_access.stored_rows import stored_by_key


@command(
    "store query",
    details="Messages are looked up in the index files; the log is read where they do not cover "
    "it.",
    examples=(("mqadmin store query DIR orders o-17", "all messages with this key"),),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.STORE,
)
@topic_argument()
@argument("key", help="the key, or a unique key")
@stored_at_any_time
@limit_option(
    type=Integer(min=1), default=64, help="largest number of messages; the newest ones are kept"
)
@body_options
def query_key(
    call: Call, *, topic: str, key: str, stored: TimeSpan, limit: int, body: BodyForm
) -> Outcome:
    """Return one row for each message, oldest first.

    Raises:
        ItemNotFound: no message has the key.
    """
    begin_ms, end_ms = stored.ms(call.now_ms())
    return stored_by_key(
        call, topic, key, begin_ms=begin_ms, end_ms=end_ms, count_max=limit, body=body
    )

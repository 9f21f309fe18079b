"""``store get``, ``store query``: messages of a store directory by log offset, id or key.

``message query key --store DIR`` finds the same by the same code, in the form that brokers answer.
"""

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.decorators import (
    gathered,
    limit_option,
    no_body_option,
    stored_at_any_time,
    topic_argument,
)
from mqadmin.cli.times import TimeSpan
from mqadmin.cli.types import Integer
from mqadmin.messages.message_rows import MESSAGE_COLUMNS, BodyForm, MessageRow
from mqadmin.messages.record_rows import body_form, body_options
from mqadmin.output.rows import Outcome, one
from mqadmin.session.call import Call
from mqadmin.store.offline import stored_by_key, stored_row
from storefmt.offline.views.storedir import StoreDir

LOG_OFFSET_DIGITS_MAX = 20


@command(
    "store get",
    details="A unique key is looked up in the index, and in the whole log where it is not there.",
    examples=(
        ("mqadmin store get DIR 297161", "the record at this byte of the log"),
        ("mqadmin store get DIR 7F0000010000559700000000000488C9", "by its offset id"),
    ),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.STORE,
)
@click.argument("which", metavar="OFFSET|ID", help="a log offset, an offset id or a unique key")
@gathered(
    "body",
    body_form,
    no_body_option,
    click.option("--inflate", is_flag=True, help="decompress the body"),
)
def get_message(call: Call, *, which: str, body: BodyForm) -> Outcome:
    """Return the message.

    Raises:
        NotInStore: there is none.
        RecordDamaged: what lies there is damaged.
    """
    with StoreDir.open(call.store_dir) as store:
        if which.isascii() and which.isdigit() and len(which) <= LOG_OFFSET_DIGITS_MAX:
            log_offset = int(which)
            record = store.record_at(log_offset)
        else:
            record = store.find_message(which)
            log_offset = record.log_offset
        return one(stored_row(call, store, record, body=body, log_offset=log_offset))


@command(
    "store query",
    details="The index files say where to look; what they do not cover is read from the log.",
    examples=(("mqadmin store query DIR orders o-17", "all with this key"),),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.STORE,
)
@topic_argument()
@click.argument("key", help="the key, or a unique key")
@stored_at_any_time
@limit_option(type=Integer(min=1), default=64, help="so many at most, the newest")
@body_options
def query_key(
    call: Call, *, topic: str, key: str, stored: TimeSpan, limit: int, body: BodyForm
) -> Outcome:
    """Return one row a message, oldest first.

    Raises:
        NotFound: no message has the key.
    """
    begin_ms, end_ms = stored.ms(call.now_ms())
    return stored_by_key(
        call, topic, key, begin_ms=begin_ms, end_ms=end_ms, count_max=limit, body=body
    )

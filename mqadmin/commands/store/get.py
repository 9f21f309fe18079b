"""``store get``: show one message, by log offset, offset id or unique key."""

import click

from mqadmin.cli.declare import Call, Needs, Outcome, argument, command, one
from mqadmin.cli.decorators import no_body_option, option_group
from mqadmin.messages.message_rows import MESSAGE_COLUMNS, BodyForm, MessageRow
from mqadmin.messages.record_rows import body_form
from mqadmin.store_access.stored_rows import stored_row
from storefmt.offline.views.storedir import StoreDir

LOG_OFFSET_DIGITS_MAX = 20


@command(
    "store get",
    details="A unique key is looked up in the index, and then in the whole log.",
    examples=(
        ("mqadmin store get DIR 297161", "the record at this byte of the log"),
        ("mqadmin store get DIR 7F0000010000559700000000000488C9", "by its offset id"),
    ),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.STORE,
)
@argument("which", metavar="OFFSET|ID", help="a log offset, an offset id or a unique key")
@option_group(
    "body",
    body_form,
    no_body_option,
    click.option("--inflate", is_flag=True, help="decompress the body"),
)
def get_message(call: Call, *, which: str, body: BodyForm) -> Outcome:
    """Return the message.

    Raises:
        NotInStore: the message does not exist.
        RecordDamaged: the record is damaged.
    """
    with StoreDir.open(call.store_dir) as store:
        if which.isascii() and which.isdigit() and len(which) <= LOG_OFFSET_DIGITS_MAX:
            log_offset = int(which)
            record = store.record_at(log_offset)
        else:
            record = store.find_message(which)
            log_offset = record.log_offset
        return one(stored_row(call, store, record, body=body, log_offset=log_offset))

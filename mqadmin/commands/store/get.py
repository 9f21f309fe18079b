"""``store get``: one message of a store directory, by log offset or id."""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.messages import MESSAGE_COLUMNS, MessageRow
from mqadmin.parameters import argument, option
from mqadmin.records import body_form, row_at
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome, one
from storefmt.offline.views.storedir import StoreDir

LOG_OFFSET_DIGITS_MAX = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which message, and how much of it."""

    which: Annotated[
        str, argument("a log offset, an offset id or a unique key", metavar="OFFSET|ID")
    ]
    no_body: Annotated[bool, option("leave the body out")] = False
    inflate: Annotated[bool, option("decompress the body")] = False


@command(
    "store get",
    "show one message of a store directory",
    details="A unique key is looked up in the index, and in the whole log where it is not there.",
    examples=(
        ("mqadmin store get DIR 297161", "the record at this byte of the log"),
        ("mqadmin store get DIR 7F0000010000559700000000000488C9", "by its offset id"),
    ),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.STORE,
)
def get_message(call: Call, args: Arguments) -> Outcome:
    """Return the message.

    Raises:
        NotInStore: there is none.
        RecordDamaged: what lies there is damaged.
    """
    with StoreDir.open(call.store_dir) as store:
        which = args.which
        if which.isascii() and which.isdigit() and len(which) <= LOG_OFFSET_DIGITS_MAX:
            log_offset = int(which)
            record = store.record_at(log_offset)
        else:
            record = store.find_message(which)
            log_offset = record.log_offset
        return one(
            row_at(
                record,
                log_offset=log_offset,
                file=f"commitlog/{store.log.file_holding(log_offset)}",
                body=body_form(no_body=args.no_body, inflate=args.inflate),
                warn=call.warn,
            )
        )

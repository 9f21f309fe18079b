"""``store compaction``: show the messages in a log file of a compaction topic (RocketMQ 5).

A broker keeps the newest message of each key of such a topic in
``compaction/compactionLog/TOPIC/QUEUE``. A record there is one of the commit log.
"""

from collections.abc import Iterator
from pathlib import Path

from mqadmin.cli.declare import Call, Needs, Outcome, argument, command
from mqadmin.cli.decorators import no_bodies_option
from mqadmin.cli.types import FILE_PATH
from mqadmin.messages.message_rows import MessageRow, message_row
from storefmt.offline.views.compaction import read_compaction_log


@command(
    "store compaction",
    examples=(
        (
            "mqadmin store compaction store/compaction/compactionLog/prices/0/00000000000000000000",
            "the newest price of each key, and prices that are not compacted yet",
        ),
    ),
    details="`log_offset` is that of the record in the commit log.",
    rows=MessageRow,
    columns=("queue_offset", "store_time", "keys", "tags", "body"),
    needs=Needs.NONE,
)
@argument("file", type=FILE_PATH, help="a file below compaction/compactionLog")
@no_bodies_option
def show_compaction_log(call: Call, *, file: Path, no_body: bool) -> Outcome:
    """Return one row for each message.

    Raises:
        RecordDamaged: a record cannot be read.
        OSError: the file cannot be read.
    """

    def rows() -> Iterator[MessageRow]:
        for record in read_compaction_log(file):
            yield message_row(record, body="none" if no_body else "inflated", file=file.name)

    return Outcome(rows())

"""``store log``: list the messages of a store directory in the order of the log."""

from mqadmin.cli.declare import Call, Needs, Outcome, command
from mqadmin.cli.decorators import stored_to
from mqadmin.cli.times import bound_ms
from mqadmin.messages.message_rows import MESSAGE_COLUMNS, MessageRow
from mqadmin.messages.record_rows import Selection, message_rows, selection_options
from mqadmin.output.times import When
from mqadmin.store_access.stored_rows import closing
from storefmt.offline.views.storedir import StoreDir


@command(
    "store log",
    details="Damaged records are skipped with a warning; `store verify` explains them.",
    examples=(
        ("mqadmin store log DIR --topic orders --from -1h", "messages of the last hour"),
        (
            "mqadmin store log DIR --log-offset 4096- --limit 10 -o jsonl",
            "ten messages from an offset on",
        ),
    ),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.STORE,
)
@selection_options
@stored_to()
def list_log(call: Call, *, selection: Selection, to: When | None) -> Outcome:
    """Return one row for each record, in log order.

    Raises:
        NotAStore: the directory is not a store.
    """
    now_ms = call.now_ms()
    record_filter = selection.wanted(bound_ms(selection.from_, now_ms), bound_ms(to, now_ms))
    store = StoreDir.open(call.store_dir)
    rows = message_rows(
        store,
        record_filter,
        offsets=selection.offsets,
        count_max=selection.limit,
        body=selection.body,
        warn=call.warn,
    )
    return Outcome(closing(store, rows))

"""``store log``: the messages of a commit log, in the order they were stored."""

from collections.abc import Iterator

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.decorators import stored_to
from mqadmin.cli.times import bound_ms
from mqadmin.messages.filter import Filter
from mqadmin.messages.message_rows import MESSAGE_COLUMNS, MessageRow
from mqadmin.messages.record_rows import Selection, message_rows, selection_options
from mqadmin.output.rows import Outcome
from mqadmin.output.times import When
from mqadmin.session.call import Call
from storefmt.offline.views.storedir import StoreDir


@command(
    "store log",
    details="Damaged records are passed over with a warning; `store verify` explains them.",
    examples=(
        ("mqadmin store log DIR --topic orders --from -1h", "what came in the last hour"),
        ("mqadmin store log DIR --log-offset 4096- --limit 10 -o jsonl", "ten from there on"),
    ),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.STORE,
)
@selection_options
@stored_to()
def list_log(call: Call, *, selection: Selection, to: When | None) -> Outcome:
    """Return one row a record, in log order.

    Raises:
        NotAStore: the directory is no store.
    """
    now_ms = call.now_ms()
    wanted = selection.wanted(bound_ms(selection.from_, now_ms), bound_ms(to, now_ms))
    return Outcome(_rows(call, selection, wanted, StoreDir.open(call.store_dir)))


def _rows(
    call: Call, selection: Selection, wanted: Filter, store: StoreDir
) -> Iterator[MessageRow]:
    with store:
        yield from message_rows(
            store,
            wanted,
            offsets=selection.offsets,
            count_max=selection.limit,
            body=selection.body,
            warn=call.warn,
        )

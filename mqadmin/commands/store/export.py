"""``store export``: write messages of a store directory into a file."""

from collections.abc import Iterator

from mqadmin.cli.declare import Call, Needs, Outcome, command
from mqadmin.cli.decorators import stored_until
from mqadmin.cli.times import bound_ms
from mqadmin.errors import Usage
from mqadmin.messages.export_file import ExportRow, ExportState, ExportTarget, begin, export_options
from mqadmin.messages.message_rows import MessageRow
from mqadmin.messages.record_rows import OffsetRange, Selection, message_rows, selection_options
from mqadmin.output.terminal.progress import Progress
from mqadmin.output.times import When
from storefmt.offline.views.storedir import StoreDir


@command(
    "store export",
    details="jsonl and csv files have the columns of `store log`; Parquet files (which need "
    "pyarrow) have bodies as bytes and times as timestamps. A state file beside the output lets "
    "an interrupted run continue.",
    examples=(
        ("mqadmin store export DIR --to orders.parquet --topic orders", "one topic"),
        ("mqadmin store export DIR --to all.jsonl --resume", "continue an interrupted export"),
    ),
    rows=ExportRow,
    summary_rows=MessageRow,
    needs=Needs.STORE,
)
@selection_options
@export_options
@stored_until
def export_messages(
    call: Call, *, selection: Selection, target: ExportTarget, until: When | None
) -> Outcome:
    """Return what was written.

    Raises:
        Usage: the file exists, is inside the store, or was started with other options.
        NotAStore: the directory is not a store.
    """
    if target.is_stdout:
        return target.printed(_stored_rows(call, selection, until))
    now_ms = call.now_ms()
    with StoreDir.open(call.store_dir) as store, Progress(call.console, "export") as progress:
        if target.to.resolve().is_relative_to(store.root.resolve()):
            raise Usage(
                f"{target.to} lies in the store",
                hint="a store is never written to; choose another path",
            )
        fresh = ExportState(
            asked={
                "store": str(store.root.resolve()),
                **selection.asked(),
                "format": str(target.format_),
                "until": str(until),
            },
            begin_ms=bound_ms(selection.from_, now_ms),
            end_ms=bound_ms(until, now_ms),
        )
        state = begin(target, fresh)
        offsets = selection.offsets
        if state.next_log_offset >= 0:
            offsets = OffsetRange(state.next_log_offset, offsets.end)
        low, total = store.log.min_offset, store.log.end - store.log.min_offset
        limit = selection.limit
        with target.writer(state, csv_raw=call.settings.csv_raw) as writer:
            for row in message_rows(
                store,
                selection.wanted(state.begin_ms, state.end_ms),
                offsets=offsets,
                count_max=None if limit is None else max(0, limit - state.rows),
                body=selection.body,
                warn=call.warn,
            ):
                writer.add(row)
                progress(row.log_offset - low, total)
            return writer.finish(target)


def _stored_rows(call: Call, selection: Selection, until: When | None) -> Iterator[MessageRow]:
    """Yield the rows, keeping the store open meanwhile."""
    now_ms = call.now_ms()
    with StoreDir.open(call.store_dir) as store:
        yield from message_rows(
            store,
            selection.wanted(bound_ms(selection.from_, now_ms), bound_ms(until, now_ms)),
            offsets=selection.offsets,
            count_max=selection.limit,
            body=selection.body,
            warn=call.warn,
        )

"""``store export``: messages of a store directory into a file."""

from pathlib import Path
from typing import get_args

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.decorators import stored_until
from mqadmin.cli.times import bound_ms
from mqadmin.cli.types import FILE_PATH, Choice
from mqadmin.errors import Usage
from mqadmin.messages.export_file import (
    Exported,
    ExportState,
    FileFormat,
    begin,
    format_of,
    writer_for,
)
from mqadmin.messages.record_rows import OffsetRange, Selection, message_rows, selection_options
from mqadmin.output.progress import Progress
from mqadmin.output.rows import Outcome, one
from mqadmin.output.times import When
from mqadmin.session.call import Call
from storefmt.offline.views.storedir import StoreDir


@command(
    "store export",
    details="jsonl and csv hold what `store log` prints; Parquet (needs pyarrow) has bodies as "
    "bytes and times as timestamps. A state file beside the output lets a broken run go on.",
    examples=(
        ("mqadmin store export DIR --to orders.parquet --topic orders", "one topic"),
        ("mqadmin store export DIR --to all.jsonl --resume", "go on where it broke"),
    ),
    rows=Exported,
    needs=Needs.STORE,
)
@selection_options
@click.option("--to", "-f", type=FILE_PATH, required=True, metavar="FILE", help="file to write")
@click.option(
    "--format", "format_", type=Choice(get_args(FileFormat)), help="instead of what the suffix says"
)
@click.option("--resume", is_flag=True, help="go on with a broken export")
@stored_until
def export_messages(
    call: Call,
    *,
    selection: Selection,
    to: Path,
    format_: FileFormat | None,
    resume: bool,
    until: When | None,
) -> Outcome:
    """Return what was written.

    Raises:
        Usage: the file is there, lies in the store, or was begun with another question.
        NotAStore: the directory is no store.
    """
    kind = format_of(to, format_)
    now_ms = call.now_ms()
    with StoreDir.open(call.store_dir) as store, Progress(call.console, "export") as progress:
        if to.resolve().is_relative_to(store.root.resolve()):
            raise Usage(f"{to} lies in the store", hint="the store is only read: write elsewhere")
        fresh = ExportState(
            asked={
                "store": str(store.root.resolve()),
                **selection.asked(),
                "format": str(format_),
                "until": str(until),
            },
            begin_ms=bound_ms(selection.from_, now_ms),
            end_ms=bound_ms(until, now_ms),
        )
        state, resumed = begin(to, fresh, resume=resume)
        offsets = selection.offsets
        if state.next_log_offset >= 0:
            offsets = OffsetRange(state.next_log_offset, offsets.end)
        low, total = store.log.min_offset, store.log.end - store.log.min_offset
        writer = writer_for(to, kind, state)
        try:
            writer.note()
            for row in message_rows(
                store,
                selection.wanted(state.begin_ms, state.end_ms),
                offsets=offsets,
                count_max=None if selection.limit is None else max(0, selection.limit - state.rows),
                body=selection.body,
                warn=call.warn,
            ):
                writer.add(row)
                progress(row.log_offset - low, total)
            size = writer.finish()
        finally:
            writer.close()
    rows = writer.state.rows
    return one(Exported(file=str(to), format=kind, rows=rows, size=size, resumed=resumed))

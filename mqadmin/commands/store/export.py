"""``store export``: messages of a store directory into a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import Usage
from mqadmin.exportfile import Exported, FileFormat, State, asked_by, begin, format_of, writer_for
from mqadmin.output.progress import Progress
from mqadmin.parameters import Kind, option
from mqadmin.records import OffsetRange, Selection, message_rows
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome, one
from mqadmin.storedtime import STORED_TO, bound_ms
from mqadmin.times import When
from storefmt.offline.views.storedir import StoreDir


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(Selection):
    """Where to, which messages, and how much of them."""

    to: Annotated[Path, option("file to write", short="f", metavar="FILE", kind=Kind.FILE)]
    format: Annotated[FileFormat | None, option("instead of what the suffix says")] = None
    resume: Annotated[bool, option("go on with a broken export")] = False
    until: Annotated[When | None, STORED_TO] = None


@command(
    "store export",
    "write the messages of a store directory to a file",
    details="jsonl and csv hold what `store log` prints; Parquet (needs pyarrow) has bodies as "
    "bytes and times as timestamps. A state file beside the output lets a broken run go on.",
    examples=(
        ("mqadmin store export DIR --to orders.parquet --topic orders", "one topic"),
        ("mqadmin store export DIR --to all.jsonl --resume", "go on where it broke"),
    ),
    rows=Exported,
    needs=Needs.STORE,
)
def export_messages(call: Call, args: Arguments) -> Outcome:
    """Return what was written.

    Raises:
        Usage: the file is there, lies in the store, or was begun with another question.
        NotAStore: the directory is no store.
    """
    args.check()
    kind = format_of(args.to, args.format)
    path = args.to
    with StoreDir.open(call.store_dir) as store, Progress(call.console, "export") as progress:
        if path.resolve().is_relative_to(store.root.resolve()):
            raise Usage(f"{path} lies in the store", hint="the store is only read: write elsewhere")
        state, resumed = begin(path, _fresh(call, args, store), resume=args.resume)
        offsets = args.offsets
        if state.next_log_offset >= 0:
            offsets = OffsetRange(state.next_log_offset, offsets.end)
        low, total = store.log.min_offset, store.log.end - store.log.min_offset
        writer = writer_for(path, kind, state)
        try:
            writer.note()
            for row in message_rows(
                store,
                args.wanted(state.begin_ms, state.end_ms),
                offsets=offsets,
                count_max=None if args.limit is None else max(0, args.limit - state.rows),
                body=args.body,
                warn=call.warn,
            ):
                writer.add(row)
                progress(row.log_offset - low, total)
            size = writer.finish()
        finally:
            writer.close()
    rows = writer.state.rows
    return one(Exported(file=str(path), format=kind, rows=rows, size=size, resumed=resumed))


def _fresh(call: Call, args: Arguments, store: StoreDir) -> State:
    now_ms = call.now_ms()
    return State(
        asked={"store": str(store.root.resolve()), **asked_by(args)},
        begin_ms=bound_ms(args.from_, now_ms),
        end_ms=bound_ms(args.until, now_ms),
    )

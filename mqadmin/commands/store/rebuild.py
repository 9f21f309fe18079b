"""``store rebuild``: rebuild consume queues and index from the log."""

from dataclasses import dataclass

import click

from mqadmin.cli.declare import Call, Needs, Outcome, Row, command
from mqadmin.commands.store._shared import shape_options
from mqadmin.errors import Damaged, Usage
from mqadmin.output.terminal.progress import Progress
from storefmt.offline.output_dir import OutputDirectory
from storefmt.offline.repair.rebuild import StoreShape, rebuild
from storefmt.offline.views.storedir import StoreDir


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuiltRow(Row):
    """One queue, or the index (``topic`` empty); offsets in entries.

    ``filler_count`` entries have no record in the log.
    """

    kind: str
    topic: str = ""
    queue_id: int = -1
    min_offset: int = 0
    max_offset: int
    filler_count: int = 0
    files: int


@command(
    "store rebuild",
    details="The result is byte for byte what a broker would have written. The store itself is "
    "only read: move `consumequeue` and `index` of OUT into it while no broker runs. Sizes and "
    "names of files, entries of expired messages and ext units are taken from the remaining old "
    "files. The exit code is 6 if the log is damaged; see `store repair`.",
    examples=(
        ("mqadmin store rebuild DIR --to OUT", "write queues and index to OUT"),
        ("mqadmin store rebuild DIR --to OUT --no-index", "only the queues"),
    ),
    rows=RebuiltRow,
    needs=Needs.STORE,
)
@shape_options
@click.option("--no-index", is_flag=True, help="do not rebuild the index")
def rebuild_store(call: Call, *, to: str, shape: StoreShape, no_index: bool) -> Outcome:
    """Return a row for each queue and one for the index.

    Raises:
        Usage: ``--dry-run`` was given.
        NotAStore: the directory is not a store.
        BadCall: OUT is not empty, or lies in the store.
    """
    if call.dry_run:
        raise Usage(
            "store rebuild has no dry run: it only writes into a new directory",
            hint="omit --dry-run",
        )
    with StoreDir.open(call.store_dir) as store, Progress(call.console, "rebuild") as progress:
        out = OutputDirectory.make(to, source=call.store_dir)
        report = rebuild(store, out, shape=shape, with_index=not no_index, progress=progress)
        out.sync()
    rows = [RebuiltRow.of(queue, kind="queue", files=queue.file_count) for queue in report.queues]
    if not no_index:
        rows.append(
            RebuiltRow(
                kind="index", max_offset=report.index_entry_count, files=report.index_file_count
            )
        )
    notes = tuple(report.notes)
    if report.lost_size:
        notes += (
            f"{report.lost_size} bytes of the log are not records; `store verify` shows where",
        )
    return Outcome(rows, exit_code=Damaged.exit_code if report.lost_size else 0, notes=notes)

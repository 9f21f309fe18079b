"""``store rebuild``: queues and index made again from the log."""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import Damaged, Usage
from mqadmin.output.progress import Progress
from mqadmin.parameters import option
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome, Row
from mqadmin.shapes import ShapeArguments
from storefmt.offline.output_dir import OutDir
from storefmt.offline.repair.rebuild import rebuild
from storefmt.offline.views.storedir import StoreDir


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(ShapeArguments):
    """Where to, and sizes that the store does not tell any more."""

    no_index: Annotated[bool, option("leave the index out")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuiltRow(Row):
    """One queue, or the index (``topic`` empty); offsets in entries.

    ``filler_count`` entries have no record in the log.
    """

    kind: str
    topic: str
    queue_id: int
    min_offset: int
    max_offset: int
    filler_count: int
    files: int


@command(
    "store rebuild",
    "make consume queues and index again from the commit log",
    details="The result is what a broker would have made, byte for byte. The store itself is "
    "only read: move `consumequeue` and `index` of OUT into it while no broker runs. Sizes and "
    "names of files, entries of expired messages and ext units come from what is left of the "
    "old files. The exit code is 6 where the log has damage, see `store repair`.",
    examples=(
        ("mqadmin store rebuild DIR --to OUT", "queues and index into OUT"),
        ("mqadmin store rebuild DIR --to OUT --no-index", "the queues alone"),
    ),
    rows=RebuiltRow,
    needs=Needs.STORE,
)
def rebuild_store(call: Call, args: Arguments) -> Outcome:
    """Return a row for each queue and one for the index.

    Raises:
        Usage: ``--dry-run`` was given.
        NotAStore: the directory is no store.
        BadCall: OUT is not empty, or lies in the store.
    """
    if call.dry_run:
        raise Usage("store rebuild writes into a directory of its own", hint="leave --dry-run out")
    with StoreDir.open(call.store_dir) as store, Progress(call.console, "rebuild") as progress:
        out = OutDir.make(args.to, source=call.store_dir)
        done = rebuild(
            store, out, shape=args.shape(), with_index=not args.no_index, progress=progress
        )
        out.sync()
    rows = [
        RebuiltRow(
            kind="queue",
            topic=queue.topic,
            queue_id=queue.queue_id,
            min_offset=queue.min_offset,
            max_offset=queue.max_offset,
            filler_count=queue.filler_count,
            files=queue.file_count,
        )
        for queue in done.queues
    ]
    if not args.no_index:
        rows.append(
            RebuiltRow(
                kind="index",
                topic="",
                queue_id=-1,
                min_offset=0,
                max_offset=done.index_entry_count,
                filler_count=0,
                files=done.index_file_count,
            )
        )
    notes = tuple(done.notes)
    if done.lost_size:
        notes += (f"{done.lost_size} bytes of the log are no record; `store verify` says where",)
    return Outcome(rows, exit_code=Damaged.exit_code if done.lost_size else 0, notes=notes)

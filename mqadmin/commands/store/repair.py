"""``store repair``: copy a damaged store, with all that can be saved, so that a broker opens it."""

from dataclasses import dataclass

from mqadmin.cli.declare import Call, Needs, Outcome, Row, command
from mqadmin.commands.store._shared import shape_options
from mqadmin.errors import Usage
from mqadmin.output.terminal.progress import Progress
from storefmt.offline.output_dir import OutputDirectory
from storefmt.offline.repair.rebuild import StoreShape
from storefmt.offline.repair.repair import repair
from storefmt.offline.views.storedir import StoreDir


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRow(Row):
    """One thing that was lost, changed or left out.

    ``action``: lost (``count`` messages, the first one named, or a state file that nothing
    brings back), replaced or cut (bytes of the log that are no record), corrected, restored,
    copied, left_out, note. Unknown offsets are -1.
    """

    action: str
    file: str
    log_offset: int
    size: int
    topic: str
    queue_id: int
    queue_offset: int
    count: int
    reason: str


@command(
    "store repair",
    details="Damage in the log is overwritten in the copy with records of the same size, since "
    "the recovery of a broker stops at the first bytes that are not a record; everything "
    "behind it keeps its place. A message that is lost leaves an empty one with the tag "
    "MQADMIN_DAMAGED in its queue. Queues and index are made from the log; state files "
    "come from their .bak where they must. The rows say what is lost; without rows "
    "nothing is. DIR is only read.",
    examples=(
        ("mqadmin store repair DIR --to OUT", "what was lost, and the copy in OUT"),
        ("mqadmin store repair DIR --to OUT -o json > lost.json", "the report as a file"),
    ),
    rows=RepairRow,
    columns=("action", "file", "log_offset", "topic", "queue_id", "queue_offset", "reason"),
    needs=Needs.STORE,
)
@shape_options
def repair_store(call: Call, *, to: str, shape: StoreShape) -> Outcome:
    """Return a row for everything that is not as it was.

    Raises:
        Usage: ``--dry-run`` was given.
        NotAStore: the directory is no store.
        BadCall: OUT is not empty, or lies in the store.
    """
    if call.dry_run:
        raise Usage("store repair writes into a directory of its own", hint="leave --dry-run out")
    with StoreDir.open(call.store_dir) as store, Progress(call.console, "repair") as progress:
        out = OutputDirectory.make(to, source=call.store_dir)
        done = repair(store, out, shape=shape, progress=progress)
        out.sync()
    records = done.rebuilt.record_count
    note = (
        f"{records} records in {len(done.rebuilt.queues)} queues; {done.lost_count} messages "
        f"lost, {done.lost_size} bytes of the log replaced or cut"
    )
    return Outcome([RepairRow.of(each) for each in done.actions], notes=(note,))

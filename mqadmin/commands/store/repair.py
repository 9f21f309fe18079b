"""``store repair``: write a copy of a damaged store that a broker can open."""

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
    can restore), replaced or cut (bytes of the log that are not a record), corrected, restored,
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
    details="In the copy, damage in the log is overwritten with records of the same size, "
    "because the recovery of a broker stops at the first bytes that are not a record; everything "
    "after them keeps its place. A lost message is replaced by an empty one with the tag "
    "MQADMIN_DAMAGED. Queues and index are rebuilt from the log; a damaged state file is "
    "replaced by its .bak. The rows list everything that was lost or changed. DIR is only read.",
    examples=(
        ("mqadmin store repair DIR --to OUT", "repair into OUT, and list what was lost"),
        ("mqadmin store repair DIR --to OUT -o json > lost.json", "the report as a file"),
    ),
    rows=RepairRow,
    columns=("action", "file", "log_offset", "topic", "queue_id", "queue_offset", "reason"),
    needs=Needs.STORE,
)
@shape_options
def repair_store(call: Call, *, to: str, shape: StoreShape) -> Outcome:
    """Return a row for each loss and each change.

    Raises:
        Usage: ``--dry-run`` was given.
        NotAStore: the directory is not a store.
        BadCall: OUT is not empty, or lies in the store.
    """
    if call.dry_run:
        raise Usage(
            "store repair has no dry run: it only writes into a new directory",
            hint="omit --dry-run",
        )
    with StoreDir.open(call.store_dir) as store, Progress(call.console, "repair") as progress:
        out = OutputDirectory.make(to, source=call.store_dir)
        report = repair(store, out, shape=shape, progress=progress)
        out.sync()
    records = report.rebuilt.record_count
    note = (
        f"{records} records in {len(report.rebuilt.queues)} queues; {report.lost_count} messages "
        f"lost, {report.lost_size} bytes of the log replaced or cut"
    )
    return Outcome([RepairRow.of(each) for each in report.actions], notes=(note,))

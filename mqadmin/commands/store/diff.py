"""``store diff``: compare two store directories."""

from pathlib import Path

from mqadmin.cli.declare import Call, Needs, Outcome, argument, command
from mqadmin.cli.types import DIR
from mqadmin.errors import CheckFailed
from mqadmin.output.terminal.progress import Progress
from mqadmin.store_access.analysis_rows import DiffRow
from storefmt.offline.analyse.compare import compare_logs, compare_queues
from storefmt.offline.views.storedir import StoreDir


@command(
    "store diff",
    details="The command compares a master with its slave, or two states of a store. A log that "
    "starts later or ends earlier does not diverge, but its queues lack messages. CHANGED counts "
    "messages that differ; for the log, the bytes from the first difference to the end. The exit "
    "code is 1 if anything differs.",
    examples=(("mqadmin store diff A B", "the log first, then each queue that differs"),),
    rows=DiffRow,
    needs=Needs.STORE,
)
@argument("other", type=DIR, metavar="B", help="the store to compare with")
def diff_stores(call: Call, *, other: str) -> Outcome:
    """Return a row for the log and one for each queue that is not the same.

    Raises:
        NotAStore: one of the directories is not a store.
    """
    with StoreDir.open(call.store_dir) as a, StoreDir.open(Path(other)) as b:
        with Progress(call.console, "diff") as progress:
            log = compare_logs(a, b, progress=progress)
        common = max(0, min(log.a_end, log.b_end) - max(log.a_start, log.b_start))
        rows = [
            DiffRow(
                kind="log",
                same=log.same,
                topic="",
                queue_id=-1,
                a_min=log.a_start,
                a_max=log.a_end,
                b_min=log.b_start,
                b_max=log.b_end,
                only_a=log.a_end - log.a_start - common,
                only_b=log.b_end - log.b_start - common,
                changed=log.differing_size + log.unread_size,
                first=log.diverges_at,
            )
        ]
        rows += [
            DiffRow.of(queue, kind="queue", same=False, first=queue.first_changed)
            for queue in compare_queues(a, b, log)
        ]
    different = len(rows) > 1 or not log.same or rows[0].only_a + rows[0].only_b > 0
    return Outcome(rows, exit_code=CheckFailed.exit_code if different else 0)

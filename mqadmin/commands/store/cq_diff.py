"""``store cq-diff``: compare consume queues that are both in files and in RocksDB."""

from dataclasses import dataclass

from mqadmin.cli.declare import Call, Needs, Outcome, Row, command
from mqadmin.cli.decorators import of_topic
from mqadmin.errors import CheckFailed, ItemNotFound
from storefmt.offline.verify.check_rocksdb import QueueForms, compare_forms
from storefmt.offline.views.storedir import StoreDir


@dataclass(frozen=True, slots=True, kw_only=True)
class FormsRow(Row):
    """One queue in files and in RocksDB; offsets in entries, max is one past the last.

    ``differing_count`` entries differ, the first at ``first_differing`` (-1 for none), and
    ``missing_count`` are not in RocksDB yet.
    """

    topic: str
    queue_id: int
    same: bool
    files_min: int
    files_max: int
    rocksdb_min: int
    rocksdb_max: int
    differing_count: int
    first_differing: int
    missing_count: int


@command(
    "store cq-diff",
    details="A broker of 5.x with rocksdbCQDoubleWriteEnable=true keeps its consume queues in "
    "files and in RocksDB. Before it is switched to RocksDB alone, both must have the same "
    "entries. The exit code is 1 if an entry differs or is missing.",
    examples=(
        ("mqadmin store cq-diff DIR", "every queue"),
        ("mqadmin store cq-diff DIR --topic orders", "those of one topic"),
    ),
    rows=FormsRow,
    needs=Needs.STORE,
)
@of_topic()
def check_queues(call: Call, *, topic: str | None) -> Outcome:
    """Return one row for each queue.

    Raises:
        ItemNotFound: the queues are not in both forms.
        RocksdbNotInstalled: the package that reads RocksDB is missing.
    """
    with StoreDir.open(call.store_dir) as store:
        store.need_queues()
        comparisons = [forms for forms in compare_forms(store) if topic in (None, forms.topic)]
    if not comparisons:
        raise ItemNotFound(
            f"{call.store_dir}: no queues that are both in files and in RocksDB",
            hint="only a broker with rocksdbCQDoubleWriteEnable=true writes both",
        )
    rows = [_forms(forms) for forms in comparisons]
    return Outcome(rows, exit_code=0 if all(row.same for row in rows) else CheckFailed.exit_code)


def _forms(forms: QueueForms) -> FormsRow:
    return FormsRow(
        topic=forms.topic,
        queue_id=forms.queue_id,
        same=not forms.differing_count and not forms.missing_count,
        files_min=forms.files[0],
        files_max=forms.files[1],
        rocksdb_min=forms.rocksdb[0],
        rocksdb_max=forms.rocksdb[1],
        differing_count=forms.differing_count,
        first_differing=forms.first_differing,
        missing_count=forms.missing_count,
    )

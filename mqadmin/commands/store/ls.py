"""``store ls``: list the files of a store directory, and what each covers."""

from dataclasses import dataclass

from mqadmin.cli.declare import Call, EpochMs, Needs, Outcome, Row, command
from storefmt.offline.views.storedir import StoreDir


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRow(Row):
    """One file; ``start`` and ``end`` are bytes of the log, entries of a queue or an index."""

    kind: str
    file: str
    size: int
    fill_size: int
    start: int
    end: int
    first_ms: EpochMs
    last_ms: EpochMs


@command(
    "store ls",
    examples=(
        ("mqadmin store ls DIR", "how large each file is, and how full"),
        ("mqadmin store ls DIR --columns file,start,end,first_time", "what each file covers"),
    ),
    rows=FileRow,
    columns=("file", "size", "fill_size", "last_time"),
    needs=Needs.STORE,
)
def list_files(call: Call) -> Outcome:
    """Return one row for each file.

    Raises:
        NotAStore: the directory is not a store.
    """
    with StoreDir.open(call.store_dir) as store:
        return Outcome([FileRow.of(view, file=view.name) for view in store.files()])

"""``pipeline rebuild``: queues and index of one store, or of many, made again from the log."""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.parameters import Kind, option
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome, Row
from mqadmin.sparkjob import MORE_STORES, Engine, run_job


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(Engine):
    """Which stores, where to, and where it runs."""

    more: Annotated[tuple[str, ...], MORE_STORES] = ()
    to: Annotated[
        str, option("new directory; with several stores one below it for each", kind=Kind.DIR)
    ]
    no_index: Annotated[bool, option("leave the index out")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuiltPartRow(Row):
    """One queue, the index, or a ``note`` about what could not be rebuilt; offsets in entries.

    ``filler_count`` entries have no record in the log.
    """

    store: str
    kind: str
    topic: str
    queue_id: int
    min_offset: int
    max_offset: int
    filler_count: int
    files: int
    note: str


@command(
    "pipeline rebuild",
    "make consume queues and index again, on Spark",
    details=(
        "The files are those of `store rebuild`, byte for byte. Each queue is made by one task, "
        "and each file of the index; a log with damage is rebuilt as one task. The exit code "
        "is 6 where a log has damage."
    ),
    examples=(
        ("mqadmin pipeline rebuild /data/store --to /data/new", "one store, by queue"),
        ("mqadmin pipeline rebuild /mnt/a /mnt/b --to /mnt/new", "two, below /mnt/new"),
    ),
    rows=RebuiltPartRow,
    needs=Needs.STORE,
)
def rebuild_stores(call: Call, args: Arguments) -> Outcome:
    """Return a row for each queue and index.

    Raises:
        NotAStore: a directory is no store.
        BadCall: the new directory is not empty, or lies in a store.
    """
    options = {"to": args.to, "index": "false" if args.no_index else "true"}
    return run_job(
        call, "rebuild", args, row=RebuiltPartRow, options=options, more_stores=args.more
    )

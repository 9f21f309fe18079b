"""``pipeline grep``: messages of a store whose body has a match."""

from dataclasses import dataclass

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.decorators import more_stores
from mqadmin.output.rows import EpochMs, Outcome, Row
from mqadmin.session.call import Call
from mqadmin.store.spark_job import Engine, engine_options, run_job


@dataclass(frozen=True, slots=True)
class HitRow(Row):
    """One message; ``log_offset`` is bytes of the commit log, for ``store get``."""

    store: str
    topic: str
    queue_id: int
    queue_offset: int
    log_offset: int
    unique_key: str | None
    store_ms: EpochMs
    excerpt: str


@command(
    "pipeline grep",
    details="Bodies are looked at where they are read, compressed ones decompressed, so only hits "
    "travel. `store get DIR LOG_OFFSET` shows a hit whole.",
    examples=(
        ("mqadmin pipeline grep /data/store 'card [0-9]{16}' --mask", "where, without the numbers"),
        ("mqadmin pipeline grep /data/store o-17 --engine local -o csv", "without Spark"),
    ),
    rows=HitRow,
    columns=("topic", "queue_id", "queue_offset", "log_offset", "store_time", "excerpt"),
    needs=Needs.STORE,
)
@engine_options
@click.argument("pattern", help="regular expression (RE2), matched anywhere in a body")
@more_stores
@click.option("--mask", is_flag=True, help="show *** for what matches: tell where, not what")
def find_matches(
    call: Call, *, where: Engine, pattern: str, more: tuple[str, ...], mask: bool
) -> Outcome:
    """Return one row a message, by store and log offset."""
    options = {"pattern": pattern, "mask": str(mask).lower()}
    return run_job(call, "grep", where, row=HitRow, options=options, more_stores=more)

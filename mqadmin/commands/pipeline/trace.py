"""``pipeline trace``: show the life of messages in several stores."""

from dataclasses import dataclass
from typing import Any

import click

from mqadmin.cli.declare import Call, EpochMs, Needs, Outcome, Row, argument, command
from mqadmin.cli.types import TOPIC
from mqadmin.store_access.spark_job import Engine, of_stores_job, run_job


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetStepRow(Row):
    """One step in the life of a message, as ``store trace`` names them, or a ``note``."""

    store: str
    step: str
    step_ms: EpochMs
    due_ms: EpochMs
    topic: str | None
    queue_id: int | None
    queue_offset: int | None
    log_offset: int | None
    size: int | None
    unique_key: str | None
    keys: tuple[str, ...]
    msg_id: str | None
    detail: str


def _row(
    *, unique_key: str | None, keys: list[str] | None, due_ms: int | None, **fields: Any
) -> Row:
    return FleetStepRow(**fields, unique_key=unique_key, keys=tuple(keys or ()), due_ms=due_ms or 0)


@command(
    "pipeline trace",
    details="Each store is searched by one task, as `store trace` does; the rows show all "
    "copies, in time order over all stores. The exit code is 3 if no store has the message.",
    examples=(
        ("mqadmin pipeline trace /mnt/a o-17 /mnt/b /mnt/c --topic orders", "in three stores"),
    ),
    rows=FleetStepRow,
    columns=("step_time", "store", "step", "topic", "queue_id", "queue_offset", "detail"),
    needs=Needs.STORE,
)
@argument("which", metavar="KEY|ID", help="keys, unique keys or offset ids, separated by commas")
@of_stores_job
@click.option("--topic", "-t", type=TOPIC, help="only messages that were sent to this topic")
@click.option("--scan", is_flag=True, help="read whole logs instead of looking up the indexes")
def trace_messages(
    call: Call, *, where: Engine, which: str, topic: str | None, scan: bool
) -> Outcome:
    """Return one row for each step, oldest first."""
    options = {"key": which, "topic": topic, "scan": scan}
    return run_job(call, "trace", where, row=_row, options=options)

"""``pipeline trace``: the whole life of messages, looked for in many stores at once."""

from dataclasses import dataclass
from typing import Any

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.decorators import more_stores
from mqadmin.cli.types import TOPIC
from mqadmin.output.rows import EpochMs, Outcome, Row
from mqadmin.session.call import Call
from mqadmin.store.spark_job import Engine, engine_options, run_job


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
    *, unique_key: str | None, keys: list[str] | None, due_ms: int | None, **known: Any
) -> Row:
    return FleetStepRow(**known, unique_key=unique_key, keys=tuple(keys or ()), due_ms=due_ms or 0)


@command(
    "pipeline trace",
    details="Each store is searched by one task, as `store trace` does; all copies are rows, in "
    "time order over all stores. The exit code is 3 where no store has the message.",
    examples=(
        ("mqadmin pipeline trace /mnt/a o-17 /mnt/b /mnt/c --topic orders", "in three stores"),
    ),
    rows=FleetStepRow,
    columns=("step_time", "store", "step", "topic", "queue_id", "queue_offset", "detail"),
    needs=Needs.STORE,
)
@engine_options
@click.argument("which", metavar="KEY|ID", help="keys, unique keys or offset ids, with commas")
@more_stores
@click.option("--topic", "-t", type=TOPIC, help="sent to this topic")
@click.option("--scan", is_flag=True, help="read whole logs, not only what the indexes name")
def trace_messages(
    call: Call, *, where: Engine, which: str, more: tuple[str, ...], topic: str | None, scan: bool
) -> Outcome:
    """Return one row a step, oldest first."""
    options = {"key": which, "topic": topic, "scan": "true" if scan else None}
    return run_job(call, "trace", where, row=_row, options=options, more_stores=more)

"""``pipeline trace``: the whole life of messages, looked for in many stores at once."""

from dataclasses import dataclass
from typing import Annotated, Any

from mqadmin.call import Call
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import Needs, command
from mqadmin.rows import EpochMs, Outcome, Row
from mqadmin.sparkjob import MORE_STORES, Engine, run_job


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(Engine):
    """Which message, in which stores, and where it runs."""

    which: Annotated[
        str, argument("keys, unique keys or offset ids, with commas", metavar="KEY|ID")
    ]
    more: Annotated[tuple[str, ...], MORE_STORES] = ()
    topic: Annotated[str | None, option("sent to this topic", short="t", kind=Kind.TOPIC)] = None
    scan: Annotated[bool, option("read whole logs, not only what the indexes name")] = False


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


def _row(*, uniq_key: str | None, keys: list[str] | None, due_ms: int | None, **known: Any) -> Row:
    return FleetStepRow(**known, unique_key=uniq_key, keys=tuple(keys or ()), due_ms=due_ms or 0)


@command(
    "pipeline trace",
    "show the whole life of messages in many stores, on Spark",
    details=(
        "Each store is searched by one task, as `store trace` does; all copies are rows, in time "
        "order over all stores. The exit code is 3 where no store has the message."
    ),
    examples=(
        ("mqadmin pipeline trace /mnt/a o-17 /mnt/b /mnt/c --topic orders", "in three stores"),
    ),
    rows=FleetStepRow,
    columns=("step_time", "store", "step", "topic", "queue_id", "queue_offset", "detail"),
    needs=Needs.STORE,
)
def trace_messages(call: Call, args: Arguments) -> Outcome:
    """Return one row a step, oldest first."""
    options = {
        "key": args.which,
        "topic": args.topic,
        "scan": "true" if args.scan else None,
    }
    return run_job(call, "trace", args, row=_row, options=options, more_stores=args.more)

"""``pipeline lag``: how far each group of a store was behind."""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.parameters import option
from mqadmin.registry import Needs, command
from mqadmin.rows import EpochMs, Outcome, Row
from mqadmin.sparkjob import MORE_STORES, Engine, run_job


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(Engine):
    """Which stores and times, and where it runs."""

    more: Annotated[tuple[str, ...], MORE_STORES] = ()
    offsets: Annotated[
        str | None,
        option("older copies of consumerOffset.json, with commas", metavar="FILE[@EPOCH_MS]"),
    ] = None


@dataclass(frozen=True, slots=True)
class GroupLagRow(Row):
    """Where a group stood in a topic, all queues of all stores together.

    ``at_ms`` is 0 for the time at which a store was copied.
    """

    at_ms: EpochMs
    group: str
    topic: str
    queues: int
    lag: int
    last_consumed_ms: EpochMs


@command(
    "pipeline lag",
    "show how far each group of a store was behind, on Spark",
    details=(
        "Positions are those of consumerOffset.json when the store was copied; the stores of "
        "several brokers are added up. With older copies of one store's file there are rows for "
        "their times, too. The other time is the store time of the last message read, of the "
        "queue that is furthest behind."
    ),
    examples=(
        ("mqadmin pipeline lag /data/store", "on this machine's cores"),
        ("mqadmin pipeline lag /mnt/a/store /mnt/b/store --engine local", "of two brokers"),
        (
            "mqadmin pipeline lag /data/store --offsets monday.json@1795233600000,tuesday.json",
            "over time",
        ),
    ),
    rows=GroupLagRow,
    columns=("at_time", "group", "topic", "queues", "lag", "last_consumed_time"),
    needs=Needs.STORE,
)
def show_lag(call: Call, args: Arguments) -> Outcome:
    """Return one row a time, group and topic; of a time the largest lag first."""
    options = {"offsets": args.offsets}
    return run_job(call, "lag", args, row=GroupLagRow, options=options, more_stores=args.more)

"""``pipeline lag``: how far each group of a store was behind."""

from dataclasses import dataclass

from mqadmin.call import Call
from mqadmin.registry import Needs, command
from mqadmin.rows import EpochMs, Outcome, Row
from mqadmin.sparkjob import Engine, run_job


@dataclass(frozen=True, slots=True)
class GroupLagRow(Row):
    """Where a group stood in a topic, all queues together."""

    group: str
    topic: str
    queues: int
    lag: int
    last_consumed_ms: EpochMs


@command(
    "pipeline lag",
    "show how far each group of a store was behind, on Spark",
    details=(
        "Positions are those of consumerOffset.json when the store was copied. The time is the "
        "store time of the last message read, of the queue that is furthest behind."
    ),
    examples=(
        ("mqadmin pipeline lag /data/store", "on this machine's cores"),
        ("mqadmin pipeline lag /data/store --engine local -o json", "without Spark"),
    ),
    rows=GroupLagRow,
    columns=("group", "topic", "queues", "lag", "last_consumed_time"),
    needs=Needs.STORE,
)
def show_lag(call: Call, args: Engine) -> Outcome:
    """Return one row a group and topic, the largest lag first."""
    return run_job(call, "lag", args, row=GroupLagRow)

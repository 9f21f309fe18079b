"""``pipeline stats``: messages and bytes of a store by topic and hour."""

from dataclasses import dataclass

from mqadmin.call import Call
from mqadmin.registry import Needs, command
from mqadmin.rows import EpochMs, Outcome, Row
from mqadmin.sparkjob import Engine, run_job


@dataclass(frozen=True, slots=True)
class TopicHourRow(Row):
    """What was stored of one topic within one hour."""

    topic: str
    hour_ms: EpochMs
    messages: int
    bytes: int


@command(
    "pipeline stats",
    "count messages and bytes by topic and hour, on Spark",
    details=(
        "The hour is that of the store time, in UTC. Spark takes about ten seconds before its "
        "first row; below some 20 GiB on one machine --engine local is done before that."
    ),
    examples=(
        ("mqadmin pipeline stats /data/store", "on this machine's cores"),
        ("mqadmin pipeline stats /data/store --engine local -o csv", "without Spark"),
        ("mqadmin pipeline stats /mnt/store --master spark://host:7077", "on a cluster"),
    ),
    rows=TopicHourRow,
    columns=("topic", "hour_time", "messages", "bytes"),
    needs=Needs.STORE,
)
def count_by_hour(call: Call, args: Engine) -> Outcome:
    """Return one row a topic and hour, sorted by both."""
    return run_job(call, "stats", args, row=TopicHourRow)

"""``pipeline stats``: messages and bytes of a store by topic and hour, or finer."""

from dataclasses import dataclass, replace
from typing import Literal

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.types import Choice
from mqadmin.output.rows import EpochMs, Outcome, Row
from mqadmin.session.call import Call
from mqadmin.store.spark_job import Engine, engine_options, run_job


@dataclass(frozen=True, slots=True)
class TopicHourRow(Row):
    """What was stored of one topic within one hour.

    The last three are null where it is not counted by them; ``tag`` also without a tag.
    """

    topic: str
    hour_ms: EpochMs
    messages: int
    bytes: int
    queue_id: int | None
    producer: str | None
    tag: str | None


COLUMNS = ("topic", "hour_time", "messages", "bytes")
BY = {"queue": "queue_id", "producer": "producer", "tag": "tag"}


@command(
    "pipeline stats",
    details="The hour is that of the store time, in UTC. Spark takes about ten seconds before its "
    "first row; below some 20 GiB on one machine --engine local is done before that.",
    examples=(
        ("mqadmin pipeline stats /data/store", "on this machine's cores"),
        ("mqadmin pipeline stats /data/store --engine local -o csv", "without Spark"),
        ("mqadmin pipeline stats /data/store --by producer", "who sent how much, by hour"),
        ("mqadmin pipeline stats /mnt/store --master spark://host:7077", "on a cluster"),
    ),
    rows=TopicHourRow,
    columns=COLUMNS,
    needs=Needs.STORE,
)
@engine_options
@click.option("--by", "-b", type=Choice(["queue", "producer", "tag"]), help="count by this, too")
def count_by_hour(
    call: Call, *, where: Engine, by: Literal["queue", "producer", "tag"] | None
) -> Outcome:
    """Return one row a topic and hour, or queue, producer or tag of it, in that order."""
    outcome = run_job(call, "stats", where, row=TopicHourRow, options={"by": by})
    return outcome if by is None else replace(outcome, columns=_columns(by))


def _columns(by: str) -> tuple[str, ...]:
    return COLUMNS[0], BY[by], *COLUMNS[1:]

"""``pipeline stats``: messages and bytes of a store by topic and hour, or finer."""

from dataclasses import dataclass, replace
from typing import Literal

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.decorators import more_stores
from mqadmin.cli.types import Choice
from mqadmin.output.rows import EpochMs, Outcome, Row
from mqadmin.session.call import Call
from mqadmin.store.spark_job import Engine, engine_options, run_job


@dataclass(frozen=True, slots=True)
class TopicHourRow(Row):
    """What was stored of one topic within one hour.

    The last four are null where it is not counted by them; ``tag`` also without a tag.
    """

    topic: str
    hour_ms: EpochMs
    messages: int
    bytes: int
    queue_id: int | None
    producer: str | None
    tag: str | None
    store: str | None


COLUMNS = ("topic", "hour_time", "messages", "bytes")
BY = {"queue": "queue_id", "producer": "producer", "tag": "tag", "store": "store"}


@command(
    "pipeline stats",
    details="The hour is that of the store time, in UTC. Spark takes about ten seconds before its "
    "first row; below some 20 GiB on one machine --engine local is done before that.",
    examples=(
        ("mqadmin pipeline stats /data/store", "on this machine's cores"),
        ("mqadmin pipeline stats /data/store --engine local -o csv", "without Spark"),
        ("mqadmin pipeline stats /data/store --by producer", "who sent how much, by hour"),
        ("mqadmin pipeline stats '/mnt/*/store' --by store", "several stores, each by itself"),
        ("mqadmin pipeline stats /mnt/store --master spark://host:7077", "on a cluster"),
    ),
    rows=TopicHourRow,
    columns=COLUMNS,
    needs=Needs.STORE,
)
@engine_options
@more_stores
@click.option("--by", "-b", type=Choice(list(BY)), help="count by this, too")
def count_by_hour(
    call: Call,
    *,
    where: Engine,
    more: tuple[str, ...],
    by: Literal["queue", "producer", "tag", "store"] | None,
) -> Outcome:
    """Return one row a topic and hour, or queue, producer, tag or store of it, in that order."""
    outcome = run_job(call, "stats", where, row=TopicHourRow, options={"by": by}, more_stores=more)
    return outcome if by is None else replace(outcome, columns=_columns(by))


def _columns(by: str) -> tuple[str, ...]:
    return COLUMNS[0], BY[by], *COLUMNS[1:]

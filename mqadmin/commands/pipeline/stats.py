"""``pipeline stats``: count messages and bytes by topic and hour."""

from dataclasses import dataclass, replace
from typing import Literal

import click

from mqadmin.cli.declare import Call, EpochMs, Needs, Outcome, Row, command
from mqadmin.cli.types import Choice
from mqadmin.store_access.spark_job import Engine, of_stores_job, run_job


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
    details="Hours are those of the store time, in UTC. Without --master, a store below 20 GiB is "
    "counted in one process, because Spark takes about ten seconds to start.",
    examples=(
        ("mqadmin pipeline stats /data/store", "on this machine's cores"),
        ("mqadmin pipeline stats /data/store --engine local -o csv", "without Spark"),
        ("mqadmin pipeline stats /data/store --by producer", "by producer and hour"),
        ("mqadmin pipeline stats '/mnt/*/store' --by store", "several stores, counted separately"),
        ("mqadmin pipeline stats /mnt/store --master spark://host:7077", "on a cluster"),
    ),
    rows=TopicHourRow,
    columns=COLUMNS,
    needs=Needs.STORE,
)
@of_stores_job
@click.option("--by", "-b", type=Choice(list(BY)), help="also count by this")
def count_by_hour(
    call: Call,
    *,
    where: Engine,
    by: Literal["queue", "producer", "tag", "store"] | None,
) -> Outcome:
    """Return one row for each topic and hour, and each value of ``--by``, in that order."""
    outcome = run_job(call, "stats", where, row=TopicHourRow, options={"by": by})
    return outcome if by is None else replace(outcome, columns=_columns(by))


def _columns(by: str) -> tuple[str, ...]:
    return COLUMNS[0], BY[by], *COLUMNS[1:]

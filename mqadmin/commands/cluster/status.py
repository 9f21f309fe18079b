"""``cluster status``: show the counts of every broker, and its health.

Requests: GET_BROKER_CLUSTER_INFO; GET_BROKER_RUNTIME_INFO on each broker.
"""

from dataclasses import dataclass

import click

from mqadmin.cli.declare import Call, EpochMs, Outcome, Row, command
from mqadmin.cli.decorators import Where
from mqadmin.cli.types import CLUSTER
from mqadmin.cluster.brokers import processes
from mqadmin.cluster.server_tables import ask_counts
from mqadmin.commands.cluster._shared import fields_of_both
from mqadmin.output.rows import PARTLY


@dataclass(frozen=True, slots=True)
class BrokerStatus(Row):
    """One broker process; numbers of messages, None where it did not answer."""

    cluster: str
    broker: str
    broker_id: int
    role: str
    address: str
    version: str | None
    started_ms: EpochMs
    in_today: int | None
    out_today: int | None
    in_yesterday: int | None
    out_yesterday: int | None
    disk_ratio: float | None
    behind_bytes: int | None
    page_cache_lock_ms: int | None
    send_queue: int | None
    send_queue_wait_ms: int | None
    earliest_store_ms: EpochMs
    error: str | None


@command(
    "cluster status",
    examples=(("mqadmin cluster status", "messages in and out, disk, waiting requests"),),
    rows=BrokerStatus,
    columns=(
        *("broker", "role", "in_today", "out_today", "in_yesterday", "out_yesterday"),
        *("disk_ratio", "behind_bytes", "page_cache_lock_ms", "send_queue", "error"),
    ),
)
@click.option("--cluster", type=CLUSTER, help="only brokers of this cluster")
async def cluster_status(call: Call, *, cluster: str | None) -> Outcome:
    """Return one row for each broker; exit code 5 where one does not answer.

    Raises:
        ItemNotFound: the cluster does not exist, or no broker is registered.
    """
    admin = await call.admin()
    nodes = await processes(admin, Where(cluster=cluster))
    rows = [
        BrokerStatus.of(
            node,
            **fields_of_both(counts),
            started_ms=counts.number("bootTimestamp") or 0,
            behind_bytes=counts.number("dispatchBehindBytes"),
            send_queue=counts.number("sendThreadPoolQueueSize"),
            send_queue_wait_ms=counts.number("sendThreadPoolQueueHeadWaitTimeMills"),
            earliest_store_ms=counts.number("earliestMessageTimeStamp") or 0,
        )
        for node, counts in await ask_counts(admin, nodes)
    ]
    is_whole = all(row.error is None for row in rows)
    return Outcome(rows, exit_code=0 if is_whole else PARTLY)

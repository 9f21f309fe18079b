"""``cluster list``: list brokers with versions and rates.

Requests: GET_BROKER_CLUSTER_INFO; GET_BROKER_RUNTIME_INFO on each broker.
"""

from dataclasses import dataclass
from typing import Final

import click

from mqadmin.cli.declare import Call, EpochMs, Outcome, Row, argument, command
from mqadmin.cli.decorators import Where
from mqadmin.cli.types import CLUSTER
from mqadmin.cluster.brokers import all_brokers, processes
from mqadmin.cluster.server_tables import ask_counts
from mqadmin.commands.cluster._shared import fields_of_both
from mqadmin.output.rows import PARTLY

TOTALS: Final = (
    *("cluster", "broker", "broker_id", "in_yesterday", "out_yesterday"),
    *("in_today", "out_today"),
)


@dataclass(frozen=True, slots=True)
class BrokerRow(Row):
    """One broker process; rates in messages a second, None where it did not answer.

    Attributes:
        send_queue_size: sends that wait for a thread; ``send_wait_ms`` how long the first does.
        page_cache_lock_ms: how long the current append holds the log.
        earliest_ms: when the oldest message was stored.
        now_ms: when the broker was asked.
    """

    cluster: str
    broker: str
    broker_id: int
    address: str
    version: str | None
    in_tps: float | None
    out_tps: float | None
    disk_ratio: float | None
    in_yesterday: int | None
    out_yesterday: int | None
    in_today: int | None
    out_today: int | None
    error: str | None
    send_queue_size: int | None
    send_wait_ms: int | None
    pull_queue_size: int | None
    pull_wait_ms: int | None
    page_cache_lock_ms: int | None
    earliest_ms: EpochMs
    now_ms: EpochMs


@command(
    "cluster list",
    examples=(
        ("mqadmin cluster list", "every broker, with its rates"),
        ("mqadmin cluster list DefaultCluster", "the brokers of one cluster"),
        ("mqadmin cluster list --totals", "messages of yesterday and today"),
    ),
    rows=BrokerRow,
    columns=("cluster", "broker", "broker_id", "address", "version", "in_tps", "out_tps"),
)
@argument("cluster", type=CLUSTER, required=False, help="only brokers of this cluster")
@click.option("--totals", is_flag=True, help="show messages of yesterday and today")
async def list_clusters(call: Call, *, cluster: str | None, totals: bool) -> Outcome:
    """Return one row for each broker; exit code 5 where one does not answer.

    Raises:
        ItemNotFound: the cluster does not exist.
    """
    admin = await call.admin()
    if cluster is None:
        nodes = await all_brokers(admin)
    else:
        nodes = await processes(admin, Where(cluster=cluster))
    rows = [
        BrokerRow.of(
            node,
            **fields_of_both(counts),
            in_tps=counts.average("putTps"),
            out_tps=counts.average("getTransferedTps", "getTransferredTps"),
            send_queue_size=counts.number("sendThreadPoolQueueSize"),
            send_wait_ms=counts.number("sendThreadPoolQueueHeadWaitTimeMills"),
            pull_queue_size=counts.number("pullThreadPoolQueueSize"),
            pull_wait_ms=counts.number("pullThreadPoolQueueHeadWaitTimeMills"),
            earliest_ms=counts.number("earliestMessageTimeStamp") or 0,
            now_ms=call.now_ms(),
        )
        for node, counts in await ask_counts(admin, nodes)
    ]
    silent = [row for row in rows if row.error is not None]
    return Outcome(
        rows,
        exit_code=PARTLY if silent else 0,
        notes=tuple(f"{row.broker} at {row.address}: {row.error}" for row in silent),
        columns=TOTALS if totals else (),
        layout="--totals" if totals else "",
    )

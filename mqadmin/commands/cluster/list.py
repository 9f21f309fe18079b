"""``cluster list``: every broker with its version and its rates.

Requests: GET_BROKER_CLUSTER_INFO, GET_BROKER_RUNTIME_INFO on each broker.
"""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from mqadmin.cli.declare import command
from mqadmin.cli.decorators import Where
from mqadmin.cli.types import CLUSTER
from mqadmin.cluster.brokers import Place, all_brokers, processes
from mqadmin.output.rows import PARTLY, EpochMs, Outcome, Row
from mqadmin.session.call import Call
from mqclient.errors import ClientError

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


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
        ("mqadmin cluster list", "who is there, and how busy"),
        ("mqadmin cluster list DefaultCluster", "the brokers of one cluster"),
        ("mqadmin cluster list --totals", "messages of yesterday and today"),
    ),
    rows=BrokerRow,
    columns=("cluster", "broker", "broker_id", "address", "version", "in_tps", "out_tps"),
)
@click.argument("cluster", type=CLUSTER, required=False, help="only brokers of this cluster")
@click.option("--totals", is_flag=True, help="show messages of yesterday and today")
async def list_clusters(call: Call, *, cluster: str | None, totals: bool) -> Outcome:
    """Return one row a broker; exit code 5 where one does not answer.

    Raises:
        NotFound: there is no such cluster.
    """
    admin = await call.admin()
    if cluster is None:
        places = await all_brokers(admin)
    else:
        places = await processes(admin, Where(cluster=cluster))
    rows = await asyncio.gather(*(_row(call, admin, place) for place in places))
    silent = [row for row in rows if row.error is not None]
    notes = tuple(f"{row.broker} at {row.address}: {row.error}" for row in silent)
    return Outcome(
        rows,
        exit_code=PARTLY if silent else 0,
        notes=notes,
        columns=TOTALS if totals else (),
        layout="--totals" if totals else "",
    )


async def _row(call: Call, admin: "Admin", place: Place) -> BrokerRow:
    error, runtime = None, dict[str, str]()
    try:
        runtime = await admin.broker_runtime(place.address)
    except ClientError as refused:
        error = str(refused)
    return BrokerRow.of(
        place,
        version=runtime.get("brokerVersionDesc"),
        in_tps=_first_number(runtime.get("putTps")),
        out_tps=_first_number(runtime.get("getTransferedTps") or runtime.get("getTransferredTps")),
        disk_ratio=_first_number(runtime.get("commitLogDiskRatio")),
        in_yesterday=_between(runtime, "msgPutTotalYesterdayMorning", "msgPutTotalTodayMorning"),
        out_yesterday=_between(runtime, "msgGetTotalYesterdayMorning", "msgGetTotalTodayMorning"),
        in_today=_between(runtime, "msgPutTotalTodayMorning", "msgPutTotalTodayNow"),
        out_today=_between(runtime, "msgGetTotalTodayMorning", "msgGetTotalTodayNow"),
        error=error,
        send_queue_size=_whole(runtime, "sendThreadPoolQueueSize"),
        send_wait_ms=_whole(runtime, "sendThreadPoolQueueHeadWaitTimeMills"),
        pull_queue_size=_whole(runtime, "pullThreadPoolQueueSize"),
        pull_wait_ms=_whole(runtime, "pullThreadPoolQueueHeadWaitTimeMills"),
        page_cache_lock_ms=_whole(runtime, "pageCacheLockTimeMills"),
        earliest_ms=_whole(runtime, "earliestMessageTimeStamp") or 0,
        now_ms=call.now_ms(),
    )


def _whole(runtime: dict[str, str], key: str) -> int | None:
    text = runtime.get(key, "")
    return int(text) if text.removeprefix("-").isdecimal() else None


def _between(runtime: dict[str, str], first: str, last: str) -> int | None:
    """Return what was counted between two of the broker's marks."""
    low, high = runtime.get(first, ""), runtime.get(last, "")
    return int(high) - int(low) if low.isdecimal() and high.isdecimal() else None


def _first_number(text: str | None) -> float | None:
    """Return the first of the averages over 10 s, 1 min and 10 min."""
    try:
        return round(float((text or "").split()[0]), 4)
    except (ValueError, IndexError):
        return None

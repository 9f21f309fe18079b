"""``cluster status``: what every broker did today and yesterday, and how it stands.

Requests: GET_BROKER_CLUSTER_INFO, GET_BROKER_RUNTIME_INFO on each broker.
"""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from mqadmin.cli.declare import command
from mqadmin.cli.types import CLUSTER
from mqadmin.cluster.brokers import Place, all_brokers
from mqadmin.errors import NotFound
from mqadmin.output.rows import PARTLY, EpochMs, Outcome, Row
from mqadmin.session.call import Call
from mqclient.errors import ClientError

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


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
@click.option("--cluster", type=CLUSTER, help="only this cluster")
async def cluster_status(call: Call, *, cluster: str | None) -> Outcome:
    """Return one row a broker; exit code 5 where one does not answer.

    Raises:
        NotFound: there is no such cluster.
    """
    admin = await call.admin()
    places = [at for at in await all_brokers(admin) if cluster in (None, at.cluster)]
    if not places:
        raise NotFound(f"no cluster {cluster!r}", hint="`cluster list` shows them")
    rows = await asyncio.gather(*(_row(admin, place) for place in places))
    silent = [row for row in rows if row.error is not None]
    return Outcome(rows, exit_code=PARTLY if silent else 0)


async def _row(admin: "Admin", place: Place) -> BrokerStatus:
    error, runtime = None, dict[str, str]()
    try:
        runtime = await admin.broker_runtime(place.address)
    except ClientError as failed:
        error = str(failed)

    def number(key: str) -> int | None:
        text = runtime.get(key, "")
        return int(text) if text.removeprefix("-").isdecimal() else None

    def between(first: str, last: str) -> int | None:
        low, high = number(first), number(last)
        return None if low is None or high is None else high - low

    ratio = runtime.get("commitLogDiskRatio")
    return BrokerStatus.of(
        place,
        version=runtime.get("brokerVersionDesc"),
        started_ms=number("bootTimestamp") or 0,
        in_today=between("msgPutTotalTodayMorning", "msgPutTotalTodayNow"),
        out_today=between("msgGetTotalTodayMorning", "msgGetTotalTodayNow"),
        in_yesterday=between("msgPutTotalYesterdayMorning", "msgPutTotalTodayMorning"),
        out_yesterday=between("msgGetTotalYesterdayMorning", "msgGetTotalTodayMorning"),
        disk_ratio=round(float(ratio), 4) if ratio else None,
        behind_bytes=number("dispatchBehindBytes"),
        page_cache_lock_ms=number("pageCacheLockTimeMills"),
        send_queue=number("sendThreadPoolQueueSize"),
        send_queue_wait_ms=number("sendThreadPoolQueueHeadWaitTimeMills"),
        earliest_store_ms=number("earliestMessageTimeStamp") or 0,
        error=error,
    )

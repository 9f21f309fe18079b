"""``cluster list``: every broker with its version and its rates.

Requests: GET_BROKER_CLUSTER_INFO, GET_BROKER_RUNTIME_INFO on each broker.
"""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mqadmin.call import Call
from mqadmin.places import Place, all_brokers
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import PARTLY, Outcome, Row
from mqclient.errors import ClientError

if TYPE_CHECKING:
    from mqclient.admin import Admin


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """It takes none."""


@dataclass(frozen=True, slots=True)
class BrokerRow(Row):
    """One broker process; rates in messages a second, None where it did not answer."""

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


@command(
    "cluster list",
    "list clusters and brokers with versions and rates",
    examples=(("mqadmin cluster list", "who is there, and how busy"),),
    rows=BrokerRow,
    columns=("cluster", "broker", "broker_id", "address", "version", "in_tps", "out_tps"),
    java=(
        Java(
            "clusterList",
            (
                JavaOption("i", "interval", "watch"),
                JavaOption("m", "moreStats", has_arg=False),
            ),
        ),
    ),
)
async def list_clusters(call: Call, args: Arguments) -> Outcome:
    """Return one row a broker; exit code 5 where one does not answer."""
    admin = await call.admin()
    places = await all_brokers(admin)
    rows = await asyncio.gather(*(_row(admin, place) for place in places))
    silent = [row for row in rows if row.error is not None]
    notes = tuple(f"{row.broker} at {row.address}: {row.error}" for row in silent)
    return Outcome(rows, exit_code=PARTLY if silent else 0, notes=notes)


async def _row(admin: "Admin", place: Place) -> BrokerRow:
    error, runtime = None, dict[str, str]()
    try:
        runtime = await admin.broker_runtime(place.address)
    except ClientError as refused:
        error = str(refused)
    return BrokerRow(
        cluster=place.cluster,
        broker=place.broker,
        broker_id=place.broker_id,
        address=place.address,
        version=runtime.get("brokerVersionDesc"),
        in_tps=_first_number(runtime.get("putTps")),
        out_tps=_first_number(runtime.get("getTransferedTps") or runtime.get("getTransferredTps")),
        disk_ratio=_first_number(runtime.get("commitLogDiskRatio")),
        in_yesterday=_between(runtime, "msgPutTotalYesterdayMorning", "msgPutTotalTodayMorning"),
        out_yesterday=_between(runtime, "msgGetTotalYesterdayMorning", "msgGetTotalTodayMorning"),
        in_today=_between(runtime, "msgPutTotalTodayMorning", "msgPutTotalTodayNow"),
        out_today=_between(runtime, "msgGetTotalTodayMorning", "msgGetTotalTodayNow"),
        error=error,
    )


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

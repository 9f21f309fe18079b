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
    error: str | None


NOT_HERE = "the rows have the rates of now; `watch 2 cluster list` repeats them"


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
                JavaOption("i", "interval", why_not=NOT_HERE),
                JavaOption("m", "moreStats", has_arg=False, why_not=NOT_HERE),
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
        error=error,
    )


def _first_number(text: str | None) -> float | None:
    """Return the first of the averages over 10 s, 1 min and 10 min."""
    try:
        return round(float((text or "").split()[0]), 4)
    except (ValueError, IndexError):
        return None

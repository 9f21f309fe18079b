"""``broker list``: the brokers that the name server knows; no broker is asked.

Request: GET_BROKER_CLUSTER_INFO.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.parameters import Kind, option
from mqadmin.places import MASTER, all_brokers
from mqadmin.registry import command
from mqadmin.rows import Outcome, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which brokers."""

    cluster: Annotated[str | None, option("only in this cluster", kind=Kind.CLUSTER)] = None


@dataclass(frozen=True, slots=True)
class BrokerAddress(Row):
    """One broker process."""

    broker: str
    broker_id: int
    role: str
    address: str
    cluster: str


@command(
    "broker list",
    "list the brokers and their addresses",
    examples=(("mqadmin broker list", "masters and slaves"),),
    rows=BrokerAddress,
)
async def list_brokers(call: Call, args: Arguments) -> Outcome:
    """Return one row a broker process."""
    places = await all_brokers(await call.topics())
    return Outcome(
        [
            BrokerAddress(
                place.broker,
                place.broker_id,
                "master" if place.broker_id == MASTER else "slave",
                place.address,
                place.cluster,
            )
            for place in places
            if args.cluster in (None, place.cluster)
        ]
    )

"""``broker list``: list the brokers that the name server knows; no broker is asked.

Request: GET_BROKER_CLUSTER_INFO.
"""

from dataclasses import dataclass

import click

from mqadmin.cli.declare import Call, Outcome, Row, command
from mqadmin.cli.types import CLUSTER
from mqadmin.cluster.brokers import all_brokers


@dataclass(frozen=True, slots=True)
class BrokerAddress(Row):
    """One broker process."""

    broker: str
    broker_id: int
    role: str
    address: str
    cluster: str


@command(
    "broker list", examples=(("mqadmin broker list", "masters and slaves"),), rows=BrokerAddress
)
@click.option("--cluster", type=CLUSTER, help="only brokers of this cluster")
async def list_brokers(call: Call, *, cluster: str | None) -> Outcome:
    """Return one row for each broker process."""
    nodes = await all_brokers(await call.topics())
    return Outcome([BrokerAddress.of(node) for node in nodes if cluster in (None, node.cluster)])

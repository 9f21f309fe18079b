"""``controller status``: show the groups of a controller, with masters and in-sync sets.

Requests: CONTROLLER_GET_METADATA_INFO, CONTROLLER_GET_SYNC_STATE_DATA; without names also
GET_BROKER_CLUSTER_INFO for the names of all groups.
"""

from dataclasses import dataclass

import click

from mqadmin.cli.declare import Call, Outcome, Row, argument, command
from mqadmin.cluster.brokers import all_brokers
from mqadmin.cluster.controllers import leader
from mqadmin.errors import ItemNotFound
from remoting.bodies import ReplicaIdentity, ReplicasInfo


@dataclass(frozen=True, slots=True)
class ReplicaRow(Row):
    """One broker of a group; ``broker_id`` is its id in the group, not that of the route.

    ``state`` is MASTER, IN_SYNC, or BEHIND for a broker that lacks acknowledged messages.
    """

    broker: str
    broker_id: int
    address: str
    state: str
    is_alive: bool
    master_id: int | None
    master_address: str | None
    master_epoch: int
    in_sync_set_epoch: int


@command(
    "controller status",
    examples=(
        ("mqadmin controller status", "every group of the brokers' controller"),
        ("mqadmin controller status broker-a --controller 10.0.0.1:9878", "one group"),
    ),
    details="A group consists of the brokers with one broker name. A BEHIND broker is outside "
    "the in-sync set: it cannot become the master without losing acknowledged messages.",
    rows=ReplicaRow,
    columns=("broker", "broker_id", "address", "state", "is_alive", "master_epoch"),
)
@argument("groups", nargs=-1, metavar="GROUP", help="broker names; all if left out")
@click.option("-a", "--controller", metavar="ADDRESS", help="HOST:PORT of a controller")
@click.option("-c", "--cluster", metavar="NAME", help="the groups of a cluster")
async def controller_status(
    call: Call, *, groups: tuple[str, ...], controller: str | None, cluster: str | None
) -> Outcome:
    """Return one row for each broker, group by group.

    Raises:
        ItemNotFound: the controller does not know any of the groups.
    """
    admin = await call.admin()
    names = list(groups)
    if not names:
        nodes = await all_brokers(admin)
        names = sorted({node.broker for node in nodes if cluster in (None, node.cluster)})
    address = await leader(call, controller)
    table = await admin.sync_state_data(address, names)
    if not table:
        raise ItemNotFound(
            f"controller {address} does not know {', '.join(names) or 'any group'}",
            hint="brokers with enableControllerMode=true register with a controller",
        )
    return Outcome([row for name in sorted(table) for row in _rows(name, table[name])])


def _rows(name: str, info: ReplicasInfo) -> list[ReplicaRow]:
    in_sync = [(replica, "IN_SYNC") for replica in info.in_sync_replicas]
    behind = [(replica, "BEHIND") for replica in info.not_in_sync_replicas]
    return [_row(name, info, replica, state) for replica, state in in_sync + behind]


def _row(name: str, info: ReplicasInfo, replica: ReplicaIdentity, state: str) -> ReplicaRow:
    is_master = replica.broker_id == info.master_broker_id
    return ReplicaRow(
        broker=name,
        broker_id=replica.broker_id or 0,
        address=replica.broker_address or "",
        state="MASTER" if is_master else state,
        is_alive=bool(replica.alive),
        master_id=info.master_broker_id,
        master_address=info.master_address,
        master_epoch=info.master_epoch or 0,
        in_sync_set_epoch=info.sync_state_set_epoch or 0,
    )

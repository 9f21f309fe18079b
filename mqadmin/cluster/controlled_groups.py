"""The groups of a cluster that controllers lead, as brokers and controllers describe them.

    GET_BROKER_CONFIG on each broker         enableControllerMode, controllerAddr, minInSyncReplicas
    CONTROLLER_GET_METADATA_INFO on each     which controller leads, and which are silent
    CONTROLLER_GET_SYNC_STATE_DATA           masters and in-sync sets, from the leader
    GET_BROKER_EPOCH_CACHE on each replica   the logs (mqadmin.cluster.replicas)

Rule: reads only, and what is not answered is named in ``unsaid``. A group none of whose brokers is
registered cannot be found, since a controller answers only for names that it is asked about.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from mqadmin.cluster.brokers import ServerNode
from mqadmin.cluster.controllers import split_addresses
from mqadmin.cluster.replicas import ReplicaLog, replica_logs
from mqclient.errors import ClientError
from remoting.bodies import ReplicasInfo

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


@dataclass(frozen=True, slots=True)
class ControllerView:
    """What one controller says of who leads, or why it says nothing."""

    address: str
    leader: str | None = None
    is_leader: bool = False
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ReplicaGroup:
    """One group.

    Attributes:
        nodes: its brokers as the name server lists them.
        settings: those of each broker that answered, by address.
        info: what the leading controller knows; None if it does not know the group.
        logs: of each replica that the controller knows, by id.
    """

    cluster: str
    broker: str
    nodes: tuple[ServerNode, ...] = ()
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    info: ReplicasInfo | None = None
    logs: tuple[ReplicaLog, ...] = ()

    @property
    def master(self) -> ReplicaLog | None:
        """Return the master that the controller names."""
        return next((log for log in self.logs if log.is_master), None)

    def setting(self, key: str) -> str | None:
        """Return a setting of the master, or of any broker if the master did not answer."""
        master = self.master
        tables = list(self.settings.values())
        if master is not None and master.address in self.settings:
            tables.insert(0, self.settings[master.address])
        return next((table[key] for table in tables if key in table), None)


@dataclass(frozen=True, slots=True)
class ControlledGroups:
    """Every group with its controllers; empty where no broker runs with a controller.

    Attributes:
        asked_controllers: whether the leading controller answered about the groups.
        unsaid: what was not answered, for people.
    """

    controllers: tuple[ControllerView, ...] = ()
    groups: tuple[ReplicaGroup, ...] = ()
    asked_controllers: bool = True
    unsaid: tuple[str, ...] = ()

    def replica_at(self, address: str) -> ReplicaLog | None:
        """Return the replica at an address."""
        logs = (log for group in self.groups for log in group.logs)
        return next((log for log in logs if log.address == address), None)


async def controlled_groups(admin: "Admin", nodes: Sequence[ServerNode]) -> ControlledGroups:
    """Look at the groups of some brokers.

    Args:
        nodes: the registered brokers, sorted.
    """
    silent: dict[ServerNode, str] = {}
    settings: dict[str, dict[str, str]] = {}

    async def ask_settings(node: ServerNode) -> None:
        try:
            settings[node.address] = await admin.broker_config(node.address)
        except ClientError as error:
            silent[node] = str(error)

    await asyncio.gather(*(ask_settings(node) for node in nodes))
    groups = _groups_of(nodes, settings)
    names = {(group.cluster, group.broker) for group in groups}
    unsaid = [
        f"whether {node.broker} is a group with a controller; {node.address} says: {text}"
        for node, text in sorted(silent.items())
        if (node.cluster, node.broker) not in names
    ]
    if not groups:
        return ControlledGroups(unsaid=tuple(unsaid))
    addresses = {
        address
        for group in groups
        for table in group.settings.values()
        for address in split_addresses(table.get("controllerAddr", ""))
    }
    views = await asyncio.gather(*(_view_of(admin, address) for address in sorted(addresses)))
    leader = next((view.leader for view in views if view.leader), None)
    if leader is None:
        unsaid.append("masters and in-sync sets: no controller names a leader")
        return ControlledGroups(tuple(views), tuple(groups), False, tuple(unsaid))
    try:
        table = await admin.sync_state_data(leader, [group.broker for group in groups])
    except ClientError as error:
        unsaid.append(f"masters and in-sync sets: {error}")
        return ControlledGroups(tuple(views), tuple(groups), False, tuple(unsaid))
    whole = await asyncio.gather(
        *(_with_logs(admin, group, table.get(group.broker)) for group in groups)
    )
    return ControlledGroups(tuple(views), tuple(whole), True, tuple(unsaid))


def _groups_of(
    nodes: Sequence[ServerNode], settings: Mapping[str, Mapping[str, str]]
) -> list[ReplicaGroup]:
    """Return the broker names of which a broker says that it runs with a controller."""
    groups = []
    for (cluster, broker), members in groupby(nodes, key=lambda node: (node.cluster, node.broker)):
        own = tuple(members)
        tables = {node.address: settings[node.address] for node in own if node.address in settings}
        if any(table.get("enableControllerMode") == "true" for table in tables.values()):
            groups.append(ReplicaGroup(cluster, broker, own, tables))
    return groups


async def _view_of(admin: "Admin", address: str) -> ControllerView:
    try:
        said = await admin.controller_metadata(address)
    except ClientError as error:
        return ControllerView(address, error=str(error))
    return ControllerView(address, said.controller_leader_address or None, bool(said.is_leader))


async def _with_logs(
    admin: "Admin", group: ReplicaGroup, info: ReplicasInfo | None
) -> ReplicaGroup:
    logs = () if info is None else tuple(await replica_logs(admin, info))
    return ReplicaGroup(group.cluster, group.broker, group.nodes, group.settings, info, logs)

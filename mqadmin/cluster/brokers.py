"""Find the brokers and queues that a line names: by name, address or cluster.

    --cluster C   the masters of a cluster
    --broker B    one broker: its name, or HOST:PORT
    neither       the masters of the only cluster

Rule: a name that no name server knows is "not found" (exit code 3), and nothing is sent to any
broker.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from mqadmin.cli.decorators import Where
from mqadmin.errors import ItemNotFound, Usage, did_you_mean
from mqclient.client import routes
from remoting.bodies import MessageQueue, TopicRouteData

if TYPE_CHECKING:
    from mqadmin.session.call import Call
    from mqclient.admin.topic import TopicCalls

MASTER: Final = 0
EVERYWHERE: Final = Where()


class ServerNode(NamedTuple):
    """One server: a broker process, or a name server as broker ``namesrv``.

    ``broker_id`` 0 is the master.
    """

    cluster: str
    broker: str
    broker_id: int
    address: str

    @property
    def role(self) -> str:
        """Return ``master`` or ``slave``, as it is registered."""
        return "master" if self.broker_id == MASTER else "slave"


async def all_brokers(admin: "TopicCalls", *, namesrv: str | None = None) -> list[ServerNode]:
    """Return every broker that the name server, or the given one of several, knows, sorted.

    Without a name server, a broker can only be found by its address.
    """
    if not admin.has_namesrv:
        return []
    info = await admin.cluster_info(address=namesrv)
    nodes = []
    for cluster, names in info.cluster_addr_table.items():
        for name in names:
            data = info.broker_addr_table.get(name)
            for broker_id, address in data.broker_addrs.items() if data else ():
                nodes.append(ServerNode(cluster, name, broker_id, address))
    return sorted(nodes)


async def masters(
    admin: "TopicCalls", where: Where = EVERYWHERE, *, every: bool = False
) -> list[ServerNode]:
    """Return the masters that a line names.

    Args:
        every: all clusters if neither is given (for commands that only read).

    Raises:
        ItemNotFound: the broker or cluster does not exist, or no broker is registered.
        Usage: nothing is given and there are several clusters.
    """
    return _masters(await all_brokers(admin), where, every=every)


def _masters(nodes: list[ServerNode], where: Where, *, every: bool) -> list[ServerNode]:
    """Return the masters among the known brokers that a line names; raises as ``masters``."""
    if where.broker is not None:
        return [_broker(nodes, where.broker)]
    masters_found = [node for node in _in_cluster(nodes, where.cluster) if node.broker_id == MASTER]
    if not masters_found:
        slaves = ", ".join(sorted({node.broker for node in nodes}))
        raise ItemNotFound(
            f"no master is registered, only slaves: {slaves}",
            hint="`mqadmin ha status` shows them; `mqadmin broker promote` makes one the master",
        )
    clusters = sorted({node.cluster for node in masters_found})
    if len(clusters) > 1 and not every:
        raise Usage(
            "the name server has several clusters", hint="add --cluster " + "|".join(clusters)
        )
    return masters_found


async def processes(admin: "TopicCalls", where: Where) -> list[ServerNode]:
    """Return masters and slaves of all brokers, or of the named ones, sorted.

    Raises:
        ItemNotFound: the broker or cluster does not exist, or no broker is registered.
    """
    nodes = await all_brokers(admin)
    if where.broker is not None:
        broker = _broker(nodes, where.broker)
        return [
            node for node in nodes if (node.cluster, node.broker) == (broker.cluster, broker.broker)
        ] or [broker]
    return _in_cluster(nodes, where.cluster)


def _in_cluster(nodes: list[ServerNode], cluster: str | None) -> list[ServerNode]:
    """Return the servers of a cluster, or all; raises ItemNotFound if there are none."""
    clusters = sorted({node.cluster for node in nodes})
    if cluster is not None and cluster not in clusters:
        raise ItemNotFound(f"cluster {cluster!r} not found", hint=_nearest(cluster, clusters))
    if not nodes:
        raise ItemNotFound(
            "no broker is registered",
            hint="check that the broker is running and registers with this name server",
        )
    return [node for node in nodes if cluster in (None, node.cluster)]


def masters_of_route(route: TopicRouteData) -> list[ServerNode]:
    """Return the masters of a topic; their cluster is left empty."""
    return [
        ServerNode("", name, MASTER, address) for name, address in routes.masters(route).items()
    ]


def master_of(node: ServerNode, nodes: Iterable[ServerNode]) -> str | None:
    """Return the address of a slave's master among some nodes; None for a master itself."""
    if node.broker_id == MASTER:
        return None
    return next(
        (
            other.address
            for other in nodes
            if (other.cluster, other.broker, other.broker_id) == (node.cluster, node.broker, MASTER)
        ),
        None,
    )


def peers_of(node: ServerNode, numbers: Mapping[str, str]) -> list[ServerNode]:
    """Return the other masters with its name that a master of ours knows.

    Args:
        numbers: its runtime information.
    """
    return [
        node._replace(broker_id=MASTER, address=address)
        for key, address in sorted(numbers.items())
        if key.startswith("haPeer_")
    ]


async def with_slaves(admin: "TopicCalls", nodes: list[ServerNode]) -> list[ServerNode]:
    """Return the nodes with the other processes of the same brokers."""
    return _with_slaves(await all_brokers(admin), nodes)


def _with_slaves(all_nodes: list[ServerNode], nodes: list[ServerNode]) -> list[ServerNode]:
    names = {(node.cluster, node.broker) for node in nodes}
    return sorted({*nodes, *(node for node in all_nodes if (node.cluster, node.broker) in names)})


async def brokers_and_slaves(admin: "TopicCalls", where: Where) -> list[ServerNode]:
    """Return the processes that a line names, where each process keeps state of its own.

    A named broker is returned alone; otherwise masters and slaves of a cluster, or of all.

    Raises:
        ItemNotFound: there is no such broker or cluster, or no broker at all.
    """
    all_nodes = await all_brokers(admin)
    nodes = _masters(all_nodes, where, every=True)
    return nodes if where.broker is not None else _with_slaves(all_nodes, nodes)


async def brokers_to_list(call: "Call", where: Where) -> list[ServerNode]:
    """Return what ``brokers_and_slaves`` returns; with ``--compat`` only masters, as Java asks."""
    admin = await call.admin()
    if call.settings.compat:
        return await masters(admin, where, every=True)
    return await brokers_and_slaves(admin, where)


async def namesrvs(call: "Call") -> list[ServerNode]:
    """Return the name servers of this call, as nodes of a broker ``namesrv``."""
    addresses = (await call.client()).name_servers()
    return [ServerNode("", "namesrv", MASTER, address) for address in sorted(addresses)]


def _broker(nodes: list[ServerNode], name: str) -> ServerNode:
    here = [node for node in nodes if name in (node.broker, node.address)]
    if here:
        return min(here, key=lambda node: node.broker_id)
    if ":" in name:
        # An address that is not advertised may still reach a broker through a forwarded port.
        return ServerNode("", name, MASTER, name)
    names = sorted({node.broker for node in nodes})
    raise ItemNotFound(f"broker {name!r} not found", hint=_nearest(name, names))


def _nearest(name: str, names: list[str]) -> str:
    otherwise = "there are " + ", ".join(names) if names else "no broker is registered"
    return did_you_mean(name, names, otherwise)


def queue_number(text: str) -> int:
    """Return the id of a queue, ``3`` or ``broker-a:3``.

    Raises:
        Usage: it is not a queue.
    """
    number = text.rpartition(":")[2]
    if not number.isdecimal():
        raise Usage(f"{text!r} is not a queue", hint="such as 3 or broker-a:3")
    return int(number)


def choose_queue(queues: list[MessageQueue], text: str, broker: str | None) -> MessageQueue:
    """Return the one queue that ``ID`` or ``BROKER:ID`` names.

    Raises:
        Usage: the text is not a queue, or several brokers have this id.
        ItemNotFound: the topic does not have the queue.
    """
    named, colon, _ = text.rpartition(":")
    number, wanted_broker = queue_number(text), named if colon else broker
    matching = [
        queue
        for queue in queues
        if queue.queue_id == number and wanted_broker in (None, queue.broker_name)
    ]
    if len(matching) > 1:
        names = ", ".join(f"{queue.broker_name}:{number}" for queue in matching)
        raise Usage(f"several brokers have queue {number}", hint=f"give one of {names}")
    if not matching:
        existing = ", ".join(f"{queue.broker_name}:{queue.queue_id}" for queue in queues[:16])
        raise ItemNotFound(f"queue {text!r} not found", hint=f"there are {existing}")
    return matching[0]

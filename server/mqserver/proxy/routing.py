"""Routes: QueryRoute and QueryAssignment.

A client gets the names of a topic's brokers, each with the address of the proxy that it uses.

Source: proxy/grpc/v2/route/RouteActivity.java (5.4.0).
"""

from collections.abc import Callable, Iterator
from typing import Final

from mqserver.proxy.cluster import Cluster, TopicType
from mqserver.proxy.context import ProxyContext
from mqserver.proxy.grpc_status import ProxyRefused, ok
from mqserver.proxy.grpc_validator import group_of, topic_of
from mqserver.proxy.protocol.codes import AddressScheme, Code, MessageType, Permission
from mqserver.proxy.protocol.definitions import (
    Address,
    Assignment,
    Broker,
    Endpoints,
    MessageQueue,
    Resource,
    Status,
)
from mqserver.proxy.protocol.requests import (
    QueryAssignmentRequest,
    QueryAssignmentResponse,
    QueryRouteRequest,
    QueryRouteResponse,
)
from mqserver.proxy.proxy_config import ProxyConfig
from remoting.bodies import QueueData, TopicRouteData
from remoting.bodies.route import MASTER_ID
from storefmt.names import PERM_READ, PERM_WRITE

ADDRESSES_MAX: Final = 64

_PERMISSIONS: Final = {
    PERM_READ | PERM_WRITE: Permission.READ_WRITE,
    PERM_READ: Permission.READ,
    PERM_WRITE: Permission.WRITE,
    0: Permission.NONE,
}
_TYPES: Final = {
    TopicType.NORMAL: [MessageType.NORMAL],
    TopicType.FIFO: [MessageType.FIFO],
    TopicType.TRANSACTION: [MessageType.TRANSACTION],
    TopicType.DELAY: [MessageType.DELAY],
    TopicType.PRIORITY: [MessageType.PRIORITY],
    TopicType.MIXED: [
        MessageType.NORMAL, MessageType.FIFO, MessageType.DELAY, MessageType.TRANSACTION,
    ],
    TopicType.UNSPECIFIED: [MessageType.MESSAGE_TYPE_UNSPECIFIED],
}  # fmt: skip


class RouteMethods:
    """The methods about routes.

    Args:
        config: whether the port of a client's endpoints is used.
        cluster: the brokers.
        port: returns the port that clients connect to.
    """

    def __init__(self, config: ProxyConfig, cluster: Cluster, port: Callable[[], int]) -> None:
        self._config = config
        self._cluster = cluster
        self._port = port

    async def route(self, request: QueryRouteRequest, context: ProxyContext) -> QueryRouteResponse:
        """Return the queues of a topic."""
        topic = topic_of(request.topic)
        route = await self._cluster.route(topic)
        kind = await self._cluster.topic_type(topic, context.credentials)
        endpoints = self._endpoints(request.endpoints)
        queues = [
            queue
            for data in route.queue_datas
            for broker in _brokers(route, data.broker_name, endpoints)
            for queue in _queues(data, request.topic, broker, _TYPES[kind])
        ]
        return QueryRouteResponse(status=ok(), message_queues=queues)

    async def assignment(
        self, request: QueryAssignmentRequest, context: ProxyContext
    ) -> QueryAssignmentResponse:
        """Return the brokers to receive from, and for FIFO topics their queues."""
        topic, group = topic_of(request.topic), group_of(request.group)
        route = await self._cluster.route(topic)
        settings = await self._cluster.group(group, context.credentials)
        endpoints = self._endpoints(request.endpoints)
        assignments: list[Assignment] = []
        for data in route.queue_datas:
            if not data.perm & PERM_READ or data.read_queue_nums <= 0:
                continue
            is_fifo = settings is not None and settings.is_fifo
            ids = range(data.read_queue_nums) if is_fifo else (-1,)
            for broker in _brokers(route, data.broker_name, endpoints):
                if broker.id == MASTER_ID:
                    permission = _PERMISSIONS[data.perm & (PERM_READ | PERM_WRITE)]
                    assignments += (
                        Assignment(
                            message_queue=MessageQueue(
                                topic=request.topic, id=each, permission=permission, broker=broker
                            )
                        )
                        for each in ids
                    )
        if not assignments:
            status = Status(code=Code.FORBIDDEN, message="no readable queue")
            return QueryAssignmentResponse(status=status)
        return QueryAssignmentResponse(status=ok(), assignments=assignments)

    def _endpoints(self, connected_to: Endpoints | None) -> Endpoints:
        """Return the endpoints that a client has to use for a topic, given those that it used."""
        given = connected_to or Endpoints()
        if len(given.addresses) > ADDRESSES_MAX:
            # The answer repeats them for each queue.
            text = f"the endpoints have {len(given.addresses)} addresses, at most {ADDRESSES_MAX}"
            raise ProxyRefused(Code.BAD_REQUEST, text)
        addresses = [Address(host=each.host, port=self._port_for(each)) for each in given.addresses]
        scheme = given.scheme if addresses else AddressScheme.IPv4
        return Endpoints(scheme=scheme, addresses=addresses)

    def _port_for(self, address: Address) -> int:
        return address.port if self._config.use_endpoint_port_from_request else self._port()


def _brokers(route: TopicRouteData, name: str, endpoints: Endpoints) -> Iterator[Broker]:
    for data in route.broker_datas:
        if data.broker_name == name:
            for broker_id in sorted(data.broker_addrs):
                yield Broker(name=name, id=broker_id, endpoints=endpoints)


def _queues(
    data: QueueData, topic: Resource | None, broker: Broker, types: list[MessageType]
) -> Iterator[MessageQueue]:
    """Yield the queues of a broker: those to read, to write, and for both."""
    reads, writes = data.read_queue_nums, data.write_queue_nums
    both, neither = 0, 0
    match data.perm & PERM_READ, data.perm & PERM_WRITE:
        case 0, 0:
            neither = max(1, reads, writes)
            reads = writes = 0
        case 0, _:
            reads = 0
        case _, 0:
            writes = 0
        case _:
            both = min(reads, writes)
            reads, writes = reads - both, writes - both
    permissions = (
        *[Permission.READ] * reads,
        *[Permission.WRITE] * writes,
        *[Permission.READ_WRITE] * both,
        *[Permission.NONE] * neither,
    )
    for queue_id, permission in enumerate(permissions):
        yield MessageQueue(
            topic=topic,
            id=queue_id,
            permission=permission,
            broker=broker,
            accept_message_types=types,
        )

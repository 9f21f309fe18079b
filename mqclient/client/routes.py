"""Routes: which brokers have a topic, and which queues a producer or a consumer sees there.

A route is asked for again after 30 s, or when one of its brokers failed; it is used until there
is a newer one (``route_renewal``). When no caller has asked for it for 60 s, the next
caller waits a moment for a newer one.

A static topic of RocketMQ 5 has logical queues, which keep their number and their offsets on any
broker. Clients name them as queues of one broker that does not exist:

    MessageQueue("orders", "__syslo__global__", 3)  --leader_of-->  "broker-b", for now

Rule: this module sends no requests and reads no clock; its callers pass the time.

Source: client/impl/factory/MQClientInstance.java#topicRouteData2TopicPublishInfo,
#topicRouteData2TopicSubscribeInfo, common/constant/PermName.java (4.9.7);
remoting/rpc/ClientMetadata.java#topicRouteData2EndpointsForStaticTopic (5.4.0).
"""

from typing import Final, NamedTuple

from mqclient.errors import BadAnswer
from remoting.bodies import MessageQueue, TopicRouteData
from remoting.bodies.route import MASTER_ID
from remoting.bodies.static_topic import GLOBAL_SCOPE
from storefmt.names import PERM_READ, PERM_WRITE

TEMPLATE_QUEUE_COUNT: Final = 4
"""How many queues a producer asks for where its send creates the topic (defaultTopicQueueNums)."""
LOGICAL_PREFIX: Final = "__syslo__"
"""Names of brokers that begin so stand for the logical queues of a scope."""
ROUTE_LIFE_MS: Final = 30_000
"""The age at which a route is asked for again, in ms (pollNameServerInterval)."""
QUIET_MS: Final = 300_000
"""The pause between two warnings that a route could not be renewed, in ms."""


class PublishInfo(NamedTuple):
    """The part of a route that a producer needs: writable queues, and each broker's master."""

    route: TopicRouteData
    queues: list[MessageQueue]
    masters: dict[str, str]

    def address_of(self, queue: MessageQueue) -> str | None:
        """Return the address of the master that has a queue, None if it is away."""
        return self.masters.get(leader_of(self.route, queue))


class _CachedRoute:
    """A route, when to ask for it again, and when to wait for a newer one."""

    __slots__ = ("ask_ms", "doubt_ms", "quiet_ms", "route")

    def __init__(self, route: TopicRouteData, now_ms: int, life_ms: int) -> None:
        self.route = route
        self.quiet_ms = now_ms
        self.asked(now_ms, life_ms)

    def asked(self, now_ms: int, life_ms: int) -> None:
        self.ask_ms = now_ms + life_ms
        self.doubt_ms = now_ms + 2 * life_ms


class RouteCache:
    """The last known route of each topic, and when to ask for it again.

    Args:
        life_ms: how long a route is used without asking again, in ms.

    Attributes:
        parents: the topic whose route is that of a light queue.
    """

    def __init__(self, *, life_ms: int = ROUTE_LIFE_MS) -> None:
        self._life_ms = life_ms
        self._known: dict[str, _CachedRoute] = {}
        self.parents: dict[str, str] = {}

    def get(self, topic: str, *, now_ms: int) -> TopicRouteData | None:
        """Return the route; None when it is unknown or must be asked for again."""
        cached = self._known.get(topic)
        return cached.route if cached is not None and now_ms < cached.ask_ms else None

    def last(self, topic: str) -> TopicRouteData | None:
        """Return the route, however old; None when there never was one."""
        cached = self._known.get(topic)
        return None if cached is None else cached.route

    def store_route(self, topic: str, route: TopicRouteData, *, now_ms: int) -> None:
        """Store a route in place of the one before."""
        self._known[topic] = _CachedRoute(route, now_ms, self._life_ms)

    def asked(self, topic: str, *, now_ms: int) -> None:
        """Note that a known route is being asked for, so that no other caller asks."""
        self._known[topic].asked(now_ms, self._life_ms)

    def failed(self, topic: str, *, now_ms: int) -> bool:
        """Note that a route could not be renewed; return whether to warn about it again."""
        cached = self._known.get(topic)
        if cached is None or now_ms < cached.quiet_ms:
            return False
        cached.quiet_ms = now_ms + QUIET_MS
        return True

    def is_doubtful(self, topic: str, *, now_ms: int) -> bool:
        """Return whether a caller should wait for a newer route."""
        cached = self._known.get(topic)
        return cached is None or now_ms >= cached.doubt_ms

    def doubt(self, topic: str) -> None:
        """Let the next caller ask for the route again."""
        cached = self._known.get(topic)
        if cached is not None:
            cached.ask_ms = cached.doubt_ms = 0

    def drop(self, topic: str) -> None:
        """Remove a route."""
        self._known.pop(topic, None)


def publish_info(topic: str, route: TopicRouteData) -> PublishInfo:
    """Return the part of a route that a producer needs.

    Raises:
        BadAnswer: see ``publish_queues``.
    """
    logical = [] if route.order_topic_conf else logical_queues(topic, route)
    return PublishInfo(route, logical or publish_queues(topic, route), masters(route))


def logical_name(scope: str) -> str:
    """Return the name of the broker that stands for the logical queues of a scope."""
    return LOGICAL_PREFIX + (scope[2:] if scope == GLOBAL_SCOPE else scope)


def logical_queues(topic: str, route: TopicRouteData) -> list[MessageQueue]:
    """Return the logical queues of a static topic, also those that no broker leads now, sorted.

    They are the same for each client; the list is empty for any other topic.
    """
    counts: dict[str, int] = {}
    for info in (route.topic_queue_mapping_by_broker or {}).values():
        name = logical_name(info.scope)
        counts[name] = max(counts.get(name, 0), info.total_queues)
    return [
        MessageQueue(topic, name, queue_id)
        for name, count in sorted(counts.items())
        for queue_id in range(count)
    ]


def consumer_queues(topic: str, route: TopicRouteData) -> list[MessageQueue]:
    """Return the queues that a consumer reads, sorted: logical ones of a static topic."""
    return logical_queues(topic, route) or subscribe_queues(topic, route)


def is_logical(queue: MessageQueue) -> bool:
    """Return whether a queue is a logical one, of a static topic."""
    return queue.broker_name.startswith(LOGICAL_PREFIX)


def leader_of(route: TopicRouteData, queue: MessageQueue) -> str:
    """Return the name of the broker that has a queue; of a logical one, the one that leads it.

    A logical queue without a leader keeps its name, which no broker has.
    """
    if not is_logical(queue):
        return queue.broker_name
    leaders = [
        info
        for info in (route.topic_queue_mapping_by_broker or {}).values()
        if queue.queue_id in info.curr_id_map and logical_name(info.scope) == queue.broker_name
    ]
    return max(leaders, key=lambda info: info.epoch).bname if leaders else queue.broker_name


def publish_queues(topic: str, route: TopicRouteData) -> list[MessageQueue]:
    """Return the queues that a producer may send to, in Java's order.

    An ordered topic has the queues that its configuration names, even those of brokers that are
    away, because their absence must not move a message to another queue.

    Raises:
        BadAnswer: the order configuration is not ``broker:count;broker:count``.
    """
    if route.order_topic_conf:
        return _ordered_queues(topic, route.order_topic_conf)
    with_master = set(masters(route))
    return [
        MessageQueue(topic=topic, broker_name=data.broker_name, queue_id=queue_id)
        for data in sorted(route.queue_datas, key=lambda data: data.broker_name)
        if data.perm & PERM_WRITE and data.broker_name in with_master
        for queue_id in range(data.write_queue_nums)
    ]


def template_queues(
    topic: str, template: TopicRouteData, *, queue_count: int = TEMPLATE_QUEUE_COUNT
) -> list[MessageQueue]:
    """Return the queues that a topic will have when a broker creates it on the first send."""
    return [queue for queue in publish_queues(topic, template) if queue.queue_id < queue_count]


def subscribe_queues(topic: str, route: TopicRouteData) -> list[MessageQueue]:
    """Return the queues that brokers have, sorted; see ``consumer_queues`` for static topics."""
    return sorted(
        MessageQueue(topic=topic, broker_name=data.broker_name, queue_id=queue_id)
        for data in route.queue_datas
        if data.perm & PERM_READ
        for queue_id in range(data.read_queue_nums)
    )


def masters(route: TopicRouteData) -> dict[str, str]:
    """Return the address of each master by broker name; brokers without a master are left out."""
    return {
        broker.broker_name: broker.broker_addrs[MASTER_ID]
        for broker in route.broker_datas
        if MASTER_ID in broker.broker_addrs
    }


def readers(route: TopicRouteData) -> dict[str, str]:
    """Return an address to read from, by broker name: the master, or else a slave."""
    return {
        broker.broker_name: address
        for broker in route.broker_datas
        if (address := broker.any_address()) is not None
    }


def reader(
    route: TopicRouteData, queue: MessageQueue, *, broker_id: int
) -> tuple[str, bool] | None:
    """Return the address to read a queue from, and whether that is its master.

    Args:
        route: the route of the topic.
        queue: the queue, or a logical one.
        broker_id: the preferred member of the broker; when it is away, the master is taken, and
            then any slave.

    Returns:
        None when the route has no such broker, or none of its members is up.
    """
    broker_name = leader_of(route, queue)
    for broker in route.broker_datas:
        if broker.broker_name == broker_name and broker.broker_addrs:
            members = broker.broker_addrs
            chosen = broker_id if broker_id in members else min(members)
            return members[chosen], chosen == MASTER_ID
    return None


def _ordered_queues(topic: str, conf: str) -> list[MessageQueue]:
    queues = []
    for item in filter(None, conf.split(";")):
        broker_name, colon, count = item.rpartition(":")
        if not colon or not count.isdecimal():
            raise BadAnswer(
                f"order configuration of topic {topic} is {conf!r}, expected broker:count;…",
                hint="see `updateOrderConf`",
            )
        queues += [
            MessageQueue(topic=topic, broker_name=broker_name, queue_id=queue_id)
            for queue_id in range(int(count))
        ]
    return queues

"""The routing table: which brokers are alive, and which queues of each topic they have.

    topic   -> broker name -> queue counts, permission
    broker  -> cluster, broker id -> address            (id 0 is the master)
    cluster -> broker names
    address -> last registration: time, connection, data version

Rule: the table is pure state without clock or socket: every change gets ``now_ms``, and
connections are numbers. A registration adds or changes topics and never removes any. The place of
a master belongs to the newest promotion: a master whose epoch is lower than the highest one that
any broker of its name has reported is refused (a broker without an epoch has epoch 0). There are
limits for each registrar, and it may change registrations of others only if it is listed.

Source: namesrv/routeinfo/RouteInfoManager.java.
"""

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

from mqserver.namesrv.registrars import THIS_MACHINE, Registrar, RegistrarLimits
from remoting.bodies import BrokerData, ClusterInfo, QueueData, TopicList, TopicRouteData
from remoting.bodies.route import MASTER_ID
from remoting.headers import HaEpoch, RegisterBroker
from storefmt.config.epochs import is_believable
from storefmt.config.tables import UNIT_FLAG, UNIT_SUB_FLAG, DataVersion, TopicConfig
from storefmt.names import PERM_READ_WRITE, PERM_WRITE

BROKER_EXPIRES_MS: Final = 120_000
"""A broker that has not registered for this long is dropped."""

EPOCHS_MAX: Final = 65_536
"""Most broker names whose epoch is kept; it is kept even after their brokers are gone."""
EPOCHS_OF_REGISTRAR_MAX: Final = 1_024
NO_EPOCH: Final = HaEpoch()
TOPIC_SIZE: Final = 320
"""Bytes that one topic of one broker takes beside its name, estimated."""
CLUSTERS_MAX: Final = 16
"""Most clusters that one broker name is registered in."""
FILTER_SERVERS_SIZE_MAX: Final = 65_536

NAME_SIZE_MAX: Final = 255
ADDRESS_SIZE_MAX: Final = 255
TOPICS_PER_SLICE: Final = 1_000
"""Topics that are processed before other requests get their turn."""


class BadRegistration(ValueError):
    """A broker registers with something that cannot be a name, an address or a topic."""


class OldEpoch(ValueError):
    """A master registers without knowing of the newest promotion of its broker name."""


class UnitTopics(Enum):
    """The topics that a unit list contains: (flags that must be set, flags to examine)."""

    UNIT = (UNIT_FLAG, UNIT_FLAG)
    UNIT_SUB = (UNIT_SUB_FLAG, UNIT_SUB_FLAG)
    UNIT_SUB_NOT_UNIT = (UNIT_SUB_FLAG, UNIT_FLAG | UNIT_SUB_FLAG)


class Master(NamedTuple):
    """Addresses of a broker group's master; both are None for the master itself or without one."""

    address: str | None
    ha_address: str | None


class LostBroker(NamedTuple):
    """A broker that was dropped, and the connection it registered on."""

    address: str
    conn_id: int


class _Queues(NamedTuple):
    """The queues of one topic on one broker."""

    read_count: int
    write_count: int
    perm: int
    sys_flag: int


Announced = Mapping[str, _Queues]


@dataclass(slots=True)
class _Broker:
    """One broker group: a master and its slaves."""

    name: str
    cluster: str
    addresses: dict[int, str] = field(default_factory=dict)
    clusters: set[str] = field(default_factory=set)
    registrar: str = ""
    """The IP address that registered it last."""
    topic_count: int = 0
    size: int = 0
    """Bytes that its topics take, estimated."""


class _Alive(NamedTuple):
    """The last registration of one address."""

    broker_name: str
    last_ms: int
    data_version: DataVersion
    conn_id: int
    ha_address: str
    filter_servers: tuple[str, ...]
    registrar: str
    """The IP address that registered it."""


class _NotedEpoch(NamedTuple):
    """The highest epoch that brokers of one name have reported."""

    epoch: HaEpoch
    registrar: str


class RouteTable:
    """All registrations of brokers, and every query on them."""

    def __init__(self, limits: RegistrarLimits | None = None) -> None:
        self.limits = limits or RegistrarLimits()
        """What one registrar may register."""
        self._topics: dict[str, dict[str, _Queues]] = {}
        self._brokers: dict[str, _Broker] = {}
        # Broker names in order of their first registration; the dict serves as an ordered set.
        self._clusters: dict[str, dict[str, None]] = {}
        self._alive: dict[str, _Alive] = {}
        # A name keeps its epoch when none of its brokers is registered, because its former
        # master may be the first to come back.
        self._epochs: dict[str, _NotedEpoch] = {}

    def epoch(self, broker_name: str) -> HaEpoch:
        """Return the highest epoch that brokers of this name have reported; 0 for none."""
        noted = self._epochs.get(broker_name)
        return HaEpoch() if noted is None else noted.epoch

    def register(
        self,
        broker: RegisterBroker,
        announced: Announced,
        data_version: DataVersion,
        *,
        conn_id: int,
        now_ms: int,
        filter_servers: tuple[str, ...] = (),
        epoch: HaEpoch = NO_EPOCH,
        registrar: Registrar = THIS_MACHINE,
    ) -> Generator[None, None, Master]:
        """Process a registration in slices; return the master's addresses to a slave.

        Topics are taken only from a master, and only if it is new or ``data_version`` differs from
        its last registration. The version is stored after all topics; a broker that is dropped
        meanwhile has to register again.

        Args:
            broker: names, addresses and id of the broker.
            announced: the result of ``announce`` for its topics, of version ``data_version``.
            conn_id: the connection it registers on; ``filter_servers`` are its addresses.
            now_ms: the wall clock.
            epoch: when the newest promotion that the broker knows of was ordered, in ms; or 0.
            registrar: who registers it.

        Raises:
            BadRegistration: a name, address or epoch is not valid, the registrar may not register
                this or has registered too much, and nothing was changed; or the broker was
                dropped meanwhile.
            OldEpoch: the master was replaced by a promotion; its address is dropped.
        """
        _check(broker, epoch.ha_epoch, now_ms)
        name, address = broker.broker_name, broker.broker_addr
        self._check_owner(registrar, name, address)
        self._check_broker_limits(registrar, broker, filter_servers)
        if broker.broker_id == MASTER_ID and self.is_changed(address, data_version):
            yield from self._check_topic_limits(registrar, name, announced)
        self._check_epoch(broker, epoch, registrar, data_version)
        group = self._group_of(broker, registrar)
        is_new = broker.broker_id not in group.addresses
        group.addresses[broker.broker_id] = address
        if broker.broker_id == MASTER_ID and (is_new or self.is_changed(address, data_version)):
            for number, (topic, queues) in enumerate(announced.items(), start=1):
                self._add_queues(topic, group, queues)
                if number % TOPICS_PER_SLICE == 0:
                    yield
                    if group.addresses.get(MASTER_ID) != address:
                        raise BadRegistration(f"{address} was forgotten while it registered")
        self._alive[address] = _Alive(
            name,
            now_ms,
            data_version,
            conn_id,
            broker.ha_server_addr,
            filter_servers,
            registrar.ip,
        )
        return Master(None, None) if broker.broker_id == MASTER_ID else self._master_of(group)

    def _group_of(self, broker: RegisterBroker, registrar: Registrar) -> _Broker:
        """Return the group of a broker that registers, without other ids of its address."""
        name = broker.broker_name
        self._clusters.setdefault(broker.cluster_name, {})[name] = None
        group = self._brokers.setdefault(name, _Broker(name, broker.cluster_name))
        group.registrar = registrar.ip
        group.clusters.add(broker.cluster_name)
        # An address has only one id: a slave that became the master gives up its old id.
        for broker_id in [i for i, a in group.addresses.items() if a == broker.broker_addr]:
            if broker_id != broker.broker_id:
                del group.addresses[broker_id]
        return group

    def _add_queues(self, topic: str, group: _Broker, queues: _Queues) -> None:
        brokers = self._topics.setdefault(topic, {})
        if group.name not in brokers:
            group.topic_count += 1
            group.size += TOPIC_SIZE + len(topic)
        brokers[group.name] = queues

    def _check_owner(self, registrar: Registrar, name: str, address: str) -> None:
        """Raise BadRegistration if others registered this, and the registrar is not listed."""
        if registrar.is_listed:
            return
        group = self._brokers.get(name)
        members = [] if group is None else list(group.addresses.values())
        for member in (address, *members):
            alive = self._alive.get(member)
            if alive is not None and alive.registrar != registrar.ip:
                raise BadRegistration(
                    f"{member} of {alive.broker_name} was registered from {alive.registrar}, and "
                    f"{registrar.ip} may change only what it registered itself; add both to "
                    "brokerAddresses of the name server"
                )

    def _check_broker_limits(
        self, registrar: Registrar, broker: RegisterBroker, filter_servers: tuple[str, ...]
    ) -> None:
        """Raise BadRegistration if a registrar has too many brokers, or one is too large."""
        count_max = self.limits.broker_count
        count = sum(
            alive.registrar == registrar.ip
            for address, alive in self._alive.items()
            if address != broker.broker_addr
        )
        if count >= count_max:
            raise BadRegistration(
                f"{registrar.ip} has registered {count} brokers, the limit is {count_max}; "
                "registeredBrokerCountMax of the name server raises it"
            )
        group = self._brokers.get(broker.broker_name)
        if group is not None and len(group.clusters | {broker.cluster_name}) > CLUSTERS_MAX:
            raise BadRegistration(
                f"{broker.broker_name} is registered in {len(group.clusters)} clusters, the limit "
                f"is {CLUSTERS_MAX}"
            )
        size = sum(map(len, filter_servers))
        if size > FILTER_SERVERS_SIZE_MAX:
            raise BadRegistration(
                f"addresses of filter servers have {size} characters, the limit is "
                f"{FILTER_SERVERS_SIZE_MAX}"
            )

    def _check_topic_limits(
        self, registrar: Registrar, name: str, announced: Announced
    ) -> Generator[None, None, None]:
        """Raise BadRegistration if the topics of a registrar would be too many or too large."""
        limits, topics = self.limits, self._topics
        groups = [group for group in self._brokers.values() if group.registrar == registrar.ip]
        count, size = sum(g.topic_count for g in groups), sum(g.size for g in groups)
        for number, topic in enumerate(announced, start=1):
            if name not in topics.get(topic, ()):
                count += 1
                size += TOPIC_SIZE + len(topic)
            if number % TOPICS_PER_SLICE == 0:
                yield
        if count > limits.topic_count:
            raise BadRegistration(
                f"the brokers of {registrar.ip} would have {count} topics, the limit is "
                f"{limits.topic_count}; registeredTopicCountMax of the name server raises it"
            )
        if size > limits.size:
            raise BadRegistration(
                f"the registrations of {registrar.ip} would take {size} bytes, the limit is "
                f"{limits.size}; registeredSizeMax of the name server raises it"
            )

    def _check_epoch(
        self,
        broker: RegisterBroker,
        reported: HaEpoch,
        registrar: Registrar,
        data_version: DataVersion,
    ) -> None:
        """Keep an epoch that is the highest of its name, and refuse a master with a lower one.

        Raises:
            BadRegistration: a controller has elected another master since.
            OldEpoch: the master was replaced by a promotion; its address is dropped.
        """
        self._check_state_version(broker, data_version)
        name, address = broker.broker_name, broker.broker_addr
        highest = self.epoch(name).ha_epoch
        if reported.ha_epoch > highest:
            if registrar.may_tell_epoch:
                self._note_epoch(name, _NotedEpoch(reported, registrar.ip))
        elif broker.broker_id == MASTER_ID and reported.ha_epoch < highest:
            self.unregister(
                broker.cluster_name,
                name,
                broker_id=MASTER_ID,
                address=address,
                registrar=registrar,
            )
            raise OldEpoch(
                f"{address} is a master of {name} with epoch {reported.ha_epoch}, but a broker of "
                f"this name has reported epoch {highest}: another master was promoted; "
                "`mqadmin broker demote` makes this one its slave"
            )

    def _check_state_version(self, broker: RegisterBroker, data_version: DataVersion) -> None:
        """Raise BadRegistration if a master of a group was replaced by a newer election (5.x)."""
        group = self._brokers.get(broker.broker_name)
        address = None if group is None else group.addresses.get(MASTER_ID)
        if broker.broker_id != MASTER_ID or address in (None, broker.broker_addr):
            return
        present, own = _state_version(self.data_version(address)), _state_version(data_version)
        if own < present:
            raise BadRegistration(
                f"{broker.broker_addr} is a master of {broker.broker_name} with stateVersion "
                f"{own}, and {address} has {present}: a controller has elected that one since"
            )

    def _note_epoch(self, broker_name: str, noted: _NotedEpoch) -> None:
        self._epochs.pop(broker_name, None)
        self._epochs[broker_name] = noted
        own = [name for name, epoch in self._epochs.items() if epoch.registrar == noted.registrar]
        # Registered brokers report their epoch again with their next registration.
        if len(own) > EPOCHS_OF_REGISTRAR_MAX:
            del self._epochs[own[0]]
        elif len(self._epochs) > EPOCHS_MAX:
            del self._epochs[next(iter(self._epochs))]

    def unregister(
        self,
        cluster: str,
        broker_name: str,
        *,
        broker_id: int,
        address: str,
        registrar: Registrar = THIS_MACHINE,
    ) -> None:
        """Drop one address immediately; its topics go with the last address of its name.

        If another address has taken over the id meanwhile, that address stays. (Java drops it.)

        Args:
            cluster: the cluster that the broker names.
            broker_name: the broker's name.
            broker_id: the id it was registered with.
            address: the broker's address.
            registrar: who asks for it.

        Raises:
            BadRegistration: others have registered it, and the registrar is not listed.
        """
        self._check_owner(registrar, broker_name, address)
        group = self._brokers.get(broker_name)
        if group is not None and group.addresses.get(broker_id) == address:
            del group.addresses[broker_id]
            self._forget_if_empty(group, cluster)
        self._alive.pop(address, None)

    def connection_closed(self, conn_id: int) -> list[LostBroker]:
        """Drop every broker whose last registration came on this connection."""
        return self._drop(a for a, alive in self._alive.items() if alive.conn_id == conn_id)

    def expire(self, now_ms: int) -> list[LostBroker]:
        """Drop every broker that has been silent for ``BROKER_EXPIRES_MS``."""
        oldest_ms = now_ms - BROKER_EXPIRES_MS
        return self._drop(a for a, alive in self._alive.items() if alive.last_ms < oldest_ms)

    def data_version(self, address: str) -> DataVersion | None:
        """Return the data version of an address's last registration, or None."""
        alive = self._alive.get(address)
        return None if alive is None else alive.data_version

    def is_changed(self, address: str, data_version: DataVersion) -> bool:
        """Return whether a broker's data version differs from its last registration."""
        return self.data_version(address) != data_version

    def touch(self, address: str, now_ms: int, *, registrar: Registrar = THIS_MACHINE) -> None:
        """Count a broker as alive that only asked whether it has to register again."""
        alive = self._alive.get(address)
        if alive is not None and (registrar.is_listed or alive.registrar == registrar.ip):
            self._alive[address] = alive._replace(last_ms=now_ms)

    def route(self, topic: str) -> TopicRouteData | None:
        """Return brokers and queues of a topic; None if no registered broker has it."""
        queues = self._topics.get(topic, {})
        brokers = [self._brokers[name] for name in queues if name in self._brokers]
        if not brokers:
            return None
        return TopicRouteData(
            queue_datas=[_queue_data(name, queue) for name, queue in queues.items()],
            broker_datas=[_broker_data(broker) for broker in brokers],
            filter_server_table={
                address: list(self._alive[address].filter_servers)
                for broker in brokers
                for address in broker.addresses.values()
                if address in self._alive and self._alive[address].filter_servers
            },
        )

    def cluster_info(self) -> ClusterInfo:
        """Return every broker with its addresses, and every cluster with its brokers."""
        return ClusterInfo(
            broker_addr_table={n: _broker_data(broker) for n, broker in self._brokers.items()},
            cluster_addr_table={c: list(names) for c, names in self._clusters.items()},
        )

    @property
    def topic_count(self) -> int:
        """Number of topics."""
        return len(self._topics)

    def topics(self) -> TopicList:
        """Return the names of all topics."""
        return TopicList(topic_list=list(self._topics))

    def topics_of_cluster(self, cluster: str) -> TopicList:
        """Return the topics with queues on a broker of ``cluster``; may run in a thread."""
        names = frozenset(self._clusters.get(cluster, ()))
        topics = list(self._topics.items())
        return TopicList(topic_list=[t for t, q in topics if not names.isdisjoint(q)])

    def unit_topics(self, unit: UnitTopics) -> TopicList:
        """Return the topics whose flags match ``unit``; may run in a thread."""
        flags, mask = unit.value
        return TopicList(
            topic_list=[
                topic
                for topic, queues in list(self._topics.items())
                if any(queue.sys_flag & mask == flags for queue in list(queues.values())[:1])
            ]
        )

    def system_topics(self) -> TopicList:
        """Return cluster and broker names, which are also topics, and one broker's address."""
        names: dict[str, None] = {}
        for cluster, brokers in self._clusters.items():
            names[cluster] = None
            names.update(brokers)
        addresses = (a for broker in self._brokers.values() for a in broker.addresses.values())
        return TopicList(topic_list=list(names), broker_addr=next(addresses, None))

    def wipe_write_perm(self, broker_name: str) -> Generator[None, None, int]:
        """Remove the write permission of all topics of a broker; return their number."""
        return self._set_perm(broker_name, None)

    def add_write_perm(self, broker_name: str) -> Generator[None, None, int]:
        """Give read and write permission to all topics of a broker; return their number.

        The permission becomes exactly 6, as in Java: the inherit flag of TBW102 is lost.
        """
        return self._set_perm(broker_name, PERM_READ_WRITE)

    def delete_topic(self, topic: str, cluster: str | None = None) -> None:
        """Delete a topic, or only its queues on the brokers of one cluster."""
        queues = self._topics.get(topic)
        if queues is not None:
            for name in list(queues) if not cluster else self._clusters.get(cluster, {}):
                group = self._brokers.get(name)
                if queues.pop(name, None) is not None and group is not None:
                    group.topic_count -= 1
                    group.size -= TOPIC_SIZE + len(topic)
            if not queues:
                del self._topics[topic]

    def _set_perm(self, broker_name: str, perm: int | None) -> Generator[None, None, int]:
        count = 0
        for number, queues in enumerate(list(self._topics.values()), start=1):
            queue = queues.get(broker_name)
            if queue is not None:
                changed = queue.perm & ~PERM_WRITE if perm is None else perm
                queues[broker_name] = queue._replace(perm=changed)
                count += 1
            if number % TOPICS_PER_SLICE == 0:
                yield
        return count

    def _master_of(self, group: _Broker) -> Master:
        address = group.addresses.get(MASTER_ID)
        alive = None if address is None else self._alive.get(address)
        return Master(None, None) if alive is None else Master(address, alive.ha_address)

    def _drop(self, addresses: Iterator[str]) -> list[LostBroker]:
        lost = []
        for address in list(addresses):
            alive = self._alive.pop(address)
            lost.append(LostBroker(address, alive.conn_id))
            group = self._brokers.get(alive.broker_name)
            if group is not None:
                for broker_id in [i for i, a in group.addresses.items() if a == address]:
                    del group.addresses[broker_id]
                self._forget_if_empty(group, group.cluster)
        return lost

    def _forget_if_empty(self, group: _Broker, cluster: str) -> None:
        """Delete a broker group that has no address, with its place in a cluster and its topics."""
        if group.addresses:
            return
        del self._brokers[group.name]
        for name in {cluster, group.cluster} & self._clusters.keys():
            self._clusters[name].pop(group.name, None)
            if not self._clusters[name]:
                del self._clusters[name]
        for topic, queues in list(self._topics.items()):
            queues.pop(group.name, None)
            if not queues:
                del self._topics[topic]


def _queue_data(broker_name: str, queues: _Queues) -> QueueData:
    return QueueData(
        broker_name=broker_name,
        read_queue_nums=queues.read_count,
        write_queue_nums=queues.write_count,
        perm=queues.perm,
        topic_sys_flag=queues.sys_flag,
    )


def _broker_data(broker: _Broker) -> BrokerData:
    return BrokerData(
        cluster=broker.cluster,
        broker_name=broker.name,
        broker_addrs=dict(sorted(broker.addresses.items())),
    )


def announce(topics: Mapping[str, TopicConfig]) -> Announced:
    """Return the queues of each topic that a broker announces; may run in a thread.

    Raises:
        BadRegistration: the name of a topic is not valid.
    """
    for topic in topics.values():
        _check_text("topic", topic.topic_name, NAME_SIZE_MAX)
    return {
        topic.topic_name: _Queues(
            topic.read_queue_nums, topic.write_queue_nums, topic.perm, topic.topic_sys_flag
        )
        for topic in topics.values()
    }


def _check(broker: RegisterBroker, epoch: int, now_ms: int) -> None:
    if not is_believable(epoch, now_ms):
        raise BadRegistration(
            f"epoch {epoch} lies beyond the clock of the name server, {now_ms}; compare the "
            "clocks, or `mqadmin store epoch` lowers it"
        )
    for what, name in (("cluster name", broker.cluster_name), ("broker name", broker.broker_name)):
        _check_text(what, name, NAME_SIZE_MAX)
    _check_address("broker address", broker.broker_addr)
    if broker.ha_server_addr:
        _check_address("HA address", broker.ha_server_addr)
    if broker.broker_id < 0:
        raise BadRegistration(f"broker id is {broker.broker_id}, expected 0 or more")


def _check_text(what: str, text: str | None, size_max: int) -> None:
    if not text or len(text) > size_max or not text.isprintable() or text != text.strip():
        raise BadRegistration(
            f"{what} is {(text or '')[:80]!r}, expected 1 to {size_max} printable characters"
        )


def _check_address(what: str, address: str) -> None:
    _check_text(what, address, ADDRESS_SIZE_MAX)
    port = address.rpartition(":")[2]
    if ":" not in address or not (port.isascii() and port.isdecimal() and int(port) < 65536):
        raise BadRegistration(f"{what} is {address!r}, expected host:port")


def _state_version(version: DataVersion | None) -> int:
    """Return the master epoch with which a broker of a group registered; 0 for others."""
    state_version = None if version is None else version.extra.get("stateVersion")
    return state_version if isinstance(state_version, int) else 0

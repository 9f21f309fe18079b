"""A simulated cluster: brokers, and the members of one group with slow listeners.

Rule: a listener notes what it has finished at the broker, which checks every commit; ``World``
adds what only somebody who sees all members can check.
"""

import asyncio
from collections import defaultdict
from enum import Enum, auto

from mqclient.consumer.consumer_settings import PushSettings
from mqclient.consumer.listener.listeners import (
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
    ConsumeOrderlyContext,
    ConsumeOrderlyStatus,
)
from mqclient.consumer.push_consumer import PushConsumer
from mqclient.message import Message, MessageExt
from mqclient.producer.producer import Producer
from remoting.bodies import BrokerData, ConsumeFromWhere, MessageQueue, QueueData, TopicRouteData
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import GetRouteInfo
from tests.mqclient.sim.broker import SimBroker
from tests.mqclient.sim.clock import SimLoop
from tests.mqclient.sim.network import Network, SimClient
from tests.mqclient.sim.polling import Poller

NAMESRV = "namesrv:9876"
GROUP = "sim"
TOPIC = "Sim"
TAG = "x"


class Kind(Enum):
    """How the members of a world consume."""

    CONCURRENTLY = auto()
    ORDERLY = auto()
    POLLED = auto()
    POLLED_BY_HAND = auto()


class Member:
    """One consumer of the group, with its client."""

    def __init__(self, world: "World", name: str, *, orderly: bool) -> None:
        self.world = world
        self.client = SimClient(world.network, name)
        self.consumer = PushConsumer(
            self.client,
            GROUP,
            PushSettings(
                consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
                consume_message_batch_max_size=world.network.random.choice([1, 3]),
                suspend_current_queue_time_ms=50,
            ),
        )
        self.consumer.subscribe(TOPIC)
        if orderly:
            self.consumer.orderly(self.listen_orderly)
        else:
            self.consumer.concurrently(self.listen)

    async def start(self) -> None:
        await self.consumer.start()

    async def stop(self) -> None:
        await self.consumer.shutdown()

    async def listen(
        self, messages: list[MessageExt], context: ConsumeConcurrentlyContext
    ) -> ConsumeConcurrentlyStatus:
        if not await self.world.work():
            return ConsumeConcurrentlyStatus.RECONSUME_LATER
        self.world.finished(context.queue, messages)
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    async def listen_orderly(
        self, messages: list[MessageExt], context: ConsumeOrderlyContext
    ) -> ConsumeOrderlyStatus:
        with self.world.alone(context.queue, self, messages):
            if not await self.world.work():
                return ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT
            self.world.finished(context.queue, messages)
        return ConsumeOrderlyStatus.SUCCESS


class World:
    """Brokers, members, and what happened.

    Attributes:
        registered: names of the brokers that the name server knows.
    """

    def __init__(self, loop: SimLoop, seed: int, *, kind: Kind, brokers: int, queues: int) -> None:
        self.loop = loop
        self.network = Network(loop, seed)
        self.brokers = {name: SimBroker(self.network, name) for name in ("a", "b", "c")[:brokers]}
        for broker in self.brokers.values():
            broker.topics[TOPIC] = queues
            broker.peers = list(self.brokers.values())
        self.kind = kind
        self.members: list[Member | Poller] = []
        self.seen: defaultdict[bytes, int] = defaultdict(int)
        self.sent: list[bytes] = []
        self.busy: dict[MessageQueue, Member] = {}
        self.failing = 0.0
        self.unrest = 0.1
        self.faults: list[str] = []
        self.registered = set(self.brokers)
        self.network.servers[NAMESRV] = self._route

    async def join(self, name: str) -> None:
        """Start another member."""
        member: Member | Poller
        if self.kind in (Kind.CONCURRENTLY, Kind.ORDERLY):
            member = Member(self, name, orderly=self.kind is Kind.ORDERLY)
        else:
            by_hand = self.kind is Kind.POLLED_BY_HAND
            member = Poller(self, name, group=GROUP, topic=TOPIC, wanted=TAG, by_hand=by_hand)
        self.members.append(member)
        await member.start()

    async def leave(self, member: Member | Poller) -> None:
        """Stop a member properly."""
        self.members.remove(member)
        await member.stop()

    def kill(self, member: Member | Poller) -> None:
        """End a member without a word."""
        self.members.remove(member)
        self.network.cut |= {(member.client.name, address) for address in self.network.servers}
        for task in asyncio.all_tasks(self.loop):
            if task in member.consumer._state.tasks._running:
                task.cancel()
        member.client.members.stop()

    def send(self, count: int) -> None:
        """Store messages, round about."""
        for _ in range(count):
            body = b"%d" % len(self.sent)
            broker = self.network.random.choice(list(self.brokers.values()))
            queue_id = self.network.random.randrange(broker.topics[TOPIC])
            broker.put(TOPIC, queue_id, body, TAGS=TAG)
            self.sent.append(body)
            if self.kind in (Kind.POLLED, Kind.POLLED_BY_HAND):
                self._send_to_others()

    async def produce(self, producer: Producer) -> None:
        """Send a message as a client does."""
        body = b"%d" % len(self.sent)
        self.sent.append(body)
        await producer.send(Message(TOPIC, body, tags=TAG))

    def kept(self) -> bool:
        """Whether the group's positions are at the ends of all queues."""
        return all(
            broker.positions.get((GROUP, queue), 0) == len(broker.queues[queue])
            for broker in self.brokers.values()
            for queue in broker.all_queues(TOPIC)
        )

    def assigned(self) -> list[MessageQueue]:
        """Return the queues of all members, sorted."""
        return sorted(queue for member in self.members for queue in member.consumer.assignment())

    async def work(self) -> bool:
        """Take a listener's time, return whether it succeeds."""
        await asyncio.sleep(self.network.random.uniform(0, 0.3))
        return self.network.random.random() >= self.failing

    def finished(self, queue: MessageQueue, messages: list[MessageExt]) -> None:
        """Note what a listener is done with."""
        for message in messages:
            self.seen[message.body] += 1
            self.brokers[queue.broker_name].finished[queue].add(message.queue_offset)

    def alone(self, queue: MessageQueue, member: Member, messages: list[MessageExt]) -> "_Alone":
        """Check that an orderly listener is the only one, and that nothing was left out."""
        first = messages[0].queue_offset
        missing = set(range(first)) - self.brokers[queue.broker_name].finished[queue]
        if missing:
            self.faults.append(f"{queue}: {first} before {sorted(missing)[:5]}")
        return _Alone(self, queue, member)

    def check(self) -> list[str]:
        """Return everything that must not be, once all has settled."""
        faults = [*self.faults, *(each for b in self.brokers.values() for each in b.faults)]
        owners: defaultdict[MessageQueue, list[str]] = defaultdict(list)
        for member in self.members:
            for queue in member.consumer.assignment():
                owners[queue].append(member.client.name)
        for broker in self.brokers.values():
            faults += [
                f"{queue} belongs to {owners[queue] or 'nobody'}"
                for queue in broker.all_queues(TOPIC)
                if len(owners[queue]) != 1
            ]
        lost = [body for body in self.sent if not self.seen[body]]
        if lost:
            faults.append(
                f"{len(lost)} of {len(self.sent)} messages were never finished: {lost[:5]}"
            )
        return faults

    def _send_to_others(self) -> None:
        """Store a message that no member wants, and any position may pass."""
        broker = self.network.random.choice(list(self.brokers.values()))
        queue = self.network.random.choice(broker.all_queues(TOPIC))
        broker.finished[queue].add(len(broker.queues[queue]))
        broker.put(TOPIC, queue.queue_id, b"for others", TAGS="others")

    async def _route(self, client: SimClient, request: Command) -> Command | None:
        assert request.code == RequestCode.GET_ROUTEINFO_BY_TOPIC
        topic = request.header(GetRouteInfo).topic
        having = [
            broker
            for broker in self.brokers.values()
            if topic in broker.topics
            and broker.name in self.registered
            and broker.address in self.network.servers
        ]
        if not having:
            return request.response(ResponseCode.TOPIC_NOT_EXIST, remark="No topic route info")
        route = TopicRouteData(
            queue_datas=[
                QueueData(
                    broker_name=broker.name,
                    read_queue_nums=broker.topics[topic],
                    write_queue_nums=broker.topics[topic],
                    perm=6,
                )
                for broker in having
            ],
            broker_datas=[
                BrokerData(cluster="c", broker_name=broker.name, broker_addrs={0: broker.address})
                for broker in having
            ],
        )
        return request.response(body=route.encode())


class _Alone:
    def __init__(self, world: World, queue: MessageQueue, member: Member) -> None:
        self._world, self._queue, self._member = world, queue, member

    def __enter__(self) -> None:
        other = self._world.busy.get(self._queue)
        if other is not None and other is not self._member:
            self._world.faults.append(
                f"{self._queue} is at {other.client.name} and {self._member.client.name}"
            )
        self._world.busy[self._queue] = self._member

    def __exit__(self, *_: object) -> None:
        if self._world.busy.get(self._queue) is self._member:
            del self._world.busy[self._queue]

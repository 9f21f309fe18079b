"""The producers and consumers of a client: their heartbeats, and the requests of brokers to them.

    start --> heartbeat to every broker of their topics, every 30 s (heartbeatBrokerInterval)
              and after each change
    broker --> request --> the member of the group that it names (reset, running info, …)

Rule: one heartbeat names every group of the client, because a broker replaces what it knew of the
client with each. A request is answered by the member of the group that it names, or with an
error. A reply names the group of its sender, so the client itself takes replies.

Source: client/impl/factory/MQClientInstance.java#sendHeartbeatToAllBroker,
client/impl/ClientRemotingProcessor.java (4.9.7).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Protocol, TypeVar

from mqclient.errors import BadRequest, ClientError
from remoting.bodies import ConsumerData, HeartbeatData, ProducerData, TopicRouteData
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.header import Header
from remoting.headers import UnregisterClient
from storefmt.errors import StoreError
from storefmt.formats.message import decode_record
from storefmt.formats.properties import PRODUCER_GROUP

LOG = logging.getLogger(__name__)

RequestHandler = Callable[[str, Command], Awaitable[Command | None]]
"""A function that answers a request of a broker; it gets the broker's address and the request."""


class Connections(Protocol):
    """The part of ``MQClient`` that this module uses."""

    client_id: str
    closed: bool
    now_ms: Callable[[], int]

    async def call(
        self, address: str, code: int, header: Header | None = None, *, what: str, body: bytes = b""
    ) -> Command:
        """Send a request, and return the answer when its code is success; see ``MQClient.call``."""
        ...

    async def route(self, topic: str, *, fresh: bool = False) -> TopicRouteData:
        """Return the route of a topic; see ``MQClient.route``."""
        ...

    def log_level(self, error: ClientError) -> int:
        """Return the level at which to log a failure; see ``MQClient.log_level``."""
        ...

    def note_answer(self, address: str, *, served: bool) -> None:
        """Log the end of an outage; see ``MQClient.note_answer``."""
        ...


class Member(Protocol):
    """A producer or a consumer, as brokers know it."""

    group: str

    def topics(self) -> Iterable[str]:
        """Return the topics whose brokers must know this member."""

    def request_handlers(self) -> dict[int, RequestHandler]:
        """Return the function that answers each request code of a broker."""


class ConsumerMember(Member, Protocol):
    """A member of a consumer group."""

    def consumer_data(self) -> ConsumerData:
        """Return what heartbeats tell brokers about this consumer."""


_M = TypeVar("_M", bound=Member)


class Members:
    """The producers and consumers of one client.

    Args:
        wire: asks brokers and name servers.
        own: the request codes that the client answers itself, whichever group they name.
        heartbeat_ms: pause between two heartbeats, in ms.
    """

    def __init__(
        self, wire: Connections, own: Mapping[int, RequestHandler], *, heartbeat_ms: int
    ) -> None:
        self._connections = wire
        self._own = own
        self._heartbeat_s = heartbeat_ms / 1000
        self.consumers: dict[str, ConsumerMember] = {}
        self.producers: dict[str, Member] = {}
        self._task: asyncio.Task[None] | None = None

    async def join_consumer(self, member: ConsumerMember) -> None:
        """Add a consumer and send a heartbeat.

        Raises:
            BadRequest: the client has a consumer of this group already, or is closed.
        """
        await self._join(member, self.consumers, consumer=True)

    async def join_producer(self, member: Member) -> None:
        """Add a producer and send a heartbeat.

        Raises:
            BadRequest: the client has a producer of this group already, or is closed.
        """
        await self._join(member, self.producers, consumer=False)

    async def leave(self, group: str, *, consumer: bool) -> None:
        """Remove a member and unregister it at the brokers.

        A broker that does not answer forgets the member when its heartbeats stop.
        """
        addresses = await self.addresses()
        (self.consumers if consumer else self.producers).pop(group, None)
        header = UnregisterClient(
            client_id=self._connections.client_id,
            consumer_group=group if consumer else None,
            producer_group=None if consumer else group,
        )
        for address in addresses:
            try:
                await self._connections.call(
                    address, RequestCode.UNREGISTER_CLIENT, header, what=f"leaving group {group}"
                )
            except ClientError as error:
                LOG.warning("group %s was not unregistered: %s", group, error)
        if not self.consumers and not self.producers:
            self.stop()

    def stop(self) -> None:
        """Stop the heartbeats."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def heartbeat(self) -> None:
        """Send a heartbeat to every broker of the members' topics; log those that do not answer."""
        body = self.heartbeat_data().encode()
        for address in await self.addresses():
            try:
                await self._connections.call(
                    address, RequestCode.HEART_BEAT, what="heartbeat", body=body
                )
            except ClientError as error:
                LOG.log(self._connections.log_level(error), "%s", error)
            else:
                self._connections.note_answer(address, served=True)

    async def ping(self) -> dict[str, int]:
        """Send a heartbeat to every broker at once; return the ms that each took to answer.

        Raises:
            ClientError: a broker did not answer, or refused.
        """
        body = self.heartbeat_data().encode()

        async def elapsed_ms(address: str) -> int:
            started_ms = self._connections.now_ms()
            await self._connections.call(
                address, RequestCode.HEART_BEAT, what="heartbeat", body=body
            )
            return self._connections.now_ms() - started_ms

        addresses = await self.addresses()
        return dict(zip(addresses, await asyncio.gather(*map(elapsed_ms, addresses)), strict=True))

    def heartbeat_data(self) -> HeartbeatData:
        """Return the body of a heartbeat."""
        return HeartbeatData(
            client_id=self._connections.client_id,
            producer_data_set=[ProducerData(group_name=group) for group in self.producers],
            consumer_data_set=[member.consumer_data() for member in self.consumers.values()],
        )

    async def addresses(self) -> list[str]:
        """Return the brokers of all topics: the masters, and for consumers also the slaves."""
        brokers: dict[str, None] = {}
        for table, masters_only in ((self.consumers, False), (self.producers, True)):
            for topic in {topic for member in table.values() for topic in member.topics()}:
                try:
                    route = await self._connections.route(topic)
                except ClientError as error:
                    # A retry topic has no route before the group's first failure.
                    LOG.debug("no brokers of topic %s: %s", topic, error)
                    continue
                for broker in route.broker_datas:
                    for broker_id, address in sorted(broker.broker_addrs.items()):
                        if broker_id == 0 or not masters_only:
                            brokers[address] = None
        return list(brokers)

    async def answer(self, address: str, request: Command) -> Command | None:
        """Return the answer to a broker's request."""
        group = _group_of(request)
        serve = self._own.get(request.code)
        for table in (self.consumers, self.producers):
            candidates: Iterable[Member] = (
                [table[group]] if group in table else [] if group else table.values()
            )
            for member in candidates:
                serve = serve or member.request_handlers().get(request.code)
        if serve is not None:
            return await serve(address, request)
        if request.is_oneway:
            LOG.debug("request %d of %s names a group without a member here", request.code, address)
            return None
        return request.response(
            ResponseCode.SYSTEM_ERROR,
            remark=f"no member of group {group or '(none named)'} here answers {request.code}",
        )

    async def _join(self, member: _M, table: dict[str, _M], *, consumer: bool) -> None:
        if self._connections.closed:
            raise BadRequest("the client is closed", hint="make another client")
        if member.group in table:
            raise BadRequest(
                f"this client has a member of group {member.group} already",
                hint="give each member of a group its own client",
            )
        table[member.group] = member
        try:
            await self.heartbeat()
        except BaseException:
            # The start was cancelled, so the application will never shut this member down.
            await self.leave(member.group, consumer=consumer)
            raise
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._beat())

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._heartbeat_s)
            await self.heartbeat()


def _group_of(request: Command) -> str:
    """Return the group that a request names, "" when it names none."""
    for name in ("consumerGroup", "producerGroup", "group"):
        if request.ext.get(name):
            return request.ext[name]
    if request.code != RequestCode.CHECK_TRANSACTION_STATE:
        return ""
    # The group is a property of the message that this request asks about.
    try:
        return decode_record(request.body).properties.get(PRODUCER_GROUP, "")
    except StoreError as error:
        LOG.warning("a broker asks about a message that cannot be decoded: %s", error)
        return ""

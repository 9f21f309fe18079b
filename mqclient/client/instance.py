"""``MQClient``: the connections, the name servers and the known routes of one client.

    async with MQClient("127.0.0.1:9876") as client:
        result = await Producer(client).send(Message("T", b"hello"))

Producers, consumers and admin calls send through ``invoke`` or ``call``. Name servers are tried
in turn, beginning with the one that answered last.

Rule: only this module turns errors of ``remoting`` into a ``ClientError``, so that callers see one
tree of errors, and only it reads the clock.

Source: client/impl/factory/MQClientInstance.java, client/impl/MQClientAPIImpl.java,
client/ClientConfig.java#buildMQClientId, #changeInstanceNameToPID (4.9.7).
"""

import contextlib
import itertools
import math
import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, Self

from mqclient.argument_checks import check_seconds, checked_settings
from mqclient.client import responses, routes
from mqclient.client.client_settings import ClientSettings
from mqclient.errors import BadRequest, ClientError, NoRoute, TimedOut, Unreachable
from remoting.bodies import MessageQueue, TopicRouteData
from remoting.bodies.route import MASTER_ID
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.errors import ConnectionLost, RemotingError
from remoting.header import Header
from remoting.headers import GetRouteInfo
from storefmt.names import AUTO_CREATE_TOPIC

if TYPE_CHECKING:
    from mqclient.client.members import Members
    from mqclient.client.outages import Outages
    from mqclient.client.request_reply import PendingReplies
    from mqclient.client.route_renewal import RouteRenewal
    from remoting.aio.channel import AnswerWaiter, Channel
    from remoting.aio.client import OnExchange, OnRequest, RemotingClient
    from remoting.aio.tls import ClientTls
    from remoting.direct import DirectClient
    from remoting.signing import Signer
    from storefmt.formats.msgid import UniqueIds

NAMESRV_PORT: Final = 9876
DEFAULT_INSTANCE: Final = "DEFAULT"
"""The instance name of a client that was not given one (ClientConfig.instanceName)."""
_NUMBERS = itertools.count(time.monotonic_ns())
"""The numbers of clients without a name.

The time alone is not used, because clients created within one tick would get the same number.
"""
_NEVER_VIP: Final = frozenset({
    RequestCode.PULL_MESSAGE, RequestCode.HEART_BEAT, RequestCode.UNREGISTER_CLIENT,
    RequestCode.END_TRANSACTION, RequestCode.GET_BROKER_CONFIG,
    RequestCode.REGISTER_MESSAGE_FILTER_CLASS,
})  # fmt: skip
"""The requests that Java sends to the first port of a broker even with vipChannelEnabled."""


class MQClient:
    """Connections to name servers and brokers, shared by producers, consumers and admin calls.

    Args:
        namesrv: ``host:port,host:port``, or a list of addresses; a missing port means 9876. None is
            for a client that only asks brokers by their addresses.
        settings: the parameters of Java's ``ClientConfig``, see ``ClientSettings``.
        timeout_s: how long one request may take, in seconds (mqClientApiTimeout).
        access_key: together with ``secret_key``, signs every request (ACL of 4.9).
        secret_key: see ``access_key``.
        tls: how connections are encrypted; None leaves them plain.
        on_exchange: called after every request with address, request, answer or error, and the
            elapsed ms.
        on_request: answers the requests of brokers; None lets the members of the client do it.
        address_map: advertised address of a broker -> address to connect to in its place.
        direct: send over blocking sockets, one request after another, for coroutines that
            ``remoting.direct.drive`` runs without an event loop; such a client has no members.
        clock_ms: returns the time in ms since 1970; tests pass their own.

    Attributes:
        broadcast_id: the client id of broadcasting consumers. As in Java it does not contain the
            process id, so it is the same after a restart.
        client_id: the client id of all other members.
        namespace: the namespace of the producers and consumers; "" when there is none.

    Raises:
        BadRequest: ``namesrv`` is not an address, only one of the two keys is given, or another
            parameter is not of its type.
    """

    def __init__(
        self,
        namesrv: str | Sequence[str] | None,
        settings: ClientSettings | None = None,
        *,
        timeout_s: float = 5.0,
        access_key: str | None = None,
        secret_key: str | None = None,
        tls: "ClientTls | None" = None,
        on_exchange: "OnExchange | None" = None,
        on_request: "OnRequest | None" = None,
        address_map: Mapping[str, str] | None = None,
        clock_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        direct: bool = False,
    ) -> None:
        self.namesrv_addresses = [] if namesrv is None else parse_addresses(namesrv)
        _check_keys(access_key, secret_key)
        check_seconds("timeout_s", timeout_s, limit=math.inf)
        if isinstance(tls, bool | str):
            raise BadRequest(f"tls is {tls!r}, expected ClientTls", hint="give ClientTls()")
        self.timeout_s = timeout_s
        self.now_ms = clock_ms
        self.settings = settings = checked_settings(settings, ClientSettings)
        self.namespace = settings.namespace or ""
        ip = settings.client_ip or local_ip()
        unit = settings.unit_name or ""
        unit = f"@{unit}" if unit.strip() else ""
        name = settings.instance_name or f"{os.getpid()}#{next(_NUMBERS)}"
        self.client_id = f"{ip}@{name}{unit}"
        self.broadcast_id = f"{ip}@{settings.instance_name or DEFAULT_INSTANCE}{unit}"
        self.closed = False
        self._outages: Outages | None = None
        self._requests: PendingReplies | None = None
        self._members: Members | None = None
        self._address_map = dict(address_map or {})
        self._routes = routes.RouteCache(life_ms=settings.poll_name_server_interval_ms)
        self._vip = settings.vip_channel_enabled
        self._renewal: RouteRenewal | None = None  # noqa: F823
        self._remoting: RemotingClient | DirectClient  # noqa: F823
        connect_timeout_s = min(3.0, timeout_s)
        sign = self._signer(access_key, secret_key)
        # Only one of the two is imported, because loading asyncio takes longer than a request.
        if direct:
            from remoting.direct import DirectClient

            self._remoting = DirectClient(
                connect_timeout_s=connect_timeout_s, sign=sign, on_exchange=on_exchange, tls=tls
            )
        else:
            from mqclient.client.route_renewal import RouteRenewal
            from remoting.aio.client import RemotingClient

            self._renewal = RouteRenewal(self._routes, self._ask_route, clock_ms=clock_ms)
            self._remoting = RemotingClient(
                connect_timeout_s=connect_timeout_s,
                on_request=on_request or self._answer,
                sign=sign,
                on_exchange=on_exchange,
                tls=tls,
            )

    def _signer(self, access_key: str | None, secret_key: str | None) -> "Signer | None":
        if access_key is None or secret_key is None:
            return None
        # This is imported here, because most short commands sign nothing and need no hmac.
        from remoting.signing import Signer

        own_names = {mapped: advertised for advertised, mapped in self._address_map.items()}
        return Signer(access_key, secret_key, now_ms=self.now_ms, own_names=own_names)

    @cached_property
    def unique_ids(self) -> "UniqueIds":
        """Return the generator of unique keys; loaded on first use, because tools send nothing."""
        from storefmt.formats.msgid import UniqueIds

        return UniqueIds(socket.inet_aton(local_ip()))

    @property
    def members(self) -> "Members":
        """Return the producers and consumers; loaded on first use, because tools have none."""
        if self._members is None:
            from mqclient.client.members import Members

            self._members = Members(
                self,
                {RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT: self.requests.replied},
                heartbeat_ms=self.settings.heartbeat_broker_interval_ms,
            )
        return self._members

    @property
    def requests(self) -> "PendingReplies":
        """Return the requests that wait for a reply; loaded on first use."""
        if self._requests is None:
            from mqclient.client.request_reply import PendingReplies

            self._requests = PendingReplies(self.client_id)
        return self._requests

    async def _answer(self, address: str, request: Command) -> Command | None:
        return await self.members.answer(address, request)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop the heartbeats and close all connections."""
        self.closed = True
        if self._members is not None:
            self._members.stop()
        if self._requests is not None:
            self._requests.close()
        if self._renewal is not None:
            self._renewal.close()
        await self._remoting.close()

    async def invoke(
        self, address: str, command: Command, *, timeout_s: float | None = None, what: str = ""
    ) -> Command:
        """Send a request and return the answer, which may have any response code.

        Args:
            address: the server, ``host:port``.
            command: the request to send.
            timeout_s: how long the answer may take, in seconds; None means the client's limit.
            what: what is asked for, as the start of the error text: "topic T".

        Raises:
            Unreachable: there was no connection, or it broke before the answer.
            TimedOut: no answer came in time.
            BadRequest: the request cannot be encoded, or the address is not ``host:port``.
        """
        try:
            answer = await self._remoting.invoke(
                self._port_of(address, command.code),
                command,
                timeout_s=self.timeout_s if timeout_s is None else timeout_s,
            )
        except RemotingError as error:
            raise responses.client_error(error, address=address, what=what) from error
        if self._outages:
            self.note_answer(address, served=False)
        return answer

    def log_level(self, error: ClientError) -> int:
        """Return the level at which to log a failure of a task that goes on; see ``outages``."""
        if self._outages is None:
            # Most commands ask one server one thing, and need no log.
            from mqclient.client.outages import Outages

            self._outages = Outages()
        return self._outages.level(error, now_ms=self.now_ms())

    def note_answer(self, address: str, *, served: bool) -> None:
        """Log the end of an outage; ``served`` says that the server did what was asked."""
        if self._outages:
            self._outages.answered(address, served=served, now_ms=self.now_ms())

    def _port_of(self, address: str, code: int) -> str:
        """Return the address to connect to for a request to an advertised address."""
        if self._vip and code not in _NEVER_VIP and address not in self.namesrv_addresses:
            address = second_port(address)
        return self._address_map.get(address, address)

    def open_channel(self, address: str) -> "Channel | None":
        """Return the open connection to a broker, on which a producer may write sends directly.

        The result is None where ``invoke`` must be used, which connects, signs or reports requests.
        """
        if self._vip:
            address = second_port(address)
        return self._remoting.standing(self._address_map.get(address, address))

    def post(
        self, address: str, command: Command, waiter: "AnswerWaiter", *, timeout_s: float
    ) -> None:
        """Send a request on the connection that ``open_channel`` returns; no task waits for it.

        Args:
            address: a broker to which there is an open connection.
            command: the request.
            waiter: is called once, with the answer or the error.
            timeout_s: how long the answer may take, in seconds.

        Raises:
            BadRequest: the request cannot be encoded.
            Unreachable: there is no open connection any more.
        """
        channel = self.open_channel(address)
        try:
            if channel is None:
                raise ConnectionLost(f"no open connection to {address}", address=address)
            channel.ask(command, waiter, timeout_s=timeout_s)
        except RemotingError as error:
            raise responses.client_error(error, address=address) from error

    async def invoke_oneway(self, address: str, command: Command) -> None:
        """Send a request that the server does not answer.

        Raises:
            Unreachable: there was no connection.
            BadRequest: the request cannot be encoded, or the address is not ``host:port``.
        """
        try:
            await self._remoting.invoke_oneway(self._port_of(address, command.code), command)
        except RemotingError as error:
            raise responses.client_error(error, address=address) from error

    async def call(
        self,
        address: str,
        code: int,
        header: Header | None = None,
        *,
        what: str,
        body: bytes = b"",
        timeout_s: float | None = None,
    ) -> Command:
        """Send a request, and return the answer when its code is success.

        Args:
            address: the server, ``host:port``.
            code: the request code.
            header: the fields of the request; None when it has none.
            what: what is asked for, as the start of the error text: "topic T".
            body: the body of the request.
            timeout_s: how long the answer may take, in seconds; None means the client's limit.

        Raises:
            NotFound, BrokerRefused: the server answered with an error code.
            Unreachable, TimedOut, BadRequest: see ``invoke``.
        """
        command = responses.request(code, header, body=body)
        answer = await self.invoke(address, command, timeout_s=timeout_s, what=what)
        return responses.check(answer, address=address, what=what)

    def name_servers(self) -> list[str]:
        """Return the addresses of the name servers, the one that answered last first.

        Raises:
            BadRequest: the client has none.
        """
        if not self.namesrv_addresses:
            raise no_name_server()
        return list(self.namesrv_addresses)

    async def ask_namesrv(
        self, code: int, header: Header | None = None, *, what: str, body: bytes = b""
    ) -> tuple[str, Command]:
        """Ask the name servers in turn until one answers; return its address and the answer.

        A name server does not answer a request code that it does not know; that is a TimedOut.

        Args:
            code, header, what, body: see ``call``.

        Raises:
            Unreachable, TimedOut: none of them answered.
            BadRequest: see ``invoke``, or the client has no name server.
        """
        failures: list[ClientError] = []
        for address in self.name_servers():
            try:
                answer = await self.invoke(address, responses.request(code, header, body=body))
            except (Unreachable, TimedOut) as error:
                failures.append(error)
                continue
            self.namesrv_addresses.remove(address)
            self.namesrv_addresses.insert(0, address)
            return address, answer
        if len(failures) == 1:
            raise failures[0]
        raise type(failures[-1])(
            f"{what}: none of {len(failures)} name servers answered: "
            + "; ".join(str(failure) for failure in failures),
            address=";".join(self.namesrv_addresses),
            hint="is one of them running?",
            retriable=True,
        ) from failures[-1]

    async def ping(self) -> dict[str, int]:
        """Ask a name server and the brokers for a sign of life; return the ms that each took.

        Brokers get a heartbeat, so only those of producers and consumers that have started are
        asked. This is for readiness probes. Each server may take ``timeout_s``.

        Raises:
            Unreachable, TimedOut: no name server answered, or a broker did not.
            BrokerRefused: a broker refused the heartbeat.
        """
        started_ms = self.now_ms()
        # Any answer is a sign of life, even an error about an unknown topic.
        header = GetRouteInfo(topic=AUTO_CREATE_TOPIC, accept_standard_json_only=True)
        address, _ = await self.ask_namesrv(
            RequestCode.GET_ROUTEINFO_BY_TOPIC, header, what="ping of a name server"
        )
        elapsed_ms = {address: self.now_ms() - started_ms}
        if self._members is not None:
            elapsed_ms |= await self._members.ping()
        return elapsed_ms

    def share_route(self, topic: str, parent: str) -> None:
        """Take the route of ``parent`` for a topic that name servers do not know: a light queue.

        Both are with the namespace.
        """
        self._routes.parents[topic] = parent

    async def route(self, topic: str, *, fresh: bool = False) -> TopicRouteData:
        """Return the route of a topic; a known one is used while no newer one is available.

        Args:
            topic: with the namespace.
            fresh: return only what a name server answers now. A ``direct`` client also does
                so after 30 s, so that a command reports a name server that does not answer.

        Raises:
            NoRoute: no broker has the topic.
            Unreachable, TimedOut: no name server answered.
        """
        topic = self._routes.parents.get(topic, topic)
        if not fresh:
            route = self._routes.get(topic, now_ms=self.now_ms())
            if route is None and self._renewal is not None:
                route = await self._renewal.route(topic)
            if route is not None:
                return route
        return await self._ask_route(topic)

    async def _ask_route(self, topic: str) -> TopicRouteData:
        header = GetRouteInfo(topic=topic, accept_standard_json_only=True)
        what = f"route of topic {topic}"
        address, answer = await self.ask_namesrv(
            RequestCode.GET_ROUTEINFO_BY_TOPIC, header, what=what
        )
        if answer.code == ResponseCode.TOPIC_NOT_EXIST:
            raise NoRoute(topic, address=address, remark=answer.remark or "")
        responses.check(answer, address=address, what=what)
        route = responses.body(answer, TopicRouteData, address=address)
        self._routes.store_route(topic, route, now_ms=self.now_ms())
        return route

    def known_route(self, topic: str, *, now_ms: int) -> TopicRouteData | None:
        """Return the known route of a topic; None when a name server must be asked."""
        return self._routes.get(topic, now_ms=now_ms)

    def doubt_route(self, topic: str) -> None:
        """Ask for the route of a topic again next time, because one of its brokers failed."""
        self._routes.doubt(topic)

    def forget_route(self, topic: str) -> None:
        """Remove the route of a topic, because this client has changed the topic."""
        if self._renewal is not None:
            self._renewal.forget(topic)
        self._routes.drop(topic)

    async def master_of(self, queue: MessageQueue) -> str:
        """Return the address of the master that has a queue.

        Raises:
            NoRoute: no broker has the topic, or this broker has no master now.
        """
        route = await self.route(queue.topic)
        address = routes.masters(route).get(routes.leader_of(route, queue))
        if address is None:
            raise NoRoute(queue.topic, address=f"broker {queue.broker_name or 'without a name'}")
        return address

    async def reader_of(self, queue: MessageQueue) -> str:
        """Return the address of the master that has a queue, or of a slave while it has none.

        A name server is asked again before a slave is taken, as in Java, so that no later offset
        goes to a slave when the master is back.

        Raises:
            NoRoute: no broker has the topic, or none of this name is up.
        """
        route = await self.route(queue.topic)
        if routes.leader_of(route, queue) not in routes.masters(route):
            # Without an answer of a name server the known route stays in use.
            with contextlib.suppress(ClientError):
                route = await self.route(queue.topic, fresh=True)
        reader = routes.reader(route, queue, broker_id=MASTER_ID)
        if reader is None:
            raise NoRoute(queue.topic, address=f"broker {queue.broker_name or 'without a name'}")
        return reader[0]


def _check_keys(access_key: str | None, secret_key: str | None) -> None:
    if bool(access_key) != bool(secret_key):
        raise BadRequest("access key and secret key go together: give both or none")


def parse_addresses(namesrv: str | Sequence[str]) -> list[str]:
    """Return the addresses in ``host:port,host:port`` (or with ``;`` as in Java), or in a list.

    A missing port means 9876.

    Raises:
        BadRequest: there is no address, or one of them is not ``host:port``.
    """
    texts: object = [namesrv] if isinstance(namesrv, str) else namesrv
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        raise BadRequest(
            f"namesrv is {namesrv!r}, expected a text or a list of texts", hint="as: host:port"
        )
    parts = [part.strip() for text in texts for part in text.replace(",", ";").split(";")]
    addresses = [part for part in parts if part]
    if not addresses:
        raise no_name_server()
    return [_checked_address(part) for part in addresses]


def _checked_address(text: str) -> str:
    host, _, port = text.rpartition(":")
    if "/" in text:
        raise BadRequest(
            f"namesrv has {text!r}, expected host:port", hint="leave out the scheme and the path"
        )
    if not host:
        return f"{text}:{NAMESRV_PORT}"
    if not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise BadRequest(f"namesrv has {text!r}, and {port!r} is not a port", hint="as: host:9876")
    return text


def no_name_server() -> BadRequest:
    """Return the error for a request that only a name server answers."""
    return BadRequest("no name server is given", hint="host:port, or set NAMESRV_ADDR")


def second_port(address: str) -> str:
    """Return the address of a broker's VIP port, which is its first port - 2 (brokerVIPChannel)."""
    host, _, port = address.rpartition(":")
    return f"{host}:{int(port) - 2}" if port.isdecimal() else address


def local_ip() -> str:
    """Return the IPv4 address that this machine sends from; 127.0.0.1 without a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # No packet is sent: connecting a datagram socket only looks into the routing table.
            probe.connect(("192.0.2.1", NAMESRV_PORT))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])

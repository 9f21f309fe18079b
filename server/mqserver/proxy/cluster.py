"""The brokers behind the proxy: their addresses, and the settings of their topics and groups.

    name servers ── routes, addresses ──┐
    a broker ── a topic's type, ────────┴── Cluster ── routes for clients, checks of requests
                a group's settings

A broker's answer about a topic or a group is used for 20 s. A broker of 4.9 has no topic types, so
its topics accept every message; one of 5.x answers NORMAL where no type was set.

Rule: a topic or group that is missing is asked for again each time, since clients create it and use
it at once.

Source: proxy/service/metadata/ClusterMetadataService.java,
proxy/service/route/ClusterTopicRouteService.java, common/attribute/TopicMessageType.java (5.4.0).
"""

from collections.abc import Awaitable, Callable, Iterable
from enum import Enum
from typing import Final, Generic, NamedTuple, TypeVar

from mqclient.client import responses
from mqclient.client.instance import MQClient
from mqclient.errors import ClientError
from mqserver.proxy.context import Credentials
from remoting.aio.lanes import FairLane
from remoting.aio.starts import Pieces
from remoting.aio.tls import ClientTls
from remoting.bodies import (
    BrokerData,
    ClusterInfo,
    SubscriptionGroupWrapper,
    TopicRouteData,
    decode_value,
)
from remoting.codes import LaterCode, RequestCode, ResponseCode
from remoting.command import Command
from remoting.errors import BadBody
from remoting.header import Header
from remoting.headers.group import GetSubscriptionGroupConfig
from remoting.headers.topic import GetTopicConfig
from remoting.signing import sign_for
from storefmt.config.tables import SubscriptionGroup, TopicConfig
from storefmt.errors import StoreError

FRESH_MS: Final = 20_000
RETRY_MS: Final = 5_000
"""How long an old value is used while one call asks for a new one."""
CACHED_MAX: Final = 8_192
"""How many names of one kind are cached; there is a limit because clients choose them."""
ROUTES_AT_ONCE: Final = 16
"""How many routes are asked for at a time for the heartbeats of clients."""
_REFUSED: Final = (ResponseCode.SYSTEM_ERROR, ResponseCode.NO_PERMISSION)
"""How a broker answers keys that it does not accept."""

_V = TypeVar("_V")
_C = TypeVar("_C", TopicConfig, SubscriptionGroup)


class TopicType(Enum):
    """Which messages a topic accepts (its attribute ``message.type``)."""

    UNSPECIFIED = "UNSPECIFIED"
    NORMAL = "NORMAL"
    FIFO = "FIFO"
    DELAY = "DELAY"
    TRANSACTION = "TRANSACTION"
    PRIORITY = "PRIORITY"
    MIXED = "MIXED"


class ConsumerGroupSettings(NamedTuple):
    """The settings of a consumer group that matter to its clients.

    Attributes:
        retry_max_times: how often a message is delivered again.
        is_fifo: whether each queue is consumed in order.
        exponential: initial pause (ms), largest pause (ms) and factor between attempts; None when
            the pauses are ``pauses_ms``.
        pauses_ms: the pauses between attempts.
    """

    retry_max_times: int
    is_fifo: bool
    exponential: tuple[int, int, int] | None
    pauses_ms: tuple[int, ...]

    def pause_ms(self, attempt: int) -> int:
        """Return how long a message that failed is hidden; ``attempt`` counts from 0."""
        if self.exponential is not None:
            initial_ms, max_ms, factor = self.exponential
            return min(max_ms, initial_ms * int(factor ** max(0, min(attempt, 32))))
        return self.pauses_ms[min(max(0, attempt) + 2, len(self.pauses_ms) - 1)]


PAUSES_MS: Final = tuple(
    seconds * 1000
    for seconds in (
        1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200,
    )
)  # fmt: skip
"""The pauses between attempts of a group that has no policy of its own."""
_EXPONENTIAL: Final = (5_000, 7_200_000, 2)


class _Cache(Generic[_V]):
    """Values that are used for a while before brokers are asked again."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._known: dict[str, tuple[int, _V]] = {}

    def fresh(self, name: str) -> _V | None:
        """Return a value for which no broker has to be asked."""
        cached = self._known.get(name)
        return cached[1] if cached is not None and self._now_ms() < cached[0] else None

    async def get(self, name: str, ask: Callable[[], Awaitable[_V | None]]) -> _V | None:
        cached, now_ms = self._known.get(name), self._now_ms()
        if cached is not None and now_ms < cached[0]:
            return cached[1]
        if cached is not None:
            # A broker may be silent: one call waits for it, the others use the old value.
            self._known[name] = now_ms + RETRY_MS, cached[1]
        try:
            answer = await ask()
        except ClientError:
            # While a broker is away, its last answer stays in use.
            if cached is None:
                raise
            return cached[1]
        if answer is None:
            self._known.pop(name, None)
        else:
            self._known.pop(name, None)
            self._known[name] = self._now_ms() + FRESH_MS, answer
            if len(self._known) > CACHED_MAX:
                del self._known[next(iter(self._known))]
        return answer


class Cluster:
    """What the proxy knows about the brokers.

    Args:
        client: asks the name servers and the brokers.
        tls: how connections to brokers are encrypted; None leaves them plain.
        pieces: work whose length clients choose, a few pieces in a turn; None for its own.

    Attributes:
        link: asks brokers for clients that have no connection of their own.
        routes: lets the sessions of clients ask for a few routes at a time.
        pieces: lets that work go on.
        own: sign questions about topics and groups, so that only brokers of ours accept them;
            others are asked with the keys of the client.
    """

    def __init__(
        self,
        client: MQClient,
        *,
        tls: ClientTls | None = None,
        pieces: Pieces | None = None,
        own: Credentials | None = None,
    ) -> None:
        self._own = own
        self.client = client
        self.tls = tls
        self.link = MQClient(None, tls=tls)
        self.routes = FairLane(ROUTES_AT_ONCE)
        self.pieces = pieces or Pieces()
        self._types: _Cache[TopicType] = _Cache(client.now_ms)
        self._groups: _Cache[ConsumerGroupSettings] = _Cache(client.now_ms)
        self._brokers: _Cache[ClusterInfo] = _Cache(client.now_ms)

    async def close(self) -> None:
        """Close the connections to the brokers."""
        await self.link.close()

    async def route(self, topic: str) -> TopicRouteData:
        """Return the route of a topic; raises ClientError where there is none."""
        return await self.client.route(topic)

    async def master(self, broker_name: str) -> str | None:
        """Return the address of a broker's master; None when it is not registered."""
        cluster_info = await self._cluster()
        data = cluster_info.broker_addr_table.get(broker_name)
        return None if data is None else data.master()

    def known_master(self, broker_name: str) -> str | None:
        """Return the address of a master; None if a name server has to be asked."""
        cluster_info = self._brokers.fresh("")
        data = None if cluster_info is None else cluster_info.broker_addr_table.get(broker_name)
        return None if data is None else data.master()

    async def topic_type(self, topic: str, credentials: Credentials | None) -> TopicType:
        """Return which messages a topic accepts; UNSPECIFIED when no broker answers."""
        try:
            topic_type = await self._types.get(topic, lambda: self._ask_type(topic, credentials))
        except ClientError:
            return TopicType.UNSPECIFIED
        return topic_type or TopicType.UNSPECIFIED

    def known_type(self, topic: str) -> TopicType | None:
        """Return which messages a topic accepts; None if a broker has to be asked."""
        return self._types.fresh(topic)

    async def group(
        self, name: str, credentials: Credentials | None
    ) -> ConsumerGroupSettings | None:
        """Return the settings of a consumer group; None when no broker answers."""
        try:
            return await self._groups.get(name, lambda: self._ask_group(name, credentials))
        except ClientError:
            return None

    async def _cluster(self) -> ClusterInfo:
        async def ask() -> ClusterInfo:
            address, answer = await self.client.ask_namesrv(
                RequestCode.GET_BROKER_CLUSTER_INFO, what="the brokers"
            )
            responses.check(answer, address=address, what="the brokers")
            return responses.body(answer, ClusterInfo, address=address)

        return await self._brokers.get("", ask) or ClusterInfo()

    async def _ask_type(self, topic: str, credentials: Credentials | None) -> TopicType | None:
        address = _any_address((await self.route(topic)).broker_datas)
        if address is None:
            return None
        header = GetTopicConfig(topic=topic)
        answer = await self._ask(address, LaterCode.GET_TOPIC_CONFIG, header, credentials)
        if answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            return TopicType.MIXED
        if answer.code != ResponseCode.SUCCESS:
            return None
        config = _decode(TopicConfig, answer)
        return None if config is None else type_of(config)

    async def _ask_group(
        self, name: str, credentials: Credentials | None
    ) -> ConsumerGroupSettings | None:
        address = _any_address((await self._cluster()).broker_addr_table.values())
        if address is None:
            return None
        header = GetSubscriptionGroupConfig(group=name)
        code: int = LaterCode.GET_SUBSCRIPTIONGROUP_CONFIG
        answer = await self._ask(address, code, header, credentials)
        if answer.code == ResponseCode.SUCCESS:
            config = _decode(SubscriptionGroup, answer)
            return None if config is None else group_of(config)
        if answer.code != ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            return None
        code = RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG
        answer = await self._ask(address, code, None, credentials)
        responses.check(answer, address=address, what="the consumer groups")
        table = responses.body(answer, SubscriptionGroupWrapper, address=address)
        group_config = table.subscription_group_table.get(name)
        return group_of(group_config or SubscriptionGroup(group_name=name))

    async def _ask(
        self, address: str, code: int, header: Header | None, credentials: Credentials | None
    ) -> Command:
        now_ms = self.link.now_ms()
        if self._own is not None:
            command = Command.request(code, header)
            # A name server named this address: nobody else may be able to use the signature.
            sign_for(command, *self._own, receiver=address, now_ms=now_ms, ours_only=True)
            answer = await self.link.invoke(address, command)
            if answer.code not in _REFUSED:
                return answer
        command = Command.request(code, header)
        signed = sign_with(credentials, command, receiver=address, now_ms=now_ms)
        return await self.link.invoke(address, signed)


def _any_address(brokers: Iterable[BrokerData]) -> str | None:
    return next(filter(None, (data.any_address() for data in brokers)), None)


def sign_with(
    credentials: Credentials | None, command: Command, *, receiver: str, now_ms: int
) -> Command:
    """Sign a request to a broker with the keys of an account, if there is one, and return it."""
    if credentials is not None:
        sign_for(command, *credentials, receiver=receiver, now_ms=now_ms)
    return command


def type_of(config: TopicConfig) -> TopicType:
    """Return the message type of a topic's configuration."""
    return TopicType.__members__.get(config.message_type, TopicType.UNSPECIFIED)


def group_of(config: SubscriptionGroup) -> ConsumerGroupSettings:
    """Return those settings of a group that clients need."""
    exponential = None
    pauses_ms = PAUSES_MS
    policy = config.extra.get("groupRetryPolicy")
    if isinstance(policy, dict):
        own = policy.get("exponentialRetryPolicy")
        if policy.get("type") == "EXPONENTIAL":
            exponential = _EXPONENTIAL
            if isinstance(own, dict):
                named = zip(("initial", "max", "multiplier"), _EXPONENTIAL, strict=True)
                initial, most, factor = (_int(own.get(key), usual) for key, usual in named)
                exponential = initial, most, factor
        else:
            own = policy.get("customizedRetryPolicy")
            listed = own.get("next") if isinstance(own, dict) else None
            if isinstance(listed, list) and listed:
                pauses_ms = tuple(_int(each, 0) for each in listed)
    is_fifo = config.extra.get("consumeMessageOrderly") is True
    return ConsumerGroupSettings(config.retry_max_times, is_fifo, exponential, pauses_ms)


def _int(value: object, usual: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else usual


def _decode(kind: type[_C], answer: Command) -> _C | None:
    try:
        return decode_value(kind, answer.body)
    except (BadBody, StoreError):
        return None

"""One client of the proxy: its settings, its groups at the brokers, commands to it.

    a call alone ───────────── the connections that such clients share ──> brokers
    settings by Telemetry ──┬─ connections of its own ── HEART_BEAT ─────> brokers
    Telemetry stream <──────┴─ requests of brokers: 39, 307, 309

A client with a Telemetry stream has connections of its own to the brokers, under its own client
id. So a broker sees it as any other client of its group (``group show`` lists it), and a broker's
request on one of these connections is for this client: how an orphaned transaction ended (39), its
threads (307), to consume one message (309). A producer's group is its topic, as with the proxy of
5.4.0. A call needs none of this, because it contains all that its method has to know.

Rule: a session is an entry in a table, charged to its address; its descriptors are counted with
those of all connections, and given back with its stream, since clients could use them up otherwise.
Its groups end with the stream as well. The entry ends with the client's goodbye or its connection;
one with watched messages stays for two minutes, and then they become visible soon.

Source: proxy/grpc/v2/client/ClientActivity.java, channel/GrpcClientChannel.java,
service/relay/ProxyChannel.java (5.4.0).
"""

import asyncio
import itertools
import logging
from typing import Final

from mqclient.client.instance import MQClient
from mqclient.client.routes import masters
from mqclient.consumer.subscription import TopicSubscription
from mqclient.errors import ClientError
from mqclient.message import read_messages
from mqclient.producer.send_attempt import SendAttempt, SendOutcome
from mqclient.producer.send_request import PackedMessage, SendCommands
from mqclient.producer.send_result import SendResult, result_of
from mqserver.proxy.clients.renewals import Renewals
from mqserver.proxy.clients.telemetry_commands import CommandQueue
from mqserver.proxy.clients.telemetry_settings import complete, effective_settings
from mqserver.proxy.clients.transactions import Transactions
from mqserver.proxy.cluster import Cluster, ConsumerGroupSettings, sign_with
from mqserver.proxy.context import Credentials, ProxyContext
from mqserver.proxy.grpc_status import ProxyRefused
from mqserver.proxy.grpc_validator import subscription_of
from mqserver.proxy.handles import TIMEOUT_S
from mqserver.proxy.message_conversion import to_grpc
from mqserver.proxy.protocol.codes import ClientType, Code
from mqserver.proxy.protocol.definitions import Settings, Status
from mqserver.proxy.protocol.requests import (
    PrintThreadStackTraceCommand,
    RecoverOrphanedTransactionCommand,
    TelemetryCommand,
    VerifyMessageCommand,
)
from mqserver.proxy.proxy_config import ProxyConfig
from remoting.aio import costs
from remoting.aio.channel import AnswerWaiter
from remoting.aio.resources import Places
from remoting.bodies import (
    CMResult,
    ConsumeFromWhere,
    ConsumeMessageDirectlyResult,
    ConsumerData,
    ConsumerRunningInfo,
    ConsumeType,
    HeartbeatData,
    MessageModel,
    MessageQueue,
    ProducerData,
)
from remoting.codes import LanguageCode, RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import (
    CheckTransactionState,
    GetConsumerRunningInfo,
    UnregisterClient,
)

LOG = logging.getLogger(__name__)

FROM_GRPC: Final = "from gRPC client"
_LANGUAGES: Final = {
    "JAVA": LanguageCode.JAVA,
    "CPP": LanguageCode.CPP,
    "DOT_NET": LanguageCode.DOTNET,
    "PYTHON": LanguageCode.PYTHON,
    "GOLANG": LanguageCode.GO,
    "PHP": LanguageCode.PHP,
    "RUST": LanguageCode.RUST,
}
_RESULTS: Final = {
    Code.OK: CMResult.CR_SUCCESS,
    Code.FAILED_TO_CONSUME_MESSAGE: CMResult.CR_LATER,
    Code.MESSAGE_CORRUPTED: CMResult.CR_RETURN_NULL,
}

SessionKey = tuple[str, str]
"""The account and the client id, so that no account can take over a client of another one."""
UNKNOWN_MAX: Final = 64
"""How many topics without a route a heartbeat asks for before it stops asking."""


class ClientSession:
    """One client.

    Args:
        call: the call that made the client known.
        config: the settings of the proxy.
        cluster: the brokers.
        transactions: remembers what brokers ask about.
        links: the descriptors for connections to brokers.

    Attributes:
        settings: what the client sent, with defaults; None before that.
        settings_size: the bytes that they take.
        commands: goes to the Telemetry stream of the client; None while it has no stream.
        connection: of the client; None after it has ended.
        ip: the address that the session is charged to.
        credentials: sign the requests to brokers for this client.
        language: the language of the client, in requests to brokers.
    """

    def __init__(
        self,
        context: ProxyContext,
        config: ProxyConfig,
        cluster: Cluster,
        transactions: Transactions,
        links: Places,
    ) -> None:
        self.key = key_of(context)
        self.connection = context.connection
        self.ip = context.address.rpartition(":")[0]
        self.client_id = context.client_id
        self.settings: Settings | None = None
        self.settings_size = 0
        self.commands: CommandQueue | None = None
        self.credentials: Credentials | None = context.credentials
        self.seen_ms = cluster.client.now_ms()
        self._config = config
        self._cluster = cluster
        self._transactions = transactions
        self.language = _LANGUAGES.get(context.language, LanguageCode.OTHER)
        self._links = links
        self._link: MQClient | None = None
        self._addresses: set[str] = set()
        """The brokers to which the client has a connection of its own."""
        self.renewals = Renewals(self.invoke, cluster, config)
        self._nonces = itertools.count()
        self._waiting: dict[str, asyncio.Future[TelemetryCommand]] = {}

    # Requests to brokers for this client.

    async def invoke(
        self, address: str, command: Command, *, timeout_s: float = TIMEOUT_S
    ) -> Command:
        """Send a request to a broker on a connection of this client, and return its answer.

        Raises:
            ClientError: no answer came.
        """
        command.language = self.language
        return await self._link_to(address).invoke(
            address, self._signed(address, command), timeout_s=timeout_s
        )

    def _link_to(self, address: str) -> MQClient:
        """Return what has, or opens, the connection to a broker.

        Raises:
            ProxyRefused: there is no descriptor left for it.
        """
        if self.commands is None:
            return self._cluster.link
        if address not in self._addresses:
            if not self._links.reserve():
                text = "too many gRPC clients: no descriptor is left for a connection to a broker"
                raise ProxyRefused(Code.TOO_MANY_REQUESTS, text)
            self._addresses.add(address)
        if self._link is None:
            self._link = MQClient(None, on_request=self._on_request, tls=self._cluster.tls)
        return self._link

    async def store(
        self,
        out: PackedMessage,
        queue: MessageQueue,
        address: str,
        commands: SendCommands,
        *,
        born_ms: int,
    ) -> SendResult:
        """Send a message, or a batch, to a queue, and return where it was stored.

        Args:
            out: the message or batch.
            queue: the queue.
            address: the broker that has it, ``host:port``.
            commands: builds the request, in the language of this client.
            born_ms: when the message was made, in ms since 1970.

        Raises:
            ClientError: it was not stored, or no answer came.
        """
        stored: asyncio.Future[SendResult] = asyncio.get_running_loop().create_future()
        if self.post(out, queue, address, commands, born_ms=born_ms, outcome=stored):
            return await stored
        answer = await self.invoke(address, commands.command(out, queue, now_ms=born_ms))
        return result_of(answer, queue, unique_key=out.unique_key, address=address)

    def post(
        self,
        out: PackedMessage,
        queue: MessageQueue,
        address: str,
        commands: SendCommands,
        *,
        born_ms: int,
        outcome: SendOutcome,
    ) -> bool:
        """Send as ``store`` does, if there is an open connection and nothing to sign.

        Args:
            out, queue, address, commands, born_ms: see ``store``.
            outcome: gets the result, or a ``ClientError``.

        Returns:
            False if ``store`` has to do it.

        Raises:
            ClientError: the request cannot be encoded.
            ProxyRefused: there is no descriptor left for a connection.
        """
        link = self._link_to(address)
        channel = None if self.credentials is not None else link.open_channel(address)
        if channel is None:
            return False
        deadline_s = asyncio.get_running_loop().time() + TIMEOUT_S
        attempt = SendAttempt(outcome, out, queue, address, TIMEOUT_S, None)
        attempt.post(channel, commands, now_ms=born_ms, deadline_s=deadline_s)
        return True

    def can_post(self, address: str) -> bool:
        """Return whether ``post_command`` can be used: there is an open connection, and no account.

        Raises:
            ProxyRefused: there is no descriptor left for a connection.
        """
        return self.credentials is None and self._link_to(address).open_channel(address) is not None

    def post_command(self, address: str, command: Command, waiter: AnswerWaiter) -> None:
        """Send a request; its answer, or the error, goes to ``waiter``.

        Raises:
            ClientError: the request cannot be encoded.
        """
        command.language = self.language
        self._link_to(address).post(address, command, waiter, timeout_s=TIMEOUT_S)

    async def invoke_oneway(self, address: str, command: Command) -> None:
        """Send a request that is not answered.

        Raises:
            ClientError: there was no connection.
        """
        command.language = self.language
        await self._link_to(address).invoke_oneway(address, self._signed(address, command))

    def _signed(self, address: str, command: Command) -> Command:
        now_ms = self._cluster.client.now_ms()
        return sign_with(self.credentials, command, receiver=address, now_ms=now_ms)

    # Settings and groups.

    @property
    def group(self) -> str:
        """The consumer group; "" for a producer."""
        subscription = None if self.settings is None else self.settings.subscription
        group = None if subscription is None else subscription.group
        return "" if group is None else group.name

    def note_settings(self, settings: Settings, size: int) -> None:
        """Store the settings that the client sent; they take ``size`` bytes."""
        self.settings = complete(settings, self._config)
        self.settings_size = size

    async def announce(self) -> Settings:
        """Announce the client to the brokers, and return its effective settings."""
        assert self.settings is not None
        await self.heartbeat()
        return effective_settings(self.settings, await self._group_settings(), self._config)

    async def _group_settings(self) -> ConsumerGroupSettings | None:
        return await self._cluster.group(self.group, self.credentials) if self.group else None

    async def heartbeat(self) -> None:
        """Send the client's groups to the brokers of its topics."""
        await self._cluster.pieces.turn(self.ip)
        data = self._heartbeat_data()
        body = None if data is None else data.encode()
        if body is None:
            return
        for address in await self._broker_addresses():
            try:
                await self.invoke(address, Command.request(RequestCode.HEART_BEAT, body=body))
            except (ClientError, ProxyRefused) as error:
                LOG.warning("heartbeat of %s: %s", self.client_id, error)

    def _topics(self) -> list[str]:
        settings = self.settings
        if settings is None:
            return []
        if settings.publishing is not None:
            return [topic.name for topic in settings.publishing.topics]
        entries = settings.subscription.subscriptions if settings.subscription else []
        return [entry.topic.name for entry in entries if entry.topic is not None]

    async def _broker_addresses(self) -> list[str]:
        addresses: dict[str, None] = {}
        unknown_count = 0
        for topic in self._topics():
            try:
                async with self._cluster.routes.turn(self.ip):
                    route = await self._cluster.route(topic)
            except ClientError as error:
                LOG.debug("%s: no brokers of topic %s: %s", self.client_id, topic, error)
                unknown_count += 1
                if unknown_count >= UNKNOWN_MAX:
                    break
                continue
            addresses |= dict.fromkeys(masters(route).values())
        return list(addresses)

    def _heartbeat_data(self) -> HeartbeatData | None:
        settings = self.settings
        if settings is None:
            return None
        data = HeartbeatData(client_id=self.client_id)
        if settings.publishing is not None:
            data.producer_data_set = [ProducerData(group_name=name) for name in self._topics()]
        elif self.group:
            data.consumer_data_set = [self._consumer_data(settings)]
        return data if data.producer_data_set or data.consumer_data_set else None

    def _consumer_data(self, settings: Settings) -> ConsumerData:
        return ConsumerData(
            group_name=self.group,
            consume_type=_consume_type(settings),
            message_model=MessageModel.CLUSTERING,
            consume_from_where=ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
            subscription_data_set=[each.data for each in self._subscriptions(settings)],
        )

    def _subscriptions(self, settings: Settings) -> list[TopicSubscription]:
        entries = settings.subscription.subscriptions if settings.subscription else []
        version = self._cluster.client.now_ms()
        return [
            TopicSubscription.of(
                entry.topic.name, subscription_of(entry.expression), version=version
            )
            for entry in entries
            if entry.topic is not None
        ]

    async def close(self) -> None:
        """Leave the groups, and give back what was not acknowledged."""
        await self.renewals.give_back()
        self.commands = None
        for waiting in self._waiting.values():
            waiting.cancel()
        await self.leave()

    async def leave(self) -> None:
        """Leave the groups, and close the connections of this client to brokers."""
        link, addresses = self._link, self._addresses
        self._link, self._addresses = None, set()
        if link is None:
            return
        try:
            for address in addresses:
                for header in self._goodbyes():
                    command = Command.request(RequestCode.UNREGISTER_CLIENT, header)
                    command.language = self.language
                    await link.invoke(address, self._signed(address, command))
        except ClientError as error:
            LOG.info("%s was not unregistered at its brokers: %s", self.client_id, error)
        finally:
            for _ in addresses:
                self._links.give_back()
            await link.close()

    def _goodbyes(self) -> list[UnregisterClient]:
        is_producer = self.settings is not None and self.settings.publishing is not None
        return [
            UnregisterClient(
                client_id=self.client_id,
                producer_group=group,
                consumer_group=self.group or None,
            )
            for group in (self._topics() if is_producer else [None])
        ]

    # What the session costs.

    @property
    def held_size(self) -> int:
        """The bytes that the session takes."""
        topic_count = 0 if self.settings is None else len(self._topics())
        watched_count = self.renewals.watched_count
        return (
            costs.SESSION.size
            + self.settings_size
            + costs.ITEM.size * 8 * topic_count
            + costs.WATCH.size * watched_count
        )

    # Requests of brokers to this client.

    async def _on_request(self, address: str, request: Command) -> Command | None:
        if request.code == RequestCode.CHECK_TRANSACTION_STATE:
            await self._check_transaction(address, request)
            return None
        if request.code == RequestCode.GET_CONSUMER_RUNNING_INFO:
            return await self._running_info(request)
        if request.code == RequestCode.CONSUME_MESSAGE_DIRECTLY:
            return await self._consume_directly(address, request)
        if request.is_oneway:
            return None
        remark = f"gRPC clients do not answer request code {request.code}"
        return request.response(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark=remark)

    async def _check_transaction(self, address: str, request: Command) -> None:
        header = request.header(CheckTransactionState)
        (message,) = read_messages(request.body, broker_name="", address=address)
        broker_name = header.broker_name or await self._broker_at(address, message.topic)
        if broker_name is None or self.commands is None:
            LOG.warning("%s: transaction %s stays open", self.client_id, header.transaction_id)
            return
        transaction_id = self._transactions.add(
            message.topic,
            header.transaction_id or message.unique_key or "",
            broker_name=broker_name,
            queue_offset=header.tran_state_table_offset,
            log_offset=header.commit_log_offset,
        )
        question = RecoverOrphanedTransactionCommand(
            message=to_grpc(message), transaction_id=transaction_id
        )
        if not self.commands.queue_command(
            TelemetryCommand(recover_orphaned_transaction_command=question)
        ):
            LOG.warning("%s does not read, %s stays open", self.client_id, transaction_id)

    async def _broker_at(self, address: str, topic: str) -> str | None:
        try:
            brokers = masters(await self._cluster.route(topic))
        except ClientError:
            return None
        return next((name for name, each in brokers.items() if each == address), None)

    async def _running_info(self, request: Command) -> Command:
        info = ConsumerRunningInfo()
        if self.settings is not None:
            info.subscription_set = [each.data for each in self._subscriptions(self.settings)]
            info.properties = {
                "PROP_CONSUME_TYPE": _consume_type(self.settings).name,
                "PROP_CONSUMEORDERLY": str(bool(await self._is_fifo())).lower(),
                "PROP_CLIENT_VERSION": "gRPC",
            }
        if request.header(GetConsumerRunningInfo).jstack_enable:
            nonce = str(next(self._nonces))
            command = PrintThreadStackTraceCommand(nonce=nonce)
            answer = await self._answer_to(
                TelemetryCommand(print_thread_stack_trace_command=command), nonce
            )
            if answer is None:
                return self._no_answer(request)
            trace = answer.thread_stack_trace
            info.jstack = trace.thread_stack_trace if trace is not None else None
        return request.response(body=info.encode())

    async def _is_fifo(self) -> bool:
        group = await self._group_settings()
        return group is not None and group.is_fifo

    async def _consume_directly(self, address: str, request: Command) -> Command:
        (message,) = read_messages(request.body, broker_name="", address=address)
        nonce = str(next(self._nonces))
        command = VerifyMessageCommand(nonce=nonce, message=to_grpc(message))
        started_ms = self._cluster.client.now_ms()
        answer = await self._answer_to(TelemetryCommand(verify_message_command=command), nonce)
        if answer is None:
            return self._no_answer(request)
        code = (answer.status or Status()).code
        result = ConsumeMessageDirectlyResult(
            consume_result=_RESULTS.get(code),
            remark=FROM_GRPC,
            spent_time_mills=self._cluster.client.now_ms() - started_ms,
        )
        return request.response(body=result.encode())

    async def _answer_to(self, command: TelemetryCommand, nonce: str) -> TelemetryCommand | None:
        """Send a command to the client and return its answer; None when none came in time."""
        answered: asyncio.Future[TelemetryCommand] = asyncio.get_running_loop().create_future()
        if self.commands is None or not self.commands.queue_command(command):
            return None
        self._waiting[nonce] = answered
        try:
            async with asyncio.timeout(self._config.relay_timeout_s):
                return await answered
        except TimeoutError:
            return None
        finally:
            del self._waiting[nonce]

    def _no_answer(self, request: Command) -> Command:
        return request.response(ResponseCode.SYSTEM_BUSY, remark="call remote timeout")

    def take_answer(self, nonce: str, command: TelemetryCommand) -> None:
        """Pass the client's answer to the command that waits for it."""
        waiting = self._waiting.get(nonce)
        if waiting is not None and not waiting.done():
            waiting.set_result(command)


def key_of(context: ProxyContext) -> SessionKey:
    """Return the key of a client's session."""
    return context.credentials.access_key if context.credentials else "", context.client_id


def _consume_type(settings: Settings) -> ConsumeType:
    is_simple = settings.client_type is ClientType.SIMPLE_CONSUMER
    return ConsumeType.CONSUME_ACTIVELY if is_simple else ConsumeType.CONSUME_PASSIVELY

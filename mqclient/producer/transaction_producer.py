"""The transaction producer: a message becomes visible only if a local transaction commits.

    send_message_in_transaction
      half message stored --> execute_local_transaction --> COMMIT    consumers get the message
                                                        --> ROLLBACK  consumers never get it
                                                        --> UNKNOW    the broker asks later
    the broker asks --> check_local_transaction --> one of the same three states

Rule: a listener that raises, or returns anything other than a state, means UNKNOW: the message
stays undecided and the broker asks again. Brokers do not answer a decision. When one is lost, the
broker asks for it, so the check must know the outcome for as long as the broker keeps the half
message.

Source: client/producer/TransactionMQProducer.java,
client/impl/producer/DefaultMQProducerImpl.java#sendMessageInTransaction,
#checkTransactionState (4.9.7).
"""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

from mqclient.client.instance import MQClient
from mqclient.client.members import RequestHandler
from mqclient.errors import BadAnswer, BadRequest, ClientError
from mqclient.message import Message, MessageExt, read_messages
from mqclient.namespace import unwrap_message, wrap
from mqclient.producer.producer import Producer
from mqclient.producer.producer_settings import ProducerSettings
from mqclient.producer.queue_selector import Select, choice_of
from mqclient.producer.send_hooks import EndTransactionEvent, EndTransactionHook, call_hooks
from mqclient.producer.send_result import SendResult, SendStatus
from remoting.bodies import MessageQueue
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.headers import CheckTransactionState, EndTransaction
from storefmt.errors import StoreError
from storefmt.formats import sysflag
from storefmt.formats.msgid import parse_offset_id
from storefmt.formats.properties import PRODUCER_GROUP, TRANSACTION_PREPARED

LOG = logging.getLogger(__name__)


class LocalTransactionState(Enum):
    """How a local transaction ended; END_TRANSACTION carries the value."""

    COMMIT_MESSAGE = sysflag.TRANSACTION_COMMIT
    ROLLBACK_MESSAGE = sysflag.TRANSACTION_ROLLBACK
    UNKNOW = 0
    """The spelling is Java's."""


_UNKNOWN: Final = LocalTransactionState.UNKNOW


class TransactionListener(Protocol):
    """The application's part of a transaction.

    A method may be a coroutine function, or a plain function, which runs in a thread.
    """

    def execute_local_transaction(
        self, message: Message, arg: object
    ) -> LocalTransactionState | Awaitable[LocalTransactionState]:
        """Run the local transaction of a message, which is stored but not visible yet."""

    def check_local_transaction(
        self, message: MessageExt
    ) -> LocalTransactionState | Awaitable[LocalTransactionState]:
        """Return how the local transaction of a message ended."""


@dataclass(frozen=True, slots=True)
class TransactionSendResult:
    """The place of a half message, and the decision about it."""

    sent: SendResult
    state: LocalTransactionState


class TransactionProducer(Producer):
    """A producer whose messages wait for a local transaction.

    Args:
        client: the connections.
        group: name of the producer group; brokers ask any of its members.
        listener: runs and checks the local transactions.
        settings: see ``ProducerSettings``; None means the defaults.

    Raises:
        BadRequest: the group name is not allowed.
    """

    def __init__(
        self,
        client: MQClient,
        group: str,
        listener: TransactionListener,
        *,
        settings: ProducerSettings | None = None,
    ) -> None:
        super().__init__(client, group, settings)
        self._listener = listener
        self._checks: set[asyncio.Task[None]] = set()
        # Brokers know this producer before it sends, so that after a crash they can ask it
        # about the half messages of the process before.
        self._publish_routes.topics.add(self.settings.create_topic_key)

    async def send_message_in_transaction(
        self,
        message: Message,
        arg: object = None,
        *,
        queue: MessageQueue | None = None,
        select: Select | None = None,
        sharding_key: str | None = None,
        timeout_s: float | None = None,
    ) -> TransactionSendResult:
        """Store a half message, run the local transaction, and tell the broker how it ended.

        Args:
            message: a message without a delay.
            arg: passed to ``execute_local_transaction``.
            queue, select, sharding_key, timeout_s: see ``send``.

        Returns:
            The decision. It is ROLLBACK_MESSAGE, and the local transaction was not run, when
            the status of the half message is not SEND_OK.

        Raises:
            BadRequest: the producer was not started, or the message is not allowed.
            NoRoute, BrokerRefused, NotFound, Unreachable, TimedOut: the half message was not
                stored, and the local transaction was not run.
        """
        self._check_alive()
        if not self._running:
            raise BadRequest(
                "a transaction needs a producer that was started", hint="await start() first"
            )
        if message.is_delayed:
            raise BadRequest("a transactional message cannot be delayed")
        out = self._packer.single(
            message,
            now_ms=self._client.now_ms(),
            system={TRANSACTION_PREPARED: "true", PRODUCER_GROUP: self.group},
            prepared=True,
        )
        choose = choice_of(message, queue, select, sharding_key)
        await self._known_to_brokers(message.topic)
        sent = await self._delivery.send(
            out, [message], queue=queue, choose=choose, timeout_s=timeout_s
        )
        remark: str | None = None
        state = LocalTransactionState.ROLLBACK_MESSAGE
        if sent.status is SendStatus.SEND_OK:
            state, remark = await self._ask(self._listener.execute_local_transaction, message, arg)
        try:
            await self._end(sent, state, remark)
        except ClientError as error:
            LOG.warning(
                "%s: the decision on %s was not sent, the broker will ask: %s",
                self.group,
                sent.msg_id,
                error,
            )
        return TransactionSendResult(sent, state)

    async def shutdown(self) -> None:
        """Unregister from the brokers, which ask other members of the group from now on."""
        for check in self._checks:
            check.cancel()
        await super().shutdown()

    def request_handlers(self) -> dict[int, RequestHandler]:
        """Return the method that answers each request code of a broker."""
        return {**super().request_handlers(), RequestCode.CHECK_TRANSACTION_STATE: self._asked}

    async def _known_to_brokers(self, topic: str) -> None:
        """Announce this producer to the brokers of a topic before its first half message."""
        if wrap(self._connections.namespace, topic) not in self._publish_routes.topics:
            await self.queues(topic)
            await self._client.members.heartbeat()

    async def _asked(self, address: str, request: Command) -> Command | None:
        """Start the check of a transaction, so that the broker's connection need not wait."""
        header = request.header(CheckTransactionState)
        (half_message, *_) = read_messages(request.body, broker_name="", address=address)
        message = unwrap_message(self._connections.namespace, half_message)
        check = asyncio.get_running_loop().create_task(self._check(address, header, message))
        self._checks.add(check)
        check.add_done_callback(self._checks.discard)
        return None

    async def _check(self, address: str, asked: CheckTransactionState, message: MessageExt) -> None:
        state, remark = await self._ask(self._listener.check_local_transaction, message)
        header = EndTransaction(
            producer_group=self.group,
            tran_state_table_offset=asked.tran_state_table_offset,
            commit_log_offset=asked.commit_log_offset,
            commit_or_rollback=state.value,
            from_transaction_check=True,
            msg_id=message.msg_id,
            transaction_id=asked.transaction_id,
            broker_name=asked.broker_name,
        )
        event = EndTransactionEvent(
            self.group, message.topic, header.msg_id, address, state.name, from_check=True
        )
        event.tags, event.keys = message.tags or "", " ".join(message.keys)
        try:
            await self._send_decision(address, header, remark, event)
        except ClientError as error:
            LOG.warning("%s: %s stays undecided: %s", self.group, header.msg_id, error)

    async def _end(
        self, sent: SendResult, state: LocalTransactionState, remark: str | None
    ) -> None:
        try:
            _, log_offset = parse_offset_id(sent.offset_msg_id)
        except StoreError as error:
            raise BadAnswer(f"half message {sent.msg_id}: {error}") from error
        header = EndTransaction(
            producer_group=self.group,
            tran_state_table_offset=sent.queue_offset,
            commit_log_offset=log_offset,
            commit_or_rollback=state.value,
            msg_id=sent.msg_id,
            transaction_id=sent.transaction_id or None,
            broker_name=sent.queue.broker_name,
        )
        address = await self._publish_routes.address(sent.queue)
        event = EndTransactionEvent(self.group, sent.queue.topic, sent.msg_id, address, state.name)
        event.transaction_id = sent.transaction_id
        await self._send_decision(address, header, remark, event)

    async def _send_decision(
        self,
        address: str,
        header: EndTransaction,
        remark: str | None,
        event: EndTransactionEvent,
    ) -> None:
        event.started_ms = self._connections.now_ms()
        command = Command.request(RequestCode.END_TRANSACTION, header, oneway=True)
        command.remark = remark
        await self._connections.invoke_oneway(address, command)
        watching = [hook for hook in self._hooks if isinstance(hook, EndTransactionHook)]
        call_hooks(
            watching, lambda hook: hook.end_transaction(event), f"transaction {event.msg_id}"
        )

    async def _ask(
        self, question: Callable[..., object], *args: object
    ) -> tuple[LocalTransactionState, str | None]:
        """Return the listener's state, and the error that it raised, for the broker's log."""
        try:
            if inspect.iscoroutinefunction(question):
                answer = await question(*args)
            else:
                answer = await asyncio.to_thread(question, *args)
        except Exception as error:
            LOG.exception("transaction listener of %s", self.group)
            return _UNKNOWN, f"{type(error).__name__}: {error}"
        if not isinstance(answer, LocalTransactionState):
            LOG.warning(
                "transaction listener of %s returned %r, which is not a state", self.group, answer
            )
            return _UNKNOWN, None
        return answer, None

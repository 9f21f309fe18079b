"""Consumers: ReceiveMessage, AckMessage, ChangeInvisibleDuration, ForwardMessageToDeadLetterQueue.

    ReceiveMessage ── POP_MESSAGE, held by the broker ──> status, messages, time of the delivery
                        ├─ delivered too often ──> dead letter
                        └─ another tag with the same hash ──> acknowledged

Rule: a message that was popped reaches its client or is given back. When a stream is cut, messages
that were not written to it become visible to others after a second, even if the broker's answer
comes later, so that they need not wait for the end of the invisible time.

Source: proxy/grpc/v2/consumer/ReceiveMessageActivity.java, ReceiveMessageResponseStreamWriter.java,
AckMessageActivity.java, ChangeInvisibleDurationActivity.java,
producer/ForwardMessageToDLQActivity.java (5.4.0).
"""

import asyncio
import itertools
import logging
import random
from collections.abc import AsyncGenerator, Coroutine, Sequence
from typing import Any, Final, NamedTuple

from mqclient.client import responses, routes
from mqclient.consumer.pop.pop_request import with_receipts
from mqclient.consumer.subscription import Subscription
from mqclient.errors import BadAnswer, ClientError
from mqclient.message import MessageExt, read_pulled
from mqserver.proxy.clients.session import ClientSession
from mqserver.proxy.clients.sessions import Sessions
from mqserver.proxy.clients.telemetry_settings import NEW_GROUP
from mqserver.proxy.cluster import Cluster
from mqserver.proxy.context import ProxyContext
from mqserver.proxy.grpc_status import (
    ProxyRefused,
    broker_status,
    ok,
    refused_inside,
    status_of,
)
from mqserver.proxy.grpc_validator import check_invisible_time, group_of, subscription_of, topic_of
from mqserver.proxy.handles import TIMEOUT_S, decode_handle
from mqserver.proxy.http2.calls import GrpcCall
from mqserver.proxy.message_conversion import to_grpc
from mqserver.proxy.protocol.codes import Code
from mqserver.proxy.protocol.definitions import Broker, MessageQueue, Status
from mqserver.proxy.protocol.requests import (
    AckMessageEntry,
    AckMessageRequest,
    AckMessageResponse,
    AckMessageResultEntry,
    ChangeInvisibleDurationRequest,
    ChangeInvisibleDurationResponse,
    ForwardToDeadLetterQueueRequest,
    ReceiveMessageRequest,
    ReceiveMessageResponse,
    Response,
)
from mqserver.proxy.proxy_config import ProxyConfig
from remoting.aio import costs
from remoting.codes import LaterCode, LaterResponseCode, ResponseCode
from remoting.command import Command
from remoting.errors import BadHeader, ConnectionLost, RemotingError, RequestTimedOut
from remoting.fast_path import Stored
from remoting.frame import decode_frame
from remoting.headers.pop import PopMessage, PopMessageResponse
from remoting.receipt import POP_CK
from storefmt.names import PERM_READ

LOG = logging.getLogger(__name__)

COUNT_MAX: Final = 32
FROM_MAX: Final = 1
ANY_QUEUE: Final = -1
NACK_MS: Final = 1_000
ACKS_AT_ONCE: Final = 16
"""How many entries of one request are acknowledged in one piece of work."""
WRITTEN_AT_ONCE: Final = 8
"""How many received messages are converted in one piece of work."""
GRACE_S: Final = 5.0
"""How much later than its polling time the answer to a held pop may come."""
POLLING_TIME_VERSION: Final = "5.0.3"
"""Clients from this version on understand the code ILLEGAL_POLLING_TIME."""


class _Receive(NamedTuple):
    """A checked receive request: the pop to send, and the client that asked."""

    session: ClientSession
    address: str
    pop: PopMessage
    subscription: Subscription
    attempts_max: int
    renews: bool


class _Popped(NamedTuple):
    """The answer to a pop: messages, or the status if there are none."""

    messages: list[MessageExt]
    nothing: Status


class ConsumerMethods:
    """The methods for consumers.

    Args:
        config: limits.
        cluster: the brokers.
        sessions: the clients.
    """

    def __init__(self, config: ProxyConfig, cluster: Cluster, sessions: Sessions) -> None:
        self._config = config
        self._cluster = cluster
        self._sessions = sessions
        self._turns = itertools.count(random.randrange(1 << 16))
        self._returning: set[asyncio.Task[None]] = set()

    async def receive(
        self, request: ReceiveMessageRequest, context: ProxyContext
    ) -> AsyncGenerator[ReceiveMessageResponse, None]:
        """Yield a status, the messages if there are any, and the time of the delivery."""
        try:
            receive = await self._checked(request, context)
            popped = await self._popped(receive, context)
        except (ProxyRefused, ClientError) as error:
            yield ReceiveMessageResponse(status=status_of(error))
            yield ReceiveMessageResponse(delivery_timestamp=self._cluster.client.now_ms())
            return
        messages, written_count = popped.messages, 0
        held_size = sum(costs.DELIVERY.size + len(each.body) for each in messages)
        _hold(context, held_size)
        try:
            yield ReceiveMessageResponse(status=ok() if messages else popped.nothing)
            while written_count < len(messages):
                some = messages[written_count : written_count + WRITTEN_AT_ONCE]
                await self._cluster.pieces.turn(context.ip)
                parts = [ReceiveMessageResponse(message=to_grpc(each)) for each in some]
                for message, part in zip(some, parts, strict=True):
                    yield part
                    written_count += 1
                    if receive.renews:
                        _watch(receive, message)
            yield ReceiveMessageResponse(delivery_timestamp=self._cluster.client.now_ms())
        finally:
            _hold(context, -held_size)
            if written_count < len(messages):
                self._finish_later(self._return(messages[written_count:], receive), context)

    def post_ack(self, call: GrpcCall) -> bool:
        """Acknowledge one message if only the broker's answer has to be waited for.

        Returns:
            False if ``ack`` has to acknowledge it.
        """
        request: AckMessageRequest = call.request
        if len(request.entries) != 1:
            return False
        (entry,) = request.entries
        try:
            topic, group = topic_of(request.topic), group_of(request.group)
            session = self._sessions.of(call.context)
            deliveries = session.renewals.deliveries
            receipt = decode_handle(entry.receipt_handle)
            address = deliveries.known_address(receipt)
            if address is None or not session.can_post(address):
                return False
        except ProxyRefused:
            # ``ack`` answers with the error.
            return False
        current = session.renewals.end_renewal(receipt, group=group, message_id=entry.message_id)
        waiter = _AckAnswer(call, entry, address)
        command = deliveries.ack_command(current, topic=topic, group=group)
        try:
            session.post_command(address, command, waiter)
        except ClientError as error:
            waiter.refused(error)
        return True

    async def ack(self, request: AckMessageRequest, context: ProxyContext) -> AckMessageResponse:
        """Acknowledge messages; each has a status of its own."""
        topic, group = topic_of(request.topic), group_of(request.group)
        session = self._sessions.of(context)
        entries: list[AckMessageResultEntry] = []

        def ack(entry: AckMessageEntry) -> Coroutine[Any, Any, AckMessageResultEntry]:
            return self._ack(session, entry.receipt_handle, entry.message_id, topic, group)

        # Most requests acknowledge one message, which does not need a task.
        if len(request.entries) == 1:
            entries = [await ack(request.entries[0])]
        else:
            for start in range(0, len(request.entries), ACKS_AT_ONCE):
                await self._cluster.pieces.turn(context.ip)
                some = request.entries[start : start + ACKS_AT_ONCE]
                acking = asyncio.gather(*map(ack, some))
                entries += await acking
        return _acknowledged(entries)

    async def change_invisible(
        self, request: ChangeInvisibleDurationRequest, context: ProxyContext
    ) -> ChangeInvisibleDurationResponse:
        """Hide a message for another while from now on."""
        topic, group = topic_of(request.topic), group_of(request.group)
        invisible_ms = request.invisible_duration or 0
        check_invisible_time(invisible_ms, self._config)
        renewals = self._sessions.of(context).renewals
        receipt = renewals.end_renewal(
            decode_handle(request.receipt_handle), group=group, message_id=request.message_id
        )
        fresh = await renewals.deliveries.hide(
            receipt, topic=topic, group=group, invisible_ms=invisible_ms
        )
        if fresh is None:
            text = "changeInvisibleDuration failed: status is abnormal"
            raise ProxyRefused(Code.INTERNAL_SERVER_ERROR, text)
        return ChangeInvisibleDurationResponse(status=ok(), receipt_handle=fresh.text)

    async def forward(
        self, request: ForwardToDeadLetterQueueRequest, context: ProxyContext
    ) -> Response:
        """Make a message a dead letter."""
        topic, group = topic_of(request.topic), group_of(request.group)
        renewals = self._sessions.of(context).renewals
        receipt = renewals.end_renewal(
            decode_handle(request.receipt_handle), group=group, message_id=request.message_id
        )
        answer = await renewals.deliveries.give_up(
            receipt, message_id=request.message_id, topic=topic, group=group
        )
        return Response(status=broker_status(answer.code, answer.remark))

    async def close(self) -> None:
        """Wait until messages that were popped for a lost client are given back."""
        await asyncio.gather(*self._returning, return_exceptions=True)

    # Receive.

    async def _checked(self, request: ReceiveMessageRequest, context: ProxyContext) -> _Receive:
        session = self._sessions.of(context)
        queue = request.message_queue or MessageQueue()
        topic, group = topic_of(queue.topic), group_of(request.group)
        # The request has the client's wishes and the broker has the settings of the group, so a
        # client can go on after a restart of the endpoint, which has lost the client's settings.
        settings = await self._cluster.group(group, context.credentials) or NEW_GROUP
        request_timeout_ms = session.settings.request_timeout if session.settings else None
        polling_ms = self._polling_ms(request, request_timeout_ms or 0, context)
        renews = self._config.enable_proxy_auto_renew and request.auto_renew
        invisible_ms = request.invisible_duration or 0
        if renews:
            self._sessions.add_session(session)
            invisible_ms = self._config.default_invisible_time_ms
        else:
            low_ms = self._config.min_invisible_time_ms
            check_invisible_time(invisible_ms, self._config, low_ms=low_ms)
        subscription = subscription_of(request.filter_expression)
        broker_name, address = await self._broker(topic, queue)
        pop = PopMessage(
            consumer_group=group,
            topic=topic,
            queue_id=ANY_QUEUE,
            max_msg_nums=min(request.batch_size, COUNT_MAX),
            invisible_time=invisible_ms,
            poll_time=polling_ms,
            born_time=self._cluster.client.now_ms(),
            init_mode=FROM_MAX,
            exp_type=subscription.kind,
            exp=subscription.expression,
            order=settings.is_fifo,
            attempt_id=request.attempt_id,
            broker_name=broker_name,
        )
        attempts_max = settings.retry_max_times + 1
        return _Receive(session, address, pop, subscription, attempts_max, renews)

    def _polling_ms(
        self, request: ReceiveMessageRequest, request_timeout_ms: int, context: ProxyContext
    ) -> int:
        """Return how long the broker may hold the pop."""
        low_ms, high_ms = self._config.min_long_polling_ms, self._config.max_long_polling_ms
        left_ms = high_ms + request_timeout_ms
        if context.deadline_ms is not None:
            left_ms = context.deadline_ms - self._cluster.client.now_ms()
        polling_ms = request.long_polling_timeout
        if polling_ms is None:
            polling_ms = left_ms - request_timeout_ms // 2
        polling_ms = min(max(polling_ms, low_ms), high_ms)
        if polling_ms <= left_ms:
            return polling_ms
        if left_ms >= low_ms:
            return left_ms
        # Java also compares the texts.
        knows = context.version >= POLLING_TIME_VERSION
        raise ProxyRefused(
            Code.ILLEGAL_POLLING_TIME if knows else Code.BAD_REQUEST,
            "The deadline time remaining is not enough for polling, please check network condition",
        )

    async def _popped(self, receive: _Receive, context: ProxyContext) -> _Popped:
        """Pop, and return only the messages for the client.

        If the client disconnects meanwhile, the pop goes on, and its messages are given back.
        """
        popping = asyncio.ensure_future(self._pop(receive))
        try:
            return await asyncio.shield(popping)
        except asyncio.CancelledError:
            self._finish_later(self._return_popped(popping, receive), context)
            raise

    async def _broker(self, topic: str, queue: MessageQueue) -> tuple[str, str]:
        """Return name and address of the broker to pop from: that of a queue, or the next one."""
        route = await self._cluster.route(topic)
        readable = {data.broker_name for data in route.queue_datas if data.perm & PERM_READ}
        readers = {
            name: address for name, address in routes.readers(route).items() if name in readable
        }
        if not readers:
            raise refused_inside(Code.FORBIDDEN, "no readable queue")
        broker_name = (queue.broker or Broker()).name
        name = (
            broker_name
            if broker_name in readers
            else sorted(readers)[next(self._turns) % len(readers)]
        )
        return name, readers[name]

    async def _pop(self, receive: _Receive) -> _Popped:
        address, pop = receive.address, receive.pop
        answer = await receive.session.invoke(
            address,
            Command.request(LaterCode.POP_MESSAGE, pop),
            timeout_s=pop.poll_time / 1000 + GRACE_S,
        )
        if answer.code == LaterResponseCode.POLLING_FULL:
            return _Popped([], Status(code=Code.TOO_MANY_REQUESTS, message="polling full"))
        if answer.code in (ResponseCode.PULL_NOT_FOUND, LaterResponseCode.POLLING_TIMEOUT):
            return _Popped([], Status(code=Code.MESSAGE_NOT_FOUND, message="no new message"))
        responses.check(answer, address=address, what=f"pop of topic {pop.topic}")
        header = responses.header(answer, PopMessageResponse, address=address)
        broker_name = pop.broker_name or ""
        await self._cluster.pieces.turn(receive.session.ip)
        messages, damage = read_pulled(answer.body, broker_name=broker_name)
        if damage is not None:
            LOG.error("broker %s sent a damaged record of %s: %s", address, pop.topic, damage)
        try:
            popped = with_receipts(messages, header, broker_name=broker_name)
        except BadHeader as error:
            text = f"{address} answered a pop without usable offsets: {error}"
            raise BadAnswer(text) from error
        nothing = Status(code=Code.MESSAGE_NOT_FOUND, message="no match message")
        return _Popped(await self._accepted(popped, receive), nothing)

    async def _accepted(
        self, messages: Sequence[MessageExt], receive: _Receive
    ) -> list[MessageExt]:
        """Return the messages for the client; acknowledge or give up the others."""
        accepted = []
        deliveries = receive.session.renewals.deliveries
        topic, group = receive.pop.topic, receive.pop.consumer_group
        for message in messages:
            handle = f"{message.receipt} {message.log_offset}"
            message.renew_receipt(handle)
            try:
                if not receive.subscription.accepts(message):
                    await deliveries.ack(decode_handle(handle), topic=topic, group=group)
                elif message.reconsume_times >= receive.attempts_max:
                    await deliveries.give_up(
                        decode_handle(handle),
                        message_id=message.msg_id,
                        topic=topic,
                        group=group,
                    )
                else:
                    accepted.append(message)
            except (ProxyRefused, ClientError) as error:
                # It comes again when its time is over.
                LOG.warning("%s of group %s was not settled: %s", message, group, error)
        return accepted

    # Messages of clients that are gone.

    def _finish_later(self, work: Coroutine[Any, Any, None], context: ProxyContext) -> None:
        """Finish the work of a call that has ended; until then it counts as an open call."""
        task = asyncio.create_task(work)
        self._returning.add(task)
        connection = context.connection
        if connection is not None:
            connection.lingering_count += 1

        def done(task: asyncio.Task[None]) -> None:
            self._returning.discard(task)
            if connection is not None:
                connection.lingering_count -= 1

        task.add_done_callback(done)

    async def _return_popped(self, popping: "asyncio.Future[_Popped]", receive: _Receive) -> None:
        try:
            popped = await popping
        except (ProxyRefused, ClientError) as error:
            LOG.info("a pop for a client that has disconnected failed: %s", error)
            return
        await self._return(popped.messages, receive)

    async def _return(self, messages: Sequence[MessageExt], receive: _Receive) -> None:
        topic, group = receive.pop.topic, receive.pop.consumer_group
        for message in messages:
            try:
                await receive.session.renewals.deliveries.hide(
                    decode_handle(message.properties[POP_CK]),
                    topic=topic,
                    group=group,
                    invisible_ms=NACK_MS,
                )
            except (ProxyRefused, ClientError) as error:
                LOG.warning("%s of group %s was not given back: %s", message, group, error)

    # Acknowledge.

    async def _ack(
        self, session: ClientSession, handle: str, message_id: str, topic: str, group: str
    ) -> AckMessageResultEntry:
        try:
            receipt = decode_handle(handle)
            current = session.renewals.end_renewal(receipt, group=group, message_id=message_id)
            is_known = await session.renewals.deliveries.ack(current, topic=topic, group=group)
            status = _ack_status(is_known=is_known)
        except (ProxyRefused, ClientError) as error:
            status = status_of(error)
        return AckMessageResultEntry(message_id=message_id, receipt_handle=handle, status=status)


class _AckAnswer:
    """Answers the call of an acknowledgement that was posted.

    Args:
        call: the call.
        entry: the acknowledged message.
        address: the broker.
    """

    __slots__ = ("_address", "_call", "_entry")

    def __init__(self, call: GrpcCall, entry: AckMessageEntry, address: str) -> None:
        self._call = call
        self._entry = entry
        self._address = address

    def answered(self, answer: Command) -> None:
        """Answer with the broker's result."""
        self._answer(_ack_status(is_known=answer.code == ResponseCode.SUCCESS))

    def stored(self, stored: Stored) -> None:
        """Handle an answer in the form of an answer to a send."""
        self.answered(decode_frame(stored.raw))

    def failed(self, error: ConnectionLost | TimeoutError) -> None:
        """Answer with the reason why the broker did not answer."""
        wire: RemotingError
        if isinstance(error, ConnectionLost):
            wire = error
        else:
            wire = RequestTimedOut.of(self._address, LaterCode.ACK_MESSAGE, timeout_s=TIMEOUT_S)
        self.refused(responses.client_error(wire, address=self._address))

    def refused(self, error: ClientError) -> None:
        """Answer with an error."""
        self._answer(status_of(error))

    def _answer(self, status: Status) -> None:
        entry = AckMessageResultEntry(
            message_id=self._entry.message_id,
            receipt_handle=self._entry.receipt_handle,
            status=status,
        )
        self._call.answer(_acknowledged([entry]).encode())


def _ack_status(*, is_known: bool) -> Status:
    if is_known:
        return ok()
    text = "ack failed: status is abnormal"
    return Status(code=Code.INTERNAL_SERVER_ERROR, message=text)


def _acknowledged(entries: list[AckMessageResultEntry]) -> AckMessageResponse:
    codes = {each.status.code for each in entries if each.status is not None}
    if len(codes) == 1:
        (code,) = codes
        status = Status(code=code, message=code.name)
    elif codes:
        status = Status(code=Code.MULTIPLE_RESULTS, message=Code.MULTIPLE_RESULTS.name)
    else:
        status = Status(code=Code.INTERNAL_SERVER_ERROR, message="ack message result is empty")
    return AckMessageResponse(status=status, entries=entries)


def _hold(context: ProxyContext, size: int) -> None:
    """Charge messages that wait for a client to its connection."""
    if context.connection is not None:
        context.connection.hold_bytes(size)
        context.connection.charge()


def _watch(receive: _Receive, message: MessageExt) -> None:
    receive.session.renewals.watch(
        group=receive.pop.consumer_group,
        topic=receive.pop.topic,
        message_id=message.msg_id,
        handle=message.properties[POP_CK],
        attempt=message.reconsume_times,
    )

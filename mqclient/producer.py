"""Sending: one message, a batch, or one that nobody answers.

    Message -- unique key, compression, properties --> Outgoing -- queue --> SEND_MESSAGE_V2

Rule: what is sent is what the Java producer would send for the same message, byte for byte
but for ids and times. A send to a queue of the caller's choice is tried once; otherwise up
to three brokers are tried within the one time limit, so a message can be stored twice when
an answer got lost (its unique key then is the same).

Source: client/impl/producer/DefaultMQProducerImpl.java#sendDefaultImpl, #sendKernelImpl,
client/impl/MQClientAPIImpl.java#processSendResponse, client/Validators.java (4.9.7).
"""

import asyncio
import random
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from mqclient import answers, routes
from mqclient.errors import BadRequest, ClientError, NoRoute, refusal
from mqclient.instance import MQClient
from mqclient.message import BODY_SIZE_MAX, Message
from mqclient.select import RoundRobin
from remoting.bodies import MessageQueue, TopicRouteData
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import SendMessageResponse, SendMessageV2
from storefmt.batch import BatchEntry, join_batch
from storefmt.errors import StoreError
from storefmt.paths import check_group_name, check_topic_name
from storefmt.properties import PROPERTIES_SIZE_MAX, WAIT, format_properties
from storefmt.sysflag import COMPRESSED, Compression

DEFAULT_GROUP: Final = "PY_PRODUCER"
COMPRESS_FROM_SIZE: Final = 4096
"""Smallest body that is compressed (compressMsgBodyOverHowmuch)."""
COMPRESS_LEVEL: Final = 5
RETRY_COUNT: Final = 2
RETRY_TOPIC_PREFIX: Final = "%RETRY%"


class SendStatus(StrEnum):
    """How well the message is kept; it is stored in each case."""

    SEND_OK = "SEND_OK"
    FLUSH_DISK_TIMEOUT = "FLUSH_DISK_TIMEOUT"
    SLAVE_NOT_AVAILABLE = "SLAVE_NOT_AVAILABLE"
    FLUSH_SLAVE_TIMEOUT = "FLUSH_SLAVE_TIMEOUT"


_STATUS: Final[dict[int, SendStatus]] = {
    ResponseCode.SUCCESS: SendStatus.SEND_OK,
    ResponseCode.FLUSH_DISK_TIMEOUT: SendStatus.FLUSH_DISK_TIMEOUT,
    ResponseCode.SLAVE_NOT_AVAILABLE: SendStatus.SLAVE_NOT_AVAILABLE,
    ResponseCode.FLUSH_SLAVE_TIMEOUT: SendStatus.FLUSH_SLAVE_TIMEOUT,
}


@dataclass(frozen=True, slots=True)
class SendResult:
    """Where a message was stored.

    Attributes:
        unique_key: the id given here; comma separated for a batch.
        msg_id: the offset id given by the broker; comma separated for a batch.
        queue_offset: place in the queue, in entries; of the first message of a batch.
    """

    status: SendStatus
    unique_key: str
    msg_id: str
    queue: MessageQueue
    queue_offset: int


class Outgoing(NamedTuple):
    """One request's worth, ready but for the queue."""

    code: RequestCode
    topic: str
    body: bytes
    flag: int
    sys_flag: int
    properties: str
    unique_key: str


class Producer:
    """Sends messages.

    Args:
        client: the connections.
        group: name of the producer group.
        retry_count: more tries after a failed one, each at another broker where there is one.
        compress_from_size: bodies of this many bytes and more are compressed.

    Raises:
        BadRequest: the group name is not allowed.
    """

    def __init__(
        self,
        client: MQClient,
        group: str = DEFAULT_GROUP,
        *,
        retry_count: int = RETRY_COUNT,
        compress_from_size: int = COMPRESS_FROM_SIZE,
    ) -> None:
        self._client = client
        self._group = _checked(check_group_name, group)
        self._retry_count = retry_count
        self._compress_from_size = compress_from_size
        # Spreads the first messages of many producers, nothing secret.
        self._turns = RoundRobin(random.randrange(1 << 16))

    async def send(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        timeout_s: float | None = None,
    ) -> SendResult:
        """Send one message and wait until the broker has stored it.

        Args:
            queue: where to; by turns when None.
            timeout_s: for all tries together; the client's when None.

        Raises:
            BadRequest: the message or the queue cannot be right.
            NoRoute: no broker has the topic, and none would make it.
            BrokerRefused, NotFound, Unreachable, TimedOut: of the last try.
        """
        return await self._deliver(self._single(message), queue, timeout_s)

    async def send_batch(
        self,
        messages: Sequence[Message],
        *,
        queue: MessageQueue | None = None,
        timeout_s: float | None = None,
    ) -> SendResult:
        """Send messages of one topic in one request; they get neighbouring queue offsets.

        Raises:
            BadRequest: no messages, several topics, a delay, a retry topic, over 4 MiB.
            NoRoute, BrokerRefused, NotFound, Unreachable, TimedOut: as ``send``.
        """
        return await self._deliver(self._batch(messages), queue, timeout_s)

    async def send_oneway(self, message: Message, *, queue: MessageQueue | None = None) -> str:
        """Send one message that is not answered, return its unique key.

        Returning means it is on its way; whether it was stored nobody says.

        Raises:
            BadRequest, NoRoute, Unreachable: it could not be sent.
        """
        out = self._single(message)
        target = queue or self._turns.pick(await self._queues(out.topic))
        address = await self._address(out.topic, target)
        await self._client.invoke_oneway(address, self._command(out, target, oneway=True))
        return out.unique_key

    async def queues(self, topic: str) -> list[MessageQueue]:
        """Return the queues of a topic that take messages.

        Raises:
            NoRoute: no broker has the topic, and none would make it.
        """
        return await self._queues(topic)

    # One message or several, as the request carries them.

    def _single(self, message: Message) -> Outgoing:
        _check_message(message)
        unique_key = self._client.unique_ids.next(self._client.now_ms())
        properties = _properties_text(message, unique_key)
        body, sys_flag = message.body, 0
        if len(body) >= self._compress_from_size:
            body = zlib.compress(body, COMPRESS_LEVEL)
            sys_flag = COMPRESSED | Compression.ZLIB
        return Outgoing(
            RequestCode.SEND_MESSAGE_V2,
            message.topic,
            body,
            message.flag,
            sys_flag,
            properties,
            unique_key,
        )

    def _batch(self, messages: Sequence[Message]) -> Outgoing:
        _check_batch(messages)
        now_ms = self._client.now_ms()
        entries, unique_keys = [], []
        for message in messages:
            _check_message(message)
            unique_keys.append(self._client.unique_ids.next(now_ms))
            properties = _properties_text(message, unique_keys[-1]).encode()
            entries.append(BatchEntry(message.flag, message.body, properties))
        body = join_batch(entries)
        if len(body) > BODY_SIZE_MAX:
            raise BadRequest(
                f"batch of {len(messages)} messages has {len(body)} bytes, at most {BODY_SIZE_MAX}",
                hint="send it in parts",
            )
        wait = "true" if messages[0].wait_stored else "false"
        return Outgoing(
            RequestCode.SEND_BATCH_MESSAGE,
            messages[0].topic,
            body,
            0,
            0,
            format_properties({WAIT: wait}),
            ",".join(unique_keys),
        )

    # To a queue and through its broker.

    async def _deliver(
        self, out: Outgoing, queue: MessageQueue | None, timeout_s: float | None
    ) -> SendResult:
        now_s = asyncio.get_running_loop().time
        deadline_s = now_s() + (self._client.timeout_s if timeout_s is None else timeout_s)
        if queue is not None:
            return await self._try(out, queue, deadline_s - now_s())
        avoid: str | None = None
        for tries_left in range(self._retry_count, -1, -1):
            target = self._turns.pick(await self._queues(out.topic), avoid=avoid)
            try:
                return await self._try(out, target, deadline_s - now_s())
            except ClientError as error:
                if not error.retriable or not tries_left or now_s() >= deadline_s:
                    raise
                avoid = target.broker_name
                self._client.forget_route(out.topic)
        raise AssertionError("the last try returns or raises")

    async def _try(self, out: Outgoing, queue: MessageQueue, timeout_s: float) -> SendResult:
        if queue.topic != out.topic:
            raise BadRequest(f"message of topic {out.topic} for a queue of topic {queue.topic}")
        address = await self._address(out.topic, queue)
        command = self._command(out, queue)
        answer = await self._client.invoke(address, command, timeout_s=timeout_s)
        status = _STATUS.get(answer.code)
        if status is None:
            what = f"message to {out.topic}, queue {queue.queue_id} of {queue.broker_name}"
            raise refusal(answer.code, answer.remark, address=address, what=what)
        stored = answers.header(answer, SendMessageResponse, address=address)
        return SendResult(
            status,
            out.unique_key,
            stored.msg_id,
            MessageQueue(topic=out.topic, broker_name=queue.broker_name, queue_id=stored.queue_id),
            stored.queue_offset,
        )

    def _command(self, out: Outgoing, queue: MessageQueue, *, oneway: bool = False) -> Command:
        header = SendMessageV2(
            producer_group=self._group,
            topic=out.topic,
            default_topic=routes.TEMPLATE_TOPIC,
            default_topic_queue_nums=routes.TEMPLATE_QUEUE_COUNT,
            queue_id=queue.queue_id,
            sys_flag=out.sys_flag,
            born_timestamp=self._client.now_ms(),
            flag=out.flag,
            properties=out.properties,
            reconsume_times=0,
            unit_mode=False,
            batch=out.code == RequestCode.SEND_BATCH_MESSAGE,
            broker_name=queue.broker_name,
        )
        return Command.request(out.code, header, body=out.body, oneway=oneway)

    async def _queues(self, topic: str) -> list[MessageQueue]:
        try:
            return routes.publish_queues(topic, await self._client.route(topic))
        except NoRoute:
            template = await self._template(topic)
            return routes.template_queues(topic, template)

    async def _address(self, topic: str, queue: MessageQueue) -> str:
        try:
            return await self._client.master_of(queue)
        except NoRoute:
            masters = routes.masters(await self._template(topic))
            if queue.broker_name not in masters:
                raise
            return masters[queue.broker_name]

    async def _template(self, topic: str) -> TopicRouteData:
        try:
            return await self._client.route(routes.TEMPLATE_TOPIC)
        except NoRoute as error:
            raise NoRoute(topic, address=error.address, remark=error.remark) from error


def _check_message(message: Message) -> None:
    _checked(check_topic_name, message.topic)
    if not message.body:
        raise BadRequest(f"message to {message.topic} has no body", hint="send one byte at least")
    if len(message.body) > BODY_SIZE_MAX:
        raise BadRequest(
            f"body of {len(message.body)} bytes, at most {BODY_SIZE_MAX}",
            code=ResponseCode.MESSAGE_ILLEGAL,
            hint="split it, or store it elsewhere and send where it is",
        )


def _check_batch(messages: Sequence[Message]) -> None:
    if not messages:
        raise BadRequest("batch without messages")
    first = messages[0]
    for number, message in enumerate(messages):
        where = f"message {number} of the batch"
        if message.topic != first.topic:
            raise BadRequest(f"{where} is for topic {message.topic}, the first for {first.topic}")
        if message.topic.startswith(RETRY_TOPIC_PREFIX):
            raise BadRequest(f"{where} is for a retry topic, which takes no batches")
        if message.delay_level:
            raise BadRequest(f"{where} has a delay level, send it alone")
        if message.wait_stored != first.wait_stored:
            raise BadRequest(f"{where} and the first differ in wait_stored")


def _properties_text(message: Message, unique_key: str) -> str:
    text = format_properties(message.wire_properties(unique_key))
    size = len(text.encode())
    if size > PROPERTIES_SIZE_MAX:
        raise BadRequest(
            f"properties of {size} bytes, at most {PROPERTIES_SIZE_MAX}",
            code=ResponseCode.MESSAGE_ILLEGAL,
            hint="put the data into the body",
        )
    return text


def _checked(check: Callable[[str], str], name: str) -> str:
    try:
        return check(name)
    except StoreError as error:
        raise BadRequest(str(error)) from error

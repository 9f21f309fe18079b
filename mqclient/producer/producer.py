"""The producer: sends one message, a batch, a one-way message, or a request that gets a reply.

    async with Producer(client, "group") as producer:
        result = await producer.send(Message("T", b"hello"))
        result = await producer.send(message, sharding_key="order-17")
        future = await producer.send_soon(message)      waits while too many are under way
        reply = await producer.request(Message("Questions", b"?"), timeout_s=3)

A send that fails is tried again until its time limit, at another broker where there is one
(``attempts``), so a message can be stored twice when an answer is lost; both copies then have the
same unique key. A queue that the application chose (``queue``, ``select``, ``sharding_key``) stays
the same, because another one would break its order; where the order of failed messages counts,
await each send before the next. Without ``start`` everything works except ``request``, because
brokers do not know the client then.

Source: client/impl/producer/DefaultMQProducerImpl.java#sendDefaultImpl, #sendKernelImpl,
client/impl/MQClientAPIImpl.java#processSendResponse, #onExceptionImpl (4.9.7).
"""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Self

from mqclient.admin.queries import Queries
from mqclient.argument_checks import checked_settings
from mqclient.client.instance import MQClient
from mqclient.client.members import RequestHandler
from mqclient.errors import BadRequest
from mqclient.message import Message, MessageExt
from mqclient.namespace import checked_group
from mqclient.producer.delivery import Delivery
from mqclient.producer.producer_settings import ProducerSettings
from mqclient.producer.publish_routes import PublishRoutes
from mqclient.producer.queue_selector import Select, choice_of
from mqclient.producer.send_hooks import SendHook
from mqclient.producer.send_request import MessagePacker, PackedMessage
from mqclient.producer.send_result import SendResult
from remoting.bodies import MessageQueue
from remoting.codes import RequestCode

if TYPE_CHECKING:
    from mqclient.json_body import Serializer

DEFAULT_GROUP: Final = "PY_PRODUCER"


class Producer(Queries):
    """Sends messages.

    Args:
        client: the connections.
        group: name of the producer group.
        settings: see ``ProducerSettings``; None means the defaults.
        serializer: returns the body for a value of ``publish``; None means ``to_json``.

    Raises:
        BadRequest: the group name is not allowed.
    """

    _has_namespace = True

    def __init__(
        self,
        client: MQClient,
        group: str = DEFAULT_GROUP,
        settings: ProducerSettings | None = None,
        *,
        serializer: "Serializer | None" = None,
    ) -> None:
        namespace = client.namespace if self._has_namespace else ""
        self.group = checked_group(group, namespace)
        super().__init__(client, f"producer of group {group}")
        self.settings = checked_settings(settings, ProducerSettings)
        self._packer = MessagePacker(client.unique_ids, self.settings, namespace=namespace)
        self._publish_routes = PublishRoutes(client, self.settings, namespace=namespace)
        self._delivery = Delivery(client, self.group, self.settings, self._publish_routes)
        self._hooks = self._delivery.hooks
        self._serializer = serializer
        self._requests = client.requests
        self._announced: set[str] = set()
        self._slots = asyncio.Semaphore(self.settings.max_in_flight)
        self._running = False

    # The following methods start and stop the producer.

    async def start(self) -> None:
        """Announce this producer to brokers by heartbeats.

        Raises:
            BadRequest: the client has a producer of this group already.
        """
        if self._running:
            return
        # This is set first, because two threads may start the producer of a blocking client.
        self._running = True
        try:
            await self._client.members.join_producer(self)
        except BadRequest:
            self._running = False
            raise

    async def shutdown(self) -> None:
        """Refuse new messages, wait for those under way, and unregister from the brokers."""
        await super().shutdown()
        await self._delivery.shutdown()
        if self._running:
            self._running = False
            await self._connections.members.leave(self.group, consumer=False)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    def register_send_hook(self, hook: SendHook) -> None:
        """Call a hook before and after every attempt of a send."""
        self._hooks.append(hook)

    # The following methods send messages.

    async def send(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        select: Select | None = None,
        sharding_key: str | None = None,
        timeout_s: float | None = None,
        system: Mapping[str, str] | None = None,
    ) -> SendResult:
        """Send one message and wait until the broker has stored it.

        Args:
            message: the message.
            queue: the queue to send to; None means the next one in turn.
            select: a function that chooses the queue.
            sharding_key: messages with the same key go to the same queue, which is chosen as
                Java's ``SelectMessageQueueByHash`` does for the same text.
            timeout_s: the limit for all attempts together, in seconds; None means the setting.
            system: properties that are RocketMQ's own, for tools that send a copy of a message.

        Raises:
            BadRequest: the message or the queue is not allowed, or ``select`` chose no queue.
            NoRoute: no broker has the topic, and no broker would create it.
            BrokerRefused, NotFound, Unreachable, TimedOut: the last attempt failed.
        """
        out = self._packer.single(message, now_ms=self._client.now_ms(), system=system)
        choose = choice_of(message, queue, select, sharding_key)
        return await self._delivery.send(
            out, [message], queue=queue, choose=choose, timeout_s=timeout_s
        )

    async def publish(
        self,
        value: object,
        topic: str,
        *,
        tags: str | None = None,
        keys: str | Sequence[str] | None = None,
        properties: Mapping[str, str] | None = None,
        sharding_key: str | None = None,
        timeout_s: float | None = None,
    ) -> SendResult:
        """Send a value of the application, which the serializer turns into a body.

        Args:
            value: with the default serializer: bytes, a text, a dataclass, a pydantic or msgspec
                model, or what ``json`` knows.
            topic, tags, keys, properties: see ``Message``.
            sharding_key, timeout_s: see ``send``.

        Raises:
            UnexpectedBody: the value has no form in JSON.
            ClientError: see ``send``.
        """
        if self._serializer is None:
            # Most producers send bytes and need no JSON.
            from mqclient.json_body import to_json

            self._serializer = to_json
        body = self._serializer(value)
        message = Message(topic, body, tags=tags, keys=keys, properties=properties or {})
        return await self.send(message, sharding_key=sharding_key, timeout_s=timeout_s)

    def send_async(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        select: Select | None = None,
        sharding_key: str | None = None,
        timeout_s: float | None = None,
    ) -> "asyncio.Future[SendResult]":
        """Send one message without waiting; the future gets the result and need not be awaited.

        This is Java's send with a callback (``add_done_callback``). It is tried again as ``send``
        is, ``retry_times_when_send_async_failed`` times at most. ``shutdown`` waits for the sends
        under way. Nothing limits how many are under way; ``send_soon`` does.

        Args:
            message: the message.
            queue, select, sharding_key, timeout_s: see ``send``.

        Raises:
            BadRequest: the message or the queue is not allowed; the future raises other errors.
        """
        out = self._packer.single(message, now_ms=self._client.now_ms())
        choose = choice_of(message, queue, select, sharding_key)
        return self._delivery.send_async(
            out, message, queue=queue, choose=choose, timeout_s=timeout_s
        )

    async def send_soon(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        select: Select | None = None,
        sharding_key: str | None = None,
        timeout_s: float | None = None,
    ) -> "asyncio.Future[SendResult]":
        """Begin to send one message as soon as fewer than ``max_in_flight`` are under way.

        An application that produces faster than brokers store waits here, and not in memory.

        Args:
            message: the message.
            queue, select, sharding_key, timeout_s: see ``send``.

        Returns:
            The future of the result, see ``send_async``.

        Raises:
            BadRequest: the message or the queue is not allowed; the future raises other errors.
        """
        await self._slots.acquire()
        try:
            future = self.send_async(
                message, queue=queue, select=select, sharding_key=sharding_key, timeout_s=timeout_s
            )
        except BaseException:
            self._slots.release()
            raise
        future.add_done_callback(lambda _: self._slots.release())
        return future

    async def send_batch(
        self,
        messages: Sequence[Message],
        *,
        queue: MessageQueue | None = None,
        timeout_s: float | None = None,
    ) -> SendResult:
        """Send messages of one topic in one request; they get consecutive queue offsets.

        Args:
            messages: one or more, without delays.
            queue: the queue to send to; None means the next one in turn.
            timeout_s: the limit for all attempts together, in seconds; None means the setting.

        Raises:
            BadRequest: there are no messages, they have different topics, one has a delay or a
                retry topic, or the batch is over 4 MiB.
            NoRoute, BrokerRefused, NotFound, Unreachable, TimedOut: see ``send``.
        """
        out = self._packer.batch(messages, now_ms=self._client.now_ms())
        return await self.deliver(out, messages, queue=queue, timeout_s=timeout_s)

    async def send_batches(
        self, messages: Iterable[Message], *, queue: MessageQueue | None = None
    ) -> list[SendResult]:
        """Send any number of messages of one topic, in as many batches as they need.

        Raises the same errors as ``send_batch``; the batches before the one that failed are stored.
        """
        return [
            await self.send_batch(part, queue=queue) for part in self._packer.split(list(messages))
        ]

    async def send_oneway(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        select: Select | None = None,
        sharding_key: str | None = None,
    ) -> str:
        """Send one message that the broker does not answer; return its unique key.

        The message was sent when this returns, but whether it was stored is not known.

        Args:
            message: the message.
            queue, select, sharding_key: see ``send``.

        Raises:
            BadRequest, NoRoute, Unreachable: the message could not be sent.
        """
        out = self._packer.single(message, now_ms=self._client.now_ms())
        out = await self._delivery.compressed(out)
        choose = choice_of(message, queue, select, sharding_key) or self._delivery.round_robin.pick
        chosen = choose(await self.queues(out.topic)) if queue is None else queue
        target = self._publish_routes.checked_queue(chosen, out.topic)
        address = await self._publish_routes.address(target)
        command = self._delivery.requests.command(
            out, target, now_ms=self._client.now_ms(), oneway=True
        )
        await self._client.invoke_oneway(address, command)
        return out.unique_key

    async def request(
        self, message: Message, *, timeout_s: float, queue: MessageQueue | None = None
    ) -> MessageExt:
        """Send a message whose consumer replies; return the reply.

        Args:
            message: the request.
            timeout_s: the limit for the send and the reply together, in seconds.
            queue: the queue to send to; None means the next one in turn.

        Raises:
            BadRequest: the producer was not started.
            TimedOut: the message was stored, and no reply came in time.
            NoRoute, BrokerRefused, NotFound, Unreachable: see ``send``.
        """
        self._check_alive()
        if not self._running:
            raise BadRequest(
                "a request needs a producer that was started", hint="await start() first"
            )
        if message.topic not in self._announced:
            # The broker must know this client before the reply arrives.
            await self.queues(message.topic)
            await self._client.members.heartbeat()
            self._announced.add(message.topic)
        with self._requests.ask(timeout_s=timeout_s) as question:
            now_ms = self._client.now_ms()
            out = self._packer.single(message, now_ms=now_ms, system=question.properties)
            await self.deliver(out, [message], queue=queue, timeout_s=timeout_s)
            return await question.answer()

    async def reply(self, question: MessageExt, body: bytes) -> SendResult:
        """Reply to a message that was sent by ``request``; its consumer calls this.

        Raises:
            BadRequest: the message does not ask for a reply.
            NoRoute, BrokerRefused, NotFound, Unreachable, TimedOut: see ``send``.
        """
        message, system = self._requests.reply_to(question, body)
        out = self._packer.single(
            message,
            now_ms=self._client.now_ms(),
            system=system,
            code=RequestCode.SEND_REPLY_MESSAGE_V2,
        )
        return await self.deliver(out, [message])

    async def queues(self, topic: str) -> list[MessageQueue]:
        """Return the writable queues of a topic.

        Raises:
            NoRoute: no broker has the topic, and no broker would create it.
        """
        return await self._publish_routes.queues(topic)

    def deliver(
        self,
        out: PackedMessage,
        messages: Sequence[Message],
        *,
        queue: MessageQueue | None = None,
        timeout_s: float | None = None,
    ) -> Awaitable[SendResult]:
        """Send a packed message or batch, as ``send`` does.

        Args:
            out: the packed message or batch.
            messages: the same as the application gave them, for hooks.
            queue: the queue to send to; None means the next one in turn.
            timeout_s: the limit for all attempts together, in seconds; None means the setting.

        Raises the same errors as ``send``.
        """
        return self._delivery.send(out, messages, queue=queue, timeout_s=timeout_s)

    def topics(self) -> Iterable[str]:
        """Return the topics that this producer has sent to."""
        return list(self._publish_routes.topics)

    def request_handlers(self) -> dict[int, RequestHandler]:
        """Return the method that answers each request code of a broker."""
        return {}


class InnerProducer(Producer):
    """A producer for the client itself; its group and topics get no namespace, as in Java."""

    _has_namespace = False

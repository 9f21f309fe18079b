"""The lite pull consumer: a member of a group whose application polls for messages.

    async with LitePullConsumer(client, "group") as consumer:
        consumer.subscribe("Topic")              or: consumer.assign(queues)
        await consumer.start()
        while True:
            for message in await consumer.poll():
                ...

    pull loops --> process queues --> PollBuffer --> poll() --> the application
                                          `-- every 5 s: commit what was polled before

Rule: a message counts as consumed when ``poll`` is called again after it was returned, so a crash
repeats the last batch and loses nothing. ``subscribe`` shares the queues of a topic with the
group; ``assign`` takes queues whatever other members do. A consumer does one of the two.

Source: client/impl/consumer/DefaultLitePullConsumerImpl.java, AssignedMessageQueue.java (4.9.7).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable
from pathlib import Path

from mqclient.admin.queries import Queries
from mqclient.client import offsets, routes
from mqclient.client.instance import MQClient
from mqclient.client.members import RequestHandler
from mqclient.consumer.group_consumer import GroupConsumer
from mqclient.consumer.offset_store import LOCAL_DIR
from mqclient.consumer.poll_buffer import PollBuffer
from mqclient.consumer.process_queue import ProcessQueue
from mqclient.consumer.queue_pull import QueuePulls
from mqclient.consumer.settings import LitePullSettings
from mqclient.consumer.subscription import (
    ALL,
    TAG,
    MessageSelector,
    Subscription,
    TopicSubscription,
)
from mqclient.errors import BadRequest, ClientError
from mqclient.message import MessageExt
from mqclient.namespace import wrap
from remoting.bodies import ConsumeType, MessageQueue
from remoting.codes import RequestCode

LOG = logging.getLogger(__name__)

QueuesChanged = Callable[[str, list[MessageQueue]], Awaitable[None] | None]
"""A listener that gets a topic and the queues that it has now."""


class LitePullConsumer(GroupConsumer):
    """A member of a consumer group whose application polls for messages.

    Args:
        client: the connections; a client has at most one member of a group.
        group: the consumer group.
        settings: see ``LitePullSettings``; the defaults when None.
        local_dir: broadcasting only: the directory of the offset files.

    Raises:
        BadRequest: the group name is not allowed.
    """

    _consume_type = ConsumeType.CONSUME_ACTIVELY

    def __init__(
        self,
        client: MQClient,
        group: str,
        settings: LitePullSettings | None = None,
        *,
        local_dir: Path = LOCAL_DIR,
    ) -> None:
        self.settings = settings or LitePullSettings()
        super().__init__(client, group, shared=self.settings.as_push(), local_dir=local_dir)
        self._assigned: list[MessageQueue] | None = None
        self._poll_buffer = PollBuffer(self._state, auto_commit=self.settings.auto_commit)
        self._started_ms = client.now_ms()
        self._pulls = QueuePulls(
            self._state,
            self._poll_buffer,
            from_ms=self._consume_from_ms(self._started_ms),
            lite=True,
            suspend_ms=self.settings.broker_suspend_max_time_ms,
            timeout_ms=self.settings.consumer_timeout_ms_when_suspend,
            broker_id=self.settings.broker_id,
        )
        self._pulls.full = self._too_many_messages
        self._rebalancing = self._make_rebalancing(self._poll_buffer, self._pulls)
        self._running = False
        self._next_commit_ms = 0

    # What to consume.

    def subscribe(
        self, topic: str, expression: str | MessageSelector = ALL, *, kind: str = TAG
    ) -> None:
        """Subscribe to a topic, and share its queues with the group.

        Args:
            topic: with the namespace or without.
            expression: ``*``, ``TagA || TagB``, an SQL92 expression, or a ``MessageSelector``.
            kind: TAG or SQL92, the kind of an expression that is a text.

        Raises:
            BadRequest: the topic or the expression is not allowed, or queues were assigned.
        """
        if self._assigned is not None:
            raise BadRequest(
                f"{self.group} has assigned queues and cannot subscribe", hint="do one of the two"
            )
        self._set_subscription(topic, expression, kind)
        if self._running:
            self._loop.do(self._rebalancing.wake)

    def unsubscribe(self, topic: str) -> None:
        """End the subscription to a topic; its queues go to other members."""
        self._subscriptions.pop(wrap(self._connections.namespace, topic), None)
        if self._running and self._assigned is None:
            self._loop.do(self._rebalancing.wake)

    async def assign(self, queues: Collection[MessageQueue]) -> None:
        """Take these queues, whatever other members do; a second call replaces them.

        Raises:
            BadRequest: topics were subscribed to.
            ClientError: a broker did not give the group's offset in a queue.
        """
        if self._assigned is None and self._subscriptions:
            raise BadRequest(
                f"{self.group} has subscribed and cannot assign queues", hint="do one of the two"
            )
        self._assigned = sorted(self._wrapped(queue) for queue in queues)
        for topic in {queue.topic for queue in self._assigned} - set(self._subscriptions):
            self._set_subscription(topic, ALL, TAG)
        if self._running:
            await self._rebalancing.take(self._assigned)

    def set_sub_expression_for_assign(
        self, topic: str, expression: str, *, kind: str = TAG
    ) -> None:
        """Filter the messages of a topic whose queues will be assigned; call it before ``assign``.

        Args:
            topic: with the namespace or without.
            expression: as of ``subscribe``.
            kind: TAG or SQL92.

        Raises:
            BadRequest: the topic or the expression is not allowed, or the consumer runs.
        """
        if self._running:
            raise BadRequest("an expression for assigned queues is set before the start")
        self._assigned = self._assigned or []
        self._set_subscription(topic, expression, kind)

    # Life.

    async def start(self) -> None:
        """Join the group and begin to pull.

        Raises:
            BadRequest: the consumer runs already, or the client has a member of this group already.
            BrokerRefused: a broker cannot read an SQL92 expression.
            ClientError: a broker did not give the start offset of an assigned queue.
        """
        if self._running:
            raise BadRequest(f"consumer of {self.group} runs already")
        # Checked before it joins, because nobody shuts down a member that could not start.
        await self._check_expressions()
        await self._client.members.join_consumer(self)
        self._loop.enter()
        self._running = True
        self._started_ms = self._client.now_ms()
        self._next_commit_ms = self._started_ms + self.settings.auto_commit_interval_ms
        if self._assigned is None:
            self._spawn(self._rebalancing.run())
            return
        try:
            await self._rebalancing.take(self._assigned)
        except BaseException:
            await self.shutdown()
            raise

    async def shutdown(self) -> None:
        """Leave the group; with ``auto_commit``, commit what was polled.

        The last batch counts only when ``poll`` or ``commit`` was called after it, because the
        application may not be finished with it.
        """
        await super().shutdown()
        if not self._running:
            return
        self._running = False
        self._stop_pulling(self._pulls)
        if self.settings.auto_commit:
            self._poll_buffer.commit(with_last=False)
        await self._leave()

    @property
    def is_running(self) -> bool:
        """Whether ``start`` was called and ``shutdown`` was not."""
        return self._running

    # Messages and positions.

    async def poll(self, timeout_ms: int | None = None) -> list[MessageExt]:
        """Return the next messages of one queue, or none when none came in time.

        Args:
            timeout_ms: how long to wait; None means the setting ``poll_timeout_ms``, 0 not at all.

        Raises:
            BadRequest: the consumer does not run.
        """
        self._check_running()
        now_ms = self._client.now_ms()
        if self.settings.auto_commit and now_ms >= self._next_commit_ms:
            self._next_commit_ms = now_ms + self.settings.auto_commit_interval_ms
            await self.commit()
        wait_ms = self.settings.poll_timeout_ms if timeout_ms is None else timeout_ms
        return await self._poll_buffer.next(wait_s=wait_ms / 1000)

    async def commit(
        self, positions: dict[MessageQueue, int] | None = None, *, persist: bool = True
    ) -> None:
        """Commit offsets: those of all messages that were polled, or the given ones.

        Args:
            positions: the queue offset to read next of each queue, in entries.
            persist: tell the brokers now, not only at the shutdown.

        Raises:
            BadRequest: the consumer does not run, or a queue is not its own.
            ClientError: a broker did not take an offset.
        """
        self._check_running()
        if positions is None:
            self._poll_buffer.commit()
        else:
            positions = {self._wrapped(queue): at for queue, at in positions.items()}
            for queue, position in positions.items():
                self._own_queue(queue)
                self._state.offsets.update(queue, position, increase_only=False)
        if persist:
            queues = list(self._process_queues) if positions is None else list(positions)
            await self._state.offsets.persist(queues, sure=True)

    async def committed(self, queue: MessageQueue) -> int | None:
        """Return the queue offset the group reads next, None when it never committed one.

        Raises:
            ClientError: the broker did not answer.
        """
        queue = self._wrapped(queue)
        known = self._state.offsets.known(queue)
        return known if known is not None else await self._state.offsets.read(queue)

    async def seek(self, queue: MessageQueue, queue_offset: int) -> None:
        """Continue at a queue offset, in entries; drop the messages of the queue that wait here.

        Raises:
            BadRequest: the queue is not this consumer's, or the offset is outside of it.
            ClientError: the broker did not answer.
        """
        queue = self._wrapped(queue)
        self._own_queue(queue)
        low = await offsets.min_offset(self._client, queue)
        high = await offsets.max_offset(self._client, queue)
        if not low <= queue_offset <= high:
            raise BadRequest(f"{offsets.named(queue)} has {low} to {high}, not {queue_offset}")
        # The queue may have been given to another member while the broker was asked.
        self._own_queue(queue).dropped = True
        self._pulls.end(queue)
        fresh = ProcessQueue(queue, next_offset=queue_offset, now_ms=self._client.now_ms())
        self._process_queues[queue] = fresh
        self._poll_buffer.start_over(fresh)
        self._pulls.run(fresh)

    async def seek_to_begin(self, queue: MessageQueue) -> None:
        """Continue at the first message of the queue; raises as ``seek``."""
        await self.seek(queue, await self.min_offset(queue))

    async def seek_to_end(self, queue: MessageQueue) -> None:
        """Continue behind the last message of the queue; raises as ``seek``."""
        await self.seek(queue, await self.max_offset(queue))

    def pause(self, queues: Iterable[MessageQueue]) -> None:
        """Stop pulling these queues, and let ``poll`` return none of their messages."""
        self._pulls.paused.update(map(self._wrapped, queues))
        self._poll_buffer.paused = self._pulls.paused

    def resume(self, queues: Iterable[MessageQueue]) -> None:
        """Continue with paused queues."""
        self._pulls.paused.difference_update(map(self._wrapped, queues))
        self._loop.do(self._poll_buffer.wake)

    # Java's names for two methods of ``Queries``.
    offset_for_timestamp = Queries.search_offset
    fetch_message_queues = Queries.fetch_subscribe_message_queues

    def register_topic_message_queue_change_listener(
        self, topic: str, listener: QueuesChanged
    ) -> None:
        """Call a listener whenever a topic gets or loses queues.

        Raises:
            BadRequest: the consumer does not run.
        """
        self._check_running()
        every_s = self.settings.topic_metadata_check_interval_ms / 1000
        self._spawn(watch(self._client, topic, listener, every_s=every_s))

    # The client's ``Members`` call this.

    def request_handlers(self) -> dict[int, RequestHandler]:
        """Return the method that answers each request code of a broker."""
        table = self._broker_request_handlers(self._poll_buffer, self._pulls, self._rebalancing)
        if self._assigned is not None:
            # As in Java, because no rebalance would begin the queues again.
            del table[RequestCode.RESET_CONSUMER_CLIENT_OFFSET]
        return table

    # Inside.

    def _heartbeat_subscriptions(self) -> Iterable[TopicSubscription]:
        # Assigned queues take no part in the rebalance of the group.
        return () if self._assigned is not None else super()._heartbeat_subscriptions()

    def _set_subscription(self, topic: str, expression: str | MessageSelector, kind: str) -> None:
        subscription = Subscription.parse(expression, kind=kind)
        topic = wrap(self._client.namespace, topic)
        self._subscriptions[topic] = TopicSubscription.of(
            topic, subscription, version=self._client.now_ms()
        )

    def _own_queue(self, queue: MessageQueue) -> ProcessQueue:
        self._check_running()
        process_queue = self._process_queues.get(queue)
        if process_queue is None or process_queue.dropped:
            raise BadRequest(
                f"{offsets.named(queue)} is not this consumer's now",
                hint="see assignment(); a rebalance may have given it to another member",
            )
        return process_queue

    def _check_running(self) -> None:
        self._check_alive()
        if not self._running:
            raise BadRequest(f"consumer of {self.group} does not run", hint="await start() first")

    def _too_many_messages(self) -> str:
        count = sum(process_queue.count for process_queue in self._process_queues.values())
        if count <= self.settings.pull_threshold_for_all:
            return ""
        return f"{count} messages held of all queues, over {self.settings.pull_threshold_for_all}"


async def watch(client: MQClient, topic: str, listener: QueuesChanged, *, every_s: float) -> None:
    """Call a listener with every change of a topic's queues, until this is cancelled.

    Args:
        client: asks the name servers; one that does not answer is logged.
        topic: with the namespace or without.
        listener: gets the topic and its queues; it may be a coroutine function.
        every_s: pause between two questions, in seconds.
    """
    before: list[MessageQueue] | None = None
    while True:
        try:
            route = await client.route(wrap(client.namespace, topic), fresh=True)
            now = routes.subscribe_queues(topic, route)
        except ClientError as error:
            LOG.warning("queues of topic %s: %s", topic, error)
        else:
            if before is not None and now != before:
                told = listener(topic, now)
                if told is not None:
                    await told
            before = now
        await asyncio.sleep(every_s)

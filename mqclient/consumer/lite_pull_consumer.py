"""The lite pull consumer: a member of a group whose application polls for messages.

    async with LitePullConsumer(client, "group") as consumer:
        consumer.subscribe("Topic")              or: consumer.assign(queues)
        await consumer.start()
        async for message in consumer:           or: for message in await consumer.poll()
            ...                                  or: async with consumer.batch() as messages

    pull loops --> process queues --> PollBuffer --> poll() --> the application
                                          `-- every 5 s: commit what was polled before

Rule: a message counts as consumed when the next one is asked for, so a crash repeats the last one
or the last batch and loses nothing. A ``batch`` block says so itself: its end commits, and an error
in it brings the messages again. ``subscribe`` shares the queues of a topic with the
group; ``assign`` takes queues regardless of other members. A consumer does one of the two.

Source: client/impl/consumer/DefaultLitePullConsumerImpl.java, AssignedMessageQueue.java (4.9.7).
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import Self

from mqclient.admin.queries import Queries
from mqclient.argument_checks import checked_settings
from mqclient.client import queue_offsets, routes
from mqclient.client.instance import MQClient
from mqclient.consumer.consumer_settings import LitePullSettings
from mqclient.consumer.group_consumer import GroupConsumer
from mqclient.consumer.pull.poll_buffer import PollBuffer
from mqclient.consumer.state.consume_hooks import observed
from mqclient.consumer.state.offset_store import LOCAL_DIR
from mqclient.consumer.state.process_queue import ProcessQueue
from mqclient.consumer.subscription import (
    ALL,
    TAG,
    MessageSelector,
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
        settings: see ``LitePullSettings``; None means the defaults.
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
        local_dir: str | Path = LOCAL_DIR,
    ) -> None:
        self.settings = checked_settings(settings, LitePullSettings)
        super().__init__(client, group, shared=self.settings.as_push(), local_dir=local_dir)
        self._assigned: list[MessageQueue] | None = None
        self._poll_buffer = PollBuffer(self._state, auto_commit=self.settings.auto_commit)
        self._next_commit_ms = 0

    # The following methods choose what is consumed.

    def subscribe(
        self, topic: str, expression: str | MessageSelector = ALL, *, kind: str = TAG
    ) -> None:
        """Subscribe to a topic, as ``GroupConsumer.subscribe`` does.

        Args:
            topic, expression, kind: see ``GroupConsumer.subscribe``.

        Raises:
            BadRequest: the topic name or the expression is not allowed, or queues were assigned.
        """
        if self._assigned is not None:
            raise BadRequest(
                f"{self.group} has assigned queues and cannot subscribe", hint="do one of the two"
            )
        super().subscribe(topic, expression, kind=kind)

    async def assign(self, queues: Collection[MessageQueue]) -> None:
        """Take these queues, regardless of other members; a second call replaces them.

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
            self._subscriptions[topic] = self._subscription(topic, ALL, TAG)
        if self.is_running and self._rebalancing is not None:
            await self._rebalancing.assign(self._assigned)

    def set_sub_expression_for_assign(
        self, topic: str, expression: str, *, kind: str = TAG
    ) -> None:
        """Filter the messages of a topic whose queues will be assigned; call it before ``assign``.

        Args:
            topic: with the namespace or without.
            expression: see ``subscribe``.
            kind: TAG or SQL92.

        Raises:
            BadRequest: the topic or the expression is not allowed, or the consumer runs.
        """
        if self.is_running:
            raise BadRequest("an expression for assigned queues is set before the start")
        self._assigned = self._assigned or []
        subscription = self._subscription(topic, expression, kind)
        self._subscriptions[subscription.data.topic] = subscription

    # The following methods start and stop the consumer.

    async def start(self) -> None:
        """Join the group and begin to pull.

        Raises:
            BadRequest: the consumer runs already, or the client has a member of this group already.
            BrokerRefused: a broker cannot read an SQL92 expression.
            ClientError: a broker did not give the start offset of an assigned queue.
        """
        if self.is_running:
            raise BadRequest(f"consumer of {self.group} runs already")
        # This comes before the join, because a failed start would leave a member in the group.
        await self._check_expressions()
        self._next_commit_ms = self._client.now_ms() + self.settings.auto_commit_interval_ms
        rebalancing = await self._join(self._poll_buffer, self.settings)
        if self._assigned is None:
            self._spawn(rebalancing.rebalance_often())
            return
        # No reset is accepted, because no rebalance would begin the queues again (as in Java).
        del self._handlers[RequestCode.RESET_CONSUMER_CLIENT_OFFSET]
        try:
            await rebalancing.assign(self._assigned)
        except BaseException:
            await self.shutdown()
            raise

    # The following methods return messages, and read and set offsets.

    async def poll(self, timeout_ms: int | None = None) -> list[MessageExt]:
        """Return the next messages of one queue, or an empty list when none came in time.

        Args:
            timeout_ms: how long to wait; None means ``poll_timeout_ms``, and 0 does not wait.

        Raises:
            BadRequest: the consumer does not run.
        """
        messages = await self._poll(timeout_ms)
        with self._observed(messages):
            return messages

    @asynccontextmanager
    async def batch(self, timeout_ms: int | None = None) -> AsyncIterator[list[MessageExt]]:
        """Poll, and commit what was polled at the end of the block, even without ``auto_commit``.

        After an error in the block nothing is committed, and the next poll returns the same
        messages again, unless another member got their queue. An application that can never
        consume a message must handle its error in the block.

        Args:
            timeout_ms: see ``poll``; the block gets an empty list when no message came in time.

        Raises:
            BadRequest: the consumer does not run.
            ClientError: a broker did not take the offset; the messages may come again.
        """
        messages = await self._poll(timeout_ms)
        try:
            with self._observed(messages):
                yield messages
        except BaseException:
            self._rewind(messages)
            raise
        if messages:
            await self.commit()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> MessageExt:
        """Return the next message; the one before counts as consumed. The shutdown ends this.

        Raises:
            BadRequest: the consumer was not started.
        """
        while not self._is_over:
            messages = await self._poll(None, count_max=1)
            with self._observed(messages):
                if messages:
                    return messages[0]
        raise StopAsyncIteration

    async def commit(
        self, positions: dict[MessageQueue, int] | None = None, *, persist: bool = True
    ) -> None:
        """Commit the given offsets, or those of all messages that were polled.

        Args:
            positions: the offset to read next in each queue, in entries; None commits what was
                polled.
            persist: True sends the offsets to the brokers now, and not only at the shutdown.

        Raises:
            BadRequest: the consumer does not run, or a queue is not its own.
            ClientError: a broker did not take an offset.
        """
        self._running_pulls()
        if positions is None:
            self._poll_buffer.commit()
        else:
            positions = {
                self._wrapped(queue): queue_offset for queue, queue_offset in positions.items()
            }
            for queue, position in positions.items():
                self._own_queue(queue)
                self._state.offsets.update(queue, position, increase_only=False)
        if persist:
            queues = list(self._process_queues) if positions is None else list(positions)
            await self._state.offsets.persist(queues, sure=True)

    async def committed(self, queue: MessageQueue) -> int | None:
        """Return the queue offset that the group reads next; None when it never committed one.

        Raises:
            ClientError: the broker did not answer.
        """
        queue = self._wrapped(queue)
        in_memory = self._state.offsets.known(queue)
        return in_memory if in_memory is not None else await self._state.offsets.read(queue)

    async def seek(self, queue: MessageQueue, queue_offset: int) -> None:
        """Continue at a queue offset, in entries; drop the messages of the queue that wait here.

        Raises:
            BadRequest: the queue is not this consumer's, or the offset is outside of it.
            ClientError: the broker did not answer.
        """
        queue = self._wrapped(queue)
        self._own_queue(queue)
        low = await queue_offsets.min_offset(self._client, queue)
        high = await queue_offsets.max_offset(self._client, queue)
        if not low <= queue_offset <= high:
            raise BadRequest(
                f"{queue_offsets.named(queue)} has {low} to {high}, not {queue_offset}"
            )
        # The queue may have been given to another member while the broker was asked.
        self._continue_at(queue, queue_offset)

    async def seek_to_begin(self, queue: MessageQueue) -> None:
        """Continue at the first message of the queue.

        Raises the same errors as ``seek``.
        """
        await self.seek(queue, await self.min_offset(queue))

    async def seek_to_end(self, queue: MessageQueue) -> None:
        """Continue after the last message of the queue.

        Raises the same errors as ``seek``.
        """
        await self.seek(queue, await self.max_offset(queue))

    def pause(self, queues: Iterable[MessageQueue]) -> None:
        """Stop pulling these queues, and let ``poll`` return none of their messages."""
        self._state.paused.update(map(self._wrapped, queues))

    def resume(self, queues: Iterable[MessageQueue]) -> None:
        """Continue with paused queues."""
        self._state.paused.difference_update(map(self._wrapped, queues))
        self._loop.do(self._poll_buffer.wake)

    # These are Java's names for two methods of ``Queries``.
    offset_for_timestamp = Queries.search_offset
    fetch_message_queues = Queries.fetch_subscribe_message_queues

    def register_topic_message_queue_change_listener(
        self, topic: str, listener: QueuesChanged
    ) -> None:
        """Call a listener whenever a topic gets or loses queues.

        Raises:
            BadRequest: the consumer does not run.
        """
        self._running_pulls()
        every_s = self.settings.topic_metadata_check_interval_ms / 1000
        self._spawn(watch(self._client, topic, listener, every_s=every_s))

    # Only this package uses the following methods.

    async def _poll(
        self, timeout_ms: int | None, *, count_max: int | None = None
    ) -> list[MessageExt]:
        self._running_pulls()
        now_ms = self._client.now_ms()
        if self.settings.auto_commit and now_ms >= self._next_commit_ms:
            self._next_commit_ms = now_ms + self.settings.auto_commit_interval_ms
            await self.commit()
        wait_ms = self.settings.poll_timeout_ms if timeout_ms is None else timeout_ms
        return await self._poll_buffer.next(wait_s=wait_ms / 1000, count_max=count_max)

    def _observed(self, messages: list[MessageExt]) -> AbstractContextManager[None]:
        now_ms = self._connections.now_ms
        return observed(self._state.hooks, self.group, messages, now_ms=now_ms)

    def _rewind(self, messages: list[MessageExt]) -> None:
        """Continue at the first of these messages, unless their queue went to another member."""
        if not messages or self._is_over:
            return
        first = messages[0]
        queue = self._wrapped(MessageQueue(first.topic, first.broker_name, first.queue_id))
        process_queue = self._process_queues.get(queue)
        if process_queue is not None and not process_queue.dropped:
            self._continue_at(queue, first.queue_offset)

    def _continue_at(self, queue: MessageQueue, queue_offset: int) -> None:
        pulls = self._running_pulls()
        self._own_queue(queue).dropped = True
        pulls.end(queue)
        fresh = ProcessQueue(queue, next_offset=queue_offset, now_ms=self._client.now_ms())
        self._process_queues[queue] = fresh
        self._poll_buffer.start_over(fresh)
        pulls.start_reading(fresh)

    def _heartbeat_subscriptions(self) -> Iterable[TopicSubscription]:
        # Assigned queues take no part in the rebalance of the group.
        return () if self._assigned is not None else super()._heartbeat_subscriptions()

    def _own_queue(self, queue: MessageQueue) -> ProcessQueue:
        self._running_pulls()
        process_queue = self._process_queues.get(queue)
        if process_queue is None or process_queue.dropped:
            raise BadRequest(
                f"{queue_offsets.named(queue)} is not this consumer's now",
                hint="see assignment(); a rebalance may have given it to another member",
            )
        return process_queue


async def watch(client: MQClient, topic: str, listener: QueuesChanged, *, every_s: float) -> None:
    """Call a listener with every change of a topic's queues, until this is cancelled.

    Args:
        client: asks the name servers; one that does not answer is logged.
        topic: with the namespace or without.
        listener: gets the topic and its queues; it may be a coroutine function.
        every_s: the pause between two requests, in seconds.
    """
    before: list[MessageQueue] | None = None
    while True:
        try:
            route = await client.route(wrap(client.namespace, topic), fresh=True)
            now = routes.consumer_queues(topic, route)
        except ClientError as error:
            LOG.warning("queues of topic %s: %s", topic, error)
        else:
            if before is not None and now != before:
                awaitable = listener(topic, now)
                if awaitable is not None:
                    await awaitable
            before = now
        await asyncio.sleep(every_s)

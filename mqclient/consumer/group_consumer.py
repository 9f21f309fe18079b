"""The base of push and lite pull consumers: a member of a group, from start to shutdown.

    subscriptions --rebalance--> process queues --one pull loop each--> listener, or ``poll``

Both kinds subscribe to topics, get queues by rebalance or by assignment, read each queue with a
pull loop, send heartbeats, answer the brokers' requests, and persist their offsets when they
leave. ``push_consumer`` and ``lite_pull_consumer`` add how the application gets the messages.

Rule: everything that changes a running consumer runs in its own event loop (``OwnLoop``), because
listeners in threads may call methods that are not coroutines, as in Java.

Source: client/impl/consumer/DefaultMQPushConsumerImpl.java,
client/impl/consumer/DefaultLitePullConsumerImpl.java (4.9.7).
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from pathlib import Path
from typing import ClassVar

from mqclient.admin.queries import Queries
from mqclient.argument_checks import check_text
from mqclient.client import routes
from mqclient.client.instance import MQClient
from mqclient.client.members import RequestHandler
from mqclient.consumer.broker_requests import BrokerRequests
from mqclient.consumer.consumer_settings import HALF_AN_HOUR_MS, LitePullSettings, PushSettings
from mqclient.consumer.pull.pull_message_service import PullMessageService
from mqclient.consumer.rebalance.queue_locks import QueueLocks
from mqclient.consumer.rebalance.rebalancing import Rebalancing
from mqclient.consumer.state.consume_hooks import ConsumeHook
from mqclient.consumer.state.consumer_state import ConsumerState, ConsumeService
from mqclient.consumer.state.offset_store import offset_store
from mqclient.consumer.subscription import (
    ALL,
    TAG,
    MessageSelector,
    Subscription,
    TopicSubscription,
)
from mqclient.errors import BadRequest, BrokerRefused, ClientError
from mqclient.namespace import checked_group, wrap
from remoting.bodies import ConsumerData, ConsumeType, MessageQueue

LOG = logging.getLogger(__name__)


class GroupConsumer(Queries):
    """One member of a consumer group.

    Args:
        client: the connections; a client has at most one member of a group.
        group: the consumer group.
        shared: the settings that both kinds of consumer have.
        local_dir: where a broadcasting consumer keeps its offsets.

    Raises:
        BadRequest: the group name is not allowed.
        BadAnswer: the offset file of a broadcasting consumer cannot be read.
    """

    _consume_type: ClassVar[ConsumeType]

    def __init__(
        self, client: MQClient, group: str, *, shared: PushSettings, local_dir: str | Path
    ) -> None:
        self.group = group = checked_group(group, client.namespace)
        super().__init__(client, f"consumer of group {group}")
        store = offset_store(client, group, broadcasting=shared.broadcasting, local_dir=local_dir)
        self._state = ConsumerState(client, group, settings=shared, offsets=store)
        self._subscriptions = self._state.subscriptions
        self._process_queues = self._state.process_queues
        self._locks = QueueLocks(client, group)
        self._loop = OwnLoop()
        self._service: ConsumeService | None = None
        self._pulls: PullMessageService | None = None
        self._rebalancing: Rebalancing | None = None
        self._handlers: dict[int, RequestHandler] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def subscribe(
        self, topic: str, expression: str | MessageSelector = ALL, *, kind: str = TAG
    ) -> None:
        """Subscribe to a topic, and share its queues with the group; a second call replaces this.

        Args:
            topic: with the namespace or without.
            expression: ``*``, ``TagA || TagB``, with ``kind`` SQL92 an SQL expression, or a
                ``MessageSelector``, which says both.
            kind: TAG or SQL92, the kind of an expression that is a text.

        Raises:
            BadRequest: the topic name or the expression is not allowed.
        """
        subscription = self._subscription(topic, expression, kind)
        self._loop.do(partial(self._set_subscription, subscription.data.topic, subscription))

    def unsubscribe(self, topic: str) -> None:
        """End the subscription to a topic; its queues go to other members."""
        topic = wrap(self._connections.namespace, topic)
        self._loop.do(partial(self._set_subscription, topic, None))

    def register_consume_hook(self, hook: ConsumeHook) -> None:
        """Call a hook before and after every consumption, see ``state/hooks.py``."""
        self._state.hooks.append(hook)

    def assignment(self) -> list[MessageQueue]:
        """Return the queues that this member has now, sorted; topics are with the namespace."""
        return sorted(
            queue
            for queue, process_queue in self._process_queues.items()
            if not process_queue.dropped
        )

    @property
    def is_running(self) -> bool:
        """Whether ``start`` was called and ``shutdown`` was not."""
        return self._service is not None

    @property
    def last_poll_ms(self) -> int | None:
        """When a broker last answered a pull, in ms since 1970; None before the first answer.

        A broker holds a pull without messages for 15 s (``PushSettings``) or 20 s
        (``LitePullSettings``), so a member that has queues and works is never far above that.
        """
        return self._state.last_pull_ms

    def lag(self) -> dict[MessageQueue, int]:
        """Return how many entries of each of this member's queues are not consumed yet.

        This is as new as the last pull of each queue, and asks no broker; queues that were not
        pulled yet are left out. Topics are with the namespace.
        """
        offsets = self._state.offsets
        lags: dict[MessageQueue, int] = {}
        for queue, process_queue in self._process_queues.items():
            if process_queue.dropped or process_queue.broker_offset is None:
                continue
            position = offsets.known(queue)
            if position is None:
                position = process_queue.next_offset - process_queue.count
            lags[queue] = max(0, process_queue.broker_offset - position)
        return lags

    async def shutdown(self) -> None:
        """Leave the group: stop pulls and listeners, persist offsets, release locks.

        A second call does nothing. Another member gets the messages that were not consumed.
        """
        await super().shutdown()
        service, pulls = self._service, self._pulls
        if service is None or pulls is None:
            return
        self._service = None
        for task in self._tasks:
            task.cancel()
        pulls.stop()
        settings = self._state.settings
        await service.stop(wait_s=settings.await_termination_ms_when_shutdown / 1000)
        await self._leave(unlock=service.orderly and not settings.broadcasting)

    # ``Members`` of the client calls the following methods.

    def request_handlers(self) -> dict[int, RequestHandler]:
        """Return the method that answers each request code of a broker."""
        return {} if self._service is None else self._handlers

    def topics(self) -> Iterable[str]:
        """Return the subscribed topics."""
        return list(self._subscriptions)

    def consumer_data(self) -> ConsumerData:
        """Return what heartbeats tell brokers about this consumer."""
        shared = self._state.settings
        return ConsumerData(
            group_name=self.group,
            consume_type=self._consume_type,
            message_model=shared.message_model,
            consume_from_where=shared.consume_from_where,
            subscription_data_set=[each.data for each in self._heartbeat_subscriptions()],
            unit_mode=shared.unit_mode,
        )

    def _heartbeat_subscriptions(self) -> Iterable[TopicSubscription]:
        """Return the subscriptions that heartbeats carry."""
        return self._subscriptions.values()

    def _subscription(
        self, topic: str, expression: str | MessageSelector, kind: str
    ) -> TopicSubscription:
        check_text("topic", topic)
        return TopicSubscription.of(
            wrap(self._client.namespace, topic),
            Subscription.parse(expression, kind=kind),
            version=self._client.now_ms(),
        )

    def _set_subscription(self, topic: str, subscription: TopicSubscription | None) -> None:
        if subscription is None:
            self._subscriptions.pop(topic, None)
        else:
            self._subscriptions[topic] = subscription
            if self._service is not None:
                self._spawn(self._client.members.heartbeat())
        self._state.rebalance_now.set()

    async def _join(
        self, service: ConsumeService, lite: LitePullSettings | None = None
    ) -> Rebalancing:
        """Create the parts, join the group, and return the rebalance, which begins the queues.

        Args:
            service: consumes the messages.
            lite: the settings of a lite pull consumer.

        Raises:
            BadRequest: the client has a member of this group already.
        """
        self._loop.enter()
        now_ms = self._client.now_ms()
        from_ms = self._state.settings.consume_from_ms
        from_ms = now_ms - HALF_AN_HOUR_MS if from_ms is None else from_ms
        self._service = service
        self._pulls = pulls = PullMessageService(self._state, service, from_ms=from_ms, lite=lite)
        self._rebalancing = Rebalancing(self._state, service, pulls=pulls, locks=self._locks)
        self._handlers = BrokerRequests(
            self._state, service, pulls=pulls, started_ms=now_ms
        ).table()
        try:
            await self._client.members.join_consumer(self)
        except BaseException:
            # This consumer did not join, so its shutdown must not remove the other member.
            self._service = None
            raise
        return self._rebalancing

    def _running_pulls(self) -> PullMessageService:
        self._check_alive()
        if self._service is None or self._pulls is None:
            raise BadRequest(f"consumer of {self.group} does not run", hint="await start() first")
        return self._pulls

    async def _check_expressions(self) -> None:
        """Ask a broker of each topic whether it can read the topic's SQL92 expression.

        Only an expression that a broker refuses is an error. A broker that is away is not asked
        again later: a pull with an expression that it cannot read then filters nothing, as in
        Java.

        Raises:
            BrokerRefused: a broker cannot read an expression, or filters by tags only.
        """
        for subscription in list(self._subscriptions.values()):
            if subscription.subscription.kind == TAG:
                continue
            topic = subscription.data.topic
            try:
                readers = routes.readers(await self._client.route(topic))
                for address in list(readers.values())[:1]:
                    await subscription.check_at(self._client, address, group=self.group)
            except BrokerRefused:
                raise
            except ClientError as error:
                LOG.warning("the expression for topic %s was not checked: %s", topic, error)

    async def _leave(self, *, unlock: bool = False) -> None:
        """Give up every queue, persist the offsets, and unregister from the brokers."""
        for process_queue in self._process_queues.values():
            process_queue.dropped = True
        try:
            await self._state.offsets.persist(list(self._process_queues), sure=True)
        except (ClientError, OSError) as error:
            LOG.warning("offsets of %s were not persisted at shutdown: %s", self.group, error)
        if unlock:
            await self._locks.unlock(self._process_queues)
        await self._connections.members.leave(self.group, consumer=True)
        self._state.tasks.cancel()
        self._process_queues.clear()

    def _spawn(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.append(task)
        self._state.tasks.add(task)


class OwnLoop:
    """The event loop that a consumer runs in; it has none before ``enter``."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def enter(self) -> None:
        """Make the running loop the consumer's own."""
        self._loop = asyncio.get_running_loop()

    def do(self, work: Callable[[], object]) -> None:
        """Call ``work`` at once in the loop's own thread, or in the next turn of the loop.

        Raises:
            BadRequest: the loop has ended.
        """
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if self._loop is None or self._loop is running:
            work()
            return
        try:
            self._loop.call_soon_threadsafe(work)
        except RuntimeError as error:
            raise BadRequest(f"the consumer's event loop has ended: {error}") from error

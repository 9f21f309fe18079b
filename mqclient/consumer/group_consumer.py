"""What push and lite pull consumers share: a member of a consumer group, from start to shutdown.

    subscriptions --rebalance--> process queues --one pull loop each--> listener, or ``poll``

Both kinds subscribe to topics, get queues by rebalance or by assignment, read each queue with a
pull loop, send heartbeats, answer the brokers' requests, and persist their offsets when they
leave. ``push_consumer`` and ``lite_pull_consumer`` add how the application gets the messages.

Rule: whatever changes a running consumer runs in its own event loop (``OwnLoop``), because
listeners in threads may call methods that are not coroutines, as in Java.

Source: client/impl/consumer/DefaultMQPushConsumerImpl.java, DefaultLitePullConsumerImpl.java,
client/impl/factory/MQClientInstance.java#checkClientInBroker (4.9.7).
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import ClassVar

from mqclient.admin.queries import Queries
from mqclient.client import routes
from mqclient.client.instance import MQClient
from mqclient.client.members import RequestHandler
from mqclient.consumer.broker_requests import BrokerRequests
from mqclient.consumer.consumer_state import ConsumerState, ConsumeService
from mqclient.consumer.offset_store import offset_store
from mqclient.consumer.queue_locks import QueueLocks
from mqclient.consumer.queue_pull import QueuePulls
from mqclient.consumer.rebalance import Rebalancing
from mqclient.consumer.settings import HALF_AN_HOUR_MS, PushSettings
from mqclient.consumer.subscription import TAG, TopicSubscription
from mqclient.errors import BadRequest, BrokerRefused, ClientError
from mqclient.namespace import checked_group
from remoting.bodies import CheckClientRequestBody, ConsumerData, ConsumeType, MessageQueue
from remoting.codes import RequestCode

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
        self, client: MQClient, group: str, *, shared: PushSettings, local_dir: Path
    ) -> None:
        self.group = group = checked_group(group, client.namespace)
        super().__init__(client, f"consumer of group {group}")
        store = offset_store(client, group, broadcasting=shared.broadcasting, local_dir=local_dir)
        self._state = ConsumerState(client, group, settings=shared, offsets=store)
        self._subscriptions = self._state.subscriptions
        self._process_queues = self._state.process_queues
        self._locks = QueueLocks(client, group)
        self._loop = OwnLoop()
        self._started_ms = 0
        self._tasks: list[asyncio.Task[None]] = []

    def assignment(self) -> list[MessageQueue]:
        """Return the queues that this member has now, sorted; topics are with the namespace."""
        return sorted(
            queue
            for queue, process_queue in self._process_queues.items()
            if not process_queue.dropped
        )

    # The client's ``Members`` call these.

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

    def _consume_from_ms(self, now_ms: int) -> int:
        """Return the store time that CONSUME_FROM_TIMESTAMP means, in ms since 1970."""
        from_ms = self._state.settings.consume_from_ms
        return now_ms - HALF_AN_HOUR_MS if from_ms is None else from_ms

    def _make_rebalancing(self, service: ConsumeService, pulls: QueuePulls) -> Rebalancing:
        return Rebalancing(self._state, service, pulls=pulls, locks=self._locks)

    def _broker_request_handlers(
        self, service: ConsumeService, pulls: QueuePulls, rebalancing: Rebalancing
    ) -> dict[int, RequestHandler]:
        return BrokerRequests(
            self._state,
            service,
            pulls=pulls,
            rebalancing=rebalancing,
            started_ms=self._started_ms,
        ).table()

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
            body = CheckClientRequestBody(
                client_id=self._client.client_id,
                group=self.group,
                subscription_data=subscription.data,
            )
            try:
                readers = routes.readers(await self._client.route(topic))
                for address in list(readers.values())[:1]:
                    await self._client.call(
                        address,
                        RequestCode.CHECK_CLIENT_CONFIG,
                        what=f"expression {subscription.data.sub_string!r} for topic {topic}",
                        body=body.encode(),
                    )
            except BrokerRefused:
                raise
            except ClientError as error:
                LOG.warning("the expression for topic %s was not checked: %s", topic, error)

    def _stop_pulling(self, pulls: QueuePulls) -> None:
        for task in self._tasks:
            task.cancel()
        pulls.stop()

    async def _leave(self, *, unlock: bool = False) -> None:
        """Give up every queue, persist the offsets and take leave of the brokers."""
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
        """Call ``work``: at once in the loop's own thread, else in the loop's next turn.

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

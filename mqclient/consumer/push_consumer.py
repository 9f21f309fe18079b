"""The push consumer: a member of a group that gets messages delivered to a listener.

    async with PushConsumer(client, "group") as consumer:
        consumer.subscribe("Topic", "TagA || TagB")

        @consumer.concurrently
        async def listen(messages, context):
            ...  # An exception brings the messages again.

        await consumer.start()

    rebalance (every 20 s, and on request) --> queues --> one pull loop each --> listener
                                                                           `--> offsets, every 5 s

This module starts and stops the parts. ``rebalance`` decides who gets which queue,
``pull_message_service`` reads a queue, ``process_queue`` keeps its messages until they are
consumed, and ``consume_concurrently`` or ``consume_orderly`` calls the listener.

Source: client/impl/consumer/DefaultMQPushConsumerImpl.java (4.9.7).
"""

import asyncio
import logging
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from mqclient.argument_checks import checked_settings
from mqclient.client.instance import MQClient
from mqclient.consumer.consumer_settings import PushSettings
from mqclient.consumer.group_consumer import GroupConsumer
from mqclient.consumer.listener.consume_concurrently import ConsumeConcurrently
from mqclient.consumer.listener.consume_orderly import ConsumeOrderly
from mqclient.consumer.listener.listeners import (
    ConcurrentListener,
    OrderlyListener,
    checked_listener,
)
from mqclient.consumer.state.consumer_state import ConsumeService
from mqclient.consumer.state.offset_store import LOCAL_DIR, OffsetStore
from mqclient.consumer.state.process_queue import LOCK_AGAIN_MS
from mqclient.consumer.subscription import (
    ALL,
    Subscription,
    TopicSubscription,
)
from mqclient.errors import BadRequest, ClientError
from mqclient.message import MessageExt
from mqclient.namespace import retry_topic_of
from remoting.bodies import ConsumeType

LOG = logging.getLogger(__name__)

FIRST_LOCK_S: Final = 1.0
_L = TypeVar("_L", bound=ConcurrentListener)
_O = TypeVar("_O", bound=OrderlyListener)


class PushConsumer(GroupConsumer):
    """A member of a consumer group whose listener gets the messages.

    Args:
        client: the connections; a client has at most one member of a group.
        group: the consumer group.
        settings: see ``PushSettings``; None means the defaults.
        local_dir: broadcasting only: the directory of the offset files.

    Attributes:
        offsets: where the offsets are kept; an application may set another store before the start.

    Raises:
        BadRequest: the group name is not allowed.
    """

    _consume_type = ConsumeType.CONSUME_PASSIVELY

    def __init__(
        self,
        client: MQClient,
        group: str,
        settings: PushSettings | None = None,
        *,
        local_dir: str | Path = LOCAL_DIR,
    ) -> None:
        self.settings = checked_settings(settings, PushSettings)
        super().__init__(client, group, shared=self.settings, local_dir=local_dir)
        self._listener: ConcurrentListener | OrderlyListener | None = None
        self._orderly = False

    @property
    def offsets(self) -> OffsetStore:
        """Where the consumer offsets are kept."""
        return self._state.offsets

    @offsets.setter
    def offsets(self, store: OffsetStore) -> None:
        self._check_not_started("another offset store")
        self._state.offsets = store

    # The following methods choose what is consumed, and by which listener.

    def register_message_listener(
        self, listener: ConcurrentListener | OrderlyListener, *, orderly: bool = False
    ) -> None:
        """Set the function that gets the messages.

        Args:
            listener: see ``listener/listeners.py``; coroutine functions run in the loop, plain ones
                in threads.
            orderly: True consumes each queue in order, under the broker's lock.

        Raises:
            BadRequest: the consumer has started, or the listener cannot be called with messages
                and a context.
        """
        self._check_not_started("another listener")
        checked_listener(listener)
        self._listener = listener
        self._orderly = orderly

    def concurrently(self, listener: _L) -> _L:
        """Decorate a listener that gets messages in any order, in many calls at a time."""
        self.register_message_listener(listener)
        return listener

    def orderly(self, listener: _O) -> _O:
        """Decorate a listener that gets the messages of each queue in order, a batch at a time."""
        self.register_message_listener(listener, orderly=True)
        return listener

    # The following methods start and stop the consumer.

    async def start(self) -> None:
        """Join the group and begin to consume.

        Without a name server it starts as well, and begins to consume once there is one.

        Raises:
            BadRequest: there is no listener, the consumer ran before, or the client has a
                member of this group already.
            BrokerRefused: a broker cannot read an SQL92 expression.
        """
        self._check_not_started("a second start")
        if self._listener is None:
            raise BadRequest(
                f"consumer of {self.group} has no listener",
                hint="register_message_listener, or decorate with @consumer.concurrently",
            )
        # This comes before the join, because a failed start would leave a member in the group.
        await self._check_expressions()
        self._check_not_started("a second start")
        if not self.settings.broadcasting:
            retry_topic = retry_topic_of(self.group)
            self._subscriptions[retry_topic] = TopicSubscription.of(
                retry_topic, Subscription.parse(ALL), version=self._client.now_ms()
            )
        service = self._make_service()
        rebalancing = await self._join(service)
        service.resize(self.settings.consume_thread_min)
        self._spawn(rebalancing.rebalance_often())
        self._spawn(self._persist_often())
        if not self.settings.broadcasting and service.orderly:
            self._spawn(self._lock_often())
        elif not service.orderly:
            self._spawn(self._expire_often())

    def suspend(self) -> None:
        """Stop pulling; messages that were pulled before are still consumed."""
        self._running_pulls().suspended = True

    def resume(self) -> None:
        """Pull again after ``suspend``."""
        self._running_pulls().suspended = False

    def update_core_pool_size(self, count: int) -> None:
        """Let at most ``count`` listeners run at a time; ``count`` is 1 to 1000.

        Raises:
            BadRequest: the count is out of range, or the consumer does not run.
        """
        if not 0 < count <= 1000:
            raise BadRequest(f"core pool size {count}, allowed are 1 to 1000")
        if self._service is None:
            raise BadRequest(f"consumer of {self.group} does not run")
        self._loop.do(partial(self._service.resize, count))

    async def send_message_back(
        self, message: MessageExt, delay_level: int, *, broker_name: str | None = None
    ) -> None:
        """Send a message back, so that the group gets it again later.

        When the broker does not take it, the message is sent as a new one to the retry topic on
        any broker, with a delay of 10 s or more.

        Args:
            message: as the listener got it.
            delay_level: 0 lets the broker choose; below 0 means the dead letter queue.
            broker_name: a broker that has the message; None means the one it came from.

        Raises:
            ClientError: no broker took it.
        """
        await self._state.give_back(message, delay_level=delay_level, broker_name=broker_name)

    # Only this package uses the following methods.

    def _make_service(self) -> ConsumeService:
        listener = self._listener
        if self._orderly:
            return ConsumeOrderly(
                self._state,
                listener,  # type: ignore[arg-type]
                locks=self._locks,
            )
        return ConsumeConcurrently(self._state, listener)  # type: ignore[arg-type]

    def _check_not_started(self, what: str) -> None:
        if self._pulls is not None:
            raise BadRequest(
                f"{what} for consumer of {self.group}, which has started",
                hint="make a new consumer",
            )

    async def _persist_often(self) -> None:
        while True:
            await asyncio.sleep(self.settings.persist_consumer_offset_interval_ms / 1000)
            try:
                await self.offsets.persist(list(self._process_queues))
            except ClientError as error:
                level = self._client.log_level(error)
                LOG.log(level, "offsets of %s were not persisted: %s", self.group, error)
            except OSError as error:
                LOG.warning("offsets of %s were not persisted: %s", self.group, error)

    async def _lock_often(self) -> None:
        await asyncio.sleep(FIRST_LOCK_S)
        while True:
            await self._locks.lock_all(list(self._process_queues.values()))
            await asyncio.sleep(LOCK_AGAIN_MS / 1000)

    async def _expire_often(self) -> None:
        service = self._service
        while isinstance(service, ConsumeConcurrently):
            await asyncio.sleep(self.settings.consume_timeout_min * 60)
            for process_queue in list(self._process_queues.values()):
                await service.give_back_expired(process_queue)

"""The state that the parts of one consumer share, and the interface of what consumes messages.

    pull loops, rebalance, answers to brokers --> ConsumerState <-- ConsumeService

A ``ConsumeService`` consumes what is pulled; there is a concurrent one, an orderly one, and the
poll buffer of a lite pull consumer.

Rule: a message that failed is sent back (``send_back``) to its broker, which puts it into the
retry topic with a growing delay or into the dead letter queue. When no broker takes it, it stays
in its process queue and is tried again after 5 s, so that the queue's offset never passes it. A
message whose body cannot be decompressed is never given to a listener: it goes to the dead letter
queue as it is stored, so that it is neither lost nor blocks the messages behind it.

Source: client/impl/consumer/ConsumeMessageConcurrentlyService.java,
ConsumeMessageOrderlyService.java (4.9.7).
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from mqclient.client.instance import MQClient
from mqclient.consumer.consumer_settings import PushSettings
from mqclient.consumer.state.consume_hooks import ConsumeHook
from mqclient.consumer.state.consume_stats import TopicStats
from mqclient.consumer.state.offset_store import OffsetStore
from mqclient.consumer.state.process_queue import ProcessQueue
from mqclient.consumer.state.send_back import SendBack
from mqclient.consumer.subscription import TopicSubscription
from mqclient.message import MessageExt
from mqclient.namespace import retry_topic_of, unwrap
from remoting.bodies import ConsumeMessageDirectlyResult, MessageQueue
from storefmt.formats.properties import RETRY_TOPIC

LOG = logging.getLogger(__name__)

RECONSUME_COUNT_MAX: Final = 16


class ConsumerState:
    """The state that the parts of one consumer share.

    Args:
        client: the connections.
        group: the consumer group, with its namespace.
        settings: the settings that both kinds of consumer have.
        offsets: where the consumer offsets are kept.

    Attributes:
        offsets: the same; replaced only before the start.
        subscriptions: what the consumer subscribed to, by topic.
        process_queues: the queues that this member has, with their messages.
        hooks: called before and after every call of the listener.
        stats: rates by topic.
        last_pull_ms: when a broker last answered a pull, in ms since 1970; None before.
        paused: queues that are neither pulled nor polled for now.
        rebalance_now: set to rebalance as soon as possible instead of at the next 20 s.
        tasks: background tasks, which end with the consumer.
    """

    def __init__(
        self, client: MQClient, group: str, *, settings: PushSettings, offsets: OffsetStore
    ) -> None:
        self.client = client
        self.group = group
        self._retry_topic = retry_topic_of(group)
        self._namespace = client.namespace
        self.settings = settings
        self.offsets = offsets
        self.subscriptions: dict[str, TopicSubscription] = {}
        self.process_queues: dict[MessageQueue, ProcessQueue] = {}
        self.hooks: list[ConsumeHook] = []
        self.stats: defaultdict[str, TopicStats] = defaultdict(TopicStats)
        self.last_pull_ms: int | None = None
        self.paused: set[MessageQueue] = set()
        self.rebalance_now = asyncio.Event()
        self.tasks = Tasks()
        self._has_given_back = False
        self._sendback = SendBack(
            client,
            group,
            reconsume_count_max=self.reconsume_count_max,
            unit_mode=settings.unit_mode,
        )

    def advance_offset(self, process_queue: ProcessQueue, position: int) -> None:
        """Move the offset of a queue forward, unless another member has the queue by now."""
        if position >= 0 and not process_queue.dropped:
            self.offsets.update(process_queue.queue, position, increase_only=True)

    def under_original_topic(self, message: MessageExt) -> MessageExt:
        """Return a message as the application sees it: under the topic it was sent to."""
        # The topic is compared first, so that most messages' properties stay unparsed.
        topic = message.record.topic
        if topic == self._retry_topic:
            topic = message.properties.get(RETRY_TOPIC, topic)
        elif not self._namespace:
            return message
        return message.but(topic=unwrap(self._namespace, topic))

    @property
    def reconsume_count_max(self) -> int:
        """How often a message is sent back before it goes to the dead letter queue (concurrent)."""
        times = self.settings.max_reconsume_times
        return RECONSUME_COUNT_MAX if times == -1 else times

    async def give_back(
        self, message: MessageExt, *, delay_level: int = 0, broker_name: str | None = None
    ) -> None:
        """Send a message back, so that the group gets it again later.

        Args:
            message: as it was pulled, or as the application saw it.
            delay_level: 0 lets the broker choose, below 0 means the dead letter queue.
            broker_name: a broker that has the message; None means the one it came from.

        Raises:
            ClientError: neither its broker took it nor any other.
        """
        await self._sendback.give_back(
            self.under_original_topic(message), delay_level=delay_level, broker_name=broker_name
        )
        if not self._has_given_back:
            # The first failure of a group may have created its retry topic.
            self._has_given_back = True
            self.rebalance_now.set()


class ConsumeService(Protocol):
    """Consumes the messages of a consumer: concurrently, in order, or by polling."""

    orderly: bool

    def submit(self, process_queue: ProcessQueue, new: Sequence[MessageExt]) -> None:
        """Consume messages that were put into a queue."""

    def skip_to(self, process_queue: ProcessQueue, position: int) -> None:
        """Let the offset of an empty process queue pass messages that the broker filtered."""

    def resize(self, count: int) -> None:
        """Let at most ``count`` listeners run at a time."""

    async def stop(self, *, wait_s: float) -> None:
        """Take no more messages; wait at most ``wait_s`` for listeners that run."""

    async def consume_directly(self, message: MessageExt) -> ConsumeMessageDirectlyResult:
        """Call the listener with one message that belongs to no process queue."""

    async def release(self, process_queue: ProcessQueue) -> bool:
        """Return whether another member may have a dropped queue; False means to ask again."""


class Tasks:
    """Background tasks; this keeps a reference to each, and logs its error."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def later(self, delay_s: float, work: Callable[[], None]) -> None:
        """Call ``work`` after ``delay_s``, unless the tasks are cancelled before."""

        async def wait() -> None:
            await asyncio.sleep(delay_s)
            work()

        self.add(asyncio.get_running_loop().create_task(wait()))

    def add(self, task: asyncio.Task[None]) -> None:
        """Keep a task until it ends."""
        self._running.add(task)
        task.add_done_callback(self._done)

    def cancel(self) -> None:
        """Cancel all tasks except the one that calls this."""
        caller = asyncio.current_task()
        for task in self._running:
            if task is not caller:
                task.cancel()

    def _done(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            LOG.error("consumer task %s ended", task.get_name(), exc_info=error)

"""What both kinds of consumption share: who consumes, and how a message is given back.

Rule: a message that failed is given back (``sendback``): to its broker, which puts it into the
retry topic with a growing delay or into the dead letter queue, or to any other. When none takes
it, it stays here and is tried again after 5 s, so its queue's position never passes it. A
message whose body cannot be decompressed is never given to a listener: it goes to the dead
letter queue as it is stored, so that it is neither lost nor in the way of those behind it.

Source: client/impl/consumer/ConsumeMessageConcurrentlyService.java,
ConsumeMessageOrderlyService.java (4.9.7).
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from mqclient.client.instance import MQClient
from mqclient.consumer.consume_stats import TopicStats
from mqclient.consumer.hooks import ConsumeHook
from mqclient.consumer.offset_store import OffsetStore
from mqclient.consumer.process_queue import ProcessQueue
from mqclient.consumer.send_back import SendBack
from mqclient.consumer.settings import PushSettings
from mqclient.consumer.subscription import TopicSubscription
from mqclient.errors import ClientError
from mqclient.message import MessageExt
from mqclient.namespace import retry_topic_of, unwrap
from remoting.bodies import CMResult, ConsumeMessageDirectlyResult, MessageQueue
from storefmt.properties import RETRY_TOPIC

if TYPE_CHECKING:
    from mqclient.consumer.listeners import ListenerCaller

LOG = logging.getLogger(__name__)

_Context = TypeVar("_Context")
_Status = TypeVar("_Status")
RECONSUME_COUNT_MAX: Final = 16
TRY_AGAIN_S: Final = 5.0
TO_DEAD_LETTERS: Final = -1
"""The delay level that puts a message aside for good."""


class ConsumerState:
    """The consumer as its consumption sees it.

    Attributes:
        offsets: positions; replaced only before the start.
        subscriptions: what the consumer subscribed to, by topic.
        process_queues: the queues that this member has.
        hooks: told of every call of the listener.
        stats: rates by topic.
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
        self.tasks = Tasks()
        self._sendback = SendBack(
            client,
            group,
            reconsume_count_max=self.reconsume_count_max,
            unit_mode=settings.unit_mode,
        )

    def advance_offset(self, process_queue: ProcessQueue, position: int) -> None:
        """Take a new position of a queue, unless it is another member's by now."""
        if position >= 0 and not process_queue.dropped:
            self.offsets.update(process_queue.queue, position, increase_only=True)

    def under_original_topic(self, message: MessageExt) -> MessageExt:
        """Return a message as the application sees it: under the topic it was sent to."""
        # The topic first: most messages are of another, and their properties stay unparsed.
        topic = message.record.topic
        if topic == self._retry_topic:
            topic = message.properties.get(RETRY_TOPIC, topic)
        elif not self._namespace:
            return message
        return message.but(topic=unwrap(self._namespace, topic))

    @property
    def reconsume_count_max(self) -> int:
        """How often a message is given back before it is put aside (concurrent)."""
        times = self.settings.max_reconsume_times
        return RECONSUME_COUNT_MAX if times == -1 else times

    async def give_back(
        self, message: MessageExt, *, delay_level: int = 0, broker_name: str | None = None
    ) -> None:
        """Let the broker deliver a message again, later.

        Args:
            delay_level: 0 lets the broker choose, below 0 means the dead letter queue.
            broker_name: a broker that has the message; where it came from when None.

        Raises:
            ClientError: neither its broker took it nor any other.
        """
        await self._sendback.give_back(
            self.under_original_topic(message), delay_level=delay_level, broker_name=broker_name
        )


class ConsumeService(Protocol):
    """Concurrent or orderly consumption."""

    orderly: bool

    def start(self) -> None:
        """Be ready for messages."""

    def submit(self, process_queue: ProcessQueue, new: Sequence[MessageExt]) -> None:
        """Consume messages that were put into a queue."""

    def skip_to(self, process_queue: ProcessQueue, position: int) -> None:
        """Let the position of a queue that holds nothing pass messages of others."""

    def resize(self, count: int) -> None:
        """Let so many listeners run at a time."""

    async def stop(self, *, wait_s: float) -> None:
        """Take nothing more; wait so long for listeners at work."""

    async def consume_directly(self, message: MessageExt) -> ConsumeMessageDirectlyResult:
        """Let the listener have one message, outside of any queue."""

    async def release(self, process_queue: ProcessQueue) -> bool:
        """Return whether another member may have a dropped queue; False: ask again later."""


async def call_directly(
    state: ConsumerState,
    listening: "ListenerCaller[_Context, _Status]",
    message: MessageExt,
    context: _Context,
    results: Mapping[_Status, CMResult],
) -> ConsumeMessageDirectlyResult:
    """Call the listener with one message, as an operator asked; nothing is committed.

    Args:
        consuming: the consumer.
        listening: its listener.
        message: under the topic it was sent to.
        context: what the listener gets beside it.
        results: what each status of the listener means to the operator.

    Returns:
        The result, with ``order`` and ``auto_commit`` as of a concurrent consumer.
    """
    started_ms = state.client.now_ms()
    result, remark = CMResult.CR_THROW_EXCEPTION, None
    try:
        answer = await listening.call([message], context)
        # Not by equality: a status is a text, too, and only a real status counts.
        found = (meaning for status, meaning in results.items() if status is answer)
        result = next(found, CMResult.CR_RETURN_NULL)
    except Exception as error:
        LOG.exception("listener of %s", state.group)
        remark = f"{type(error).__name__}: {error}"
    return ConsumeMessageDirectlyResult(
        order=False,
        auto_commit=True,
        consume_result=result,
        remark=remark,
        spent_time_mills=state.client.now_ms() - started_ms,
    )


def queue_of(message: MessageExt) -> MessageQueue:
    """Return the queue that a message is from."""
    return MessageQueue(message.topic, message.broker_name, message.queue_id)


class Tasks:
    """Tasks that nobody waits for: kept from the garbage collector, their errors logged."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def later(self, delay_s: float, work: Callable[[], None]) -> None:
        """Do something after a while, unless all is cancelled before."""

        async def wait() -> None:
            await asyncio.sleep(delay_s)
            work()

        self.add(asyncio.get_running_loop().create_task(wait()))

    def add(self, task: asyncio.Task[None]) -> None:
        """Look after a task."""
        self._running.add(task)
        task.add_done_callback(self._done)

    def cancel(self) -> None:
        """Cancel all of them but the one that asks for it."""
        caller = asyncio.current_task()
        for task in self._running:
            if task is not caller:
                task.cancel()

    def _done(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            LOG.error("consumer task %s ended", task.get_name(), exc_info=error)


def log_not_given_back(message: MessageExt, error: ClientError) -> None:
    """Say that a message stays here for another try."""
    LOG.warning("message %s is tried again here in %g s: %s", message.msg_id, TRY_AGAIN_S, error)


def log_unreadable(message: MessageExt) -> None:
    """Say that no listener gets a message."""
    LOG.error("no listener gets this one, it goes to the dead letters: %s", message.unreadable)

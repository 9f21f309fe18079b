"""Reading the queues a member has: one loop each, as long as the queue is its own.

    pull --> FOUND                    put, consume, next pull at once
         --> NO_NEW_MSG, NO_MATCHED   next pull at once, the broker held this one
         --> OFFSET_ILLEGAL           the queue is dropped, its position corrected and kept;
                                      the next rebalance begins it anew
         --> too much held            50 ms
         --> the broker does not      1 s, and a heartbeat: it has restarted, or the connection
             know this member         was lost, and the next usual one may be 30 s away
         --> error                    1 s

Rule: a loop holds back when its queue holds too many messages, too many bytes, or (concurrent
consumption) reaches too far behind one slow message; nothing pulled is ever thrown away for
that. An orderly queue is pulled only under its lock.

Source: client/impl/consumer/DefaultMQPushConsumerImpl.java#pullMessage (4.9.7), which leaves a
restarted broker to the next heartbeat.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from mqclient.client import offsets
from mqclient.client.instance import MQClient
from mqclient.consumer.consumer_state import ConsumerState, ConsumeService
from mqclient.consumer.offset_store import OffsetStore
from mqclient.consumer.process_queue import ProcessQueue
from mqclient.consumer.pull import HOLD_GRACE_S, Puller, PullRequest, PullResult, PullStatus
from mqclient.consumer.subscription import TopicSubscription
from mqclient.errors import ClientError
from mqclient.namespace import is_retry_topic
from remoting.bodies import ConsumeFromWhere, MessageQueue
from remoting.codes import ResponseCode

LOG = logging.getLogger(__name__)

FLOW_CONTROL_S: Final = 0.05
BROKER_FLOW_CONTROL_S: Final = 0.02
SUSPENDED_S: Final = 1.0
SUSPEND_MS: Final = 15_000
"""How long a broker may hold a pull (BROKER_SUSPEND_MAX_TIME_MILLIS)."""
TIMEOUT_MS: Final = 30_000
"""How long a pull may take, held or not (CONSUMER_TIMEOUT_MILLIS_WHEN_SUSPEND)."""
ILLEGAL_PAUSE_S: Final = 10.0
ANNOUNCE_MS: Final = 5_000
"""Heartbeats out of turn are no closer: members that subscribe differently unsay each other's."""
_MIB: Final = 1024 * 1024
_FLOW_CONTROL_LOG_EVERY: Final = 1000


class QueuePulls:
    """The pull loops of one consumer.

    Args:
        from_ms: store time to begin at, for CONSUME_FROM_TIMESTAMP.
        lite: for a consumer that polls: it commits by itself, and its positions are corrected
            in place.
        suspend_ms: how long a broker may keep a pull waiting that finds nothing.
        timeout_ms: how long a pull may take, that wait included.
        broker_id: the member of each broker to ask; None follows what brokers suggest.

    Attributes:
        suspended: no loop pulls while it is set.
        paused: queues that are not pulled.
        full: gives a reason not to pull any queue, "" for none.
        on_gone: told when a queue was dropped here and can be begun anew.
    """

    def __init__(
        self,
        state: ConsumerState,
        service: ConsumeService,
        *,
        from_ms: int,
        lite: bool = False,
        suspend_ms: int = SUSPEND_MS,
        timeout_ms: int = TIMEOUT_MS,
        broker_id: int | None = None,
    ) -> None:
        self._state = state
        self._service = service
        self._settings = state.settings
        self._subscriptions = state.subscriptions
        self._process_queues = state.process_queues
        self._from_ms = from_ms
        self._puller = Puller(state.client, state.group, broker_id=broker_id)
        self._loops: dict[MessageQueue, asyncio.Task[None]] = {}
        self._held_back = 0
        self._announced_ms = -ANNOUNCE_MS
        self._lite = lite
        self._suspend_ms = suspend_ms
        # A puller adds the wait, and this grace, by itself.
        self._limit_s = (timeout_ms - suspend_ms) / 1000 - HOLD_GRACE_S
        self.suspended = False
        self.paused: set[MessageQueue] = set()
        self.full: Callable[[], str] = lambda: ""
        self.on_gone: Callable[[], None] = lambda: None

    async def begin(self, queue: MessageQueue) -> ProcessQueue:
        """Find where to begin a queue; ``run`` then reads it.

        Raises:
            ClientError: the broker did not say.
        """
        self._state.offsets.remove(queue)
        position = await start_offset(
            self._state.client,
            self._state.offsets,
            queue,
            where=self._settings.consume_from_where,
            timestamp_ms=self._from_ms,
        )
        if self._settings.broadcasting:
            # Java keeps none before the first message, or 15 s without one: who stops earlier
            # misses there what comes until the next start.
            self._state.offsets.update(queue, position, increase_only=True)
        now_ms = self._state.client.now_ms()
        return ProcessQueue(queue, next_offset=position, now_ms=now_ms)

    def run(self, process_queue: ProcessQueue) -> None:
        """Read a queue until it is dropped."""
        self.end(process_queue.queue)
        task = asyncio.get_running_loop().create_task(
            self._loop(process_queue), name=f"pull {process_queue.queue}"
        )
        self._loops[process_queue.queue] = task
        self._state.tasks.add(task)

    def end(self, queue: MessageQueue) -> None:
        """Stop reading a queue; the answer to a pull on its way is dropped."""
        task = self._loops.pop(queue, None)
        if task is not None:
            task.cancel()

    def stop(self) -> None:
        """Stop reading all queues."""
        for queue in list(self._loops):
            self.end(queue)

    async def _loop(self, process_queue: ProcessQueue) -> None:
        while not process_queue.dropped:
            try:
                pause_s = await self._turn(process_queue)
            except ClientError as error:
                LOG.warning("%s: %s", self._state.group, error)
                pause_s = self._settings.pull_time_delay_ms_when_exception / 1000
                if error.code == ResponseCode.FLOW_CONTROL:
                    pause_s = BROKER_FLOW_CONTROL_S
                elif error.code == ResponseCode.SUBSCRIPTION_NOT_EXIST:
                    self._announce()
                self._puller.forget(process_queue.queue)
                self._state.client.doubt_route(process_queue.queue.topic)
            if pause_s:
                await asyncio.sleep(pause_s)

    def _announce(self) -> None:
        """Tell the brokers of this member out of turn."""
        client = self._state.client
        now_ms = client.now_ms()
        if now_ms - self._announced_ms >= ANNOUNCE_MS:
            self._announced_ms = now_ms
            task = asyncio.get_running_loop().create_task(client.members.heartbeat())
            self._state.tasks.add(task)

    async def _turn(self, process_queue: ProcessQueue) -> float:
        """Pull once, or find out why not; return the pause before the next turn, in seconds."""
        state = self._state
        process_queue.last_pull_ms = state.client.now_ms()
        if self.suspended or process_queue.queue in self.paused:
            return SUSPENDED_S
        reason = self._too_much(process_queue)
        if reason:
            if self._held_back % _FLOW_CONTROL_LOG_EVERY == 0:
                LOG.info("%s holds back %s: %s", state.group, process_queue.queue, reason)
            self._held_back += 1
            return FLOW_CONTROL_S
        if self._service.orderly and not self._settings.broadcasting and not process_queue.locked:
            return self._settings.pull_time_delay_ms_when_exception / 1000
        subscription = self._subscriptions.get(process_queue.queue.topic)
        if subscription is None:
            return self._settings.pull_time_delay_ms_when_exception / 1000
        result = await self._puller.pull(
            self._pull_request(process_queue, subscription), timeout_s=self._limit_s
        )
        if process_queue.dropped:
            return 0.0
        return await self._handle_result(process_queue, result, asked_ms=process_queue.last_pull_ms)

    def _pull_request(
        self, process_queue: ProcessQueue, subscription: TopicSubscription
    ) -> PullRequest:
        position = self._state.offsets.known(process_queue.queue)
        commits = not self._settings.broadcasting and position is not None and position > 0
        return PullRequest(
            process_queue.queue,
            process_queue.next_offset,
            subscription.subscription,
            self._settings.pull_batch_size,
            send_expression=self._lite or self._settings.post_subscription_when_pull,
            sub_version=subscription.data.sub_version,
            commit_offset=position if commits and not self._lite else None,
            suspend_ms=self._suspend_ms,
            lite=self._lite,
        )

    async def _handle_result(
        self, process_queue: ProcessQueue, result: PullResult, *, asked_ms: int
    ) -> float:
        state = self._state
        if result.status is PullStatus.OFFSET_ILLEGAL and not self._lite:
            await self._begin_elsewhere(process_queue, result)
            return 0.0
        process_queue.next_offset = result.next_offset
        if result.messages:
            now_ms = state.client.now_ms()
            state.stats[process_queue.queue.topic].pulled(
                elapsed_ms=now_ms - asked_ms, message_count=len(result.messages), now_ms=now_ms
            )
            self._service.submit(process_queue, process_queue.put(result.messages))
            # The listener first: it need not wait until the next pull is written.
            await asyncio.sleep(0)
            return self._settings.pull_interval_ms / 1000
        if process_queue.count == 0:
            # Only others' messages were passed: the position may pass them, too.
            self._service.skip_to(process_queue, result.next_offset)
        return 0.0

    async def _begin_elsewhere(self, process_queue: ProcessQueue, result: PullResult) -> None:
        """Keep the corrected position and leave the queue to the next rebalance."""
        LOG.warning(
            "%s: %s ends at %d..%d, %d was asked for; goes on at %d",
            self._state.group,
            process_queue.queue,
            result.min_offset,
            result.max_offset,
            process_queue.next_offset,
            result.next_offset,
        )
        process_queue.dropped = True
        # Java gives listeners at work the same while, so that they do not commit over it.
        await asyncio.sleep(ILLEGAL_PAUSE_S)
        if self._process_queues.get(process_queue.queue) is not process_queue:
            return
        offsets = self._state.offsets
        offsets.update(process_queue.queue, result.next_offset, increase_only=False)
        await offsets.persist([process_queue.queue])
        del self._process_queues[process_queue.queue]
        offsets.remove(process_queue.queue)
        self.on_gone()

    def _too_much(self, process_queue: ProcessQueue) -> str:
        """Return why a queue is not pulled now, "" when it is."""
        count_max, size_max_mib = self._limits(process_queue.queue.topic)
        if process_queue.count > count_max:
            return f"{process_queue.count} messages held, over {count_max}"
        if process_queue.size > size_max_mib * _MIB:
            return f"{process_queue.size} bytes held, over {size_max_mib} MiB"
        if (
            not self._service.orderly
            and process_queue.span > self._settings.consume_concurrently_max_span
        ):
            return f"span {process_queue.span}, over {self._settings.consume_concurrently_max_span}"
        return self.full()

    def _limits(self, topic: str) -> tuple[int, int]:
        settings = self._settings
        count, size_mib = settings.pull_threshold_for_queue, settings.pull_threshold_size_for_queue
        if settings.pull_threshold_for_topic == settings.pull_threshold_size_for_topic == -1:
            return count, size_mib
        queue_count = max(1, sum(1 for queue in self._process_queues if queue.topic == topic))
        if settings.pull_threshold_for_topic != -1:
            count = max(1, settings.pull_threshold_for_topic // queue_count)
        if settings.pull_threshold_size_for_topic != -1:
            size_mib = max(1, settings.pull_threshold_size_for_topic // queue_count)
        return count, size_mib


_FROM_FIRST: Final = frozenset({ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET})
_FROM_TIME: Final = frozenset({ConsumeFromWhere.CONSUME_FROM_TIMESTAMP})


async def start_offset(
    client: MQClient,
    store: OffsetStore,
    queue: MessageQueue,
    *,
    where: ConsumeFromWhere,
    timestamp_ms: int,
) -> int:
    """Return the queue offset to begin at.

    Args:
        where: the values that Java has deprecated mean LAST.
        timestamp_ms: for CONSUME_FROM_TIMESTAMP.

    Raises:
        ClientError: the broker did not answer.
    """
    kept = await store.read(queue)
    if kept is not None:
        return kept
    is_retry = is_retry_topic(queue.topic)
    if where in _FROM_FIRST:
        return 0
    if where in _FROM_TIME:
        if is_retry:
            return await offsets.max_offset(client, queue)
        return await offsets.search_offset(client, queue, timestamp_ms=timestamp_ms)
    return 0 if is_retry else await offsets.max_offset(client, queue)

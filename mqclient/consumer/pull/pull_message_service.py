"""Pull loops: one for each queue that a member has, for as long as it has the queue.

    pull --> FOUND                    put the messages into the process queue, pull again
         --> NO_NEW_MSG, NO_MATCHED   pull again; the broker has held this pull
         --> OFFSET_ILLEGAL           drop the queue and persist the corrected offset;
                                      the next rebalance begins the queue again
         --> flow control             wait 50 ms
         --> the broker does not      wait 1 s and send a heartbeat: the broker was restarted or
             know this member         lost the connection, and the next heartbeat may be 30 s off
         --> any other error          wait 1 s

A loop pauses (flow control) while its queue holds too many messages or bytes, or, for concurrent
consumption, while the queue reaches too far beyond one slow message. Messages that were pulled
are never dropped for that reason. An orderly consumer pulls a queue only while it has the lock.

A new queue starts at the offset that the group committed. Without one, ``consume_from_where``
decides:

    CONSUME_FROM_LAST_OFFSET    the end of the queue; the start of a retry topic
    CONSUME_FROM_FIRST_OFFSET   0, which the broker corrects to the first message it still has
    CONSUME_FROM_TIMESTAMP      the message stored at that time; the end of a retry topic

Rule: when the broker does not answer that question, the queue is left to the next rebalance,
because starting elsewhere would lose or repeat messages.

Source: client/impl/consumer/DefaultMQPushConsumerImpl.java#pullMessage, which leaves a restarted
broker to the next heartbeat, RebalancePushImpl.java#computePullFromWhereWithException (4.9.7).
"""

import asyncio
import logging
from typing import Final

from mqclient.client import queue_offsets
from mqclient.client.instance import MQClient
from mqclient.consumer.consumer_settings import LitePullSettings
from mqclient.consumer.pull.pull_request import (
    HOLD_GRACE_S,
    PullApi,
    PullRequest,
    PullResult,
    PullStatus,
)
from mqclient.consumer.state.consumer_state import ConsumerState, ConsumeService
from mqclient.consumer.state.offset_store import OffsetStore
from mqclient.consumer.state.process_queue import ProcessQueue
from mqclient.consumer.subscription import TopicSubscription
from mqclient.errors import ClientError, Unreachable
from mqclient.namespace import is_retry_topic
from remoting.bodies import ConsumeFromWhere, MessageQueue
from remoting.codes import ResponseCode

LOG = logging.getLogger(__name__)

FLOW_CONTROL_S: Final = 0.05
BROKER_FLOW_CONTROL_S: Final = 0.02
SUSPENDED_S: Final = 1.0
SUSPEND_MS: Final = 15_000
"""How long a broker may hold a pull that finds no message (BROKER_SUSPEND_MAX_TIME_MILLIS)."""
TIMEOUT_MS: Final = 30_000
"""How long a pull may take in all (CONSUMER_TIMEOUT_MILLIS_WHEN_SUSPEND)."""
ILLEGAL_PAUSE_S: Final = 10.0
ANNOUNCE_MS: Final = 5_000
"""The least time between two extra heartbeats, in ms, because each of them overwrites the
subscriptions of other members."""
_MIB: Final = 1024 * 1024
_FLOW_CONTROL_LOG_EVERY: Final = 1000


class PullMessageService:
    """The pull loops of one consumer.

    Args:
        state: the consumer's tables, offsets and settings.
        service: gets the messages that were pulled.
        from_ms: store time to start at, for CONSUME_FROM_TIMESTAMP.
        lite: the settings of a lite pull consumer, which commits by itself and whose offsets are
            corrected without dropping the queue; None for a push consumer.

    Attributes:
        suspended: no loop pulls while this is True.
    """

    def __init__(
        self,
        state: ConsumerState,
        service: ConsumeService,
        *,
        from_ms: int,
        lite: LitePullSettings | None = None,
    ) -> None:
        self._state = state
        self._service = service
        self._settings = state.settings
        self._subscriptions = state.subscriptions
        self._process_queues = state.process_queues
        self._from_ms = from_ms
        broker_id = None if lite is None else lite.broker_id
        self._pull_api = PullApi(state.client, state.group, broker_id=broker_id)
        self._loops: dict[MessageQueue, asyncio.Task[None]] = {}
        self._held_back = 0
        self._announced_ms = -ANNOUNCE_MS
        self._lite = lite
        self._suspend_ms = SUSPEND_MS if lite is None else lite.broker_suspend_max_time_ms
        timeout_ms = TIMEOUT_MS if lite is None else lite.consumer_timeout_ms_when_suspend
        # ``PullApi`` itself adds the time that a broker may hold a pull, and this grace.
        self._limit_s = (timeout_ms - self._suspend_ms) / 1000 - HOLD_GRACE_S
        self.suspended = False

    async def begin(self, queue: MessageQueue) -> ProcessQueue:
        """Return the process queue of a new queue at its start offset, for ``start_reading``.

        Raises:
            ClientError: the broker did not answer.
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
            # Java keeps no offset before the first message, or for 15 s without one, so a member
            # that stops earlier misses the messages sent until its next start.
            self._state.offsets.update(queue, position, increase_only=True)
        now_ms = self._state.client.now_ms()
        return ProcessQueue(queue, next_offset=position, now_ms=now_ms)

    def start_reading(self, process_queue: ProcessQueue) -> None:
        """Read a queue until it is dropped."""
        self.end(process_queue.queue)
        task = asyncio.get_running_loop().create_task(
            self._loop(process_queue), name=f"pull {process_queue.queue}"
        )
        self._loops[process_queue.queue] = task
        self._state.tasks.add(task)

    def end(self, queue: MessageQueue) -> None:
        """Stop reading a queue; the answer to a pull that is under way is ignored."""
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
                level = self._state.client.log_level(error)
                LOG.log(level, "%s: %s", self._state.group, error)
                pause_s = self._settings.pull_time_delay_ms_when_exception / 1000
                if isinstance(error, Unreachable):
                    # A broker that restarts forgets its locks, so another member may get this one.
                    process_queue.locked = False
                if error.code == ResponseCode.FLOW_CONTROL:
                    pause_s = BROKER_FLOW_CONTROL_S
                elif error.code == ResponseCode.SUBSCRIPTION_NOT_EXIST:
                    self._announce()
                self._pull_api.forget(process_queue.queue)
                self._state.client.doubt_route(process_queue.queue.topic)
            if pause_s:
                await asyncio.sleep(pause_s)

    def _announce(self) -> None:
        """Send an extra heartbeat, because a broker does not know this member."""
        client = self._state.client
        now_ms = client.now_ms()
        if now_ms - self._announced_ms >= ANNOUNCE_MS:
            self._announced_ms = now_ms
            task = asyncio.get_running_loop().create_task(client.members.heartbeat())
            self._state.tasks.add(task)

    async def _turn(self, process_queue: ProcessQueue) -> float:
        """Pull once where that is allowed now; return the pause before the next turn, in s."""
        state = self._state
        process_queue.last_pull_ms = state.client.now_ms()
        if self.suspended or process_queue.queue in state.paused:
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
        result = await self._pull_api.pull(
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
            send_expression=self._lite is not None or self._settings.post_subscription_when_pull,
            sub_version=subscription.data.sub_version,
            commit_offset=position if commits and self._lite is None else None,
            suspend_ms=self._suspend_ms,
            lite=self._lite is not None,
        )

    async def _handle_result(
        self, process_queue: ProcessQueue, result: PullResult, *, asked_ms: int
    ) -> float:
        state = self._state
        state.last_pull_ms = state.client.now_ms()
        process_queue.broker_offset = result.max_offset
        if result.status is PullStatus.OFFSET_ILLEGAL and self._lite is None:
            await self._begin_elsewhere(process_queue, result)
            return 0.0
        process_queue.next_offset = result.next_offset
        if result.messages:
            now_ms = state.client.now_ms()
            state.stats[process_queue.queue.topic].pulled(
                elapsed_ms=now_ms - asked_ms, message_count=len(result.messages), now_ms=now_ms
            )
            self._service.submit(process_queue, process_queue.put_messages(result.messages))
            # The listener runs first; it need not wait until the next pull is sent.
            await asyncio.sleep(0)
            return self._settings.pull_interval_ms / 1000
        if process_queue.count == 0:
            # The broker filtered every message, so the offset may pass them.
            self._service.skip_to(process_queue, result.next_offset)
        return 0.0

    async def _begin_elsewhere(self, process_queue: ProcessQueue, result: PullResult) -> None:
        """Persist the corrected offset and leave the queue to the next rebalance."""
        LOG.warning(
            "%s: %s has offsets %d to %d, but %d was asked for; it goes on at %d",
            self._state.group,
            process_queue.queue,
            result.min_offset,
            result.max_offset,
            process_queue.next_offset,
            result.next_offset,
        )
        process_queue.dropped = True
        # Java also waits this long, so that running listeners do not overwrite the offset.
        await asyncio.sleep(ILLEGAL_PAUSE_S)
        if self._process_queues.get(process_queue.queue) is not process_queue:
            return
        offsets = self._state.offsets
        offsets.update(process_queue.queue, result.next_offset, increase_only=False)
        await offsets.persist([process_queue.queue])
        del self._process_queues[process_queue.queue]
        offsets.remove(process_queue.queue)
        self._state.rebalance_now.set()

    def _too_much(self, process_queue: ProcessQueue) -> str:
        """Return the reason for flow control; "" when the loop may pull."""
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
        return self._too_many_in_all()

    def _too_many_in_all(self) -> str:
        if self._lite is None:
            return ""
        count = sum(process_queue.count for process_queue in self._process_queues.values())
        if count <= self._lite.pull_threshold_for_all:
            return ""
        return f"{count} messages held of all queues, over {self._lite.pull_threshold_for_all}"

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


async def start_offset(
    client: MQClient,
    store: OffsetStore,
    queue: MessageQueue,
    *,
    where: ConsumeFromWhere,
    timestamp_ms: int,
) -> int:
    """Return the queue offset at which a member starts to read a new queue.

    Args:
        client: asks the broker for the ends of the queue.
        store: knows what the group committed.
        queue: the queue, with its namespace.
        where: a value CONSUME_FROM_...; those that Java has deprecated mean LAST.
        timestamp_ms: store time for CONSUME_FROM_TIMESTAMP, in ms since 1970.

    Raises:
        ClientError: the broker did not answer.
    """
    kept = await store.read(queue)
    if kept is not None:
        return kept
    is_retry = is_retry_topic(queue.topic)
    if where is ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET:
        return 0
    if where is ConsumeFromWhere.CONSUME_FROM_TIMESTAMP:
        if is_retry:
            return await queue_offsets.max_offset(client, queue)
        return await queue_offsets.search_offset(client, queue, timestamp_ms=timestamp_ms)
    return 0 if is_retry else await queue_offsets.max_offset(client, queue)

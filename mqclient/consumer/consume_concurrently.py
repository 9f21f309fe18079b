"""Concurrent consumption: many calls of the listener at a time, in any order.

    submit --> batches --> N workers --> listener --> consumed: removed, the offset moves
                                                  `-> failed:   sent back to the broker,
                                                                or tried again here after 5 s

Rule: the offset of a queue is that of its lowest message that is not consumed, so a crash may
repeat messages but loses none. When a listener runs for more than ``consume_timeout_min``
(15 min), its message is sent back for another member, and its status no longer counts.

Source: client/impl/consumer/ConsumeMessageConcurrentlyService.java,
client/impl/consumer/ProcessQueue.java#cleanExpiredMsg (4.9.7).
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from mqclient.consumer.consumer_state import (
    TO_DEAD_LETTERS,
    TRY_AGAIN_S,
    ConsumerState,
    call_directly,
    log_not_given_back,
    log_unreadable,
    queue_of,
)
from mqclient.consumer.hooks import ConsumeEvent, ConsumeReturnType, after_consume, before_consume
from mqclient.consumer.listeners import (
    ConcurrentListener,
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
    ListenerCaller,
)
from mqclient.consumer.process_queue import ProcessQueue
from mqclient.errors import ClientError
from mqclient.message import MessageExt
from remoting.bodies import CMResult, ConsumeMessageDirectlyResult, MessageQueue

LOG = logging.getLogger(__name__)

_OK: Final = ConsumeConcurrentlyStatus.CONSUME_SUCCESS
_LATER: Final = ConsumeConcurrentlyStatus.RECONSUME_LATER
_DIRECTLY: Final = {_OK: CMResult.CR_SUCCESS, _LATER: CMResult.CR_LATER}
EXPIRED_DELAY_LEVEL: Final = 3
_TURN: Final = 64
"""A worker lets others run after so many batches, because a listener may never wait."""

_Request = tuple[ProcessQueue, list[MessageExt]]


class ConsumeConcurrently:
    """The ``ConsumeService`` of a consumer with a concurrent listener."""

    orderly = False

    def __init__(self, state: ConsumerState, listener: ConcurrentListener) -> None:
        self._state = state
        self._settings = state.settings
        self._caller: ListenerCaller[ConsumeConcurrentlyContext, ConsumeConcurrentlyStatus]
        self._caller = ListenerCaller(listener, thread_count=self._settings.consume_thread_min)
        # None ends one worker, after the batches that were queued before it.
        self._requests: asyncio.Queue[_Request | None] = asyncio.Queue()
        self._workers: set[asyncio.Task[None]] = set()
        self._size = 0
        self._busy = 0

    def start(self) -> None:
        """Start the workers."""
        self.resize(self._settings.consume_thread_min)

    def resize(self, count: int) -> None:
        """Let ``count`` listeners run at a time; those that run now end first."""
        loop = asyncio.get_running_loop()
        for _ in range(self._size, count):
            worker = loop.create_task(self._work(), name="consume")
            self._workers.add(worker)
            worker.add_done_callback(self._workers.discard)
        for _ in range(count, self._size):
            self._requests.put_nowait(None)
        self._size = count
        self._caller.resize(count)

    def submit(self, process_queue: ProcessQueue, new: Sequence[MessageExt]) -> None:
        """Queue messages for the workers."""
        size = self._settings.consume_message_batch_max_size
        for start in range(0, len(new), size):
            self._requests.put_nowait((process_queue, list(new[start : start + size])))

    def skip_to(self, process_queue: ProcessQueue, position: int) -> None:
        """Move the offset: the process queue is empty, so every message was consumed."""
        self._state.advance_offset(process_queue, position)

    async def stop(self, *, wait_s: float) -> None:
        """Drop waiting batches, and wait at most ``wait_s`` for listeners that run.

        This does not wait for a listener that stops its own consumer; it ends by itself.
        """
        while not self._requests.empty():
            self._requests.get_nowait()
        caller = asyncio.current_task()
        own = 1 if caller in self._workers else 0
        deadline_s = asyncio.get_running_loop().time() + wait_s
        while self._busy > own and asyncio.get_running_loop().time() < deadline_s:
            await asyncio.sleep(0.01)
        for worker in self._workers:
            if worker is not caller:
                worker.cancel()
        if own:
            self._requests.put_nowait(None)
        self._caller.close()

    async def release(self, process_queue: ProcessQueue) -> bool:
        """Return at once: another member may begin while listeners still run here."""
        return True

    async def consume_directly(self, message: MessageExt) -> ConsumeMessageDirectlyResult:
        """Call the listener with one message that is of no process queue."""
        message = self._state.under_original_topic(message)
        context = ConsumeConcurrentlyContext(queue_of(message))
        return await call_directly(self._state, self._caller, message, context, _DIRECTLY)

    async def give_back_expired(self, process_queue: ProcessQueue) -> None:
        """Send back the messages whose listener has run for too long."""
        life_ms = self._settings.consume_timeout_min * 60_000
        now_ms = self._state.client.now_ms()
        for message in process_queue.expired(life_ms=life_ms, now_ms=now_ms):
            try:
                await self._state.give_back(message, delay_level=EXPIRED_DELAY_LEVEL)
            except ClientError as error:
                LOG.warning(
                    "message %s was not sent back after its consume timeout: %s",
                    message.msg_id,
                    error,
                )
                return
            LOG.warning("message %s was sent back, because its listener hangs", message.msg_id)
            self._state.advance_offset(
                process_queue, process_queue.remove([message], now_ms=now_ms)
            )

    async def _work(self) -> None:
        done = 0
        while True:
            request = await self._requests.get()
            if request is None:
                return
            self._busy += 1
            try:
                await self._consume(*request)
            except Exception:
                LOG.exception("consuming %s", request[0].queue)
            finally:
                self._busy -= 1
            done += 1
            if done % _TURN == 0:
                await asyncio.sleep(0)

    async def _consume(self, process_queue: ProcessQueue, messages: list[MessageExt]) -> None:
        if process_queue.dropped:
            return
        state = self._state
        unreadable = [message for message in messages if message.unreadable]
        if unreadable:
            await self._put_aside(process_queue, unreadable)
            messages = [message for message in messages if message not in unreadable]
            if not messages or process_queue.dropped:
                return
        context = ConsumeConcurrentlyContext(process_queue.queue)
        started_ms = state.client.now_ms()
        process_queue.started(messages, now_ms=started_ms)
        given = [state.under_original_topic(message) for message in messages]
        event: ConsumeEvent | None = None
        if state.hooks:
            event = ConsumeEvent(state.group, process_queue.queue, given, started_ms)
            before_consume(state.hooks, event)
        answer: object = None
        returned = ConsumeReturnType.SUCCESS
        try:
            answer = await self._caller.call(given, context)
        except Exception:
            LOG.exception("listener of %s, messages of %s", state.group, process_queue.queue)
            returned = ConsumeReturnType.EXCEPTION
        now_ms = state.client.now_ms()
        if returned is ConsumeReturnType.SUCCESS and answer is not _OK:
            returned = self._failure(answer, process_queue.queue)
        if now_ms - started_ms >= self._settings.consume_timeout_min * 60_000:
            returned = ConsumeReturnType.TIME_OUT
        done_count = 0
        if answer is _OK:
            done_count = max(0, min(context.ack_index, len(messages) - 1) + 1)
        if event is not None:
            event.elapsed_ms = now_ms - started_ms
            event.status = _OK if answer is _OK else _LATER
            event.returned = returned
            after_consume(state.hooks, event)
        state.stats[process_queue.queue.topic].consumed(
            elapsed_ms=now_ms - started_ms,
            ok_count=done_count,
            failed_count=len(messages) - done_count,
            now_ms=now_ms,
        )
        if not process_queue.dropped:
            await self._settle(process_queue, messages, done_count=done_count, context=context)

    async def _put_aside(self, process_queue: ProcessQueue, messages: list[MessageExt]) -> None:
        for message in messages:
            log_unreadable(message)
        context = ConsumeConcurrentlyContext(process_queue.queue, delay_level=TO_DEAD_LETTERS)
        await self._settle(process_queue, messages, done_count=0, context=context)

    def _failure(self, answer: object, queue: MessageQueue) -> ConsumeReturnType:
        if answer is _LATER:
            return ConsumeReturnType.FAILED
        LOG.warning(
            "listener of %s returned %r for %s, which is no ConsumeConcurrentlyStatus: "
            "the messages come again",
            self._state.group,
            answer,
            queue,
        )
        return ConsumeReturnType.RETURN_NULL

    async def _settle(
        self,
        process_queue: ProcessQueue,
        messages: list[MessageExt],
        *,
        done_count: int,
        context: ConsumeConcurrentlyContext,
    ) -> None:
        """Remove consumed messages; send failed ones back, drop them (broadcasting) or retry."""
        here: list[MessageExt] = []
        failed = messages[done_count:]
        if failed and self._settings.broadcasting:
            LOG.warning(
                "%d messages of %s failed and are dropped", len(failed), process_queue.queue
            )
            failed = []
        for message in failed:
            try:
                await self._state.give_back(message, delay_level=context.delay_level)
            except ClientError as error:
                log_not_given_back(message, error)
                here.append(message)
        settled = messages
        if here:
            stay = {id(message) for message in here}
            settled = [message for message in messages if id(message) not in stay]
            again = [_once_more(message) for message in here]
            self._state.tasks.later(TRY_AGAIN_S, lambda: self.submit(process_queue, again))
        now_ms = self._state.client.now_ms()
        self._state.advance_offset(process_queue, process_queue.remove(settled, now_ms=now_ms))


def _once_more(message: MessageExt) -> MessageExt:
    return message.but(reconsume_times=message.reconsume_times + 1)

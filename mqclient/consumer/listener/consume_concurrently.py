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
from typing import ClassVar, Final

from mqclient.consumer.listener.consume_service import (
    TO_DEAD_LETTERS,
    ListenerService,
    unreadable_of,
)
from mqclient.consumer.listener.listeners import (
    ConcurrentListener,
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
)
from mqclient.consumer.state.consumer_state import ConsumerState
from mqclient.consumer.state.process_queue import ProcessQueue
from mqclient.errors import ClientError
from mqclient.message import MessageExt
from remoting.bodies import CMResult

LOG = logging.getLogger(__name__)

_OK: Final = ConsumeConcurrentlyStatus.CONSUME_SUCCESS
_LATER: Final = ConsumeConcurrentlyStatus.RECONSUME_LATER
TRY_AGAIN_S: Final = 5.0
EXPIRED_DELAY_LEVEL: Final = 3
_TURN: Final = 64
"""A worker lets others run after this many batches, because a listener may never wait."""

_Request = tuple[ProcessQueue, list[MessageExt]]


class ConsumeConcurrently(ListenerService[ConsumeConcurrentlyContext, ConsumeConcurrentlyStatus]):
    """The ``ConsumeService`` of a consumer with a concurrent listener."""

    orderly = False
    _results: ClassVar = {_OK: CMResult.CR_SUCCESS, _LATER: CMResult.CR_LATER}
    _failures = (_LATER,)
    _again = _LATER
    _consumed = _OK
    _new_context = ConsumeConcurrentlyContext

    def __init__(self, state: ConsumerState, listener: ConcurrentListener) -> None:
        super().__init__(state, listener)
        # A None in the queue ends one worker after the batches that were queued before it.
        self._requests: asyncio.Queue[_Request | None] = asyncio.Queue()
        self._workers: set[asyncio.Task[None]] = set()
        self._size = 0

    def resize(self, count: int) -> None:
        """Let ``count`` listeners run at a time, none before the first call of this.

        Listeners that run now end first.
        """
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

    async def stop(self, *, wait_s: float) -> None:
        """Drop the batches that wait, and end the workers.

        Args:
            wait_s: how long to wait for listeners that run, in seconds.
        """
        while not self._requests.empty():
            self._requests.get_nowait()
        await super().stop(wait_s=wait_s)
        if asyncio.current_task() in self._workers:
            self._requests.put_nowait(None)

    def _tasks(self) -> set[asyncio.Task[None]]:
        return self._workers

    async def release(self, process_queue: ProcessQueue) -> bool:
        """Return at once, because another member may begin while listeners still run here."""
        return True

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
        batch_count = 0
        while True:
            request = await self._requests.get()
            if request is None:
                return
            try:
                with self._counted_as_busy(request[0]):
                    await self._consume(*request)
            except Exception:
                LOG.exception("consuming %s", request[0].queue)
            batch_count += 1
            if batch_count % _TURN == 0:
                await asyncio.sleep(0)

    async def _consume(self, process_queue: ProcessQueue, messages: list[MessageExt]) -> None:
        if process_queue.dropped:
            return
        unreadable = unreadable_of(messages)
        if unreadable:
            aside = ConsumeConcurrentlyContext(process_queue.queue, delay_level=TO_DEAD_LETTERS)
            await self._settle(process_queue, unreadable, done_count=0, context=aside)
            messages = [message for message in messages if message not in unreadable]
            if not messages or process_queue.dropped:
                return
        context = ConsumeConcurrentlyContext(process_queue.queue)
        process_queue.started(messages, now_ms=self._state.client.now_ms())
        status = await self._call_listener(process_queue, messages, context)
        if not process_queue.dropped:
            done_count = self._consumed_count(status, context, len(messages))
            await self._settle(process_queue, messages, done_count=done_count, context=context)

    def _consumed_count(
        self,
        status: ConsumeConcurrentlyStatus,
        context: ConsumeConcurrentlyContext,
        count: int,
    ) -> int:
        return max(0, min(context.ack_index + 1, count)) if status is _OK else 0

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
                LOG.warning(
                    "message %s was not sent back and is tried again here in %g s: %s",
                    message.msg_id,
                    TRY_AGAIN_S,
                    error,
                )
                here.append(message)
        settled = messages
        if here:
            stay = {id(message) for message in here}
            settled = [message for message in messages if id(message) not in stay]
            again = [message.but(reconsume_times=message.reconsume_times + 1) for message in here]
            self._state.tasks.later(TRY_AGAIN_S, lambda: self.submit(process_queue, again))
        now_ms = self._state.client.now_ms()
        self._state.advance_offset(process_queue, process_queue.remove(settled, now_ms=now_ms))

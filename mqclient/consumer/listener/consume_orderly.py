"""Orderly consumption: one call of the listener per queue at a time, in order, under its lock.

    submit --> one task for each queue --take--> listener --SUCCESS--> commit, next batch
                         ^                           `--SUSPEND--> give back, pause, try again
                         `-- no lock, or an old one: ask for it again, wait

Rule: no message overtakes one that failed. After ``max_reconsume_times`` failures (by default
there is no limit) a message goes to the dead letter queue, and only then the next one is taken.
A queue is consumed for at most 60 s before another queue gets its place in the pool.

Source: client/impl/consumer/ConsumeMessageOrderlyService.java (4.9.7).
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
    ConsumeOrderlyContext,
    ConsumeOrderlyStatus,
    OrderlyListener,
)
from mqclient.consumer.rebalance.queue_locks import QueueLocks
from mqclient.consumer.state.consume_hooks import ConsumeReturnType
from mqclient.consumer.state.consumer_state import ConsumerState
from mqclient.consumer.state.process_queue import NOTHING, ProcessQueue
from mqclient.errors import ClientError
from mqclient.message import MessageExt
from remoting.bodies import CMResult, MessageQueue

LOG = logging.getLogger(__name__)

Status = ConsumeOrderlyStatus
_SUSPEND: Final = Status.SUSPEND_CURRENT_QUEUE_A_MOMENT
CONSUME_MS_MAX: Final = 60_000
"""The longest time of a queue in the pool, in ms (MAX_TIME_CONSUME_CONTINUOUSLY)."""
NEXT_TURN_S: Final = 0.01
LOCK_AGAIN_S: Final = 0.1
RELEASE_WAIT_S: Final = 1.0


class ConsumeOrderly(ListenerService[ConsumeOrderlyContext, ConsumeOrderlyStatus]):
    """The ``ConsumeService`` of a consumer with an orderly listener."""

    orderly = True
    _results: ClassVar = {
        Status.SUCCESS: CMResult.CR_SUCCESS,
        _SUSPEND: CMResult.CR_LATER,
        Status.COMMIT: CMResult.CR_COMMIT,
        Status.ROLLBACK: CMResult.CR_ROLLBACK,
    }
    _failures = (_SUSPEND, Status.ROLLBACK)
    _again = _SUSPEND
    _consumed = Status.SUCCESS
    _new_context = ConsumeOrderlyContext

    def __init__(
        self, state: ConsumerState, listener: OrderlyListener, *, locks: QueueLocks
    ) -> None:
        super().__init__(state, listener)
        self._locks = locks
        self._places = asyncio.Semaphore(self._size)
        self._running: dict[MessageQueue, tuple[ProcessQueue, asyncio.Task[None]]] = {}

    def resize(self, count: int) -> None:
        """Let ``count`` listeners run at a time; a smaller pool shrinks as listeners end."""
        for _ in range(self._size, count):
            self._places.release()
        for _ in range(count, self._size):
            task = asyncio.get_running_loop().create_task(self._take_a_place())
            self._state.tasks.add(task)
        self._size = count
        self._caller.resize(count)

    def submit(self, process_queue: ProcessQueue, new: Sequence[MessageExt]) -> None:
        """Make sure that the queue has a task.

        A queue that was dropped and began again waits for the listener that still runs.
        """
        before, last = self._running.get(process_queue.queue, (None, None))
        if last is not None and last.done():
            last = None
        if last is None or before is not process_queue:
            work = (
                self._consume_queue(process_queue)
                if last is None
                else self._run_after(last, process_queue)
            )
            task = asyncio.get_running_loop().create_task(work, name="consume")
            self._running[process_queue.queue] = process_queue, task
            self._state.tasks.add(task)

    def _tasks(self) -> list[asyncio.Task[None]]:
        return [task for _, task in self._running.values()]

    async def release(self, process_queue: ProcessQueue) -> bool:
        """Wait at most 1 s for the listener of a dropped queue; return whether it ended."""
        deadline_s = asyncio.get_running_loop().time() + RELEASE_WAIT_S
        while process_queue in self._busy.values():
            if asyncio.get_running_loop().time() >= deadline_s:
                return False
            await asyncio.sleep(0.01)
        return True

    async def _take_a_place(self) -> None:
        await self._places.acquire()

    async def _run_after(self, last: asyncio.Task[None], process_queue: ProcessQueue) -> None:
        await asyncio.wait([last])
        await self._consume_queue(process_queue)

    async def _consume_queue(self, process_queue: ProcessQueue) -> None:
        while process_queue.has_waiting and not process_queue.dropped:
            if not self._may_consume(process_queue):
                granted = await self._locks.lock(process_queue.queue)
                self._locks.mark(process_queue, granted=granted)
                if not granted:
                    await asyncio.sleep(LOCK_AGAIN_S)
                continue
            async with self._places:
                pause_s = await self._consume_a_while(process_queue)
            await asyncio.sleep(pause_s)

    def _may_consume(self, process_queue: ProcessQueue) -> bool:
        if self._settings.broadcasting:
            return True
        return process_queue.locked and not process_queue.lock_expired(self._state.client.now_ms())

    async def _consume_a_while(self, process_queue: ProcessQueue) -> float:
        """Consume until no message waits, one fails, or 60 s are over; return the pause in s."""
        now_ms = self._state.client.now_ms
        started_ms = now_ms()
        while not process_queue.dropped and self._may_consume(process_queue):
            if now_ms() - started_ms > CONSUME_MS_MAX:
                return NEXT_TURN_S
            batch = process_queue.take_messages(
                self._settings.consume_message_batch_max_size, now_ms=now_ms()
            )
            if not batch:
                return 0.0
            pause_s = await self._consume(process_queue, batch)
            if pause_s is not None:
                return pause_s
        return 0.0

    async def _consume(self, process_queue: ProcessQueue, batch: list[MessageExt]) -> float | None:
        """Call the listener with a batch; return the pause of the queue in s, None to go on."""
        unreadable = unreadable_of(batch)
        if unreadable:
            return await self._put_aside(process_queue, batch, unreadable)
        context = ConsumeOrderlyContext(process_queue.queue)
        status = await self._call_listener(process_queue, batch, context)
        return await self._settle(process_queue, batch, status=status, context=context)

    async def _answer(
        self, process_queue: ProcessQueue, given: list[MessageExt], context: ConsumeOrderlyContext
    ) -> tuple[ConsumeOrderlyStatus, ConsumeReturnType]:
        with self._counted_as_busy(process_queue):
            return await super()._answer(process_queue, given, context)

    async def _put_aside(
        self, process_queue: ProcessQueue, batch: list[MessageExt], unreadable: list[MessageExt]
    ) -> float | None:
        """Move unreadable messages to the dead letter queue; the others are taken again."""
        again: list[MessageExt] = []
        if not self._settings.broadcasting:
            again, _ = await self._failed(unreadable)
        if again:
            process_queue.give_back()
            return self._settings.suspend_current_queue_time_ms / 1000
        process_queue.give_back([message for message in batch if message not in unreadable])
        if process_queue.taken_count == len(unreadable):
            self._moved(process_queue, process_queue.commit())
        else:
            process_queue.drop(unreadable)
        return None

    def _moved(self, process_queue: ProcessQueue, position: int) -> None:
        # ``state.advance_offset`` is not used, because the offset may have to move back.
        if position >= 0 and not process_queue.dropped:
            self._state.offsets.update(process_queue.queue, position, increase_only=False)

    async def _settle(
        self,
        process_queue: ProcessQueue,
        batch: list[MessageExt],
        *,
        status: ConsumeOrderlyStatus,
        context: ConsumeOrderlyContext,
    ) -> float | None:
        position = NOTHING
        pause_s: float | None = None
        suspend_ms = context.suspend_ms
        if suspend_ms == -1:
            suspend_ms = self._settings.suspend_current_queue_time_ms
        suspend_s = min(max(suspend_ms, 10), 30_000) / 1000
        if status is _SUSPEND:
            again, dead = await self._failed(batch)
            if again:
                process_queue.drop(dead)
                process_queue.give_back(again)
                pause_s = suspend_s
            elif context.auto_commit:
                position = process_queue.commit()
        elif context.auto_commit or status is Status.COMMIT:
            position = process_queue.commit()
        elif status is Status.ROLLBACK:
            process_queue.give_back()
            pause_s = suspend_s
        self._moved(process_queue, position)
        return pause_s

    async def _failed(self, batch: list[MessageExt]) -> tuple[list[MessageExt], list[MessageExt]]:
        """Return the messages to try again, and those that went to the dead letter queue."""
        times_max = self._settings.max_reconsume_times
        again: list[MessageExt] = []
        dead: list[MessageExt] = []
        for message in batch:
            spent = times_max != -1 and message.reconsume_times >= times_max
            if spent or message.unreadable:
                try:
                    await self._state.give_back(message, delay_level=TO_DEAD_LETTERS)
                except ClientError as error:
                    LOG.warning("message %s stays in its queue: %s", message.msg_id, error)
                else:
                    dead.append(message)
                    continue
            again.append(message.but(reconsume_times=message.reconsume_times + 1))
        return again, dead

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
from dataclasses import replace
from typing import Final

from mqclient.consumer.consumer_state import (
    TO_DEAD_LETTERS,
    ConsumerState,
    call_directly,
    log_unreadable,
    queue_of,
)
from mqclient.consumer.hooks import ConsumeEvent, ConsumeReturnType, after_consume, before_consume
from mqclient.consumer.listeners import (
    ConsumeOrderlyContext,
    ConsumeOrderlyStatus,
    ListenerCaller,
    OrderlyListener,
)
from mqclient.consumer.process_queue import NOTHING, ProcessQueue
from mqclient.consumer.queue_locks import QueueLocks
from mqclient.errors import ClientError
from mqclient.message import MessageExt
from remoting.bodies import CMResult, ConsumeMessageDirectlyResult, MessageQueue

LOG = logging.getLogger(__name__)

Status = ConsumeOrderlyStatus
_SUSPEND: Final = Status.SUSPEND_CURRENT_QUEUE_A_MOMENT
CONSUME_MS_MAX: Final = 60_000
"""Longest time of a queue in the pool (MAX_TIME_CONSUME_CONTINUOUSLY)."""
NEXT_TURN_S: Final = 0.01
LOCK_AGAIN_S: Final = 0.1
RELEASE_WAIT_S: Final = 1.0

_DIRECTLY: Final = {
    Status.SUCCESS: CMResult.CR_SUCCESS,
    _SUSPEND: CMResult.CR_LATER,
    Status.COMMIT: CMResult.CR_COMMIT,
    Status.ROLLBACK: CMResult.CR_ROLLBACK,
}


class ConsumeOrderly:
    """The ``ConsumeService`` of a consumer with an orderly listener."""

    orderly = True

    def __init__(
        self, state: ConsumerState, listener: OrderlyListener, *, locks: QueueLocks
    ) -> None:
        self._state = state
        self._settings = state.settings
        self._locks = locks
        self._caller: ListenerCaller[ConsumeOrderlyContext, ConsumeOrderlyStatus]
        self._caller = ListenerCaller(listener, thread_count=self._settings.consume_thread_min)
        self._places = asyncio.Semaphore(self._settings.consume_thread_min)
        self._size = self._settings.consume_thread_min
        self._tasks: dict[MessageQueue, tuple[ProcessQueue, asyncio.Task[None]]] = {}
        self._in_listener: set[ProcessQueue] = set()

    def start(self) -> None:
        """Do nothing: each queue with messages gets a task of its own."""

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
        before, last = self._tasks.get(process_queue.queue, (None, None))
        if last is not None and last.done():
            last = None
        if last is None or before is not process_queue:
            work = (
                self._run(process_queue) if last is None else self._run_after(last, process_queue)
            )
            task = asyncio.get_running_loop().create_task(work, name="consume")
            self._tasks[process_queue.queue] = process_queue, task
            self._state.tasks.add(task)

    def skip_to(self, process_queue: ProcessQueue, position: int) -> None:
        """Move the offset: the process queue is empty, so every message was consumed."""
        self._state.advance_offset(process_queue, position)

    async def stop(self, *, wait_s: float) -> None:
        """Wait at most ``wait_s`` for listeners that run, and end the tasks.

        This does not wait for a listener that stops its own consumer; it ends by itself.
        """
        caller = asyncio.current_task()
        own = {process_queue for process_queue, task in self._tasks.values() if task is caller}
        deadline_s = asyncio.get_running_loop().time() + wait_s
        while self._in_listener - own and asyncio.get_running_loop().time() < deadline_s:
            await asyncio.sleep(0.01)
        for _, task in self._tasks.values():
            if task is not caller:
                task.cancel()
        self._caller.close()

    async def release(self, process_queue: ProcessQueue) -> bool:
        """Wait at most 1 s for the listener of a dropped queue; return whether it ended."""
        deadline_s = asyncio.get_running_loop().time() + RELEASE_WAIT_S
        while process_queue in self._in_listener:
            if asyncio.get_running_loop().time() >= deadline_s:
                return False
            await asyncio.sleep(0.01)
        return True

    async def consume_directly(self, message: MessageExt) -> ConsumeMessageDirectlyResult:
        """Call the listener with one message that is of no process queue."""
        message = self._state.under_original_topic(message)
        context = ConsumeOrderlyContext(queue_of(message))
        result = await call_directly(self._state, self._caller, message, context, _DIRECTLY)
        return replace(result, order=True, auto_commit=context.auto_commit)

    async def _take_a_place(self) -> None:
        await self._places.acquire()

    async def _run_after(self, last: asyncio.Task[None], process_queue: ProcessQueue) -> None:
        await asyncio.wait([last])
        await self._run(process_queue)

    async def _run(self, process_queue: ProcessQueue) -> None:
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
            batch = process_queue.take(
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
        state = self._state
        context = ConsumeOrderlyContext(process_queue.queue)
        unreadable = [message for message in batch if message.unreadable]
        if unreadable:
            return await self._put_aside(process_queue, batch, unreadable)
        given = [state.under_original_topic(message) for message in batch]
        started_ms = state.client.now_ms()
        event: ConsumeEvent | None = None
        if state.hooks:
            event = ConsumeEvent(state.group, process_queue.queue, given, started_ms)
            before_consume(state.hooks, event)
        status, returned = await self._ask_listener(process_queue, given, context)
        now_ms = state.client.now_ms()
        if now_ms - started_ms >= self._settings.consume_timeout_min * 60_000:
            returned = ConsumeReturnType.TIME_OUT
        if event is not None:
            event.elapsed_ms = now_ms - started_ms
            event.status, event.returned = status, returned
            after_consume(state.hooks, event)
        failed = status in (_SUSPEND, Status.ROLLBACK)
        state.stats[process_queue.queue.topic].consumed(
            elapsed_ms=now_ms - started_ms,
            ok_count=0 if failed else len(batch),
            failed_count=len(batch) if failed else 0,
            now_ms=now_ms,
        )
        return await self._settle(process_queue, batch, status=status, context=context)

    async def _put_aside(
        self, process_queue: ProcessQueue, batch: list[MessageExt], unreadable: list[MessageExt]
    ) -> float | None:
        """Move unreadable messages to the dead letter queue; the others are taken again."""
        for message in unreadable:
            log_unreadable(message)
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
        # Not ``state.advance_offset``: the queue's one listener may also move the offset back.
        if position >= 0 and not process_queue.dropped:
            self._state.offsets.update(process_queue.queue, position, increase_only=False)

    async def _ask_listener(
        self, process_queue: ProcessQueue, given: list[MessageExt], context: ConsumeOrderlyContext
    ) -> tuple[ConsumeOrderlyStatus, ConsumeReturnType]:
        self._in_listener.add(process_queue)
        try:
            answer = await self._caller.call(given, context)
        except Exception:
            LOG.exception("listener of %s, messages of %s", self._state.group, process_queue.queue)
            return _SUSPEND, ConsumeReturnType.EXCEPTION
        finally:
            self._in_listener.discard(process_queue)
        if not isinstance(answer, ConsumeOrderlyStatus):
            LOG.warning(
                "listener of %s returned %r for %s, which is no ConsumeOrderlyStatus: "
                "the messages come again",
                self._state.group,
                answer,
                process_queue.queue,
            )
            return _SUSPEND, ConsumeReturnType.RETURN_NULL
        if answer in (_SUSPEND, Status.ROLLBACK):
            return answer, ConsumeReturnType.FAILED
        return answer, ConsumeReturnType.SUCCESS

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

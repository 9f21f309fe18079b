"""The base of concurrent and orderly consumption: it calls listener and hooks, and counts.

    messages --hooks--> listener --hooks, rates--> a status: the service settles the messages

Rule: a listener that returns None has consumed its messages, as Python users expect; null is a
failure in Java. A listener that raises, or returns anything else that is not a status, has failed,
and the messages come again. A message that is unreadable (its body cannot be decompressed) is never
given to a listener.

Source: client/impl/consumer/ConsumeMessageConcurrentlyService.java,
ConsumeMessageOrderlyService.java (4.9.7).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import ClassVar, Final, Generic, TypeVar

from mqclient.consumer.listener.listeners import ConsumeOrderlyContext, ListenerCaller
from mqclient.consumer.state.consume_hooks import ConsumeEvent, ConsumeReturnType
from mqclient.consumer.state.consumer_state import ConsumerState
from mqclient.consumer.state.process_queue import ProcessQueue
from mqclient.message import MessageExt
from mqclient.producer.send_hooks import call_hooks
from remoting.bodies import CMResult, ConsumeMessageDirectlyResult, MessageQueue

LOG = logging.getLogger(__name__)

_Context = TypeVar("_Context")
_Status = TypeVar("_Status", bound=StrEnum)
TO_DEAD_LETTERS: Final = -1
"""The delay level that sends a message to the dead letter queue."""


class ListenerService(Generic[_Context, _Status]):
    """Base of the two ``ConsumeService`` that call a listener.

    Args:
        state: the consumer.
        listener: the application's function.
    """

    orderly: bool
    _results: ClassVar[Mapping[StrEnum, CMResult]]
    """The result of a direct consumption for each status of a listener."""
    _failures: ClassVar[Collection[StrEnum]]
    """The statuses after which the messages come again."""
    _again: _Status
    """The status that stands for an error."""
    _consumed: _Status
    """The status that stands for None."""
    _new_context: Callable[[MessageQueue], _Context]

    def __init__(
        self,
        state: ConsumerState,
        listener: Callable[
            [list[MessageExt], _Context], _Status | Awaitable[_Status | None] | None
        ],
    ) -> None:
        self._state = state
        self._settings = state.settings
        self._caller: ListenerCaller[_Context, _Status]
        self._caller = ListenerCaller(listener, thread_count=self._settings.consume_thread_min)
        self._size = self._settings.consume_thread_min
        self._busy: dict[asyncio.Task[object] | None, ProcessQueue] = {}

    def skip_to(self, process_queue: ProcessQueue, position: int) -> None:
        """Move the offset; every message was consumed, because the process queue is empty."""
        self._state.advance_offset(process_queue, position)

    async def stop(self, *, wait_s: float) -> None:
        """Wait at most ``wait_s`` for listeners that run, and end the tasks.

        This does not wait for a listener that stops its own consumer; it ends by itself.
        """
        caller = asyncio.current_task()
        deadline_s = asyncio.get_running_loop().time() + wait_s
        while self._busy.keys() - {caller} and asyncio.get_running_loop().time() < deadline_s:
            await asyncio.sleep(0.01)
        for task in self._tasks():
            if task is not caller:
                task.cancel()
        self._caller.close()

    def _tasks(self) -> Collection["asyncio.Task[None]"]:
        """Return the tasks that consume."""
        raise NotImplementedError

    @contextmanager
    def _counted_as_busy(self, process_queue: ProcessQueue) -> Iterator[None]:
        """Let ``stop`` wait for the end of this block."""
        task = asyncio.current_task()
        self._busy[task] = process_queue
        try:
            yield
        finally:
            del self._busy[task]

    async def consume_directly(self, message: MessageExt) -> ConsumeMessageDirectlyResult:
        """Call the listener with one message because an operator asked; nothing is committed."""
        state = self._state
        message = state.under_original_topic(message)
        queue = MessageQueue(message.topic, message.broker_name, message.queue_id)
        context = self._new_context(queue)
        started_ms = state.client.now_ms()
        result, remark = CMResult.CR_THROW_EXCEPTION, None
        try:
            answer = await self._call([message], context)
            # A status is equal to its text, but a text is not a status.
            result = CMResult.CR_RETURN_NULL
            if isinstance(answer, type(self._again)):
                result = self._results[answer]
        except Exception as error:
            LOG.exception("listener of %s", state.group)
            remark = f"{type(error).__name__}: {error}"
        return ConsumeMessageDirectlyResult(
            order=self.orderly,
            auto_commit=context.auto_commit if isinstance(context, ConsumeOrderlyContext) else True,
            consume_result=result,
            remark=remark,
            spent_time_mills=state.client.now_ms() - started_ms,
        )

    async def _call_listener(
        self, process_queue: ProcessQueue, messages: list[MessageExt], context: _Context
    ) -> _Status:
        """Call the listener, tell the hooks and count; return its status, or the failed one."""
        state = self._state
        given = [state.under_original_topic(message) for message in messages]
        started_ms = state.client.now_ms()
        event: ConsumeEvent | None = None
        if state.hooks:
            event = ConsumeEvent(state.group, process_queue.queue, given, started_ms)
            what = f"consuming {process_queue.queue}"
            call_hooks(state.hooks, lambda hook: hook.consume_before(event), f"before {what}")
        status, returned = await self._answer(process_queue, given, context)
        now_ms = state.client.now_ms()
        if now_ms - started_ms >= self._settings.consume_timeout_min * 60_000:
            returned = ConsumeReturnType.TIME_OUT
        if event is not None:
            event.elapsed_ms = now_ms - started_ms
            event.status, event.returned = status, returned
            call_hooks(state.hooks, lambda hook: hook.consume_after(event), f"after {what}")
        ok_count = self._consumed_count(status, context, len(messages))
        state.stats[process_queue.queue.topic].consumed(
            elapsed_ms=now_ms - started_ms,
            ok_count=ok_count,
            failed_count=len(messages) - ok_count,
            now_ms=now_ms,
        )
        return status

    def _consumed_count(self, status: _Status, context: _Context, count: int) -> int:
        """Return how many messages of a batch were consumed."""
        return 0 if status in self._failures else count

    async def _call(self, given: list[MessageExt], context: _Context) -> object:
        """Return what the listener returned, and what None stands for."""
        answer = await self._caller.call(given, context)
        return self._consumed if answer is None else answer

    async def _answer(
        self, process_queue: ProcessQueue, given: list[MessageExt], context: _Context
    ) -> tuple[_Status, ConsumeReturnType]:
        group, queue = self._state.group, process_queue.queue
        try:
            answer = await self._call(given, context)
        except Exception:
            LOG.exception("listener of %s, messages of %s", group, queue)
            return self._again, ConsumeReturnType.EXCEPTION
        if not isinstance(answer, type(self._again)):
            LOG.warning(
                "the listener of %s returned %r for %s, expected None or a %s; %s",
                group,
                answer,
                queue,
                type(self._again).__name__,
                "broadcasting does not repeat these messages"
                if self._settings.broadcasting
                else "the messages come again",
            )
            return self._again, ConsumeReturnType.RETURN_NULL
        is_failure = answer in self._failures
        return answer, ConsumeReturnType.FAILED if is_failure else ConsumeReturnType.SUCCESS


def unreadable_of(messages: Collection[MessageExt]) -> list[MessageExt]:
    """Return the messages that go to the dead letter queue without a listener seeing them."""
    unreadable = [message for message in messages if message.unreadable]
    for message in unreadable:
        LOG.error(
            "a message goes to the dead letter queue without a listener: %s", message.unreadable
        )
    return unreadable

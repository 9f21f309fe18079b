"""The buffer between the pull loops and ``poll`` of a lite pull consumer.

    submit --> batches --next--> given --next, commit--> done --commit--> offset store

A batch that ``poll`` returned is "given"; it is "done" when the next ``poll`` or ``commit``
follows, because its application is then finished with it. Only ``commit`` hands the offsets of
done batches to the offset store, and so does the release of a queue with ``auto_commit``.

Messages that the broker filtered are passed together with the batch before them, not earlier.
A queue that was dropped or sought meanwhile gives none of its batches, and the offset of a batch
that it gave before no longer counts.

Source: client/impl/consumer/DefaultLitePullConsumerImpl.java#poll, #commitAll (4.9.7).
"""

import asyncio
from collections import deque
from collections.abc import Sequence

from mqclient.consumer.state.consumer_state import ConsumerState
from mqclient.consumer.state.process_queue import ProcessQueue
from mqclient.message import MessageExt
from remoting.bodies import ConsumeMessageDirectlyResult
from remoting.bodies.clients import CMResult


class PollBuffer:
    """The ``ConsumeService`` of a lite pull consumer.

    Args:
        state: the consumer's offsets and settings.
        auto_commit: commit the done batches at the end, and when another member gets the queue.
    """

    orderly = False

    def __init__(self, state: ConsumerState, *, auto_commit: bool) -> None:
        self._state = state
        self._auto_commit = auto_commit
        self._batches: deque[tuple[ProcessQueue, list[MessageExt]]] = deque()
        self._arrived = asyncio.Event()
        self._stopped = False
        # The keys are process queues, so a queue that began again has no offsets of before.
        self._given: dict[ProcessQueue, int] = {}
        self._done: dict[ProcessQueue, int] = {}

    async def next(self, *, wait_s: float, count_max: int | None = None) -> list[MessageExt]:
        """Return the messages of the next batch, or none when no batch came within ``wait_s``.

        Args:
            wait_s: how long to wait, in seconds; the end of the consumer ends the wait.
            count_max: the limit on the messages; the rest of the batch is the next one.
        """
        self._given_is_done()
        deadline_s = asyncio.get_running_loop().time() + wait_s
        while True:
            batch = self._next_batch(count_max)
            if batch or self._stopped:
                return batch
            left_s = deadline_s - asyncio.get_running_loop().time()
            if left_s <= 0:
                return []
            self._arrived.clear()
            try:
                async with asyncio.timeout(left_s):
                    await self._arrived.wait()
            except TimeoutError:
                continue

    def commit(self, *, with_last: bool = True) -> None:
        """Hand the offsets of the batches that were given to the offset store.

        Args:
            with_last: include the last batch, which its application may not have finished.
        """
        if with_last:
            self._given_is_done()
        for process_queue, position in self._done.items():
            if not process_queue.dropped:
                self._state.offsets.update(process_queue.queue, position, increase_only=False)
        self._done.clear()

    def start_over(self, fresh: ProcessQueue) -> None:
        """Note the offset of a queue that began again after a seek."""
        self._done[fresh] = fresh.next_offset

    def wake(self) -> None:
        """Let a waiting ``next`` look for batches again."""
        self._arrived.set()

    # The following methods are those of ``ConsumeService``.

    def submit(self, process_queue: ProcessQueue, new: Sequence[MessageExt]) -> None:
        """Add messages that were pulled, in batches."""
        size = self._state.settings.consume_message_batch_max_size
        for start in range(0, len(new), size):
            self._batches.append((process_queue, list(new[start : start + size])))
        self._arrived.set()

    def skip_to(self, process_queue: ProcessQueue, position: int) -> None:
        """Pass filtered messages, together with the batch that was given before them."""
        table = self._given if process_queue in self._given else self._done
        table[process_queue] = position

    def resize(self, count: int) -> None:
        """Do nothing, because there are no listeners."""

    async def stop(self, *, wait_s: float) -> None:
        """Commit what was polled before, if ``auto_commit`` is set.

        The last batch counts only when ``poll`` or ``commit`` was called after it, because the
        application may not be finished with it.
        """
        self._stopped = True
        self._arrived.set()
        if self._auto_commit:
            self.commit(with_last=False)

    async def release(self, process_queue: ProcessQueue) -> bool:
        """Commit the done batches of a dropped queue, so that its next owner goes on there."""
        self._given.pop(process_queue, None)
        position = self._done.pop(process_queue, None)
        if position is not None and self._auto_commit:
            self._state.offsets.update(process_queue.queue, position, increase_only=False)
        return True

    async def consume_directly(self, message: MessageExt) -> ConsumeMessageDirectlyResult:
        """Return an error, because there is no listener to call."""
        return ConsumeMessageDirectlyResult(
            consume_result=CMResult.CR_THROW_EXCEPTION,
            remark="this consumer polls and has no listener",
        )

    def _given_is_done(self) -> None:
        self._done.update(self._given)
        self._given.clear()

    def _next_batch(self, count_max: int | None) -> list[MessageExt]:
        aside: list[tuple[ProcessQueue, list[MessageExt]]] = []
        given: list[MessageExt] = []
        while self._batches and not given:
            process_queue, messages = self._batches.popleft()
            if process_queue.dropped:
                continue
            if process_queue.queue in self._state.paused:
                aside.append((process_queue, messages))
                continue
            if count_max is not None and len(messages) > count_max:
                self._batches.appendleft((process_queue, messages[count_max:]))
                messages = messages[:count_max]
            position = process_queue.remove(messages, now_ms=self._state.client.now_ms())
            if position >= 0:
                self._given[process_queue] = position
            given = [self._state.under_original_topic(message) for message in messages]
        self._batches.extendleft(reversed(aside))
        return given

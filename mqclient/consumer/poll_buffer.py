"""Between pulls and polls: messages in turn by queue, and how far each queue was given.

    submit --> batches --next--> given --next, commit--> done --commit--> offset store

Rule: a batch is done when ``next`` or ``commit`` comes after it, and its position counts from
then on; only ``commit``, and with ``auto_commit`` giving up a queue, hand positions of what is
done to the offset store. Messages of others may be passed with the batch before them, not
earlier. A queue that was dropped or sought meanwhile gives nothing of what it held, and where
it was given to counts for nothing.

Source: client/impl/consumer/DefaultLitePullConsumerImpl.java#poll, #commitAll (4.9.7).
"""

import asyncio
from collections import deque
from collections.abc import Sequence

from mqclient.consumer.consumer_state import ConsumerState
from mqclient.consumer.process_queue import ProcessQueue
from mqclient.message import MessageExt
from remoting.bodies import ConsumeMessageDirectlyResult, MessageQueue
from remoting.bodies.clients import CMResult


class PollBuffer:
    """The consumption of a consumer that polls.

    Args:
        auto_commit: what was given of a queue counts when the queue goes to another member.

    Attributes:
        paused: queues that give nothing now.
    """

    orderly = False

    def __init__(self, state: ConsumerState, *, auto_commit: bool) -> None:
        self._state = state
        self._auto_commit = auto_commit
        self._batches: deque[tuple[ProcessQueue, list[MessageExt]]] = deque()
        self._arrived = asyncio.Event()
        # Both by what was held and not by queue: a queue begun anew has nothing of before.
        self._given: dict[ProcessQueue, int] = {}
        self._done: dict[ProcessQueue, int] = {}
        self.paused: set[MessageQueue] = set()

    async def next(self, *, wait_s: float) -> list[MessageExt]:
        """Return the messages of the next batch, none when nothing came in time."""
        self._given_is_done()
        deadline_s = asyncio.get_running_loop().time() + wait_s
        while True:
            batch = self._take()
            if batch:
                return batch
            left_s = deadline_s - asyncio.get_running_loop().time()
            if left_s <= 0:
                return []
            self._arrived.clear()
            try:
                await asyncio.wait_for(self._arrived.wait(), left_s)
            except TimeoutError:
                continue

    def commit(self, *, with_last: bool = True) -> None:
        """Hand the positions of all that was given to the offset store.

        Args:
            with_last: also of the last batch, which its owner may still be at work on.
        """
        if with_last:
            self._given_is_done()
        for process_queue, position in self._done.items():
            if not process_queue.dropped:
                self._state.offsets.update(process_queue.queue, position, increase_only=False)
        self._done.clear()

    def start_over(self, fresh: ProcessQueue) -> None:
        """Let the position of a queue be where it was begun anew."""
        self._done[fresh] = fresh.next_offset

    def wake(self) -> None:
        """Let a waiting ``next`` look again."""
        self._arrived.set()

    # As a consumption (``mqclient.consumer.consumer_state``).

    def start(self) -> None:
        """Nothing to start."""

    def submit(self, process_queue: ProcessQueue, new: Sequence[MessageExt]) -> None:
        """Take pulled messages."""
        size = self._state.settings.consume_message_batch_max_size
        for start in range(0, len(new), size):
            self._batches.append((process_queue, list(new[start : start + size])))
        self._arrived.set()

    def skip_to(self, process_queue: ProcessQueue, position: int) -> None:
        """Pass messages of others, together with what was given before them."""
        table = self._given if process_queue in self._given else self._done
        table[process_queue] = position

    def resize(self, count: int) -> None:
        """No listeners, no pool."""

    async def stop(self, *, wait_s: float) -> None:
        """Nothing runs here."""

    async def release(self, process_queue: ProcessQueue) -> bool:
        """Commit what was done of a dropped queue, so that its next owner goes on there."""
        self._given.pop(process_queue, None)
        position = self._done.pop(process_queue, None)
        if position is not None and self._auto_commit:
            self._state.offsets.update(process_queue.queue, position, increase_only=False)
        return True

    async def consume_directly(self, message: MessageExt) -> ConsumeMessageDirectlyResult:
        """Say that there is no listener."""
        return ConsumeMessageDirectlyResult(
            consume_result=CMResult.CR_THROW_EXCEPTION,
            remark="this consumer polls, it has no listener",
        )

    def _given_is_done(self) -> None:
        self._done.update(self._given)
        self._given.clear()

    def _take(self) -> list[MessageExt]:
        aside: list[tuple[ProcessQueue, list[MessageExt]]] = []
        given: list[MessageExt] = []
        while self._batches and not given:
            process_queue, messages = self._batches.popleft()
            if process_queue.dropped:
                continue
            if process_queue.queue in self.paused:
                aside.append((process_queue, messages))
                continue
            position = process_queue.remove(messages, now_ms=self._state.client.now_ms())
            if position >= 0:
                self._given[process_queue] = position
            given = [self._state.under_original_topic(message) for message in messages]
        self._batches.extendleft(reversed(aside))
        return given

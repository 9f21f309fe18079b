"""The consumer offsets: the next queue offset of each consumer group in each queue.

    (topic, group) -> {queue id: next queue offset to read}

Rule: an offset is what the group committed last. It may go backwards (a reset) and is not
compared with the queue. It is never negative; a group without an offset has no entry.

Source: broker/offset/ConsumerOffsetManager.java.
"""

from collections.abc import Callable, Generator
from typing import Final

from mqserver.runtime.slices import chunks
from storefmt.config.tables import ConsumerOffsets
from storefmt.names import is_light

Place = tuple[str, str, int]
"""Topic, group, queue id."""
NO_OFFSET: Final = -1
LONG_MAX: Final = 2**63 - 1
POSITIONS_PER_SLICE: Final = 1_000
"""Offsets that one slice compares before other requests can run."""


class Offsets:
    """The offset table of one broker.

    Args:
        stored: the content of consumerOffset.json or lmqConsumerOffset.json; None if missing.
        has_light: groups with light names (%LMQ%) have one queue and are saved separately.
    """

    def __init__(self, stored: ConsumerOffsets | None = None, *, has_light: bool = False) -> None:
        self._has_light = has_light
        self._table: dict[tuple[str, str], dict[int, int]] = {}
        if stored is not None:
            self._table = stored.by_queue()
        self.change_count = 0
        """Increases with every change, so that an unchanged table is not written again."""

    def table(self) -> ConsumerOffsets:
        """Return a snapshot of every offset."""
        offsets = {key: dict(queues) for key, queues in self._table.items()}
        if not self._has_light:
            return ConsumerOffsets(offsets=offsets)
        light = [key for key, queues in offsets.items() if is_light(key[1]) and set(queues) == {0}]
        return ConsumerOffsets(
            lmq_offsets={key: offsets.pop(key)[0] for key in light}, offsets=offsets
        )

    def commit(self, group: str, topic: str, *, queue_id: int, queue_offset: int) -> None:
        """Set a group's offset in one queue; it may go forwards or backwards.

        Args:
            group: the consumer group.
            topic: topic of the queue.
            queue_id: number of the queue, at least 0.
            queue_offset: next entry to read, at least 0.

        Raises:
            ValueError: the queue id or the offset is negative.
        """
        if queue_offset < 0 or queue_id < 0:
            raise ValueError(
                f"commit of offset {queue_offset} in queue {queue_id} of {topic} by {group}: "
                "neither may be negative"
            )
        queues = self._table.get((topic, group))
        if queues is None:
            queues = self._table[topic, group] = {}
        queues[queue_id] = queue_offset
        self.change_count += 1

    def get(self, group: str, topic: str, *, queue_id: int) -> int:
        """Return the next queue offset to read, NO_OFFSET if the group has none."""
        queues = self._table.get((topic, group))
        return NO_OFFSET if queues is None else queues.get(queue_id, NO_OFFSET)

    def queues(self, group: str, topic: str) -> dict[int, int]:
        """Return all offsets of a group in a topic, by queue id."""
        return dict(self._table.get((topic, group), {}))

    def topics_of(self, group: str) -> list[str]:
        """Return the topics in which a group has offsets."""
        return [topic for topic, owner in self._table if owner == group]

    def topics_by_group(self) -> dict[str, list[str]]:
        """Return the topics in which each group has offsets."""
        topics: dict[str, list[str]] = {}
        for topic, group in self._table:
            topics.setdefault(group, []).append(topic)
        return topics

    def groups_of(self, topic: str) -> list[str]:
        """Return the groups that have offsets in a topic."""
        return [group for name, group in self._table if name == topic]

    def copy(self, source: str, target: str, *, topic: str) -> None:
        """Copy the offsets of group ``source`` in a topic, if it has any, to group ``target``."""
        queues = self._table.get((topic, source))
        if queues is not None:
            self._table[topic, target] = dict(queues)
            self.change_count += 1

    def drop(self, group: str, topic: str, *, queue_id: int) -> None:
        """Delete a group's offset in one queue, if it has one."""
        queues = self._table.get((topic, group), {})
        if queues.pop(queue_id, None) is None:
            return
        if not queues:
            del self._table[topic, group]
        self.change_count += 1

    def delete_group(self, group: str) -> None:
        """Delete all offsets of a group."""
        for topic in self.topics_of(group):
            del self._table[topic, group]
            self.change_count += 1

    def lowest(
        self, topic: str, *, min_offset: Callable[[int], int], without: frozenset[str] = frozenset()
    ) -> Generator[None, None, dict[int, int]]:
        """Return the lowest offset of all groups in each queue of a topic, in slices.

        Args:
            topic: the topic.
            min_offset: returns the first readable queue offset of a queue id; lower offsets of
                groups do not count.
            without: groups to leave out. (Java's broker deletes their offsets here.)
        """
        offsets: dict[int, int] = {}
        for group in self.groups_of(topic):
            if group in without:
                continue
            for part in chunks(list(self.queues(group, topic).items()), POSITIONS_PER_SLICE):
                yield
                for queue_id, queue_offset in part:
                    if queue_offset >= min_offset(queue_id):
                        offsets[queue_id] = min(queue_offset, offsets.get(queue_id, LONG_MAX))
        return offsets

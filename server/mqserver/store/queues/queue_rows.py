"""Where queues begin and end, in 28 bytes per queue, for a listing or the safe point.

    "topic-a" ─> ids 0 1 2 7 …            sorted
                 first min end | first min end | …

Rule: no object per queue, since there may be tens of thousands. Each topic has its own
columns, so that a topic is converted to text and back without a loop over its queues.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

_WIDTH: Final = 3


class QueueRow(NamedTuple):
    """Where one queue begins and ends, in entries."""

    first: int
    """First entry that has a file."""
    minimum: int
    """First entry that points at a retained record."""
    end: int
    """The entry after the last one."""


class _Topic:
    __slots__ = ("ids", "numbers", "text")

    def __init__(self) -> None:
        self.ids = array("i")
        self.numbers = array("q")
        self.text = ""
        """The result of ``text_of`` until a row changes: each deletion of a topic writes all."""

    def at(self, queue_id: int) -> int:
        """Return the position of a queue in the columns, -1 if it is absent."""
        place = bisect_left(self.ids, queue_id)
        return place if place < len(self.ids) and self.ids[place] == queue_id else -1

    def row(self, place: int) -> QueueRow:
        low = place * _WIDTH
        return QueueRow(*self.numbers[low : low + _WIDTH])


class QueueRows:
    """Rows by topic name and queue id."""

    def __init__(self) -> None:
        self._topics: dict[str, _Topic] = {}

    def __len__(self) -> int:
        return sum(len(topic.ids) for topic in self._topics.values())

    def __contains__(self, key: tuple[str, int]) -> bool:
        topic = self._topics.get(key[0])
        return topic is not None and topic.at(key[1]) >= 0

    def get(self, name: str, queue_id: int) -> QueueRow | None:
        """Return the row of a queue, or None if it is absent."""
        topic = self._topics.get(name)
        place = -1 if topic is None else topic.at(queue_id)
        return None if topic is None or place < 0 else topic.row(place)

    def put_row(self, name: str, queue_id: int, row: QueueRow) -> None:
        """Set the row of a queue."""
        topic = self._topics.get(name)
        if topic is None:
            topic = self._topics[name] = _Topic()
        topic.text = ""
        place = bisect_left(topic.ids, queue_id)
        low = place * _WIDTH
        if place < len(topic.ids) and topic.ids[place] == queue_id:
            topic.numbers[low : low + _WIDTH] = array("q", row)
        else:
            topic.ids.insert(place, queue_id)
            topic.numbers[low:low] = array("q", row)

    def pop(self, name: str, queue_id: int) -> QueueRow | None:
        """Remove and return the row of a queue; None if it is absent."""
        topic = self._topics.get(name)
        place = -1 if topic is None else topic.at(queue_id)
        if topic is None or place < 0:
            return None
        row = topic.row(place)
        topic.text = ""
        del topic.ids[place], topic.numbers[place * _WIDTH : (place + 1) * _WIDTH]
        if not topic.ids:
            del self._topics[name]
        return row

    def topics(self) -> list[str]:
        """Return the topics that have rows."""
        return list(self._topics)

    def __iter__(self) -> Iterator[tuple[str, int, QueueRow]]:
        """Yield topic, queue id and row of every queue."""
        for name, topic in list(self._topics.items()):
            for place, queue_id in enumerate(list(topic.ids)):
                yield name, queue_id, topic.row(place)

    def text_of(self, name: str) -> str:
        """Return the rows of a topic as numbers: id first min end id first …"""
        topic = self._topics[name]
        if not topic.text:
            numbers = topic.numbers
            rows = zip(topic.ids, numbers[0::3], numbers[1::3], numbers[2::3], strict=True)
            topic.text = " ".join(
                [f"{number} {first} {low} {end}" for number, first, low, end in rows]
            )
        return topic.text

    def put_text(self, name: str, text: str) -> None:
        """Set the rows of a topic from the text that ``text_of`` returns.

        Raises:
            ValueError: the text is not four numbers per queue, sorted by queue id.
        """
        numbers = array("q", map(int, text.split()))
        topic = _Topic()
        topic.ids = array("i", numbers[0::4])
        ids = topic.ids
        if len(numbers) % 4 or any(low >= high for low, high in pairwise(ids)):
            raise ValueError(f"rows of topic {name} are not sorted fours of numbers")
        topic.numbers = array("q", bytes(8 * _WIDTH * len(ids)))
        for column in range(_WIDTH):
            topic.numbers[column::_WIDTH] = numbers[column + 1 :: 4]
        if ids:
            self._topics[name] = topic

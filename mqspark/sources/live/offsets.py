"""The offsets of a stream, as Spark keeps them in its checkpoint.

    {"topic@broker@queue": [next queue offset, store time in ms of the message before it], …}
    {"topic@broker@queue": next queue offset, …}        no such message, or an earlier version

``survey`` says what the store time is for.
"""

from typing import NamedTuple

from mqspark.sources.live.options import queue_of, queue_text
from mqspark.sources.live.queues import Positions, StoreTimes

StreamOffsets = dict[str, int | list[int]]
"""Offsets in JSON."""


class StreamPositions(NamedTuple):
    """The offsets of a stream: positions, and the store times beside them."""

    positions: Positions
    store_times: StoreTimes

    @classmethod
    def of(cls, kept: StreamOffsets) -> "StreamPositions":
        """Return what Spark has kept."""
        offsets = cls({}, {})
        for text, value in kept.items():
            queue = queue_of(text)
            position, *times = value if isinstance(value, list) else [value]
            offsets.positions[queue] = position
            if times:
                offsets.store_times[queue] = times[0]
        return offsets

    def kept(self) -> StreamOffsets:
        """Return what Spark keeps."""
        return {
            queue_text(queue): (
                [position, self.store_times[queue]] if queue in self.store_times else position
            )
            for queue, position in sorted(self.positions.items())
        }

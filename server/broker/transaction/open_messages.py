"""List the half messages that wait for a decision now, for administrators.

Rule: a search reads a limited number of records that the checks have not passed yet, in steps of
a few ms. If there are more, the answer says that it is not complete.
"""

from typing import Final, NamedTuple

from server.broker.clients.offsets import Offsets
from server.broker.transaction.half_messages import GROUP, QUEUE_ID, op_half_offset
from server.store.results import GetStatus
from server.store.store import MessageStore
from storefmt.formats.message import Record, decode_records
from storefmt.names import HALF_TOPIC, OP_HALF_TOPIC

SCAN_COUNT_MAX: Final = 10_000
"""About how many records of each of the two topics one search reads at most."""
OPEN_COUNT_MAX: Final = 1_000
_READ_COUNT: Final = 128
_READ_SIZE: Final = 256 * 1024


class OpenTransactions(NamedTuple):
    """The result of one search."""

    half_offset: int
    """Queue offset that the checks have reached in the half topic; ``op_offset`` likewise."""
    op_offset: int
    is_complete: bool
    records: list[Record]
    """Half messages without a decision, the oldest first; of each only the newest copy."""


class OpenLook:
    """One search, in steps between which a thread can read what is not in the page cache."""

    def __init__(self, store: MessageStore, offsets: Offsets) -> None:
        self._ops = _Reading(store, OP_HALF_TOPIC, _position(store, offsets, OP_HALF_TOPIC))
        self._halves = _Reading(store, HALF_TOPIC, _position(store, offsets, HALF_TOPIC))
        self._begun_at = self._halves.at, self._ops.at

    def step(self, *, may_wait: bool = True) -> bool:
        """Read a limited number of records; return whether there are more.

        Args:
            may_wait: False raises ColdRead where the step would wait for the disk; the next step
                continues there.

        Raises:
            ColdRead: bytes are not in the page cache.
            RecordDamaged: a record of the half or op topic cannot be read.
        """
        reading = self._ops if self._ops.has_more else self._halves
        reading.step(may_wait=may_wait)
        return self._ops.has_more or self._halves.has_more

    def result(self) -> OpenTransactions:
        """Return the half messages without a decision."""
        decided = {op_half_offset(op) for op in self._ops.records}
        undecided = [half for half in self._halves.records if half.queue_offset not in decided]
        return OpenTransactions(
            *self._begun_at,
            self._ops.is_whole and self._halves.is_whole and len(undecided) <= OPEN_COUNT_MAX,
            undecided[:OPEN_COUNT_MAX],
        )


def _position(store: MessageStore, offsets: Offsets, topic: str) -> int:
    known = offsets.get(GROUP, topic, queue_id=QUEUE_ID)
    return max(known, store.min_offset(topic, QUEUE_ID))


class _Reading:
    """The records of one topic from a queue offset up to its present end."""

    def __init__(self, store: MessageStore, topic: str, queue_offset: int) -> None:
        self.at = queue_offset
        self.records: list[Record] = []
        self._store = store
        self._topic = topic
        self._end = store.max_offset(topic, QUEUE_ID)

    @property
    def is_whole(self) -> bool:
        """Tell whether all of the topic was read."""
        return self.at >= self._end

    @property
    def has_more(self) -> bool:
        return not self.is_whole and len(self.records) < SCAN_COUNT_MAX

    def step(self, *, may_wait: bool) -> None:
        if not self.has_more:
            return
        found = self._store.reader.get_message(
            self._topic, QUEUE_ID, self.at,
            count_max=_READ_COUNT, size_max=_READ_SIZE, may_wait=may_wait,
        )  # fmt: skip
        if found.status is GetStatus.FOUND:
            self.records += decode_records(b"".join(found.chunks))
        self.at = max(found.next_offset, self.at + 1)

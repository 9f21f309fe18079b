"""Which half messages wait for a decision now, for people who look after a broker.

Rule: one look of bounded cost at what the checks have not passed yet. Where more than
that is open the answer says that it is not complete.
"""

from typing import Final, NamedTuple

from server.broker.names import HALF_TOPIC, OP_HALF_TOPIC
from server.broker.offsets import Offsets
from server.broker.transaction import GROUP, QUEUE_ID, decided_offset
from server.store.calls import GetStatus
from server.store.store import MessageStore
from storefmt.message import Record, decode_records

SCAN_COUNT_MAX: Final = 10_000
"""Records of each of the two topics that one look reads."""
OPEN_COUNT_MAX: Final = 1_000
_READ_COUNT: Final = 128
_READ_SIZE: Final = 256 * 1024


class OpenTransactions(NamedTuple):
    """What one look found."""

    half_offset: int
    """Half queue offset that the checks are at."""
    op_offset: int
    is_complete: bool
    records: list[Record]
    """Undecided half messages, oldest first; the newest copy of each."""


def open_transactions(store: MessageStore, offsets: Offsets) -> OpenTransactions:
    """Return the half messages that nobody decided.

    Raises:
        RecordDamaged: a record of the half or op topic cannot be read.
    """
    op_offset = _position(store, offsets, OP_HALF_TOPIC)
    ops, all_ops = _records(store, OP_HALF_TOPIC, op_offset)
    decided = {decided_offset(op) for op in ops}
    half_offset = _position(store, offsets, HALF_TOPIC)
    halves, all_halves = _records(store, HALF_TOPIC, half_offset)
    undecided = [half for half in halves if half.queue_offset not in decided]
    is_complete = all_ops and all_halves and len(undecided) <= OPEN_COUNT_MAX
    return OpenTransactions(half_offset, op_offset, is_complete, undecided[:OPEN_COUNT_MAX])


def _position(store: MessageStore, offsets: Offsets, topic: str) -> int:
    known = offsets.get(GROUP, topic, queue_id=QUEUE_ID)
    return max(known, store.min_offset(topic, QUEUE_ID))


def _records(store: MessageStore, topic: str, queue_offset: int) -> tuple[list[Record], bool]:
    """Return the records from an offset on, and whether these are all."""
    records: list[Record] = []
    end = store.max_offset(topic, QUEUE_ID)
    while queue_offset < end and len(records) < SCAN_COUNT_MAX:
        found = store.get_message(
            topic, QUEUE_ID, queue_offset, count_max=_READ_COUNT, size_max=_READ_SIZE
        )
        if found.status is GetStatus.FOUND:
            records += decode_records(b"".join(found.chunks))
        queue_offset = max(found.next_offset, queue_offset + 1)
    return records, queue_offset >= end

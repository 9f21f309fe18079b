"""Which queue offset a record gets: the one that it claims, unless that field is damaged.

    record claims 7 ── 7 is next, or its old entry is there ──> entry 7
                    └ else: wait for the next record of this queue to tell whether a record is
                            missing, the topic was recreated (0, 1, …), or the field is damaged
    a copy claims 7 ─── as above, if the broker makes copies, and 7 was not passed yet

Rule: within a queue, offsets have no gaps. No CRC covers the queue offset of a record, so a single
offset out of order is not believed; two in a row are believed, and so is an offset whose old
entry points at the record, or one that skips no more records than the log has lost.

Source: store/ConsumeQueue.java#putMessagePositionInfo (4.9.7).
"""

from collections.abc import Callable
from typing import Protocol

from storefmt.formats.message import RECORD_SIZE_MIN


class Claim(Protocol):
    """A record that claims an entry of its queue."""

    @property
    def queue_offset(self) -> int:
        """The entry that it claims."""

    @property
    def log_offset(self) -> int:
        """Where the record lies."""


IsOldEntry = Callable[[int], bool]
"""Tells whether the old queue has, at a queue offset, an entry that points at the record."""


def fits_log(queue_offset: int, log_offset: int) -> bool:
    """Return whether as many records as ``queue_offset`` says fit into the log before a record."""
    return 0 <= queue_offset * RECORD_SIZE_MIN <= log_offset + RECORD_SIZE_MIN


def is_plausible(
    claim: Claim, is_old_entry: IsOldEntry, *, expected: int | None, lost_size: int, is_late: bool
) -> bool:
    """Return whether a claim out of order is believed at once.

    Args:
        claim: the record.
        is_old_entry: looks into the old queue.
        expected: the next entry of the queue; None before its first record.
        lost_size: bytes of the log that are not records, since the last record of the queue or, in
            a recovery, since the scan began.
        is_late: whether the log may lack the first records of the queue.
    """
    queue_offset = claim.queue_offset
    if not fits_log(queue_offset, claim.log_offset):
        return False
    if expected is None:
        return queue_offset == 0 or is_late or is_old_entry(queue_offset)
    # A topic that was deleted and created again, or records that were lost.
    is_skip = 0 < (queue_offset - expected) * RECORD_SIZE_MIN <= lost_size
    return is_skip or is_old_entry(queue_offset)


def is_copy_believed(
    claim: Claim, is_old_entry: IsOldEntry, *, expected: int | None, makes_copies: bool
) -> bool:
    """Return whether a further entry, in the queue of a multi-dispatch, may be believed.

    A broker without multi-dispatch stores what a producer says in INNER_MULTI_QUEUE_OFFSET and
    makes no entry, and 4.9.7 with multi-dispatch stores it for the messages of a batch. So such
    a claim never makes a queue start again, which would hide its other messages.

    Args:
        claim: the record, with the queue offset of the further entry.
        is_old_entry: looks into the old queue; what it has was made by a broker.
        expected: the next entry of that queue; None before its first record.
        makes_copies: whether the store is that of a broker with multi-dispatch.
    """
    is_again = expected is not None and claim.queue_offset < expected
    return (makes_copies and not is_again) or is_old_entry(claim.queue_offset)


def settle_claim(
    suspect: Claim, is_old_entry: IsOldEntry, *, expected: int | None, following: Claim | None
) -> int | None:
    """Return the queue offset of a record out of order, now that the next one is known.

    Args:
        suspect: the record.
        is_old_entry: looks into the old queue.
        expected: the next entry of the queue; None before its first record.
        following: the next record of the queue; None at the end of the log.

    Returns:
        None if it gets no entry: the queue goes on without it, so it is an old copy of a record.
    """
    claimed = suspect.queue_offset
    if following is not None and following.queue_offset == claimed + 1:
        queue_offset = claimed
    elif following is not None and following.queue_offset == expected:
        return None
    elif expected is None:
        queue_offset = 0 if following is None else max(0, following.queue_offset - 1)
    elif following is None and claimed == 0 and not is_old_entry(expected):
        queue_offset = 0
    else:
        queue_offset = expected
    return queue_offset if fits_log(queue_offset, suspect.log_offset) else None

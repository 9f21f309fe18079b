"""The position of a group in one queue, judged once for every command and check.

    state of the queue                  place of the committed offset
    readable  unreadable  gone  silent   below the first · within · at the end · past the end
              \\________________________________________/
                      STANDINGS  ->  GroupStanding  ->  is it lag, is it wrong, what to do

Rule: pure. A queue without any report is ``UNKNOWN``, which is never a lag of 0.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple


class QueueState(StrEnum):
    """The state of a queue itself."""

    READABLE = "readable"
    UNREADABLE = "unreadable"
    """It is beyond the topic's read queues, or the topic has no read permission there."""
    UNSUBSCRIBED = "unsubscribed"
    """The group is online, but no member subscribes to the topic."""
    LOCAL = "local"
    """The group broadcasts: each member keeps its own offset, and brokers do not have it."""
    GONE = "gone"
    """Its topic or the queue was deleted, but the group's offset remains."""
    SILENT = "silent"
    """Its broker did not answer."""


class OffsetSide(StrEnum):
    """Where a committed offset lies between the ends of its queue."""

    BELOW = "below"
    WITHIN = "within"
    END = "end"
    PAST = "past"


class GroupStanding(StrEnum):
    """Where a group stands in one queue."""

    BEHIND = "behind"
    AT_END = "at the end"
    AHEAD = "ahead of the end"
    BELOW_MINIMUM = "below the minimum"
    UNREADABLE = "unreadable"
    UNSUBSCRIBED = "not subscribed"
    LOCAL = "kept by its members"
    GONE = "queue is gone"
    UNKNOWN = "unknown"


_LEFT: Final = (OffsetSide.BELOW, OffsetSide.WITHIN)
STANDINGS: Final[dict[tuple[QueueState, OffsetSide], GroupStanding]] = {
    (QueueState.READABLE, OffsetSide.BELOW): GroupStanding.BELOW_MINIMUM,
    (QueueState.READABLE, OffsetSide.WITHIN): GroupStanding.BEHIND,
    (QueueState.READABLE, OffsetSide.END): GroupStanding.AT_END,
    (QueueState.READABLE, OffsetSide.PAST): GroupStanding.AHEAD,
    # A queue that is no longer readable but was read to the end is as good as any other.
    **{(QueueState.UNREADABLE, side): GroupStanding.UNREADABLE for side in _LEFT},
    (QueueState.UNREADABLE, OffsetSide.END): GroupStanding.AT_END,
    (QueueState.UNREADABLE, OffsetSide.PAST): GroupStanding.AHEAD,
    **{(QueueState.UNSUBSCRIBED, side): GroupStanding.UNSUBSCRIBED for side in _LEFT},
    (QueueState.UNSUBSCRIBED, OffsetSide.END): GroupStanding.AT_END,
    (QueueState.UNSUBSCRIBED, OffsetSide.PAST): GroupStanding.AHEAD,
    **{(QueueState.LOCAL, side): GroupStanding.LOCAL for side in OffsetSide},
    **{(QueueState.GONE, side): GroupStanding.GONE for side in OffsetSide},
    **{(QueueState.SILENT, side): GroupStanding.UNKNOWN for side in OffsetSide},
}


class StandingMeaning(NamedTuple):
    """The meaning of a standing.

    Attributes:
        is_lag: its messages are waiting, and the group will read them.
        is_wrong: the group will miss messages, or this is unknown.
        sentence: description, to follow "N queues ".
        hint: what to do next; ``{group}`` and ``{topic}`` are filled in.
    """

    is_lag: bool
    is_wrong: bool
    sentence: str
    hint: str = ""


MEANINGS: Final[dict[GroupStanding, StandingMeaning]] = {
    GroupStanding.BEHIND: StandingMeaning(True, False, "behind"),
    GroupStanding.AT_END: StandingMeaning(False, False, "at the end"),
    GroupStanding.AHEAD: StandingMeaning(
        False,
        True,
        "ahead of the end, so new messages are skipped",
        "`offset reset {group} {topic} --to earliest`; was the topic deleted and created again?",
    ),
    GroupStanding.BELOW_MINIMUM: StandingMeaning(
        True,
        True,
        "below the first remaining message, so messages were deleted unread",
        "the group is slower than fileReservedTime; see `group lag {group} {topic} --watch`",
    ),
    GroupStanding.UNREADABLE: StandingMeaning(
        False,
        True,
        "no longer readable, with unread messages",
        "`topic update {topic} --read-queues N` makes them readable again",
    ),
    GroupStanding.UNSUBSCRIBED: StandingMeaning(
        False,
        False,
        "in a topic that no member subscribes to",
    ),
    GroupStanding.LOCAL: StandingMeaning(
        False,
        True,
        "of a broadcasting group, whose members keep their own offsets",
        "`group running {group}` shows what each member has cached",
    ),
    GroupStanding.GONE: StandingMeaning(
        False,
        False,
        "gone, while an offset remains",
    ),
    GroupStanding.UNKNOWN: StandingMeaning(
        False,
        True,
        "on a broker that did not answer",
        "`doctor --check address` shows which one",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePosition:
    """A group in one queue; offsets in entries.

    Attributes:
        consumer_offset: the next one to read; None if the group has not committed any.
        min_offset: the first remaining message; None if the caller did not ask for it.
        end_offset: the next one to be written; None if there is none, or it is unknown.
    """

    group: str
    topic: str
    broker: str
    queue_id: int
    state: QueueState = QueueState.READABLE
    consumer_offset: int | None = None
    min_offset: int | None = None
    end_offset: int | None = None
    last_consumed_ms: int = 0
    inflight: int | None = None

    @property
    def side(self) -> OffsetSide:
        """Return where the committed offset lies; a group without one starts at the first."""
        low, end = self.min_offset or 0, self.end_offset or 0
        offset = low if self.consumer_offset is None else self.consumer_offset
        if offset == end:
            return OffsetSide.END
        if offset > end:
            return OffsetSide.PAST
        return OffsetSide.BELOW if offset < low else OffsetSide.WITHIN

    @property
    def standing(self) -> GroupStanding:
        """Return the standing of the group."""
        return STANDINGS[self.state, self.side]

    @property
    def is_wrong(self) -> bool:
        """Return whether the group will miss messages here, or this is unknown."""
        return MEANINGS[self.standing].is_wrong

    @property
    def unread_count(self) -> int:
        """Return how many stored messages lie behind the committed offset, read or not readable.

        A group that is ahead of the end has not read the existing messages.
        """
        low, end = self.min_offset or 0, self.end_offset or 0
        if self.side is OffsetSide.PAST:
            return end - low
        return end - max(low, low if self.consumer_offset is None else self.consumer_offset)

    @property
    def lag(self) -> int:
        """Return what RocketMQ calls the lag: end minus offset, negative if it is ahead."""
        return (self.end_offset or 0) - (self.consumer_offset or 0)

    @property
    def waiting_count(self) -> int:
        """Return how many messages wait for the group and will be read."""
        return self.lag if MEANINGS[self.standing].is_lag else 0


@dataclass(frozen=True, slots=True)
class StandingTotal:
    """A group over all its queues: waiting messages, and queues with other standings."""

    waiting_count: int
    queue_count: int
    standings: Counter[GroupStanding]
    unread_count: int
    """Messages in queues with a wrong standing."""

    @classmethod
    def of(cls, positions: Iterable[QueuePosition]) -> "StandingTotal":
        """Return the total of some queues."""
        listed = list(positions)
        return cls(
            sum(position.waiting_count for position in listed),
            len(listed),
            Counter(position.standing for position in listed),
            sum(
                position.unread_count
                for position in listed
                if MEANINGS[position.standing].is_wrong and not MEANINGS[position.standing].is_lag
            ),
        )

    @property
    def is_sure(self) -> bool:
        """Return whether ``waiting_count`` covers everything."""
        return not any(MEANINGS[standing].is_wrong for standing in self.standings)

    @property
    def text(self) -> str:
        """Return the number, followed by what it leaves out."""
        wrong = [
            f"{count} queue{'' if count == 1 else 's'} {MEANINGS[standing].sentence}"
            for standing in GroupStanding
            if MEANINGS[standing].is_wrong and (count := self.standings[standing])
        ]
        return "; ".join([str(self.waiting_count), *wrong])

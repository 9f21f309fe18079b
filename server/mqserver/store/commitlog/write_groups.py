"""The states of a group: the messages that one write of the log stores together.

    PUT ──> WRITING ──> WRITTEN ──> SYNCING ──> SAFE
     │         │           │ └───────────────────^   ASYNC_FLUSH, and a slave
     └─────────┴───────────┴───────────┴──> FAILED

Rule: groups follow one another in log order. There is one group in PUT, at most one in WRITING,
and any number of the states after it; a sync covers all groups that are WRITTEN when it begins.
Messages of a group can be read, and are acknowledged, only when it is SAFE. When a group fails, no
group after it can become SAFE: the group in PUT fails with it.

Source: store/CommitLog.java#asyncPutMessage, #handleDiskFlush, which have these steps for each
message.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Final

from mqserver.store.commitlog.append import PutGroup
from storefmt.errors import BadCall


class GroupState(Enum):
    """How safe the messages of a group are."""

    PUT = auto()
    """They have their offsets, and more messages may join them."""
    WRITING = auto()
    """A thread writes them to the log."""
    WRITTEN = auto()
    """They are in the page cache: the end of the process does not lose them."""
    SYNCING = auto()
    """A thread syncs the log (SYNC_FLUSH)."""
    SAFE = auto()
    """They are as safe as the configuration promises: consumers see them."""
    FAILED = auto()
    """They are refused, or answered as stored but perhaps not durable."""


class GroupEvent(Enum):
    """What changes the state of a group."""

    WRITE = auto()
    """It is handed to the thread that writes."""
    WRITE_DONE = auto()
    SYNC = auto()
    """A sync begins that covers it."""
    SYNC_DONE = auto()
    SYNC_AGAIN = auto()
    """The sync found no free file descriptor; a later one covers the group."""
    SHOW = auto()
    """No sync is promised, so it is safe as it is."""
    FAIL = auto()
    """Its write or sync failed, or that of a group before it."""


_S, _E = GroupState, GroupEvent
MOVES: Final[Mapping[tuple[GroupState, GroupEvent], GroupState]] = {
    (_S.PUT, _E.WRITE): _S.WRITING,
    (_S.PUT, _E.FAIL): _S.FAILED,
    (_S.WRITING, _E.WRITE_DONE): _S.WRITTEN,
    (_S.WRITING, _E.FAIL): _S.FAILED,
    (_S.WRITTEN, _E.SHOW): _S.SAFE,
    (_S.WRITTEN, _E.SYNC): _S.SYNCING,
    (_S.WRITTEN, _E.FAIL): _S.FAILED,
    (_S.SYNCING, _E.SYNC_DONE): _S.SAFE,
    (_S.SYNCING, _E.SYNC_AGAIN): _S.WRITTEN,
    (_S.SYNCING, _E.FAIL): _S.FAILED,
}


class Group:
    """The messages of one write.

    Args:
        puts: the messages.
        needs_sync: whether they are safe only when they are synced.
    """

    __slots__ = ("needs_sync", "puts", "state")

    def __init__(self, puts: PutGroup, *, needs_sync: bool) -> None:
        self.puts = puts
        self.needs_sync = needs_sync
        self.state = GroupState.PUT

    def move(self, event: GroupEvent) -> None:
        """Change the state.

        Raises:
            BadCall: the event cannot happen in this state.
        """
        state = MOVES.get((self.state, event))
        if state is None:
            raise BadCall(f"a group that is {self.state.name} cannot take {event.name}")
        self.state = state

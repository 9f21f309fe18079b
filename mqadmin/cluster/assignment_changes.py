"""Compare an assignment with the one before, and find queues that change their reader too often.

    sample at 0 s   app-1: 0 1   app-2: 2 3
    sample at 2 s   app-1: 0 1   app-3: 2 3      left app-2, joined app-3, moved 2, moved 3
    sample at 4 s   app-2: 2 3 ...               moved again; the third time within a minute:
                                               flapping

Rule: pure; owners and the time are arguments. A queue flaps if its owner changed ``CHANGES_MIN``
times within ``WINDOW_MS``, and is reported once until it rests that long.
"""

from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from remoting.bodies import MessageQueue

WINDOW_MS: Final = 60_000
CHANGES_MIN: Final = 3


class AssignmentEvent(StrEnum):
    """Kinds of changes."""

    JOINED = "joined"
    LEFT = "left"
    TAKEN = "taken"
    MOVED = "moved"
    RELEASED = "released"
    FLAPPING = "flapping"


@dataclass(frozen=True, slots=True)
class AssignmentChange:
    """One change; ``queue`` is None for a member that joined or left."""

    at_ms: int
    what: AssignmentEvent
    queue: MessageQueue | None
    client_id: str | None
    was: str | None


@dataclass(slots=True)
class AssignmentTracker:
    """Compares each sample with the one before."""

    _members: frozenset[str] | None = None
    _owners: dict[MessageQueue, str] = field(default_factory=dict)
    _times: dict[MessageQueue, deque[int]] = field(default_factory=dict)
    _told: set[MessageQueue] = field(default_factory=set)

    def look(
        self, at_ms: int, members: Collection[str], *, owners: Mapping[MessageQueue, str]
    ) -> list[AssignmentChange]:
        """Return what changed since the last sample; the first one reports the present state."""
        first = self._members is None
        before = self._members or frozenset()
        changes = [
            *(
                AssignmentChange(at_ms, AssignmentEvent.LEFT, None, None, who)
                for who in sorted(before - {*members})
            ),
            *(
                AssignmentChange(at_ms, AssignmentEvent.JOINED, None, who, None)
                for who in sorted({*members} - before)
            ),
        ]
        for queue in sorted({*self._owners, *owners}):
            old, new = self._owners.get(queue), owners.get(queue)
            if old != new:
                changes.append(AssignmentChange(at_ms, _what(old, new), queue, new, old))
                if not first:
                    changes += self._count(at_ms, queue, new)
        self._members, self._owners = frozenset(members), dict(owners)
        self._forget(at_ms)
        return changes

    def _count(self, at_ms: int, queue: MessageQueue, owner: str | None) -> list[AssignmentChange]:
        times = self._times.setdefault(queue, deque())
        times.append(at_ms)
        while at_ms - times[0] > WINDOW_MS:
            times.popleft()
        if len(times) < CHANGES_MIN or queue in self._told:
            return []
        self._told.add(queue)
        return [AssignmentChange(at_ms, AssignmentEvent.FLAPPING, queue, owner, None)]

    def _forget(self, at_ms: int) -> None:
        """Forget the queues that have rested for a whole window."""
        rested = [queue for queue, times in self._times.items() if at_ms - times[-1] > WINDOW_MS]
        for queue in rested:
            del self._times[queue]
            self._told.discard(queue)


def _what(old: str | None, new: str | None) -> AssignmentEvent:
    if old is None:
        return AssignmentEvent.TAKEN
    return AssignmentEvent.RELEASED if new is None else AssignmentEvent.MOVED

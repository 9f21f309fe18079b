"""Which replicas of a group have every acknowledged message, as its master knows it.

    OUT ── near the end of the log ──> JOINING ── has all that is confirmed ──> proposed (1001)
     ^  └────── falls behind ──────────────┘                                      │ granted
     └───────────── proposed, granted ── not connected, or behind ── IN <─────────┘

    committed   what the controller has answered last; only its answers change it
    proposed    what this master asks for; None while nothing is asked
    in doubt    an attempt was not answered, so the controller may still carry it out

Rule: a message is acknowledged when every member of committed, proposed *and* joining has it on
disk, since nobody knows yet in which set the controller will hold an election. The confirm offset
is the least of what they have, and never goes back. A replica that joins holds it until it has
caught up, so that it has everything that is confirmed when it is proposed; under a steady load it
would never be at the end of the log.

A proposal with an unanswered attempt is asked again, unchanged, until the controller shows a newer
set: the old attempt names the set that it replaces, so it is void from then on.

Source: store/ha/autoswitch/AutoSwitchHAService.java (5.3.3). 5.4.0 takes a closed connection out of
the committed set by itself: an isolated master then acknowledges alone (PR 9897).
"""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

NEAR_MS: Final = 200
"""A replica joins when it needs at most so long to copy what was written meanwhile."""
GONE_MS: Final = 500
"""A replica leaves when it has not been connected for so long."""

ABSENT_MS: Final = 1_000
"""A replica that has lacked bytes for so long may follow another master."""


class Committed(NamedTuple):
    """The in-sync set that the controller has."""

    members: frozenset[int]
    epoch: int
    """Grows with each change of the set."""


@dataclass(slots=True)
class _Replica:
    """A slave that has been connected under this master. Times are of the steady clock."""

    acked_offset: int = 0
    """Up to where it has the log, as it last reported on its present connection."""
    mark: int = 0
    """The end of the log at ``mark_ms``."""
    mark_ms: int | None = None
    """Since when it lacks a part of what lies below the mark; None if it lacks nothing."""
    round_ms: int = 0
    """How long it took to reach the mark before this one."""
    gone_ms: int | None = None
    """When its connection was lost; None while it is connected."""
    is_learner: bool = False
    is_joining: bool = False

    def reach(self, acked_offset: int, log_end: int, now_ms: int) -> None:
        """Note up to where it has the log."""
        self.acked_offset = max(self.acked_offset, acked_offset)
        if self.mark_ms is not None and self.acked_offset >= self.mark:
            self.round_ms, self.mark_ms = now_ms - self.mark_ms, None
        self.grow(log_end, now_ms)

    def grow(self, log_end: int, now_ms: int) -> None:
        """Note the end of the log of the master."""
        if self.mark_ms is None and self.acked_offset < log_end:
            self.mark, self.mark_ms = log_end, now_ms

    def behind_ms(self, now_ms: int) -> int:
        """Return for how long it has lacked bytes."""
        return 0 if self.mark_ms is None else now_ms - self.mark_ms


@dataclass(slots=True)
class InSyncSet:
    """The in-sync set of one master during one epoch.

    Args:
        own_id: the id of this broker.
        epoch_start: the log offset at which its epoch begins.
        committed: what the controller answered when it made this broker the master.
        lag_ms_max: a slave that has lacked bytes for so long leaves the set.
        all_ack: whether every member has to acknowledge (allAckInSyncStateSet).
        ack_count: otherwise, how many replicas have to, this one included (inSyncReplicas).
    """

    own_id: int
    epoch_start: int
    committed: Committed
    lag_ms_max: int
    all_ack: bool = True
    ack_count: int = 1
    log_end: int = 0
    """The end of the log here, as far as it is safe by this broker's own settings."""
    confirm_offset: int = 0
    """Up to where every required replica has the log; readers see nothing above it."""
    proposed: frozenset[int] | None = None
    is_in_doubt: bool = False
    """Whether an attempt to get ``proposed`` was not answered."""
    _replicas: dict[int, _Replica] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.log_end = max(self.log_end, self.epoch_start)
        self._confirm()

    @property
    def required(self) -> frozenset[int]:
        """Return the ids whose acknowledgement a message needs, this broker included."""
        joining = {key for key, replica in self._replicas.items() if replica.is_joining}
        return self.committed.members | (self.proposed or frozenset()) | joining

    @property
    def answer_offset(self) -> int:
        """Return the log offset below which sends may be answered."""
        if self.all_ack:
            return self.confirm_offset
        ends = [self._acked(member) for member in self.required - {self.own_id}]
        ends = sorted([self.log_end, *ends], reverse=True)
        return ends[self.ack_count - 1] if self.ack_count <= len(ends) else 0

    def lacks_member(self, now_ms: int) -> bool:
        """Tell whether a required replica is not connected, or has lacked bytes for a second."""
        others = [self._replicas.get(member) for member in self.required - {self.own_id}]
        return any(
            replica is None or replica.gone_ms is not None or replica.behind_ms(now_ms) > ABSENT_MS
            for replica in others
        )

    # What slaves and the log do.

    def connected(
        self, broker_id: int, acked_offset: int, now_ms: int, *, is_learner: bool = False
    ) -> bool:
        """Note a slave that begins to copy; what it had on an older connection counts no more.

        Args:
            broker_id: the slave.
            acked_offset: where its log ends, as it reports first.
            now_ms: the steady clock.
            is_learner: it copies and never joins.

        Returns:
            Whether the confirm offset has moved.
        """
        known = self._replicas.get(broker_id)
        replica = self._replicas[broker_id] = _Replica(is_learner=is_learner)
        if known is not None and known.mark_ms is not None:
            # To connect again and again is not to catch up.
            replica.mark, replica.mark_ms = known.mark, known.mark_ms
        replica.reach(min(acked_offset, self.log_end), self.log_end, now_ms)
        return self._confirm()

    def disconnected(self, broker_id: int, now_ms: int) -> bool:
        """Note that the connection of a slave is gone; the set stays as it is for now.

        Returns:
            Whether the confirm offset has moved, as nothing waits for a slave that was joining.
        """
        replica = self._replicas.get(broker_id)
        if replica is None or replica.gone_ms is not None:
            return False
        replica.gone_ms, replica.is_joining = now_ms, False
        return self._confirm()

    def acknowledged(
        self, broker_id: int, acked_offset: int, *, sent_end: int, now_ms: int
    ) -> bool:
        """Note how far a slave has the log, and return whether the confirm offset has moved.

        Args:
            broker_id: the slave.
            acked_offset: up to where it has the log.
            sent_end: the end of what was sent to it; more than that is not believed.
            now_ms: the steady clock.
        """
        replica = self._replicas.get(broker_id)
        if replica is None or replica.gone_ms is not None:
            return False
        replica.reach(min(acked_offset, sent_end), self.log_end, now_ms)
        return self._confirm()

    def advance(self, log_end: int, now_ms: int) -> bool:
        """Note the end of the log here, and return whether the confirm offset has moved."""
        self.log_end = max(self.log_end, log_end)
        for replica in self._replicas.values():
            replica.grow(self.log_end, now_ms)
        return self._confirm()

    def _confirm(self) -> bool:
        confirm = self.log_end
        if self.all_ack:
            others = self.required - {self.own_id}
            confirm = min([self._acked(member) for member in others], default=confirm)
        if confirm <= self.confirm_offset:
            return False
        self.confirm_offset = min(confirm, self.log_end)
        return True

    def _acked(self, broker_id: int) -> int:
        replica = self._replicas.get(broker_id)
        return 0 if replica is None else replica.acked_offset

    # What the controller is asked, and answers.

    def look(self, now_ms: int) -> bool:
        """See who may join and who has to leave; return whether the confirm offset has moved.

        Call it often; afterwards ``proposed`` is the set to ask the controller for.
        """
        for member in self.committed.members - {self.own_id}:
            self._replicas.setdefault(member, _Replica(gone_ms=now_ms))
        for broker_id, replica in self._replicas.items():
            replica.is_joining = broker_id not in self.committed.members and self._is_near(
                replica, now_ms
            )
        moved = self._confirm()
        if self.proposed is None:
            committed = self.committed.members
            members = {key for key in committed if not self._has_to_leave(key, now_ms)}
            members |= {
                key
                for key, replica in self._replicas.items()
                if replica.is_joining
                and (replica.acked_offset >= self.confirm_offset or not self.all_ack)
            }
            if members != committed:
                self.proposed, self.is_in_doubt = frozenset(members), False
        return moved

    def _is_near(self, replica: _Replica, now_ms: int) -> bool:
        if replica.gone_ms is not None or replica.is_learner:
            return False
        if replica.acked_offset < self.epoch_start:
            return False
        # However long its last round took, one that lacks nothing has arrived: while no messages
        # come there is no further round.
        return replica.mark_ms is None or (
            replica.round_ms <= NEAR_MS and replica.behind_ms(now_ms) <= NEAR_MS
        )

    def _has_to_leave(self, broker_id: int, now_ms: int) -> bool:
        if broker_id == self.own_id:
            return False
        replica = self._replicas[broker_id]
        if replica.gone_ms is not None and now_ms - replica.gone_ms >= GONE_MS:
            return True
        return replica.behind_ms(now_ms) > self.lag_ms_max

    def unanswered(self) -> None:
        """Note that an attempt to get the proposed set was not answered."""
        self.is_in_doubt = self.proposed is not None

    def refused(self) -> bool:
        """Drop the proposed set, which was refused, if no earlier attempt is in doubt.

        Returns:
            False if one is: the controller may still carry it out, at any time.
        """
        if self.is_in_doubt:
            return False
        self.proposed = None
        return True

    def show(self, committed: Committed) -> bool:
        """Take over the set that the controller has; return whether the confirm offset moved.

        A set that is not newer than the committed one changes nothing.
        """
        if committed.epoch <= self.committed.epoch:
            return False
        self.committed, self.proposed, self.is_in_doubt = committed, None, False
        for member in committed.members & self._replicas.keys():
            self._replicas[member].is_joining = False
        return self._confirm()

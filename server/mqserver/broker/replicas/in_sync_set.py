"""Which replicas of a group have every acknowledged message, as its master knows it.

    committed   what the controller has answered last; only its answers change it
    proposed    what this master asks for; None while nothing is asked

    SETTLED ── a replica joins or falls behind ──> PROPOSING ── answer, or 1004 shows the set ──┐
       ^                                                │ no answer: the same is asked again    │
       └────────────────────────────────────────────────┴───────────────────────────────────────┘

Rule: a message is acknowledged when every member of committed *and* proposed has it on disk, since
nobody knows yet which of the two the controller will hold an election in. The confirm offset is the
least of what they have; it never goes back.

A replica joins when its log reaches the confirm offset and the beginning of the present epoch. It
leaves when it has not caught up, or was not connected, for ``lag_ms_max``.

Source: store/ha/autoswitch/AutoSwitchHAService.java (5.3.3). 5.4.0 takes a closed connection out of
the committed set by itself: an isolated master then acknowledges alone (PR 9897).
"""

from dataclasses import dataclass, field
from typing import NamedTuple


class Committed(NamedTuple):
    """The in-sync set that the controller has."""

    members: frozenset[int]
    epoch: int
    """Grows with each change of the set."""


@dataclass(slots=True)
class _Replica:
    """A slave that has been connected under this master."""

    acked_offset: int = 0
    """Up to where it has the log, as it last reported on its present connection."""
    caught_up_ms: int = 0
    """When it last had everything, by the steady clock."""
    heard_ms: int = 0
    """When it last connected or reported, by the steady clock."""
    is_connected: bool = False
    is_learner: bool = False


@dataclass(slots=True)
class InSyncSet:
    """The in-sync set of one master during one epoch.

    Args:
        own_id: the id of this broker.
        epoch_start: the log offset at which its epoch begins.
        committed: what the controller answered when it made this broker the master.
        lag_ms_max: a slave that has not caught up for so long leaves the set.
    """

    own_id: int
    epoch_start: int
    committed: Committed
    lag_ms_max: int
    confirm_offset: int = 0
    """Up to where every member has the log, in bytes; readers see nothing above it."""
    proposed: frozenset[int] | None = None
    _replicas: dict[int, _Replica] = field(default_factory=dict)

    @property
    def required(self) -> frozenset[int]:
        """Return the ids whose acknowledgement a message needs, this broker included."""
        return self.committed.members | (self.proposed or frozenset())

    def connected(self, broker_id: int, now_ms: int, *, is_learner: bool = False) -> None:
        """Note a new connection of a slave; what it had acknowledged before counts no more."""
        replica = self._replicas.setdefault(broker_id, _Replica(caught_up_ms=now_ms))
        replica.acked_offset, replica.is_connected, replica.heard_ms = 0, True, now_ms
        replica.is_learner = is_learner

    def disconnected(self, broker_id: int) -> None:
        """Note that the connection of a slave is gone; the set stays as it is for now."""
        replica = self._replicas.get(broker_id)
        if replica is not None:
            replica.is_connected = False

    def acknowledged(
        self, broker_id: int, acked_offset: int, *, sent_end: int, log_end: int, now_ms: int
    ) -> bool:
        """Note how far a slave has the log.

        Args:
            broker_id: the slave.
            acked_offset: up to where it has the log.
            sent_end: the end of what was sent to it; more than that is not believed.
            log_end: the end of the log here, on disk.
            now_ms: the steady clock.

        Returns:
            Whether the confirm offset has moved.
        """
        replica = self._replicas.get(broker_id)
        if replica is None or not replica.is_connected:
            return False
        replica.heard_ms = now_ms
        replica.acked_offset = max(replica.acked_offset, min(acked_offset, sent_end))
        if replica.acked_offset >= log_end:
            replica.caught_up_ms = now_ms
        return self.advance(log_end)

    def advance(self, log_end: int) -> bool:
        """Move the confirm offset to what every required member has; tell whether it moved.

        Args:
            log_end: the end of the log here, on disk.
        """
        confirm = min(
            (self._acked(member) for member in self.required if member != self.own_id),
            default=log_end,
        )
        confirm = min(confirm, log_end)
        if confirm <= self.confirm_offset:
            return False
        self.confirm_offset = confirm
        return True

    def _acked(self, broker_id: int) -> int:
        replica = self._replicas.get(broker_id)
        return 0 if replica is None else replica.acked_offset

    def propose(self, now_ms: int) -> frozenset[int] | None:
        """Return the set to ask the controller for, or None if the committed one is right.

        While an earlier proposal has no answer it is returned again, unchanged: whether it was
        carried out is not known.
        """
        if self.proposed is not None:
            return self.proposed
        committed = self.committed.members
        members = {
            member
            for member in committed
            if member == self.own_id or not self._is_behind(member, now_ms)
        }
        members |= {
            broker_id
            for broker_id in self._replicas.keys() - committed
            if self._may_join(self._replicas[broker_id], now_ms)
        }
        if members == committed:
            return None
        self.proposed = frozenset(members)
        return self.proposed

    def _is_behind(self, broker_id: int, now_ms: int) -> bool:
        replica = self._replicas.get(broker_id)
        return replica is None or now_ms - replica.caught_up_ms > self.lag_ms_max

    def _may_join(self, replica: _Replica, now_ms: int) -> bool:
        return (
            replica.is_connected
            and now_ms - replica.heard_ms <= self.lag_ms_max
            and not replica.is_learner
            and replica.acked_offset >= max(self.confirm_offset, self.epoch_start)
        )

    def answered(self, committed: Committed, log_end: int) -> bool:
        """Take over the set that the controller has; tell whether the confirm offset moved.

        An older set than the committed one is passed over. A refused proposal is answered with the
        set that holds (1004).
        """
        if committed.epoch < self.committed.epoch:
            return False
        self.committed, self.proposed = committed, None
        return self.advance(log_end)

    def is_in_set(self, broker_id: int) -> bool:
        """Tell whether a broker belongs to the committed set."""
        return broker_id in self.committed.members

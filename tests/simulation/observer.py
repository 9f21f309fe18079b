"""Sees every replica and every record of a run, and says which invariant is broken.

    I1  what was acknowledged is on every member of the committed set, and in every later master
    I2  one node appends under one epoch, once; epochs only grow
    I3  what a slave copied is what the master of that epoch wrote there
    I4  the confirm offset of a master never goes back, nor beyond what a member has synced
    I5  what a reader could see is never taken back; queue offsets have no gap and no reuse
    I6  offsets of consumers never go back on a broker, and never beyond the end of its queues
    I7  the set of a master is one that a controller committed, and contains its master
    I8  no master confirms or acknowledges what a later master did not begin with
    I9  what is cut was never acknowledged, and never comes back
    I10 an id belongs to one store
    I11 name servers never go back to an older master, and at the end name the controller's

Rule: ``truth`` is what was confirmed, by whomever: a log that differs from it below the end of
truth is wrong, whoever is to blame. The checks are made where a state changes, so that after every
event each of them holds or has failed.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mqserver.broker.replicas.roles import Role
from mqserver.controller.group_record import GroupRecord
from storefmt.config.master_epochs import epoch_at
from tests.simulation.controllers import RecordWatcher
from tests.simulation.disk import QUEUES, RECORD
from tests.simulation.tables import queue_ends

if TYPE_CHECKING:
    from tests.simulation.replica import SimReplica


class Violation(Exception):
    """An invariant does not hold.

    Args:
        name: as ``I1``.
        text: what was seen.
    """

    def __init__(self, name: str, text: str) -> None:
        super().__init__(f"{name}: {text}")
        self.name = name


class Observer(RecordWatcher):
    """Watches one run."""

    def __init__(self) -> None:
        self.record: GroupRecord | None = None
        self.truth = bytearray()
        """Everything that was ever confirmed, in the order of the log."""
        self.acked_end = 0
        """Everything below it was acknowledged, or confirmed before it."""
        self.acked_count = 0
        self.master_changes = 0
        self.by_id: dict[int, SimReplica] = {}
        self._serial = 0
        self._queue_ends = [0] * QUEUES
        self._journal: dict[int, tuple[int, bytearray]] = {0: (0, bytearray())}
        """What was appended under each epoch, and where it began."""
        self._leaders: dict[int, SimReplica] = {}
        self._sets: set[tuple[int, int, frozenset[int]]] = set()
        self._elected: dict[int, int] = {}
        self._seen: dict[str, int] = {}
        """Up to where readers of a replica saw its log in its present life."""
        self._offsets: dict[str, dict[int, int]] = {}
        """The consumer offsets of a replica as they were seen last."""
        self._confirm_ends: dict[int, int] = {}
        self._log_ends: dict[str, int] = {}
        self._is_dirty = False

    def next_serial(self) -> int:
        """Return a number for a message that no other one has."""
        self._serial += 1
        return self._serial

    def begin_with(self, data: bytes) -> None:
        """Note the messages that were acknowledged before there was a controller."""
        self._journal[0] = (0, bytearray(data))
        self._extend_truth(data)
        self.acked_end = len(data)

    def after_event(self) -> None:
        """Check what must hold for the records and the disks together."""
        if not self._is_dirty:
            return
        self._is_dirty = False
        record = self.record
        if record is None or record.master_epoch == 0:
            return
        acked = self.truth[: self.acked_end]
        for broker_id in record.in_sync_set:
            replica = self.by_id[broker_id]
            if _safe(replica, self.acked_end) != acked:
                raise Violation(
                    "I1",
                    f"{replica.name} is in the committed set {sorted(record.in_sync_set)} of epoch "
                    f"{record.master_epoch}; of {self.acked_end} acknowledged bytes it has "
                    f"{_common(_safe(replica, self.acked_end), acked)}",
                )

    # Records.

    def swapped(self, before: GroupRecord | None, after: GroupRecord | None) -> None:
        """Note a change of the record."""
        assert after is not None
        self.record, self._is_dirty = after, True
        old, members = before, after.in_sync_set
        if after.master_id is not None and after.master_id not in members:
            raise Violation("I7", f"master {after.master_id} is not in {sorted(members)}")
        if old is not None:
            if after.master_epoch < old.master_epoch:
                raise Violation("I2", f"epoch {after.master_epoch} after {old.master_epoch}")
            if after.in_sync_set != old.in_sync_set and (
                after.in_sync_set_epoch <= old.in_sync_set_epoch
            ):
                raise Violation("I7", f"the set changed within its epoch: {after}")
            is_election = after.master_id is not None and (
                after.master_epoch > old.master_epoch > 0
            )
            if is_election and after.master_id not in old.in_sync_set:
                raise Violation("I7", f"{after.master_id} elected outside {old.in_sync_set}")
        if after.master_id is not None:
            if self._elected.setdefault(after.master_epoch, after.master_id) != after.master_id:
                raise Violation("I2", f"two masters of epoch {after.master_epoch}")
            self.master_changes = len(self._elected)
        self._sets.add((after.master_epoch, after.in_sync_set_epoch, members))

    # Lives.

    def identified(self, replica: "SimReplica", broker_id: int) -> None:
        """Note that a store has taken an id."""
        if self.by_id.setdefault(broker_id, replica) is not replica:
            raise Violation("I10", f"{replica.name} and {self.by_id[broker_id].name}: {broker_id}")

    def ending(self, replica: "SimReplica") -> None:
        """Note that a process ends."""
        self._log_ends[replica.name] = replica.log.end
        self._is_dirty = True

    def recovered(self, replica: "SimReplica") -> None:
        """Note what a log has after a start."""
        end = self._log_ends.get(replica.name)
        if end is not None and replica.log.end > end:
            raise Violation(
                "I9", f"the log of {replica.name} ended at {end}, and at {replica.log.end} later"
            )
        self._seen[replica.name] = 0
        self._is_dirty = True

    def led(self, replica: "SimReplica", epoch: int) -> None:
        """Note that a replica begins to lead."""
        if epoch in self._leaders:
            raise Violation("I2", f"epoch {epoch} begins at {replica.name} a second time")
        if self._elected.get(epoch) != replica.role.broker_id:
            raise Violation("I2", f"{replica.name} leads by epoch {epoch} and was not elected")
        self._leaders[epoch] = replica
        self._journal[epoch] = (replica.log.end, bytearray())
        if replica.log.read(0, len(self.truth)) != self.truth:
            common = _common(replica.log.data, self.truth)
            raise Violation(
                "I1" if common < self.acked_end else "I5",
                f"{replica.name} leads by epoch {epoch} with {common} of {len(self.truth)} bytes "
                f"that were confirmed ({self.acked_end} acknowledged)",
            )

    def role_seen(self, replica: "SimReplica") -> None:
        """Note the set of a master."""
        in_sync = replica.role.in_sync if replica.is_alive else None
        if in_sync is None:
            return
        committed = (replica.role.epoch, in_sync.committed.epoch, in_sync.committed.members)
        if committed not in self._sets:
            raise Violation("I7", f"{replica.name} uses a set that was not committed: {committed}")

    def offsets_changed(self, replica: "SimReplica") -> None:
        """Note the consumer offsets of a replica, or a shorter log."""
        queues = replica.tables.offsets.queues
        ends = queue_ends(replica, replica.log.end)
        before = self._offsets.get(replica.name, {})
        for queue_id, queue_offset in queues.items():
            if queue_offset < before.get(queue_id, 0):
                raise Violation(
                    "I6", f"queue {queue_id} of {replica.name}: offset {queue_offset} after "
                    f"{before[queue_id]}"
                )  # fmt: skip
            if queue_offset > ends[queue_id]:
                raise Violation(
                    "I6", f"queue {queue_id} of {replica.name} ends at {ends[queue_id]}, and its "
                    f"consumers are at {queue_offset}"
                )  # fmt: skip
        self._offsets[replica.name] = dict(queues)

    # Logs.

    def appended(self, replica: "SimReplica", epoch: int, start: int, data: bytes) -> None:
        """Note what a master appended."""
        begin, journal = self._journal[epoch]
        if self._leaders[epoch] is not replica or start != begin + len(journal):
            raise Violation("I2", f"{replica.name} appends under epoch {epoch} at {start}")
        journal += data

    def copied(self, replica: "SimReplica", log_offset: int, data: bytes) -> None:
        """Note what a slave appended."""
        entry = epoch_at(replica.files.epochs, log_offset)
        begin, journal = self._journal[0 if entry is None else entry.epoch]
        if data != journal[log_offset - begin : log_offset - begin + len(data)]:
            raise Violation("I3", f"{replica.name} at {log_offset}: not what {entry} wrote there")

    def cut(self, replica: "SimReplica", log_offset: int) -> None:
        """Note that a replica removes the end of its log."""
        self._is_dirty = True
        if log_offset >= self.acked_end:
            return
        removed = replica.log.read(log_offset, self.acked_end)
        if removed[: RECORD.size] == self.truth[log_offset : log_offset + RECORD.size]:
            raise Violation(
                "I9", f"{replica.name} cuts at {log_offset}; {self.acked_end} are acknowledged"
            )

    def confirmed(self, replica: "SimReplica") -> None:
        """Note that readers of a replica may see more."""
        confirm = replica.role.confirm_offset
        if replica.role.role is Role.LEADING:
            self._confirmed_by_master(replica, confirm)
        start = min(self._seen[replica.name], confirm)
        if replica.log.read(start, confirm) != self.truth[start:confirm]:
            raise Violation("I5", f"readers of {replica.name} see other bytes up to {confirm}")
        self._seen[replica.name] = confirm
        self.role_seen(replica)

    def _confirmed_by_master(self, replica: "SimReplica", confirm: int) -> None:
        epoch, in_sync = replica.role.epoch, replica.role.in_sync
        assert in_sync is not None
        if confirm < self._confirm_ends.get(epoch, 0):
            raise Violation("I4", f"{replica.name}: {confirm}, {self._confirm_ends[epoch]} before")
        self._confirm_ends[epoch] = confirm
        for broker_id in in_sync.committed.members:
            member = self.by_id[broker_id]
            if len(_safe(member, confirm)) < confirm:
                raise Violation(
                    "I4", f"{replica.name} confirms {confirm}, {member.name} does not have that"
                )
        self._check_later_masters(replica, epoch, confirm)
        if confirm > len(self.truth):
            self._extend_truth(replica.log.read(len(self.truth), confirm))

    def _check_later_masters(self, replica: "SimReplica", epoch: int, end: int) -> None:
        """Check that a master of a later epoch began with what is confirmed by an older one.

        An answer may come late: the acknowledgements of the whole set were on their way when the
        next master was elected.
        """
        for later, leader in self._leaders.items():
            if later > epoch and end > self._journal[later][0]:
                raise Violation(
                    "I8",
                    f"{replica.name} confirms {end} by epoch {epoch}; {leader.name} leads by "
                    f"{later} from {self._journal[later][0]}",
                )

    def _extend_truth(self, data: bytes) -> None:
        for serial, queue_id, queue_offset in RECORD.iter_unpack(data):
            if queue_offset != self._queue_ends[queue_id]:
                raise Violation(
                    "I5", f"message {serial} has offset {queue_offset} in queue {queue_id}, "
                    f"whose next one is {self._queue_ends[queue_id]}"
                )  # fmt: skip
            self._queue_ends[queue_id] += 1
        self.truth += data

    def acknowledged(self, replica: "SimReplica", start: int, end: int) -> None:
        """Note that a send is answered with SEND_OK."""
        epoch = replica.role.epoch
        self._is_dirty = True
        self.acked_count += 1
        self._check_later_masters(replica, epoch, end)
        if len(self.truth) < end or replica.log.read(start, end) != self.truth[start:end]:
            raise Violation("I1", f"{replica.name} answers {end}, which is not confirmed")
        self.acked_end = max(self.acked_end, end)

    # The end of a run.

    def unhealthy(self, replicas: Iterable["SimReplica"]) -> str:
        """Return what a group without faults still lacks; empty if nothing."""
        record = self.record
        if record is None or record.master_id is None:
            return "no master"
        master = self.by_id[record.master_id]
        if not master.accepts or master.role.in_sync is None:
            return f"{master.name} accepts nothing: {master.role.role.name} {master.role.problem}"
        ids = {replica.role.broker_id for replica in replicas}
        if set(record.in_sync_set) != ids or master.role.in_sync.committed.members != ids:
            return f"the set is {sorted(record.in_sync_set)}, the group {sorted(map(str, ids))}"
        return ""

    def registered(self, replica: "SimReplica", before: int, after: int) -> None:
        """Note the epochs of the master of a name server before and after a registration."""
        if after < before:
            raise Violation(
                "I11", f"name servers name {replica.name} of epoch {after}, after {before}"
            )

    def check_route(self, master: str | None) -> None:
        """Compare the master of the name servers with the controller's."""
        expected = None if self.record is None else self.record.master_address
        if master != expected:
            raise Violation("I11", f"name servers name {master}, the controller {expected}")


def _safe(replica: "SimReplica", end: int) -> bytes:
    """Return the beginning of a log that survives, up to ``end``."""
    log = replica.log
    return bytes(log.data[: min(end, log.end if replica.is_java_like else log.synced_end)])


def _common(first: bytes, second: bytes) -> int:
    """Return how many first bytes are equal."""
    length = min(len(first), len(second))
    return next((at for at in range(length) if first[at] != second[at]), length)

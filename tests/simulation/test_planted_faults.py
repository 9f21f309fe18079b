"""The simulation finds faults that controllers and brokers have had, when they are put in.

Each test plants one fault in the real class, or in the simulated broker where the real code is
files and sockets, and must find it within ``SEEDS`` runs of the seeds that hold without it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import pytest

from mqserver.broker.ha.slave_synchronize import SlaveSync
from mqserver.broker.replicas.in_sync_set import Committed, InSyncSet
from mqserver.broker.replicas.role import RoleMachine
from mqserver.broker.replicas.role_actions import Action, MasterView
from mqserver.broker.replicas.roles import Role, RoleEvent
from mqserver.controller import broker_groups
from mqserver.controller.group_record import GroupRecord
from mqserver.controller.group_rules import GRANTED, Ruling, rule_elect, rule_register
from mqserver.controller.handlers import brokers
from mqserver.controller.live_brokers import LiveBroker
from mqserver.namesrv.routes import RouteTable
from tests.simulation.disk import SimFiles, SimLog
from tests.simulation.replica import SimReplica
from tests.simulation.simulation import Outcome, shrink, simulate

SEEDS: Final = 200


def first_failure() -> Outcome:
    """Return the first run that fails."""
    for seed in range(SEEDS):
        outcome = simulate(seed)
        if outcome.violation is not None:
            print(f"seed {seed}: {outcome.violation}")
            return outcome
    raise AssertionError(f"{SEEDS} runs do not find it")


def failed_invariant() -> str:
    """Return the invariant that fails first."""
    violation = first_failure().violation
    assert violation is not None
    return violation.name


def test_finds_a_set_that_grows_before_its_new_member_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """apache/rocketmq #5663: sends were answered by the old set while the new one was proposed."""
    monkeypatch.setattr(InSyncSet, "required", property(lambda self: self.committed.members))

    failure = first_failure()
    shortest = shrink(failure)

    assert failure.violation is not None
    assert failure.violation.name in ("I1", "I4")
    assert shortest.violation is not None
    assert shortest.violation.name == failure.violation.name
    assert len(shortest.plan) < len(failure.plan)


def test_finds_a_master_that_shrinks_its_set_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """apache/rocketmq PR 9897: a member whose connection ended left the committed set at once."""
    real = InSyncSet.disconnected

    def disconnected(self: InSyncSet, broker_id: int, now_ms: int) -> Any:
        real(self, broker_id, now_ms)
        members = self.committed.members - {broker_id}
        self.committed = Committed(members, self.committed.epoch)
        return self._confirm()

    monkeypatch.setattr(InSyncSet, "disconnected", disconnected)

    assert failed_invariant() in ("I7", "I8")


def test_finds_queue_offsets_that_are_given_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """apache/rocketmq #7689: a new master counted its queues only up to the confirm offset."""
    monkeypatch.setattr(SimReplica, "queues_end", lambda self: self.role.confirm_offset)

    assert failed_invariant() == "I5"


def test_finds_a_tail_that_comes_back_after_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    """apache/rocketmq #10666: a cut moved positions in memory and left the bytes on the disk."""

    def cut(self: SimLog, end: int) -> None:
        self.end, self.synced_end = end, min(self.synced_end, end)

    monkeypatch.setattr(SimLog, "cut", cut)

    assert failed_invariant() in ("I3", "I9")


def test_finds_acknowledgements_before_the_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slave of Java acknowledges what is in its page cache."""
    monkeypatch.setattr(SimReplica, "reported_end", lambda self: self.log.end)

    assert failed_invariant() in ("I1", "I4")


def test_finds_a_first_election_that_whoever_asks_first_wins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Java's controller makes the first broker that asks the master, whatever its log has."""

    def first_come(
        record: GroupRecord | None, *, alive: Mapping[int, LiveBroker], **request: Any
    ) -> Ruling:
        asks = request.get("by_broker")
        if record is not None and record.master_epoch == 0 and asks in alive:
            alive = {asks: alive[asks]}
        return rule_elect(record, alive=alive, **request)

    monkeypatch.setattr(broker_groups, "rule_elect", first_come)

    assert failed_invariant() == "I1"


def test_finds_a_master_that_leads_on_by_its_old_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Java's controller answers a master that starts again that it leads, by the same epoch."""
    see = RoleMachine._see

    def register(record: GroupRecord | None, **request: Any) -> Ruling:
        ruling = rule_register(record, **request)
        if record is None or ruling.record is None:
            return ruling
        kept = replace(ruling.record, master_id=record.master_id)
        return GRANTED if kept == record else Ruling(record=kept)

    def resume(self: RoleMachine, view: MasterView, now_ms: int, **more: Any) -> list[Action]:
        is_named = view.master_id == self.broker_id and view.epoch == self.heard
        if is_named and self.role in (Role.REGISTERING, Role.ELECTING):
            self._elected = view
            return self._change(RoleEvent.ELECTED, now_ms, why="")
        return see(self, view, now_ms, **more)

    begin = SimFiles.begin_epoch

    def begin_epoch(self: SimFiles, epoch: int, start_offset: int) -> None:
        if not self.epochs or self.epochs[-1].epoch != epoch:
            begin(self, epoch, start_offset)

    monkeypatch.setattr(brokers, "rule_register", register)
    monkeypatch.setattr(RoleMachine, "_see", resume)
    monkeypatch.setattr(SimFiles, "begin_epoch", begin_epoch)

    assert failed_invariant() in ("I1", "I2")


def test_finds_consumer_offsets_that_are_ahead_of_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slave that adopts the offsets of its master before it has the messages skips them later."""
    settle = SlaveSync.settle
    monkeypatch.setattr(SlaveSync, "settle", lambda self, log_end: settle(self, 1 << 62))

    assert failed_invariant() == "I6"


def test_finds_a_name_server_that_an_old_master_registers_on_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The name server of 4.9 takes the last registration of a master, whoever was elected."""
    monkeypatch.setattr(RouteTable, "_check_state_version", lambda self, broker, version: None)

    assert failed_invariant() == "I11"

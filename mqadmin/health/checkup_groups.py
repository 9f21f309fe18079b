"""Find what is wrong with controllers and with the groups that they lead.

    controller   a controller is silent, none leads, two name different leaders, or the brokers of
                 a group do not name the same ones
    replica      a group has no master, acknowledges with fewer replicas than it is to have, has a
                 replica that is dead or behind; a broker, the name server and the controller
                 disagree about the master

Rule: pure. A missing answer is reported as a check that could not be run.
"""

from collections.abc import Collection, Iterator
from typing import Final

from mqadmin.cluster.brokers import MASTER
from mqadmin.cluster.controlled_groups import ControlledGroups, ReplicaGroup
from mqadmin.cluster.controllers import split_addresses
from mqadmin.cluster.replicas import ReplicaLog
from mqadmin.health.checkup import Check, CheckupFinding, CheckupLimits, CheckupSeverity, not_run

STATUS: Final = "see `controller status {0}` and `ha epochs -b {0}`"


def group_findings(
    looked: ControlledGroups, limits: CheckupLimits, *, compared: Collection[str]
) -> Iterator[CheckupFinding]:
    """Yield what is wrong with controllers and groups.

    Args:
        compared: addresses of brokers whose lag the check ``slave`` reports.
    """
    for text in looked.unsaid:
        yield not_run(Check.REPLICA, "groups with a controller", f"not known: {text}")
    yield from _controllers(looked)
    for group in looked.groups:
        yield from _different_controllers(group)
        if looked.asked_controllers:
            yield from _group(group, limits, compared)


def _finding(
    severity: CheckupSeverity, check: Check, subject: str, observed: str, hint: str
) -> CheckupFinding:
    return CheckupFinding(severity, check, subject, observed, hint)


def _controllers(looked: ControlledGroups) -> Iterator[CheckupFinding]:
    silent = [view for view in looked.controllers if view.error is not None]
    answering = [view for view in looked.controllers if view.error is None]
    for view in silent:
        severity = CheckupSeverity.WARNING if answering else CheckupSeverity.ERROR
        hint = "is it running? until one leads, no master is replaced"
        if answering:
            hint = "is it running? the others go on without it"
        yield _finding(
            severity, Check.CONTROLLER, f"controller {view.address}", str(view.error), hint
        )
    leaders = sorted({view.leader for view in answering if view.leader is not None})
    claims = ", ".join(f"{view.address} names {view.leader or 'none'}" for view in answering)
    if answering and not leaders:
        hint = (
            "is their store (etcd, or a majority of them) there? no master is replaced until then"
        )
        yield _finding(
            CheckupSeverity.ERROR, Check.CONTROLLER, "controllers", "none of them leads", hint
        )
    elif len(leaders) > 1:
        hint = "wait some seconds after a failure; else compare their stores and settings"
        yield _finding(
            CheckupSeverity.ERROR, Check.CONTROLLER, "controllers",
            f"they name different leaders: {claims}", hint,
        )  # fmt: skip
    elif any(view.leader is None for view in answering):
        hint = "wait some seconds after a failure; else see its log"
        yield _finding(
            CheckupSeverity.WARNING, Check.CONTROLLER, "controllers",
            f"not all of them know the leader: {claims}", hint,
        )  # fmt: skip


def _different_controllers(group: ReplicaGroup) -> Iterator[CheckupFinding]:
    by_broker = {
        address: ";".join(sorted(split_addresses(table.get("controllerAddr", ""))))
        for address, table in group.settings.items()
    }
    if len(set(by_broker.values())) > 1:
        observed = "its brokers name different controllers: " + ", ".join(
            f"{address} names {text or 'none'}" for address, text in sorted(by_broker.items())
        )
        hint = "set controllerAddr alike, and start them again one by one"
        yield _finding(
            CheckupSeverity.WARNING, Check.CONTROLLER, f"group {group.broker}", observed, hint
        )


def _group(
    group: ReplicaGroup, limits: CheckupLimits, compared: Collection[str]
) -> Iterator[CheckupFinding]:
    subject, hint = f"group {group.broker}", STATUS.format(group.broker)
    error = CheckupSeverity.ERROR
    if group.info is None:
        observed = "its brokers run with a controller that does not know it"
        hint = "do enableControllerMode and controllerAddr fit? see the logs of its brokers"
        yield _finding(error, Check.REPLICA, subject, observed, hint)
        return
    master = group.master
    in_sync = [log for log in group.logs if log.is_in_sync]
    if master is None:
        ids = ", ".join(str(log.broker_id) for log in in_sync) or "none"
        hint = f"start one of its in-sync set ({ids}); see `controller elect --help` for --unclean"
        yield _finding(error, Check.REPLICA, subject, "it has no master: sends fail", hint)
    elif not master.is_alive:
        observed = f"its master, {master.name}, is dead, and none was elected"
        yield _finding(error, Check.REPLICA, subject, observed, hint)
    yield from _set_size(group, in_sync)
    for log in group.logs:
        yield from _replica(group, log, limits, compared)
    yield from _masters(group, master)
    if group.setting("allAckInSyncStateSet") == "false":
        observed = "a send is acknowledged before the in-sync set has it: a failover may lose some"
        hint = "allAckInSyncStateSet=true in the settings of each broker"
        yield _finding(CheckupSeverity.INFO, Check.REPLICA, subject, observed, hint)


def _set_size(group: ReplicaGroup, in_sync: list[ReplicaLog]) -> Iterator[CheckupFinding]:
    subject, hint = f"group {group.broker}", STATUS.format(group.broker)
    text = group.setting("minInSyncReplicas") or ""
    least = int(text) if text.isdecimal() else 1
    behind = [log for log in group.logs if not log.is_in_sync]
    if len(in_sync) < least:
        observed = (
            f"its in-sync set has {len(in_sync)} of {len(group.logs)} replicas, and "
            f"minInSyncReplicas is {least}: sends are refused"
        )
        yield _finding(CheckupSeverity.ERROR, Check.REPLICA, subject, observed, hint)
    elif behind:
        observed = f"its in-sync set has {len(in_sync)} of {len(group.logs)} replicas, without " + (
            ", ".join(log.name for log in behind)
        )
        yield _finding(CheckupSeverity.WARNING, Check.REPLICA, subject, observed, hint)


def _replica(
    group: ReplicaGroup, log: ReplicaLog, limits: CheckupLimits, compared: Collection[str]
) -> Iterator[CheckupFinding]:
    subject = f"{group.broker}, {log.name}"
    master = group.master
    if not log.is_alive:
        if not log.is_master:
            hint = f"start it, or `controller clean {group.broker} {log.broker_id}` if it is gone"
            yield _finding(CheckupSeverity.WARNING, Check.REPLICA, subject, "it is dead", hint)
    elif log.error is not None:
        yield not_run(Check.REPLICA, subject, f"its log is not known: {log.error}")
    elif (
        master is not None
        and log is not master
        and log.address not in compared
        and None not in (log.end, master.end)
    ):
        behind = (master.end or 0) - (log.end or 0)
        if behind > limits.slave_lag_size:
            observed = f"{behind} bytes of commit log behind its master"
            hint = "see the network, its disk, and haTransferBatchSize"
            yield _finding(CheckupSeverity.WARNING, Check.REPLICA, subject, observed, hint)


def _masters(group: ReplicaGroup, master: ReplicaLog | None) -> Iterator[CheckupFinding]:
    """Yield the brokers and routes whose master is not the one that the controller names."""
    error = CheckupSeverity.ERROR
    hint = "wait some seconds after a failover; else see its log: does it reach the controller?"
    named = "none" if master is None else master.name
    epoch = 0 if group.info is None else group.info.master_epoch or 0
    for log in group.logs:
        subject = f"{group.broker}, {log.name}"
        if log.claims_master and not log.is_master:
            observed = f"it calls itself the master; the controller names {named}"
            yield _finding(error, Check.REPLICA, subject, observed, hint)
        elif log.is_master and log.claims_master is False:
            observed = "the controller names it as the master; it calls itself a slave"
            yield _finding(error, Check.REPLICA, subject, observed, hint)
        # An older epoch is normal: a master adds its own with its first message.
        if log.newest_epoch is not None and log.newest_epoch > epoch:
            observed = f"its log has epoch {log.newest_epoch}; the controller is at {epoch}"
            yield _finding(
                error, Check.REPLICA, subject, observed, "did the controller lose its records?"
            )
    addresses = {log.address for log in group.logs}
    for node in group.nodes:
        subject = f"{node.broker} ({node.broker_id}) at {node.address}"
        if node.address not in addresses:
            observed = "it is registered at the name server; the controller does not know it"
            yield _finding(error, Check.REPLICA, subject, observed, hint)
        elif node.broker_id == MASTER and (master is None or node.address != master.address):
            observed = f"the name server lists it as the master; the controller names {named}"
            yield _finding(error, Check.REPLICA, subject, observed, hint)

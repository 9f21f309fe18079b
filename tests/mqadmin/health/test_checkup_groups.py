"""Each check of controllers and their groups, on made-up facts."""

from dataclasses import replace

import pytest

from mqadmin.cluster.brokers import ServerNode
from mqadmin.cluster.controlled_groups import ControlledGroups, ControllerView, ReplicaGroup
from mqadmin.cluster.replicas import ReplicaLog
from mqadmin.health.checkup import CheckupFinding, CheckupLimits
from mqadmin.health.checkup_groups import group_findings
from remoting.bodies import ReplicasInfo

A, B, C = "10.0.0.1:10911", "10.0.0.2:10911", "10.0.0.3:10911"
K1, K2 = "10.0.0.8:9878", "10.0.0.9:9878"
SETTINGS = {
    "enableControllerMode": "true",
    "controllerAddr": f"{K1};{K2}",
    "minInSyncReplicas": "2",
    "allAckInSyncStateSet": "true",
}
LEADS = (ControllerView(K1, K1, is_leader=True), ControllerView(K2, K1))


def log(broker_id: int, address: str, **differs: object) -> ReplicaLog:
    """Return a replica that is well: alive, in sync, with 900 bytes of epoch 4."""
    made = ReplicaLog(
        broker_id, address, True, claims_master=broker_id == 1, is_master=broker_id == 1,
        end=900, newest_epoch=4,
    )  # fmt: skip
    return replace(made, **differs)  # type: ignore[arg-type]


WELL = (log(1, A), log(2, B), log(3, C))


def group(*logs: ReplicaLog, **differs: object) -> ReplicaGroup:
    """Return a group of three brokers, of which the first is the master."""
    made = ReplicaGroup(
        "c",
        "g",
        tuple(ServerNode("c", "g", number, at) for number, at in ((0, A), (2, B), (3, C))),
        {A: SETTINGS, B: SETTINGS, C: SETTINGS},
        ReplicasInfo(master_broker_id=1, master_epoch=4),
        logs or WELL,
    )
    return replace(made, **differs)  # type: ignore[arg-type]


def findings(
    *groups: ReplicaGroup, controllers: tuple[ControllerView, ...] = LEADS, **differs: object
) -> list[CheckupFinding]:
    looked = replace(ControlledGroups(controllers, groups), **differs)  # type: ignore[arg-type]
    return list(group_findings(looked, CheckupLimits(slave_lag_size=100), compared=[B]))


def brief(found: list[CheckupFinding]) -> list[tuple[str, str]]:
    return [(one.severity.value, one.check.value) for one in found]


def test_a_healthy_group_has_no_finding() -> None:
    assert findings(group()) == []
    assert findings() == []


@pytest.mark.parametrize(
    ("controllers", "found", "words"),
    [
        ((LEADS[0], ControllerView(K2, error="refused")), ("warning", "controller"), "refused"),
        ((ControllerView(K1, error="refused"),), ("error", "controller"), "refused"),
        ((ControllerView(K1), ControllerView(K2)), ("error", "controller"), "none of them leads"),
        (
            (LEADS[0], ControllerView(K2, K2, is_leader=True)),
            ("error", "controller"),
            f"different leaders: {K1} names {K1}, {K2} names {K2}",
        ),
        ((LEADS[0], ControllerView(K2)), ("warning", "controller"), f"{K2} names none"),
    ],
)
def test_controllers(
    controllers: tuple[ControllerView, ...], found: tuple[str, str], words: str
) -> None:
    made = findings(group(), controllers=controllers)

    assert brief(made) == [found]
    assert words in made[0].found


def test_brokers_of_a_group_that_name_other_controllers() -> None:
    other = {**SETTINGS, "controllerAddr": K2}
    swapped = {**SETTINGS, "controllerAddr": f"{K2};{K1}"}

    assert brief(findings(group(settings={A: SETTINGS, B: swapped}))) == []
    assert brief(findings(group(settings={A: SETTINGS, B: other}))) == [("warning", "controller")]


@pytest.mark.parametrize(
    ("changed", "found", "words"),
    [
        # The master.
        (group(info=None, logs=()), [("error", "replica")], "does not know it"),
        (
            group(
                log(1, A, is_master=False, claims_master=None, is_alive=False, error="refused"),
                *WELL[1:],
                nodes=(),
            ),
            [("error", "replica"), ("warning", "replica")],
            "it has no master",
        ),
        (
            group(log(1, A, is_alive=False, claims_master=None, error="refused"), *WELL[1:]),
            [("error", "replica")],
            "is dead, and none was elected",
        ),
        # The set.
        (
            group(WELL[0], WELL[1], log(3, C, is_in_sync=False)),
            [("warning", "replica")],
            "2 of 3 replicas, without broker 3 (10.0.0.3:10911)",
        ),
        (
            group(WELL[0], log(2, B, is_in_sync=False), log(3, C, is_in_sync=False)),
            [("error", "replica")],
            "minInSyncReplicas is 2: sends are refused",
        ),
        # A replica.
        (group(*WELL[:2], log(3, C, is_alive=False)), [("warning", "replica")], "it is dead"),
        (group(*WELL[:2], log(3, C, error="slow")), [("not run", "replica")], "not known: slow"),
        (group(*WELL[:2], log(3, C, end=799)), [("warning", "replica")], "101 bytes of commit"),
        (group(*WELL[:2], log(3, C, end=800)), [], ""),
        (group(WELL[0], log(2, B, end=1), WELL[2]), [], "`slave` reports it"),
        # Who is the master.
        (
            group(*WELL[:2], log(3, C, claims_master=True)),
            [("error", "replica")],
            "it calls itself the master; the controller names broker 1",
        ),
        (group(log(1, A, claims_master=False), *WELL[1:]), [("error", "replica")], "a slave"),
        (group(log(1, A, newest_epoch=3), *WELL[1:]), [], "no message of this epoch yet"),
        (group(*WELL[:2], log(3, C, newest_epoch=5)), [("error", "replica")], "has epoch 5"),
        (
            group(nodes=(ServerNode("c", "g", 0, B),)),
            [("error", "replica")],
            "the name server lists it as the master; the controller names broker 1",
        ),
        (
            group(nodes=(ServerNode("c", "g", 2, "10.0.0.7:10911"),)),
            [("error", "replica")],
            "the controller does not know it",
        ),
        (
            group(settings={A: {**SETTINGS, "allAckInSyncStateSet": "false"}}),
            [("info", "replica")],
            "a failover may lose some",
        ),
    ],
)  # fmt: skip
def test_groups(changed: ReplicaGroup, found: list[tuple[str, str]], words: str) -> None:
    made = findings(changed)

    assert brief(made) == found
    assert not made or words in made[0].found


def test_what_is_not_answered_is_not_run() -> None:
    made = findings(
        group(info=None, logs=()),
        controllers=(ControllerView(K1, error="refused"),),
        asked_controllers=False,
        unsaid=("masters and in-sync sets: no controller names a leader",),
    )

    assert brief(made) == [("not run", "replica"), ("error", "controller")]
    assert made[0].found.endswith("no controller names a leader")


def test_the_settings_of_the_master_count() -> None:
    strict, lax = {**SETTINGS, "minInSyncReplicas": "3"}, {**SETTINGS, "minInSyncReplicas": "1"}
    logs = (WELL[0], WELL[1], log(3, C, is_in_sync=False))

    assert brief(findings(group(*logs, settings={A: strict, B: lax}))) == [("error", "replica")]
    assert brief(findings(group(*logs, settings={A: lax, B: strict}))) == [("warning", "replica")]

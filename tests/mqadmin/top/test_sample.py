"""Rates between two looks, on made-up looks."""

from dataclasses import replace

from mqadmin.cluster.brokers import ServerNode
from mqadmin.cluster.controlled_groups import ControlledGroups, ReplicaGroup
from mqadmin.cluster.replicas import ReplicaLog
from mqadmin.health.checkup import BrokerFacts
from mqadmin.top.sample import ClusterSnapshot, GroupSnapshot, rows_between
from remoting.bodies import MessageQueue

Q0, Q1 = (MessageQueue("T", "broker-a", queue_id) for queue_id in range(2))


def at(at_s: int, ends: tuple[int, int], read: tuple[int, int]) -> ClusterSnapshot:
    master = BrokerFacts(
        ServerNode("c", "broker-a", 0, "h:1"),
        {"putTps": "5.0 1.0 1.0", "commitLogDiskRatio": "0.4", "commitLogMaxOffset": "500"},
        0,
        0,
    )
    slave = BrokerFacts(ServerNode("c", "broker-a", 1, "h:2"), {"commitLogMaxOffset": "400"}, 0, 0)
    group = GroupSnapshot({Q0: read[0], Q1: read[1]}, sum(ends) - sum(read), members=2)
    return ClusterSnapshot(at_s * 1000, [master, slave], {Q0: ends[0], Q1: ends[1]}, {"G": group})


def test_rates_are_differences_over_seconds() -> None:
    broker, slave, topic, group = rows_between(at(0, (10, 0), (0, 0)), at(4, (20, 10), (4, 0)))

    assert (broker.name, broker.in_tps, broker.disk_ratio) == ("broker-a", 5.0, 0.4)
    assert (slave.name, slave.slave_lag) == ("broker-a:1", 100)
    assert (topic.name, topic.in_tps, topic.out_tps) == ("T", 5.0, 1.0)
    assert (group.out_tps, group.lag, group.members) == (1.0, 26, 2)


def test_one_look_alone_says_no_rate() -> None:
    look = at(0, (10, 0), (5, 0))

    assert [row.in_tps for row in rows_between(look, look) if row.kind == "topic"] == [None]


def test_offsets_that_go_back_are_no_negative_rate() -> None:
    rows = rows_between(at(0, (10, 0), (9, 0)), at(1, (10, 0), (0, 0)))

    assert [row.out_tps for row in rows if row.kind == "group"] == [0.0]


def test_replicas_have_their_standing_and_those_in_no_route_are_shown() -> None:
    logs = (
        ReplicaLog(1, "h:1", True, is_master=True, newest_epoch=4),
        ReplicaLog(2, "h:2", True),
        ReplicaLog(3, "h:3", False, is_alive=False, newest_epoch=3),
    )
    look = replace(
        at(0, (10, 0), (0, 0)),
        controlled=ControlledGroups(groups=(ReplicaGroup("c", "broker-a", logs=logs),)),
    )

    rows = [row for row in rows_between(look, look) if row.kind == "broker"]

    assert [(row.name, row.replica, row.error) for row in rows] == [
        ("broker-a", "MASTER 4", None),
        ("broker-a:1", "IN_SYNC", None),
        ("broker-a:3", "BEHIND 3", "BEHIND, dead, says its controller"),
    ]

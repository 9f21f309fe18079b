"""The runtime table of a broker as metrics, without a broker."""

import pytest

from mqadmin.cluster.brokers import ServerNode
from mqadmin.cluster.controlled_groups import ControlledGroups, ControllerView, ReplicaGroup
from mqadmin.cluster.replicas import ReplicaLog
from mqadmin.health.checkup import BrokerFacts
from mqadmin.health.metrics import Families, add_replica_groups, add_runtime, number, size
from remoting.bodies import ReplicasInfo

TABLE = {
    "bootTimestamp": "1000",
    "brokerVersion": "401",
    "brokerVersionDesc": "V4_9_7",
    "putTps": "5.0 4.0 3.0",
    "getTransferredTps": "1.0",
    "commitLogDiskRatio": "NaN",
    "msgPutTotalTodayNow": "17",
    "remainHowManyDataToFlush": "1.5 KiB",
    "commitLogDirCapacity": "Total : 10.0 GiB, Free : 512.0 MiB.",
    "putMessageDistributeTime": "[<=0ms]:7 [0~10ms]:2 [10s~]:1 ",
}


def test_names_and_labels_are_those_that_dashboards_know() -> None:
    out = Families()

    add_runtime(out, BrokerFacts(ServerNode("c", "broker-a", 0, "h:1"), TABLE, 0, 0))

    values = {name: next(iter(one.values.values())) for name, one in out.made.items()}
    prefix = "rocketmq_brokeruntime_"
    assert values == {
        f"{prefix}msg_put_total_today_now": 17.0,
        f"{prefix}put_tps10": 5.0,
        f"{prefix}put_tps60": 4.0,
        f"{prefix}put_tps600": 3.0,
        f"{prefix}gettransfered_tps10": 1.0,
        f"{prefix}pmdt_0ms": 7.0,
        f"{prefix}pmdt_0to10ms": 2.0,
        f"{prefix}pmdt_10stomore": 1.0,
        f"{prefix}remain_howmanydata_toflush": 1536.0,
        f"{prefix}commitlogdir_capacity_total": 10.0 * 1024**3,
        f"{prefix}commitlogdir_capacity_free": 512.0 * 1024**2,
    }
    one = out.made[f"{prefix}put_tps10"]
    assert one.labels == ("cluster", "brokerIP", "brokerHost", "des", "boottime", "broker_version")
    assert list(one.values) == [("c", "h:1", "", "V4_9_7", "1000", "401")]


def test_values_are_added_up_or_raised() -> None:
    out = Families()
    for value in (2.0, 5.0, 3.0):
        out.sum_up("sum", value, group="g")
        out.raise_to("most", value, group="g")
    out.add("none", None, group="g")

    assert out.made["sum"].values == {("g",): 10.0}
    assert out.made["most"].values == {("g",): 5.0}
    assert "none" not in out.made


@pytest.mark.parametrize(
    ("text", "expected"), [("17 B", 17.0), ("2.0 TiB", 2.0 * 1024**4), ("much", None), (None, None)]
)
def test_sizes(text: str | None, expected: float | None) -> None:
    assert size(text) == expected
    assert number("x") is None


def test_controllers_and_replicas_are_metrics_and_what_is_not_known_is_left_out() -> None:
    out = Families()
    master = ReplicaLog(1, "h:1", True, is_master=True, end=900, newest_epoch=4, confirm_offset=800)
    group = ReplicaGroup(
        "c", "g", (), {"h:1": {"minInSyncReplicas": "2"}},
        ReplicasInfo(master_broker_id=1, master_epoch=4, sync_state_set_epoch=7),
        (master, ReplicaLog(2, "h:2", False, is_alive=False, error="refused")),
    )  # fmt: skip
    views = (ControllerView("k:1", "k:1", is_leader=True), ControllerView("k:2", error="refused"))

    add_replica_groups(out, ControlledGroups(views, (group,)))

    values = {name: one.values for name, one in out.made.items()}
    first, second = ("c", "g", "1", "h:1"), ("c", "g", "2", "h:2")
    assert values == {
        "mqadmin_controller_up": {("k:1",): 1, ("k:2",): 0},
        "mqadmin_controller_is_leader": {("k:1",): 1},
        "mqadmin_replicas_have_master": {("c", "g"): 1},
        "mqadmin_replicas_master_epoch": {("c", "g"): 4},
        "mqadmin_replicas_set_epoch": {("c", "g"): 7},
        "mqadmin_replicas_count": {("c", "g"): 2},
        "mqadmin_replicas_in_sync_count": {("c", "g"): 1},
        "mqadmin_replicas_in_sync_min": {("c", "g"): 2},
        "mqadmin_replica_is_master": {first: 1, second: 0},
        "mqadmin_replica_is_alive": {first: 1, second: 0},
        "mqadmin_replica_is_in_sync": {first: 1, second: 0},
        "mqadmin_replica_epoch": {first: 4},
        "mqadmin_replica_log_end": {first: 900},
        "mqadmin_replica_confirm_offset": {first: 800},
    }
    assert out.made["mqadmin_replica_epoch"].labels == ("cluster", "broker", "brokerId", "brokerIP")

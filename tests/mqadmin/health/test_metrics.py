"""The runtime table of a broker as metrics, without a broker."""

import pytest

from mqadmin.cluster.brokers import ServerNode
from mqadmin.health.checkup import BrokerFacts
from mqadmin.health.metrics import Families, add_runtime, number, size

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

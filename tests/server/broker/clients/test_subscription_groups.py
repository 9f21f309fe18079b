"""The group table."""

from mqserver.broker.clients.subscription_groups import Groups
from mqserver.broker.config import BrokerConfig
from storefmt.config.tables import DataVersion, GroupTable, SubscriptionGroup
from tests.golden import Golden


def test_built_in_groups_are_those_of_a_real_broker(golden: Golden) -> None:
    expected = golden.expected("basic")["configManagers"]
    key = "groups_enable_fromMin_broadcast_retryQueues_retryMax_brokerId_slow"
    groups = Groups(BrokerConfig(), now_ms=5)

    ours = {
        name: [
            one.consume_enable,
            one.consume_from_min_enable,
            one.consume_broadcast_enable,
            one.retry_queue_nums,
            one.retry_max_times,
            one.broker_id,
            one.which_broker_when_consume_slowly,
        ]
        for name, one in groups.table().groups.items()
    }

    assert {name: row for name, row in expected[key].items() if name != "grp-a"} == ours


def test_group_is_made_when_it_is_asked_for_and_may_be() -> None:
    told: list[int] = []
    groups = Groups(BrokerConfig(), now_ms=5, on_change=lambda: told.append(1))

    made = groups.find("G", now_ms=6)
    again = groups.find("G", now_ms=7)

    assert made == again == SubscriptionGroup(group_name="G")
    assert groups.find("a/b", now_ms=8) is None
    assert groups.table().data_version == DataVersion(timestamp_ms=6, counter=1)
    assert len(told) == 1


def test_without_auto_create_only_rocketmqs_own_groups_are_made() -> None:
    groups = Groups(BrokerConfig(auto_create_subscription_group=False), now_ms=5)

    assert groups.find("G", now_ms=6) is None
    assert groups.find("CID_RMQ_SYS_TRANS", now_ms=6) is not None
    assert groups.get("H") is None


def test_stored_groups_win_and_deleted_ones_are_gone() -> None:
    kept = SubscriptionGroup(group_name="G", retry_max_times=2)
    groups = Groups(BrokerConfig(), GroupTable({"G": kept}, DataVersion(3, 4)), now_ms=5)

    found = groups.get("G")
    deleted = [groups.delete("G", now_ms=9), groups.delete("G", now_ms=9)]

    assert found == kept
    assert deleted == [True, False]
    assert "G" not in groups.names()
    assert groups.table().data_version == DataVersion(9, 5)

"""BrokerGroups and heartbeats to test with."""

from dataclasses import replace
from types import MappingProxyType

from mqserver.controller.group_record import GroupRecord, Replica
from mqserver.controller.live_brokers import PRIORITY_MAX, BrokerKey, LiveBroker

PAIR = GroupRecord(
    cluster_name="C",
    broker_name="g",
    replicas=MappingProxyType({1: Replica("h:1", "h:1;17"), 2: Replica("h:2", "h:2;18")}),
    next_broker_id=3,
)
"""Two brokers before the first election."""

LED = replace(PAIR, master_id=1, master_epoch=4, in_sync_set=frozenset({1, 2}), in_sync_set_epoch=7)
"""The same group under its broker 1."""


def live_broker(broker_id: int, **values: int | bool) -> LiveBroker:
    """Return the heartbeat of a broker of the group."""
    broker = LiveBroker(
        key=BrokerKey("C", "g", broker_id),
        address=f"h:{broker_id}",
        heard_ms=1_000_000,
        timeout_ms=2_000,
        conn_id=broker_id,
        epoch=4,
        max_offset=100,
        confirm_offset=100,
        priority=PRIORITY_MAX,
    )
    return replace(broker, **values)  # type: ignore[arg-type]


def alive(*broker_ids: int) -> dict[int, LiveBroker]:
    """Return equal heartbeats of brokers, by id."""
    return {broker_id: live_broker(broker_id) for broker_id in broker_ids}

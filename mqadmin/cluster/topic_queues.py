"""Ask for the queues of a topic with their ends, for ``topic show`` and ``topic status``.

Requests: GET_ROUTEINFO_BY_TOPIC, GET_TOPIC_STATS_INFO and GET_ALL_TOPIC_CONFIG on each master.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mqadmin.cluster.partial_answers import Answers
from mqadmin.errors import ItemNotFound
from mqadmin.output.rows import EpochMs, Outcome, Row
from mqclient.client.routes import masters
from mqclient.errors import BrokerRefused
from storefmt.names import perm_text

if TYPE_CHECKING:
    from mqadmin.session.call import Call
    from mqclient.admin.topic import TopicCalls


@dataclass(frozen=True, slots=True)
class TopicQueue(Row):
    """One queue; offsets in entries. Broker, cluster and address are None for a store."""

    topic: str
    broker: str | None
    queue_id: int
    min_offset: int
    max_offset: int
    message_count: int
    last_updated_ms: EpochMs
    perm: str
    message_type: str | None
    cluster: str | None
    address: str | None


async def topic_queues(call: "Call", topic: str, *, cluster: str | None = None) -> Outcome:
    """Return one row for each queue, of one cluster if it is named.

    Raises:
        NoRoute, ItemNotFound: the topic does not exist, or not in the cluster.
    """
    admin = await call.topics()
    answers = Answers(call)
    route = await admin.topic_route(topic)
    brokers = {data.broker_name: data for data in route.broker_datas}
    if cluster is not None and cluster not in {data.cluster for data in brokers.values()}:
        raise ItemNotFound(
            f"topic {topic} is not in cluster {cluster}",
            hint=f"`topic route {topic}` shows where it is",
        )
    perms = {data.broker_name: data.perm for data in route.queue_datas}
    stats = await admin.topic_stats(topic, on_silent=answers.miss)
    answering = {queue.broker_name for queue in stats}
    addresses = {name: address for name, address in masters(route).items() if name in answering}
    types = await _message_types(admin, topic, addresses)
    rows = []
    for queue, ends in stats.items():
        data = brokers[queue.broker_name]
        if cluster not in (None, data.cluster):
            continue
        rows.append(
            TopicQueue.of(
                ends,
                topic=topic,
                broker=queue.broker_name,
                queue_id=queue.queue_id,
                message_count=ends.max_offset - ends.min_offset,
                last_updated_ms=ends.last_update_timestamp,
                perm=perm_text(perms.get(queue.broker_name, 0)),
                message_type=types.get(queue.broker_name),
                cluster=data.cluster or "",
                address=data.any_address() or "",
            )
        )
    return Outcome(rows, exit_code=answers.exit_code)


async def _message_types(
    admin: "TopicCalls", topic: str, addresses: Mapping[str, str]
) -> dict[str, str]:
    """Return the message type of the topic on each broker that reports it.

    Args:
        admin: asks the brokers.
        topic: the topic.
        addresses: the address of each broker, by name.
    """
    types: dict[str, str] = {}
    # Asked one by one: a direct command has no event loop (``MQClient`` ``direct``).
    for name, address in addresses.items():
        try:
            config = (await admin.topic_configs(address)).topics.get(topic)
        except BrokerRefused:
            # A user without the right to read all settings still sees the queues.
            continue
        if config is not None:
            types[name] = config.message_type
    return types

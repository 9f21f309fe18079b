"""A store of the real 5.4.0 with everything in RocksDB, read beside the broker and after its end.

broker of 5.4.0 ── answers ──┐
     │ stops                 ├── the same
     └── its store ── our offline commands ──┘
"""

import hashlib
from pathlib import Path

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.message import Message
from mqclient.producer.producer import Producer
from remoting.bodies import MessageQueue
from storefmt.config.tables import SubscriptionGroup
from storefmt.offline.verify.store import verify
from storefmt.offline.views.storedir import StoreDir
from tests.interop.kit.our_clients import await_registered, dispatched, make_topic, run
from tests.interop.kit.servers import Broker, JavaSide, running_pair

TOPIC, GROUP, COUNT = "Rocks", "RocksGroup", 40
SETTINGS = {
    "separate": {"storeType": "defaultRocksDB"},
    "v2": {"storeType": "defaultRocksDB", "configManagerVersion": "v2"},
    "combine": {"rocksdbCQDoubleWriteEnable": "true"},
}
Ends = dict[tuple[str, int], tuple[int, int]]


async def fill(client: MQClient, broker: Broker) -> tuple[Ends, dict[int, int]]:
    """Send and commit; return the ends of the queues and the offsets, as the broker says them."""
    admin = Admin(client)
    await admin.create_group(broker.address, SubscriptionGroup(GROUP))
    queues = [MessageQueue(TOPIC, broker.name, number) for number in range(4)]
    async with Producer(client, "rocks") as producer:
        for number in range(COUNT):
            message = Message(TOPIC, b"m%d" % number, tags="A", keys=f"key{number}")
            await producer.send(message, queue=queues[number % 4])
    for queue in queues:
        await admin.update_consumer_offset(broker.address, GROUP, queue, queue.queue_id)
    await dispatched(client, broker.address)
    stats = await admin.topic_stats_at(broker.address, TOPIC)
    ends = {(TOPIC, q.queue_id): (at.min_offset, at.max_offset) for q, at in stats.items()}
    offsets = await admin.all_consumer_offsets(broker.address)
    return ends, offsets[TOPIC, GROUP]


def digests(store: Path) -> dict[str, str]:
    """Return the digest of every file."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in store.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("name", SETTINGS)
def test_offline_answers_equal_those_of_the_broker(
    five: JavaSide, name: str, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    settings = {"timerWheelEnable": "false", **SETTINGS[name]}
    with running_pair(five, store, settings=settings, in_order=True) as servers:
        await_registered(servers)
        make_topic(servers, TOPIC, 4)
        ends, offsets = run(servers.namesrv.address, lambda client: fill(client, servers.broker))
        # A store of a running broker opens; what it has not written to files yet is not seen.
        with StoreDir.open(store) as beside:
            assert beside.log.end > 0
    before = digests(store)

    with StoreDir.open(store) as opened:
        views = [opened.queue(*key) for key in opened.queues() if key[0] == TOPIC]
        found = {(v.topic, v.queue_id): (v.min_offset, v.max_offset) for v in views}
        group = opened.offsets()[TOPIC, GROUP]
        topics, groups = opened.topics().topics, opened.groups().groups
        report = verify(opened, deep=True, jobs=1)

    assert found == ends == {(TOPIC, number): (0, COUNT // 4) for number in range(4)}
    assert group == offsets == {number: number for number in range(4)}
    assert topics[TOPIC].read_queue_nums == 4
    assert GROUP in groups
    assert report.ok, report.findings
    assert digests(store) == before

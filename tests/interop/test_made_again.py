"""A topic that was deleted and made again on the real 4.9.7 broker: its store is in order.

    3 messages in each of 2 queues ── deleteTopic ── made again ── fewer messages

The same layouts without Java: ``tests/storefmt/offline/repair/test_made_again.py``.
"""

from pathlib import Path

from mqclient import Admin, Producer
from mqclient.client.instance import MQClient
from mqclient.message import Message
from remoting.bodies import MessageQueue
from storefmt.config.tables import TopicConfig
from storefmt.offline.output_dir import OutputDirectory
from storefmt.offline.repair.repair import repair
from storefmt.offline.verify.findings import Severity
from storefmt.offline.verify.store import verify
from storefmt.offline.views.storedir import StoreDir
from tests.interop.kit.our_clients import dispatched, run
from tests.interop.kit.servers import Broker, JavaSide, Namesrv


async def fill(client: MQClient, broker: Broker, topic: str, counts: tuple[int, int]) -> None:
    """Make a topic and send ``counts`` messages to its two queues."""
    config = TopicConfig(topic, read_queue_nums=2, write_queue_nums=2)
    await Admin(client).create_topic(broker.address, config)
    for queue_id, count in enumerate(counts):
        queue = MessageQueue(topic, broker.name, queue_id)
        for _ in range(count):
            await Producer(client).send(Message(topic, b"x", tags="A"), queue=queue)
    await dispatched(client, broker.address)


async def play(client: MQClient, broker: Broker) -> None:
    admin = Admin(client)
    for topic in ("Fewer", "Unused", "Empty", "Twice"):
        await fill(client, broker, topic, (3, 3))
        await admin.delete_topic_in_broker(broker.address, topic)
    await fill(client, broker, "Fewer", (1, 2))
    await fill(client, broker, "Unused", (1, 0))
    await fill(client, broker, "Empty", (0, 0))
    await fill(client, broker, "Twice", (2, 2))
    await admin.delete_topic_in_broker(broker.address, "Twice")
    await fill(client, broker, "Twice", (1, 0))
    await fill(client, broker, "Stays", (1, 1))


def worse_than_info(path: Path) -> list[object]:
    with StoreDir.open(path) as store:
        findings = verify(store, deep=True).findings
    return [one for one in findings if one.severity is not Severity.INFO]


def test_store_of_the_real_broker_with_topics_made_again_has_no_damage(
    java_side: JavaSide, namesrv: Namesrv, tmp_path: Path
) -> None:
    root = tmp_path / "store"
    with Broker(java_side, store=root, namesrv=namesrv.address) as broker:
        run(namesrv.address, lambda client: play(client, broker))
        assert broker.stop() in (0, 143)

    assert worse_than_info(root) == []
    names = {str(path.relative_to(root)) for path in (root / "consumequeue").glob("*/*")}
    assert {"consumequeue/Fewer/0", "consumequeue/Fewer/1", "consumequeue/Unused/0"} <= names
    assert "consumequeue/Unused/1" not in names
    assert list((root / "consumequeue" / "Empty").iterdir()) == []
    with StoreDir.open(root) as store:
        repair(store, OutputDirectory.make(tmp_path / "out", source=root))
    assert worse_than_info(tmp_path / "out") == []

"""Make the golden stores of this folder again with the real 5.4.0.

    python -m tests.golden.rocksdb.make

    for each set of SETS: broker + traffic --> live answers --stop--> store
    one JVM: every entry of every RocksDB of the stores, and what mqadmin 5.4.0 prints of them

Traffic: a topic with tags and keys, a group that has read half of it, a deleted topic, messages
with a delay level and with a time of delivery, a half message that stays open, and popped
messages of which one is not acknowledged.
"""

import asyncio
import json
import lzma
import shutil
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Final

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.consumer.simple_consumer import SimpleConsumer
from mqclient.message import Message
from mqclient.producer.producer import Producer
from mqclient.producer.transaction_producer import LocalTransactionState, TransactionProducer
from remoting.bodies import ConsumeFromWhere, MessageQueue
from storefmt.config.tables import SubscriptionGroup, TopicConfig
from tests.interop.kit.java_build import JAVA_FIVE, class_path
from tests.interop.kit.our_clients import await_registered, dispatched, run
from tests.interop.kit.servers import Broker, JavaSide, running_pair
from tests.interop.kit.toolbox import alone
from tests.waiting import eventually

HERE: Final = Path(__file__).resolve().parent
TOPIC, COMPACTED = "orders", "latest"
GROUP, POP_GROUP = "readers", "poppers"
COUNT = 12
_ALL_IN_ROCKSDB: Final = {
    "timerRocksDBEnable": "true",
    "transRocksDBEnable": "true",
    "indexRocksDBEnable": "true",
    "popConsumerKVServiceInit": "true",
    "popConsumerKVServiceEnable": "true",
}
_FILES: Final = {
    "compactionMappedFileSize": str(1 << 16),
    "messageStorePlugIn": "org.apache.rocketmq.tieredstore.TieredMessageStore",
    "tieredStorageLevel": "FORCE",
    "tieredBackendServiceProvider": "org.apache.rocketmq.tieredstore.provider.PosixFileSegment",
}
SETS: Final = {
    "separate": {"storeType": "defaultRocksDB", **_ALL_IN_ROCKSDB},
    "single": {"storeType": "defaultRocksDB", "useSingleRocksDBForAllConfigs": "true"},
    "v2": {"storeType": "defaultRocksDB", "configManagerVersion": "v2"},
    "combine": {"rocksdbCQDoubleWriteEnable": "true"},
    "files": _FILES,
}
"""What differs in each broker's configuration: where 5.4.0 keeps queues and settings."""
LINES: Final = (
    *(
        ("rocksDBConfigToJson", "-t", name)
        for name in ("topics", "subscriptionGroups", "consumerOffsets")
    ),
    ("rocksDBConfigToJson", "-t", "topics", "-j", "false"),
    *(("exportMetadataInRocksDB", "-t", name) for name in ("topics", "subscriptionGroups")),
    ("exportMetadataInRocksDB", "-t", "topics", "-j", "true"),
    ("exportMetadataInRocksDB", "-t", "consumerOffsets"),
)
"""Lines of Java's tool about the settings of ``separate``."""


class _Open:
    def execute_local_transaction(self, message: Message, arg: object) -> LocalTransactionState:
        return LocalTransactionState.UNKNOW

    check_local_transaction = execute_local_transaction  # type: ignore[assignment]


async def traffic(client: MQClient, broker: Broker) -> dict[str, object]:
    """Send and consume; return what the broker says of it in the end."""
    admin = Admin(client)
    for topic in (TOPIC, "deleted"):
        await admin.create_topic(broker.address, TopicConfig(topic, 2, 2))
    compacted = TopicConfig(COMPACTED, 1, 1)
    await admin.create_topic(
        broker.address, compacted, attributes="+cleanup.policy=COMPACTION,+queue.type=SimpleCQ"
    )
    for group in (GROUP, POP_GROUP):
        await admin.create_group(broker.address, SubscriptionGroup(group))
    await eventually(
        admin.topic_list, lambda known: {"deleted", COMPACTED} <= set(known), timeout_s=60
    )
    queues = [MessageQueue(TOPIC, broker.name, number) for number in range(2)]
    async with Producer(client, "golden") as producer:
        for number in range(COUNT):
            message = Message(TOPIC, b"m%d" % number, tags=f"Tag{number % 3}", keys=f"key{number}")
            await producer.send(message, queue=queues[number % 2])
        middle_ms = time.time_ns() // 1_000_000
        await producer.send(Message("deleted", b"x"))
        for number in range(4):
            await producer.send(Message(COMPACTED, b"v%d" % number, keys=f"key{number % 2}"))
        await producer.send(Message(TOPIC, b"level", delay_level=4), queue=queues[0])
        await producer.send(Message(TOPIC, b"timer", delay_s=86_400), queue=queues[0])
    transactions = TransactionProducer(client, "golden_tx", _Open())
    await transactions.start()
    await transactions.send_message_in_transaction(Message(TOPIC, b"half", keys="half"))
    await transactions.shutdown()
    await admin.delete_topic_in_broker(broker.address, "deleted")
    for queue, offset in zip(queues, (4, 2), strict=True):
        await admin.update_consumer_offset(broker.address, GROUP, queue, offset)
    await _pop(client)
    # The level of 4 s ends, and what was asked for in threads is written.
    await asyncio.sleep(6)
    await dispatched(client, broker.address)
    return await _answers(admin, broker, queues, middle_ms)


async def _pop(client: MQClient) -> None:
    first = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
    consumer = SimpleConsumer(client, POP_GROUP, consume_from_where=first)
    consumer.subscribe(TOPIC)
    received = await consumer.receive(count_max=4, invisible_ms=600_000)
    for message in received[1:]:
        await consumer.ack(message)


async def _answers(
    admin: Admin, broker: Broker, queues: list[MessageQueue], middle_ms: int
) -> dict[str, object]:
    topics = await admin.topic_configs(broker.address)
    stats: dict[str, object] = {}
    for topic in sorted(topics.topics):
        table = await admin.topic_stats_at(broker.address, topic)
        stats[topic] = {
            str(queue.queue_id): [at.min_offset, at.max_offset, at.last_update_timestamp]
            for queue, at in sorted(table.items())
        }
    offsets = await admin.all_consumer_offsets(broker.address)
    return {
        "stats": stats,
        "topics": json.loads(topics.encode()),
        "groups": json.loads((await admin.subscription_groups(broker.address)).encode()),
        "offsets": {f"{topic}@{group}": table for (topic, group), table in offsets.items()},
        "offsetByTime": [
            [queue.queue_id, ms, await admin.search_offset(queue, ms)]
            for queue in queues
            for ms in (0, middle_ms)
        ],
    }


def _make(side: JavaSide, name: str, scratch: Path) -> dict[str, object]:
    root = scratch / name
    settings = {
        # Otherwise the broker asks about the open half message while it is stopped.
        "transactionCheckInterval": "3600000",
        "tieredStoreFilePath": str(root / "store" / "tiered"),
        **SETS[name],
    }
    with running_pair(side, root / "store", settings=settings, in_order=True) as servers:
        await_registered(servers)
        return run(servers.namesrv.address, lambda client: traffic(client, servers.broker))


def _without_logs(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Leave out RocksDB's own texts, and the 38 MB wheel of the timers, which is sparse."""
    name = Path(member.name).name
    dropped = name == "LOG" or name.startswith("LOG.old") or name == "timerwheel"
    dropped &= not member.name.startswith("files/")
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return None if dropped else member


def _java(side: JavaSide, scratch: Path) -> tuple[dict[str, object], list[object]]:
    """Return each entry of each RocksDB by set, directory and family, and the tool's lines."""
    found = {
        str(path.parent): (name, str(path.parent.relative_to(scratch / name / "store")))
        for name in SETS
        for path in sorted((scratch / name / "store").rglob("CURRENT"))
    }
    config = scratch / "separate" / "store" / "config"
    lines = [[words[0], "-p", str(config), *words[1:]] for words in LINES]
    rows = alone(side, "FiveRocks", {"databases": list(found), "lines": lines}, flags=())
    entries: dict[str, dict[str, dict[str, list[list[str]]]]] = {}
    for row in rows:
        if row["event"] == "entry":
            name, path = found[row["database"]]
            family = entries.setdefault(name, {}).setdefault(path, {})
            family.setdefault(row["family"], []).append([row["key"], row["value"]])
    printed = [
        {"words": list(words), "stdout": row["stdout"], "stderr": row["stderr"]}
        for words, row in zip(LINES, (r for r in rows if r["event"] == "line"), strict=True)
    ]
    return dict(entries), list(printed)


def main() -> None:
    """Write the archives and ``expected.json.xz``."""
    scratch = Path(tempfile.mkdtemp(prefix="rocksdb-golden-"))
    try:
        side = JavaSide(scratch / "java", class_path(JAVA_FIVE))
        live = {name: _make(side, name, scratch) for name in SETS}
        entries, lines = _java(side, scratch)
        with tarfile.open(HERE / "stores.tar.xz", "w:xz") as tar:
            for name in SETS:
                tar.add(scratch / name / "store", name, filter=_without_logs)
        expected = {"live": live, "entries": entries, "lines": lines}
        text = json.dumps(expected, indent=1, sort_keys=True)
        (HERE / "expected.json.xz").write_bytes(lzma.compress(text.encode()))
    finally:
        if "--keep" in sys.argv:
            print(scratch)
        else:
            shutil.rmtree(scratch)


if __name__ == "__main__":
    main()

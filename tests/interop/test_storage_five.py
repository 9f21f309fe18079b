"""How a broker of 5.4.0 stores and reads, shown and changed beside Java's tool.

namesrv (5.4.0) ── broker-a (5.4.0): POP records and a timer in RocksDB, a compaction topic
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.message import Message
from mqclient.producer.producer import Producer
from storefmt.config.tables import TopicConfig
from tests.interop.kit.our_clients import await_registered
from tests.interop.kit.our_mqadmin import OurMqadmin
from tests.interop.kit.servers import JavaSide, Servers, running_pair
from tests.interop.kit.toolbox import Toolbox
from tests.mqadmin.conftest import cells
from tests.waiting import eventually, wait

SETTINGS = {
    "popConsumerKVServiceEnable": "true",
    "coldDataFlowControlEnable": "true",
    "timerRocksDBEnable": "true",
    "enableCompaction": "true",
}
LINES = (
    "getColdDataFlowCtrInfo -b {a}",
    "updateColdDataFlowCtrGroupConfig -b {a} -g G -v 1000",
    "updateColdDataFlowCtrGroupConfig -c {cluster} -g H -v 2000",
    "getColdDataFlowCtrInfo -b {a}",
    "getColdDataFlowCtrInfo -c {cluster}",
    "removeColdDataFlowCtrGroupConfig -b {a} -g G",
    "removeColdDataFlowCtrGroupConfig -b {a} -g G",
    "removeColdDataFlowCtrGroupConfig -c {cluster} -g H",
    "setCommitLogReadAheadMode -b {a} -m 1",
    "setCommitLogReadAheadMode -c {cluster} -m 0",
    "switchTimerEngine -b {a} -e R",
    "switchTimerEngine -c {cluster} -e F",
    "exportPopRecord -b {a}",
    "exportPopRecord -c {cluster}",
    "checkRocksdbCqWriteProgress -c {cluster}",
    "checkRocksdbCqWriteProgress -c {cluster} -t X -cf 0",
    "rocksDBConfigToJson -c {cluster}",
    "rocksDBConfigToJson -c {cluster} -t topics;consumerOffsets",
    "dumpCompactionLog -f {log}",
)
TOPIC = "Compacted"


@pytest.fixture(scope="module")
def pair(five: JavaSide, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    store = tmp_path_factory.mktemp("storage") / "store"
    with running_pair(five, store, settings=SETTINGS) as servers:
        await_registered(servers)
        asyncio.run(fill(servers))
        yield servers


async def fill(servers: Servers) -> None:
    """Make a compaction topic with three messages of two keys."""
    async with MQClient(servers.namesrv.address, timeout_s=60) as client:
        admin = Admin(client)
        await admin.create_topic(
            servers.broker.address,
            TopicConfig(TOPIC, read_queue_nums=1, write_queue_nums=1),
            attributes="+cleanup.policy=COMPACTION",
        )
        await eventually(admin.topic_list, lambda topics: TOPIC in topics)
        producer = Producer(client)
        for key, body in (("k1", b"one"), ("k2", b"two"), ("k1", b"three")):
            await producer.send(Message(TOPIC, body, keys=[key]))


@pytest.fixture
def ours(pair: Servers, tmp_path: Path) -> OurMqadmin:
    return OurMqadmin(pair.namesrv.address, {"HOME": str(tmp_path)})


def compaction_log(servers: Servers) -> Path:
    return servers.broker.store / "compaction" / "compactionLog" / TOPIC / "0" / ("0" * 20)


def test_lines_of_javas_tool_print_the_same(
    pair: Servers, five_tool: Toolbox, ours: OurMqadmin
) -> None:
    log = compaction_log(pair)
    # The broker copies the messages there a moment later.
    wait(lambda: log.is_file() and log.read_bytes().count(TOPIC.encode()) == 3, bool)
    printed: dict[str, list[list[str]]] = {"java": [], "ours": []}
    for line in LINES:
        words = line.format(a=pair.broker.address, cluster=pair.broker.cluster, log=log).split()
        java = five_tool.mqadmin(*words, "-n", pair.namesrv.address).stdout
        printed["java"].append([f"$ {line}", *java.splitlines()])
        mine = ours.text(*words, "--compat=strict", "-y")
        printed["ours"].append([f"$ {line}", *mine.splitlines()])

    for expected, actual in zip(printed["java"], printed["ours"], strict=True):
        assert actual == expected
        assert len(expected) > 1


def test_a_limit_is_set_shown_removed_and_put_back(ours: OurMqadmin) -> None:
    dry = ours("cold-data", "set", "readers", "100", "--dry-run")
    made = ours("cold-data", "set", "readers", "100")
    changed = ours("cold-data", "set", "readers", "200")
    listed = [row for row in ours("cold-data", "list") if row["group"] == "readers"]
    back = ours("undo", "-y")
    gone = ours("cold-data", "remove", "readers", "-y")
    missing = ours("cold-data", "remove", "readers", "-y", exit_code=3)

    assert [row["result"] for row in (*dry, *made, *changed, *back, *gone, *missing)] == [
        *("would change", "changed", "changed", "changed", "changed", "not found"),
    ]
    assert cells(listed, "limit", "is_own_limit", "read_bytes") == [(200, True, 0)]
    assert gone[0]["was"] == 100


def test_modes_of_a_broker_change_and_come_back(ours: OurMqadmin) -> None:
    read_ahead = ours("broker", "read-ahead", "random")
    again = ours("broker", "read-ahead", "random")
    ours("undo", "-y")
    engine = ours("broker", "timer-engine", "rocksdb", "-y")
    files = ours("broker", "timer-engine", "files", "-y")

    assert cells((*read_ahead, *again), "mode", "was", "result") == [
        ("random", "normal", "changed"),
        ("random", "random", "unchanged"),
    ]
    assert ours("broker", "read-ahead", "normal")[0]["result"] == "unchanged"
    assert cells((*engine, *files), "mode", "result") == [
        ("ROCKSDB", "changed"),
        ("FILES", "changed"),
    ]


def test_tasks_say_what_they_did(ours: OurMqadmin) -> None:
    dry = ours("broker", "pop-records", "transfer", "--dry-run")
    moved = ours("broker", "pop-records", "transfer", "-y")
    exported = ours("broker", "rocksdb", "dump", "topics")
    checked = ours("broker", "rocksdb", "check")

    assert [row["result"] for row in (*dry, *moved)] == ["would change", "changed"]
    assert (exported[0]["result"], "storeType" in exported[0]["remark"]) == ("unchanged", True)
    assert checked[0]["status"] == "IN_PROGRESS"


def test_a_compaction_log_is_read_without_its_broker(pair: Servers, ours: OurMqadmin) -> None:
    rows = ours("store", "compaction", str(compaction_log(pair)))

    assert cells(rows, "queue_offset", "keys", "body") == [
        (0, ["k1"], "one"),
        (1, ["k2"], "two"),
        (2, ["k1"], "three"),
    ]

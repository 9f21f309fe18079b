"""Archives of the real broker: exactly once under SIGKILL, and stores it opens again."""

import asyncio
from pathlib import Path

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqspark.jobs.archive import archive_local
from mqspark.jobs.restore import restore_store, restore_topic
from storefmt.formats.message import Record
from storefmt.offline.views.storedir import StoreDir
from tests.interop.kit.servers import SMALL_STORE, Broker, JavaSide, Namesrv, running_pair
from tests.mqspark.archive.test_archive import messages, stored
from tests.mqspark.kills import FEWER_COMMITS, archive_under_kills
from tests.mqspark.livetopics import as_sent, fill, make, read_queues

COUNT = 900


def options(namesrv: Namesrv, topic: str) -> dict[str, str]:
    return {
        "namesrv": namesrv.address,
        "subscribe": topic,
        "maxOffsetsPerTrigger": "10",
        "maxRecordsPerPartition": "4",
    }


def test_five_kills_lose_and_repeat_nothing_of_the_real_broker(
    java_namesrv: Namesrv, java_broker: Broker, tmp_path: Path
) -> None:
    make(java_namesrv.address, "KilledJava")
    fill(java_namesrv.address, "KilledJava", COUNT)
    uri, given = tmp_path / "archive", options(java_namesrv, "KilledJava")

    archive_under_kills(uri, given, engine="local", kill_count=5, seed=3)

    assert messages(str(uri)) == stored(java_broker.store, "KilledJava")


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_six_kills_of_a_driver_tree_on_the_real_broker(
    java_namesrv: Namesrv, java_broker: Broker, tmp_path: Path
) -> None:
    make(java_namesrv.address, "KilledSpark")
    fill(java_namesrv.address, "KilledSpark", 1_500)
    uri, given = tmp_path / "archive", options(java_namesrv, "KilledSpark") | FEWER_COMMITS

    archive_under_kills(uri, given, engine="spark", kill_count=6, seed=4)

    assert messages(str(uri)) == stored(java_broker.store, "KilledSpark")


def test_the_real_broker_opens_a_restored_store(
    java_side: JavaSide, java_namesrv: Namesrv, java_broker: Broker, tmp_path: Path
) -> None:
    namesrv, topic = java_namesrv.address, "Restored"
    make(namesrv, topic)
    fill(namesrv, topic, 90, size=4_000)
    uri, store = str(tmp_path / "archive"), tmp_path / "store"
    # One queue begins in the middle, as after retention.
    starts = '{"Restored": {"broker-a": {"0": 0, "1": 7, "2": 0}}}'
    archive_local(uri, namesrv=namesrv, subscribe=topic, startingOffsets=starts)
    restore_store(uri, str(store), file_size=int(SMALL_STORE["mappedFileSizeCommitLog"]) // 8)
    with StoreDir.open(java_broker.store) as opened:
        expected = [
            as_sent(one)
            for one in opened.records()
            if isinstance(one, Record)
            and one.topic == topic
            and not (one.queue_id == 1 and one.queue_offset < 7)
        ]

    settings = {"mappedFileSizeCommitLog": str(int(SMALL_STORE["mappedFileSizeCommitLog"]) // 8)}
    with running_pair(java_side, store, settings=settings) as own:
        found = read_queues(own.namesrv.address, topic, total=83)
        by_key = asyncio.run(by_a_key(own.namesrv.address, topic))

    assert {one._replace(log_offset=0) for one in found} == {
        one._replace(log_offset=0) for one in expected
    }
    assert len(found) == len(expected) == 83
    assert by_key == 1


async def by_a_key(namesrv: str, topic: str) -> int:
    """Return how many messages the index of a broker has for one key."""
    async with MQClient(namesrv, timeout_s=60) as client:
        return len(await Admin(client).query_message(topic, "k-0-50"))


def test_messages_go_back_to_the_real_broker(
    java_namesrv: Namesrv, java_broker: Broker, tmp_path: Path
) -> None:
    namesrv, uri = java_namesrv.address, str(tmp_path / "archive")
    make(namesrv, "Gone")
    fill(namesrv, "Gone", 60, size=4_000)
    make(namesrv, "Back")
    archive_local(uri, namesrv=namesrv, subscribe="Gone")

    (row,) = restore_topic(uri, {"namesrv": namesrv, "topic": "Back"}, keep_queues=True)

    assert row.messages == 60
    origins = {one.properties["RMQ_SPARK_ID"] for one in read_queues(namesrv, "Back", total=60)}
    assert origins == {
        f"Gone@broker-a@{one.queue_id}@{one.queue_offset}"
        for one in read_queues(namesrv, "Gone", total=60)
    }
    assert java_broker.name == "broker-a"

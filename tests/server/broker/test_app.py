"""Start and stop of a whole broker, and what is on disk between them."""

from pathlib import Path

import pytest

from mqserver.broker.app import BrokerApp
from mqserver.runtime.clock import SystemClock
from mqserver.store.store_errors import StoreLocked
from remoting.codes import RequestCode
from storefmt.config.tables import ConsumerOffsets, GroupTable, TopicTable
from storefmt.errors import BadCall, ConfigDamaged
from tests.golden import Golden
from tests.server.broker.desk import TOPIC, Desk, bodies_in, broker_settings, heartbeat, running
from tests.waiting import until


async def test_stopped_broker_leaves_its_state_and_no_abort_file(tmp_path: Path) -> None:
    async with running(tmp_path) as desk:
        await desk.send()
        await desk.heartbeat()
        await desk.commit(1, group="G")
        assert (tmp_path / "abort").exists()
    config = tmp_path / "config"

    assert not (tmp_path / "abort").exists()
    assert TOPIC in TopicTable.decode((config / "topics.json").read_text()).topics
    assert "G" in GroupTable.decode((config / "subscriptionGroup.json").read_text()).groups
    assert '"T@G":{0:1' in (config / "consumerOffset.json").read_text()
    assert (config / "delayOffset.json").exists()


async def visited(root: Path) -> tuple[TopicTable, GroupTable, ConsumerOffsets]:
    """Start a broker, send a message and a heartbeat; return its tables."""
    async with running(root) as desk:
        await desk.send()
        await desk.heartbeat()
        broker = desk.app.broker
        return broker.topics.table(), broker.groups.table(), broker.offsets.table()


async def test_state_is_the_same_after_a_restart(tmp_path: Path) -> None:
    assert await visited(tmp_path) == await visited(tmp_path)


@pytest.mark.parametrize("name", ["topics.json", "subscriptionGroup.json", "consumerOffset.json"])
async def test_half_a_state_file_is_replaced_by_its_copy_and_two_halves_refuse_to_start(
    tmp_path: Path, name: str
) -> None:
    await visited(tmp_path)
    await visited(tmp_path)
    path = tmp_path / "config" / name
    path.write_bytes(path.read_bytes()[:25])

    topics, _, _ = await visited(tmp_path)
    assert TOPIC in topics.topics

    for damaged in (path, path.with_name(name + ".bak")):
        damaged.write_text("{")
    with pytest.raises(ConfigDamaged, match=name):
        await visited(tmp_path)


async def test_directory_in_use_is_refused(tmp_path: Path) -> None:
    async with running(tmp_path):
        with pytest.raises(StoreLocked):
            await BrokerApp(broker_settings(tmp_path), SystemClock()).start()


async def test_port_in_use_is_refused_and_the_directory_left_in_order(tmp_path: Path) -> None:
    async with running(tmp_path / "a") as desk:
        port = int(desk.address.split(":")[1])
        settings = broker_settings(tmp_path / "b", listen_port=port)
        with pytest.raises(OSError, match="in use"):
            await BrokerApp(settings, SystemClock()).start()
    async with running(tmp_path / "b") as desk:
        await desk.send()

    assert not (tmp_path / "b" / "abort").exists()


async def test_real_java_store_is_served_and_appended_to(basic: Path, golden: Golden) -> None:
    expected, conf = golden.expected("basic"), golden.conf("basic")
    settings = broker_settings(basic)
    settings.store.mapped_file_size_commit_log = int(conf["mappedFileSizeCommitLog"])
    settings.store.max_hash_slot_num = int(conf["maxHashSlotNum"])
    settings.store.max_index_num = int(conf["maxIndexNum"])

    async with running(basic, config=settings) as desk:
        broker = desk.app.broker
        queues = {
            f"{topic}@{queue_id}": broker.store.max_offset(topic, queue_id)
            for topic, queue_id in broker.store.queues()
        }
        offsets = {
            f"{topic}@{group}": {str(at): value for at, value in row.items()}
            for (topic, group), row in broker.offsets.table().offsets.items()
        }
        retries = broker.groups.get("grp-a").retry_max_times

    java = {
        name: queue["max"] for name, queue in expected["open"]["queues"].items() if queue["max"]
    }
    assert {name: last for name, last in queues.items() if last} == java
    assert offsets == expected["configManagers"]["consumerOffset"]
    assert retries == 3


async def test_silent_client_is_dropped(desk: Desk) -> None:
    await desk.ask(RequestCode.HEART_BEAT, body=heartbeat())
    broker = desk.app.broker
    desk.app.broker.drop_silent(broker.clock.now_ms() + 120_001)
    await until(lambda: broker.consumers.group("G") is None)

    assert broker.producers.members("PG") is None


async def test_name_in_place_of_an_address_is_refused_before_anything_is_opened(
    tmp_path: Path,
) -> None:
    settings = broker_settings(tmp_path / "store", broker_ip1="localhost")

    with pytest.raises(BadCall, match="give an address, not a name"):
        await BrokerApp(settings, SystemClock()).start()

    assert not (tmp_path / "store").exists()


async def test_stopping_broker_refuses_sends_and_keeps_what_it_took(tmp_path: Path) -> None:
    async with running(tmp_path, sync=True) as desk:
        await desk.send(b"kept")
        desk.app.broker.sender.close()
        assert (await desk.send(b"refused")).code == 14

    assert await bodies_in(tmp_path) == [b"kept"]

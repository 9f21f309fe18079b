"""Light queues (LMQ) over the wire: one send, read from every queue it names."""

import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from mqserver.broker.clients.consumer_offsets import Offsets
from mqserver.broker.config import BrokerConfig, broker_config
from mqserver.runtime.clock import Times, read_together
from mqserver.runtime.typed_config import Value
from remoting.codes import RequestCode, ResponseCode
from remoting.headers import QueryConsumerOffset
from storefmt.config.tables import ConsumerOffsets
from tests.server.broker.desk import TOPIC, Desk, broker_settings, running
from tests.waiting import until

LIGHT, GROUP = "%LMQ%phone", "%LMQ%phone-1"


def with_light(root: Path) -> BrokerConfig:
    config = broker_settings(root)
    config.store.enable_lmq = config.store.enable_multi_dispatch = True
    return config


@pytest.fixture
def desk(tmp_path: Path) -> AbstractAsyncContextManager[Desk]:
    """Run a broker with light queues on ``tmp_path``."""
    return running(tmp_path, config=with_light(tmp_path))


def copied(names: str, *, extra: str = "") -> str:
    return f"INNER_MULTI_DISPATCH\1{names}\2WAIT\1true\2TAGS\1A{extra}"


async def test_message_is_read_from_its_topic_and_from_every_queue_it_names(desk: Desk) -> None:
    answer = await desk.send(b"x", queue_id=1, properties=copied(f"{LIGHT},%LMQ%pad"))
    light = await desk.messages(topic=LIGHT)
    own = await desk.messages(queue_id=1)

    assert (answer.code, answer.ext["queueId"], answer.ext["queueOffset"]) == (0, "1", "0")
    assert [record.body for record in light] == [b"x"]
    assert light == own
    assert light[0].topic == TOPIC
    assert light[0].properties["INNER_MULTI_QUEUE_OFFSET"] == "0,0"
    assert "WAIT" not in light[0].properties
    assert not any(name.startswith("%LMQ%") for name in desk.app.broker.topics.names())


async def test_held_pull_of_a_light_queue_is_woken_by_a_copy(desk: Desk) -> None:
    held = asyncio.ensure_future(desk.pull(topic=LIGHT, sys_flag=6, suspend_timeout_millis=20_000))
    await until(lambda: len(desk.app.broker.puller.held))
    await desk.send(b"x", properties=copied(LIGHT))

    assert (await held).code == ResponseCode.SUCCESS


async def test_delayed_message_comes_to_its_light_queue_when_it_is_due(desk: Desk) -> None:
    await desk.send(b"later", properties=copied(LIGHT, extra="\2DELAY\0011"))
    assert desk.app.broker.store.max_offset(LIGHT, 0) == 0
    now_ms, steady_ms = read_together(desk.app.broker.clock)
    desk.app.broker.delay.deliver(Times(now_ms + 60_000, steady_ms + 60_000))
    desk.app.broker.group_commit.commit()
    await until(lambda: not desk.app.broker.group_commit.is_writing)

    assert await desk.bodies(topic=LIGHT) == [b"later"]


async def test_message_sent_to_a_light_topic_itself_has_one_queue(desk: Desk) -> None:
    stored, refused = await desk.send(topic=LIGHT), await desk.send(topic=LIGHT, queue_id=1)

    assert (stored.code, refused.code) == (0, 1)
    assert "request queueId[1] is illegal" in refused.remark


async def test_one_light_queue_too_many_is_refused_in_javas_words(tmp_path: Path) -> None:
    config = with_light(tmp_path)
    config.store.max_lmq_consume_queue_num = 1
    async with running(tmp_path, config=config) as desk:
        await desk.send(properties=copied(LIGHT))
        exceeded = await desk.send(properties=copied("%LMQ%more"))
        illegal = await desk.send(properties=copied("../x"))

    assert exceeded.code == ResponseCode.SYSTEM_ERROR
    assert (exceeded.remark or "").startswith("[LMQ_CONSUME_QUEUE_NUM_EXCEEDED]broker config")
    assert illegal.code == ResponseCode.MESSAGE_ILLEGAL


async def test_offsets_of_light_groups_are_kept_in_a_file_of_their_own(tmp_path: Path) -> None:
    async with running(tmp_path, config=with_light(tmp_path)) as desk:
        await desk.send(properties=copied(LIGHT))
        await desk.commit(7, group=GROUP, topic=LIGHT)
        await desk.commit(3, group="G")
    saved = ConsumerOffsets.decode((tmp_path / "config/lmqConsumerOffset.json").read_bytes())

    assert saved.lmq_offsets == {(LIGHT, GROUP): 7}
    assert saved.offsets == {(TOPIC, "G"): {0: 3}}
    assert not (tmp_path / "config/consumerOffset.json").exists()
    async with running(tmp_path, config=with_light(tmp_path)) as desk:
        for group, topic, at in ((GROUP, LIGHT, "7"), ("G", TOPIC, "3")):
            query = QueryConsumerOffset(consumer_group=group, topic=topic, queue_id=0)
            answer = await desk.ask(RequestCode.QUERY_CONSUMER_OFFSET, query)
            assert answer.ext["offset"] == at


async def test_offsets_are_found_again_when_light_queues_are_switched_on_or_off(
    tmp_path: Path,
) -> None:
    config = tmp_path / "config"
    config.mkdir()
    (config / "consumerOffset.json").write_text('{"offsetTable":{"T@G":{0:3}}}')

    async with running(tmp_path, config=with_light(tmp_path)) as desk:
        assert desk.app.broker.offsets.get("G", "T", queue_id=0) == 3
    (config / "consumerOffset.json").unlink()
    async with running(tmp_path) as desk:
        assert desk.app.broker.offsets.get("G", "T", queue_id=0) == 3


def test_a_light_group_with_more_queues_than_one_keeps_all_of_them() -> None:
    offsets = Offsets(has_light=True)
    offsets.commit(GROUP, LIGHT, queue_id=0, queue_offset=1)
    offsets.commit(GROUP, "T", queue_id=4, queue_offset=2)

    table = offsets.table()

    assert (table.lmq_offsets, table.offsets) == ({(LIGHT, GROUP): 1}, {("T", GROUP): {4: 2}})
    assert Offsets(table, has_light=True).table() == table


@pytest.mark.parametrize("key", ["enableLmq", "enableMultiDispatch"])
def test_settings_of_light_queues_are_served(key: str) -> None:
    config = broker_config([Value(key, "true", "a test")])

    assert config.store.enable_lmq is (key == "enableLmq")
    assert config.store.enable_multi_dispatch is (key == "enableMultiDispatch")


async def test_light_topics_cannot_be_made(desk: Desk) -> None:
    await desk.create_topic(LIGHT, queues=8)

    assert (await desk.send(topic=LIGHT, queue_id=7)).code == 1

"""Topics that have messages and are in no topics.json: made again, unless they were deleted."""

from pathlib import Path

import pytest

from mqserver.broker.config import BrokerRole
from mqserver.broker.topics import topic_config
from remoting.codes import RequestCode
from remoting.headers import DeleteTopic
from storefmt.config.tables import SubscriptionGroup, TopicConfig
from tests.server.broker.desk import TOPIC, Desk, running, with_topic
from tests.server.broker.ha.pairs import Pair
from tests.server.broker.handlers.test_sendback import START_MS, pass_time
from tests.server.doubles import FakeClock
from tests.waiting import until


def lose_topics(root: Path) -> None:
    for name in ("topics.json", "topics.json.bak"):
        (root / "config" / name).unlink(missing_ok=True)


async def topics_of(root: Path) -> dict[str, TopicConfig | None]:
    """Return what a broker that starts on a store knows of the topics of these tests."""
    async with running(root) as desk:
        names = (TOPIC, "wide", "%RETRY%G", "%DLQ%G", "%LMQ%light")
        return {name: desk.app.broker.topics.get(name) for name in names}


async def test_lost_topics_are_made_again_with_their_queues_and_can_be_read(tmp_path: Path) -> None:
    async with running(tmp_path) as desk:
        await desk.create_topic("wide", queues=9)
        desk.app.broker.groups.put(SubscriptionGroup("G", retry_queue_nums=2), now_ms=1)
        await desk.send(topic="wide", queue_id=6)
        for topic in (TOPIC, "%RETRY%G", "%DLQ%G", "%LMQ%light"):
            desk.app.broker.topics.put(topic_config(topic, queue_count=1), now_ms=1)
            assert (await desk.send(topic=topic)).code == 0
    lose_topics(tmp_path)

    found = await topics_of(tmp_path)
    again = await topics_of(tmp_path)

    counts = {name: one and (one.write_queue_nums, one.perm) for name, one in found.items()}
    assert counts == {
        TOPIC: (4, 6),
        "wide": (7, 6),
        "%RETRY%G": (2, 6),
        "%DLQ%G": (1, 6),
        "%LMQ%light": None,
    }
    assert again == found


async def test_deleted_topic_stays_deleted_and_empty_when_a_delayed_message_is_due(
    tmp_path: Path,
) -> None:
    clock = FakeClock(START_MS)

    async with with_topic(tmp_path, clock=clock) as desk:
        await desk.send(properties="DELAY\0011")
        await desk.ask(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopic(topic=TOPIC))
        await delivered(desk, clock)
        count = desk.app.broker.store.max_offset(TOPIC, 0)

    found = await topics_of(tmp_path)

    assert count == 0
    assert found[TOPIC] is None


async def delivered(desk: Desk, clock: FakeClock) -> None:
    await pass_time(desk, clock, 0)
    await until(lambda: desk.app.broker.delay.is_caught_up)
    await pass_time(desk, clock, 1_000)


async def test_topics_of_a_store_that_was_the_real_brokers_alone_are_only_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with with_topic(tmp_path) as desk:
        await desk.send()
    lose_topics(tmp_path)
    (tmp_path / "dispatch.json").unlink()

    found = await topics_of(tmp_path)

    assert found[TOPIC] is None
    assert "clients cannot find them" in caplog.text


async def test_promoted_slave_has_the_topics_of_all_messages_it_has(pair: Pair) -> None:
    master = await pair.start("m", BrokerRole.ASYNC_MASTER)
    slave = await pair.start("s", BrokerRole.SLAVE)
    await master.create_topic()
    await master.send()
    store = slave.app.broker.store
    await until(lambda: store.has(TOPIC))
    await until(lambda: slave.app.broker.topics.get(TOPIC) is not None)
    # A topic that the slave was not told of when its master went away.
    await master.send(topic="late")
    await until(lambda: store.has("late"))
    slave.app.broker.topics._topics.pop("late", None)
    assert slave.app.broker.topics.get("late") is None
    await pair.stop("m")
    assert (await pair.promote("s", force=True)).code == 0

    late = slave.app.broker.topics.get("late")
    assert (late.write_queue_nums, late.perm) == (4, 6)
    assert len(await slave.messages(topic="late")) == 1

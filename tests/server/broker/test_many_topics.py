"""Many topics that are created, used and deleted: memory and files come back.

Rule: memory is counted in objects, and work in texts and writes, so that no other program has a
say. The long run has many requests in flight, which share the writes of topics.json and
topicChanges.json.
"""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Final

import pytest

from mqserver.runtime.jsonfile import write_atomic
from remoting.bodies import RegisterBrokerBody
from remoting.codes import RequestCode
from remoting.headers import DeleteTopic
from tests import soak
from tests.server.broker.desk import Desk
from tests.waiting import until

SOAK_TOPICS: Final = round(20_000 * min(1, soak.MINUTES / 60))
REMEMBERED_TOPICS: Final = 5_000
"""More than any cache of names holds."""
IN_FLIGHT: Final = 64
"""Requests at a time."""


async def come_and_go(desk: Desk, count: int, *, queues: Path) -> None:
    """Create topics, send a message to each, and delete them, ``IN_FLIGHT`` at a time."""

    async def create_and_send(topic: str) -> None:
        await desk.create_topic(topic)
        assert (await desk.send(topic=topic)).code == 0

    async def delete(topic: str) -> None:
        answer = await desk.ask(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopic(topic=topic))
        assert answer.code == 0

    async def each(act: Callable[[str], Awaitable[None]], topics: Iterator[str]) -> None:
        for topic in topics:
            await act(topic)

    for act in (create_and_send, delete):
        topics = iter([f"topic-{number}" for number in range(count)])
        await asyncio.gather(*(each(act, topics) for _ in range(IN_FLIGHT)))
        if act is create_and_send:
            await until(lambda: any(queues.glob("*/*")))


def object_count() -> int:
    """Return how many objects there are that are in use."""
    gc.collect()
    return len(gc.get_objects())


@pytest.mark.parametrize("count", [100, pytest.param(SOAK_TOPICS, marks=pytest.mark.soak)])
async def test_topics_that_come_and_go_leave_no_file_and_no_memory(
    desk: Desk, tmp_path: Path, count: int
) -> None:
    # What is remembered of a name, up to some thousands of them, is remembered now.
    queues = tmp_path / "consumequeue"
    await come_and_go(desk, min(count, REMEMBERED_TOPICS), queues=queues)
    before = object_count()

    await come_and_go(desk, count, queues=queues)

    # One object for each of them would be a leak.
    assert object_count() - before < count
    # An empty directory says that the topic was deleted and does not come back.
    assert any(queues.iterdir())
    assert not any(queues.glob("*/*"))
    assert desk.app.broker.store.queues() == []


async def test_the_text_of_a_topic_is_made_once_however_often_the_file_is_written(
    desk: Desk,
) -> None:
    await desk.create_topic("first")
    files = desk.app._tables._topic_files
    before = files.texts.made_count
    for number in range(50):
        await desk.create_topic(f"topic-{number}")
    assert files.texts.made_count - before == 50


async def test_broker_without_name_servers_encodes_no_topics_for_them(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[RegisterBrokerBody] = []

    def counted(body: RegisterBrokerBody) -> bytes:
        encoded.append(body)
        return encode(body)

    encode = RegisterBrokerBody.encode
    monkeypatch.setattr(RegisterBrokerBody, "encode", counted)

    await desk.create_topic("first")

    assert encoded == []


async def test_creations_that_wait_for_the_disk_share_one_write(desk: Desk) -> None:
    count, may, writes = 200, Event(), []

    def gated(path: Path, text: str) -> None:
        assert may.wait(60)
        writes.append(path.name)
        write_atomic(path, text)

    # One that had begun, and one for all others.
    broker, files = desk.app.broker, desk.app._files
    await files.settle()
    known = len(broker.topics.names())
    files._write = gated
    creations = [
        asyncio.ensure_future(desk.create_topic(f"topic-{number}")) for number in range(count)
    ]
    await until(lambda: len(broker.topics.names()) == known + count)
    may.set()
    await asyncio.gather(*creations)
    assert writes.count("topics.json") <= 2

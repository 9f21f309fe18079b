"""Many topics that are created, used and deleted: memory and files come back.

Rule: memory is counted in objects, and work in texts and writes, so that no other program has a
say. ``SOAK_TOPICS`` is how many the long run has. Each creation that nobody shares writes the whole
of topics.json, as in the real broker; the text of each topic is made once.
"""

import asyncio
import gc
import os
from pathlib import Path
from threading import Event

import pytest

from remoting.codes import RequestCode
from remoting.headers import DeleteTopic
from server.runtime.jsonfile import write_atomic
from tests.server.broker.desk import Desk, running
from tests.waiting import until

SOAK_TOPICS = int(os.environ.get("SOAK_TOPICS", "1500"))


async def come_and_go(desk: Desk, count: int) -> None:
    """Create topics, send a message to each, and delete them."""
    topics = [f"topic-{number}" for number in range(count)]
    for topic in topics:
        await desk.create_topic(topic)
        assert (await desk.send(topic=topic)).code == 0
    for topic in topics:
        answer = await desk.ask(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopic(topic=topic))
        assert answer.code == 0


def object_count() -> int:
    """Return how many objects there are that are in use."""
    gc.collect()
    return len(gc.get_objects())


@pytest.mark.parametrize("count", [100, pytest.param(SOAK_TOPICS, marks=pytest.mark.soak)])
def test_topics_that_come_and_go_leave_no_file_and_no_memory(tmp_path: Path, count: int) -> None:
    async def run() -> None:
        async with running(tmp_path) as desk:
            # What is remembered of a name, up to some thousands of them, is remembered now.
            await come_and_go(desk, count)
            before = object_count()

            await come_and_go(desk, count)

            # One object for each of them would be a leak.
            assert object_count() - before < count
            queues = tmp_path / "consumequeue"
            assert [path for path in queues.rglob("*") if path.is_file()] == []
            # The empty directory says that the topic was deleted and does not come back.
            assert not any(any(path.iterdir()) for path in queues.iterdir())
            assert desk.app.broker.store.queues() == []

    asyncio.run(run())


def test_the_text_of_a_topic_is_made_once_however_often_the_file_is_written(
    tmp_path: Path,
) -> None:
    async def run() -> int:
        async with running(tmp_path) as desk:
            await desk.create_topic("first")
            before = desk.app._topic_texts.made_count
            for number in range(50):
                await desk.create_topic(f"topic-{number}")
            return desk.app._topic_texts.made_count - before

    assert asyncio.run(run()) == 50


def test_creations_that_wait_for_the_disk_share_one_write(tmp_path: Path) -> None:
    count, may, writes = 200, Event(), []

    def gated(path: Path, text: str) -> None:
        assert may.wait(60)
        writes.append(path.name)
        write_atomic(path, text)

    async def run() -> int:
        async with running(tmp_path) as desk:
            broker, files = desk.app.broker, desk.app._files
            await files.settle()
            known = len(broker.topics.names())
            files._write = gated
            creations = [
                asyncio.ensure_future(desk.create_topic(f"topic-{number}"))
                for number in range(count)
            ]
            await until(lambda: len(broker.topics.names()) == known + count)
            may.set()
            await asyncio.gather(*creations)
            return writes.count("topics.json")

    # One that had begun, and one for all others.
    assert asyncio.run(run()) <= 2

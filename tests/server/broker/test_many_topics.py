"""Many topics that are created, used and deleted: memory and files come back.

Rule: memory is counted in objects, so that no other program has a say. ``SOAK_TOPICS`` is how many
the long run has: each creation writes the whole of topics.json, as in the real broker, so that
twice as many take four times as long.
"""

import asyncio
import gc
import os
from pathlib import Path

import pytest

from remoting.codes import RequestCode
from remoting.headers import DeleteTopic
from tests.server.broker.desk import Desk, running

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

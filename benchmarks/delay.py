"""How late delayed messages come, ours and Java's: ``python -m benchmarks.delay``.

    send at level 1 or 2 ── stored under SCHEDULE_TOPIC_XXXX ── due after 1 or 5 s ── delivered
    --timers: with TIMER_DELAY_MS, beside 5.4.0, and behind ``--pending`` messages of tomorrow
    late by: store time of the delivered message, less its first store time and the delay

Both times are the broker's own, so neither network nor client is in it. The first store time
is not kept by a delivered message; that of its birth stands for it, which is the same within a
millisecond or two. Both sides run beside each other and get the same messages at the same
pace. Told are percentiles in ms.
"""

import argparse
import asyncio
import os
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.servers import Side, side
from benchmarks.telling import markdown, tell
from mqclient.client.instance import MQClient
from mqclient.consumer.pull.pull_request import PullStatus
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.errors import NoRoute
from mqclient.message import Message
from mqclient.producer.producer import Producer
from storefmt.formats.properties import TIMER_DELAY_MS
from tests.interop.kit.java_build import JAVA_FIVE, class_path
from tests.waiting import eventually

DELAYS_MS: Final = {1: 1_000, 2: 5_000}
PAUSE_S: Final = 0.007
"""Between sends: no divisor of the 100 ms at which Java looks."""
BODY: Final = bytes(200)
DAY_MS: Final = 86_400_000
WINDOW: Final = 200
"""Sends of pending messages that are on their way at once."""


async def lateness(namesrv: str, *, topic: str, given: argparse.Namespace) -> list[int]:
    """Send messages of each delay and return by how many ms each came too late."""
    count = given.count
    async with MQClient(namesrv, timeout_s=30) as client, Producer(client, "LATE") as producer:
        # A broker of 5.4.0 tells its name server of itself some seconds after it serves.
        await eventually(lambda: is_registered(client))
        for _ in range(given.pending // WINDOW):
            await asyncio.gather(*(producer.send(timed(topic, DAY_MS)) for _ in range(WINDOW)))
        for _ in range(count):
            for level, delay_ms in DELAYS_MS.items():
                message = Message(topic, BODY, tags=str(level), delay_level=level)
                await producer.send(
                    timed(topic, delay_ms, tags=str(level)) if given.timers else message
                )
                await asyncio.sleep(PAUSE_S)
        consumer = PullConsumer(client, "LATE")
        queues = await consumer.queues(topic)

        async def there() -> int:
            return sum([await consumer.max_offset(queue) for queue in queues])

        await eventually(there, lambda found: found >= count * len(DELAYS_MS), timeout_s=300)
        late: list[int] = []
        for queue in queues:
            at, end = 0, await consumer.max_offset(queue)
            while at < end:
                pulled = await consumer.pull(queue, queue_offset=at)
                if pulled.status is not PullStatus.FOUND:
                    break
                late += [
                    message.store_ms - message.born_ms - DELAYS_MS[int(message.tags or "")]
                    for message in pulled.messages
                ]
                at = pulled.next_offset
        return late


async def is_registered(client: MQClient) -> bool:
    """Return whether the name server knows a broker that creates topics."""
    try:
        await client.route("TBW102")
    except NoRoute:
        return False
    return True


def timed(topic: str, delay_ms: int, *, tags: str | None = None) -> Message:
    """Return a message that the timer delivers."""
    return Message(topic, BODY, tags=tags, properties={TIMER_DELAY_MS: str(delay_ms)})


async def both(sides: Sequence[Side], given: argparse.Namespace) -> list[list[int]]:
    """Return the lateness of each side."""
    return await asyncio.gather(
        *(lateness(one.namesrv, topic="Late", given=given) for one in sides)
    )


def table(sides: Sequence[Side], found: list[list[int]]) -> str:
    """Return the table of the percentiles, and of the memory that the brokers use."""
    rows = []
    for one, late in zip(sides, found, strict=True):
        cuts = statistics.quantiles(late, n=100)
        middle = f"{cuts[49]:.0f}", f"{cuts[98]:.0f}"
        rows.append([one.name, len(late), min(late), *middle, max(late), f"{one.heap_mb():.0f}"])
    titles = ("side", "messages", "min ms", "p50 ms", "p99 ms", "max ms")
    return markdown([*titles, "memory beyond mappings, MB"], rows)


def main() -> int:
    """Measure and print one line a side."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=1000, help="messages of each level")
    parser.add_argument("--timers", action="store_true", help="by the timer, beside 5.4.0")
    parser.add_argument("--pending", type=int, default=0, help="timer messages that wait meanwhile")
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    jars = class_path(JAVA_FIVE) if given.timers else ""
    settings = {"autoCreateTopicEnable": "true", "flushDiskType": "ASYNC_FLUSH"}
    with (
        tempfile.TemporaryDirectory() as directory,
        side("java", Path(directory), settings=settings, jars=jars) as java,
        side("ours", Path(directory), settings=settings) as ours,
    ):
        sides = java, ours
        text = table(sides, asyncio.run(both(sides, given)))
    tell(f"load average {os.getloadavg()[0]:.1f}\n\n{text}", given.write)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

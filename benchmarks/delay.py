"""How late delayed messages come, ours and Java's: ``python -m benchmarks.delay``.

    send at level 1 or 2 ── stored under SCHEDULE_TOPIC_XXXX ── due after 1 or 5 s ── delivered
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
from pathlib import Path
from typing import Final

from benchmarks.servers import side
from benchmarks.telling import tell
from mqclient.client.instance import MQClient
from mqclient.consumer.pull.pull_request import PullStatus
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.message import Message
from mqclient.producer.producer import Producer
from tests.waiting import eventually

DELAYS_MS: Final = {1: 1_000, 2: 5_000}
PAUSE_S: Final = 0.007
"""Between sends: no divisor of the 100 ms at which Java looks."""
BODY: Final = bytes(200)


async def lateness(namesrv: str, *, topic: str, count: int) -> list[int]:
    """Send so many messages of each level and return by how many ms each came too late."""
    async with MQClient(namesrv, timeout_s=30) as client, Producer(client, "LATE") as producer:
        for _ in range(count):
            for level in DELAYS_MS:
                message = Message(topic, BODY, tags=str(level), delay_level=level)
                await producer.send(message)
                await asyncio.sleep(PAUSE_S)
        consumer = PullConsumer(client, "LATE")
        queues = await consumer.queues(topic)

        async def there() -> int:
            return sum([await consumer.max_offset(queue) for queue in queues])

        await eventually(there, lambda found: found >= count * len(DELAYS_MS))
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


async def both(sides: dict[str, str], count: int) -> dict[str, list[int]]:
    """Return the lateness of each side by name."""
    found = await asyncio.gather(
        *(lateness(namesrv, topic="Late", count=count) for namesrv in sides.values())
    )
    return dict(zip(sides, found, strict=True))


def table(found: dict[str, list[int]]) -> str:
    """Return the table of the percentiles."""
    lines = ["| side | messages | min ms | p50 ms | p99 ms | max ms |", "| --- " * 6 + "|"]
    for name, late in found.items():
        cuts = statistics.quantiles(late, n=100)
        cells = name, len(late), min(late), f"{cuts[49]:.0f}", f"{cuts[98]:.0f}", max(late)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure and print one line a side."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=1000, help="messages of each level")
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    settings = {"autoCreateTopicEnable": "true", "flushDiskType": "ASYNC_FLUSH"}
    with (
        tempfile.TemporaryDirectory() as directory,
        side("java", Path(directory), settings=settings) as java,
        side("ours", Path(directory), settings=settings) as ours,
    ):
        found = asyncio.run(both({"java": java.namesrv, "ours": ours.namesrv}, given.count))
    tell(f"load average {os.getloadavg()[0]:.1f}\n\n{table(found)}", given.write)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Send as fast as the brokers store, and hold no more than a hundred messages in memory.

python -m examples.fast_producer 127.0.0.1:9876 [count]
"""

import asyncio
import sys
from collections.abc import AsyncIterator

from mqclient import Message, MQClient, Producer, ProducerSettings, SendResult

TOPIC = "ExampleReadings"
SETTINGS = ProducerSettings(max_in_flight=100)


async def readings(count: int) -> AsyncIterator[bytes]:
    """Yield the readings of a sensor, which is faster than any broker."""
    for number in range(count):
        yield b"reading %d" % number


async def main(namesrv: str, count: int) -> None:
    """Send ``count`` readings, and print how many were stored."""
    stored = 0

    def on_result(future: "asyncio.Future[SendResult]") -> None:
        nonlocal stored
        if future.exception() is None:
            stored += 1
        else:
            print("not stored:", future.exception(), file=sys.stderr)

    async with MQClient(namesrv) as client, Producer(client, "sensors", SETTINGS) as producer:
        async for reading in readings(count):
            # This waits while a hundred messages are under way.
            future = await producer.send_soon(Message(TOPIC, reading))
            future.add_done_callback(on_result)
    # The end of the block has waited for the last results.
    print(stored, "stored")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))

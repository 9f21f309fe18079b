"""Send messages: one, in a batch, in the order of a key, delayed, and without an answer.

python -m examples.producer 127.0.0.1:9876
"""

import asyncio
import sys

from mqclient import Message, MQClient, Producer

TOPIC = "ExampleOrders"


async def main(namesrv: str) -> None:
    """Send seven messages."""
    async with MQClient(namesrv) as client, Producer(client, "example-producers") as producer:
        sent = await producer.send(Message(TOPIC, b"order 1", tags="new", keys=["o-1"]))
        print(sent.status, sent.unique_key, sent.queue)

        await producer.send_batch([Message(TOPIC, b"order %d" % i, tags="new") for i in (2, 3)])

        # All messages of one key lie in one queue, so an orderly consumer sees them in turn.
        for state in (b"packed", b"sent"):
            await producer.send(Message(TOPIC, state, tags="state"), sharding_key="o-1")

        await producer.send(Message(TOPIC, b"reminder", tags="late", delay_level=1))

        await producer.send_oneway(Message(TOPIC, b"seen", tags="metric"))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))

"""Consume in loops and blocks: when a block ends, its messages are committed or acknowledged.

python -m examples.iteration 127.0.0.1:9876 [count]
"""

import asyncio
import sys

from examples.producer import TOPIC
from mqclient import (
    ConsumeFromWhere,
    LitePullConsumer,
    LitePullSettings,
    MQClient,
    SimpleConsumer,
)

FIRST = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET


async def by_message(client: MQClient, count: int) -> None:
    """Consume one message after another; each counts when the loop asks for the next one."""
    settings = LitePullSettings(consume_from_where=FIRST)
    async with LitePullConsumer(client, "loops", settings) as consumer:
        consumer.subscribe(TOPIC, "new")
        await consumer.start()
        async for message in consumer:
            print("message", message.body.decode(), flush=True)
            count -= 1
            if not count:
                return


async def by_batch(client: MQClient, count: int) -> None:
    """Consume batches; the end of the block commits, an error brings the batch again."""
    settings = LitePullSettings(consume_from_where=FIRST, auto_commit=False)
    async with LitePullConsumer(client, "batches", settings) as consumer:
        consumer.subscribe(TOPIC, "new")
        await consumer.start()
        while count > 0:
            async with consumer.batch() as messages:
                for message in messages:
                    print("batch", message.body.decode(), flush=True)
            count -= len(messages)


async def by_acknowledgement(client: MQClient, count: int) -> None:
    """Consume by POP; the end of the block acknowledges, an error brings the message in 1 s."""
    async with SimpleConsumer(client, "blocks", consume_from_where=FIRST) as consumer:
        consumer.subscribe(TOPIC, "new")
        async for message in consumer.messages(invisible_ms=30_000):
            async with consumer.consuming(message, again_ms=1_000):
                print("acknowledged", message.body.decode(), flush=True)
            count -= 1
            if not count:
                return


async def main(namesrv: str, count: int) -> None:
    """Consume ``count`` messages in each of the three ways."""
    async with MQClient(namesrv) as client:
        for consume in (by_message, by_batch, by_acknowledgement):
            await consume(client, count)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))

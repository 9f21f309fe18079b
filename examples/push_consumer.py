"""Consume with a listener: many messages at a time, each until it is done.

python -m examples.push_consumer 127.0.0.1:9876 [count]
"""

import asyncio
import sys

from examples.producer import TOPIC
from mqclient import (
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
    ConsumeFromWhere,
    MessageExt,
    MQClient,
    PushConsumer,
    PushSettings,
)

SETTINGS = PushSettings(consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)


async def main(namesrv: str, count: int) -> None:
    """Print messages until there were ``count``."""
    seen = asyncio.Semaphore(0)
    async with MQClient(namesrv) as client, PushConsumer(client, "push", SETTINGS) as consumer:
        consumer.subscribe(TOPIC, "new || state")

        @consumer.concurrently
        async def listen(
            messages: list[MessageExt], context: ConsumeConcurrentlyContext
        ) -> ConsumeConcurrentlyStatus:
            for message in messages:
                print(message.tags, message.body.decode(), flush=True)
                seen.release()
            # RECONSUME_LATER, or an exception, brings them again after 10 s, 30 s, 1 min, …
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

        await consumer.start()
        for _ in range(count):
            await seen.acquire()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))

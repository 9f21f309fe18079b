"""Consume every message in every member of a group, as caches do.

python -m examples.broadcast_consumer 127.0.0.1:9876 [count] [directory]
"""

import asyncio
import sys
from pathlib import Path

from examples.producer import TOPIC
from mqclient import (
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
    ConsumeFromWhere,
    MessageExt,
    MessageModel,
    MQClient,
    PushConsumer,
    PushSettings,
)

SETTINGS = PushSettings(
    message_model=MessageModel.BROADCASTING,
    consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
)


async def main(namesrv: str, count: int, directory: Path) -> None:
    """Print messages until there were ``count``; positions are kept in ``directory``."""
    seen = asyncio.Semaphore(0)
    # A second member on this machine needs a file of its own: ``ClientSettings.instance_name``.
    async with (
        MQClient(namesrv) as client,
        PushConsumer(client, "caches", SETTINGS, local_dir=directory) as consumer,
    ):
        consumer.subscribe(TOPIC, "new")

        @consumer.concurrently
        async def listen(
            messages: list[MessageExt], context: ConsumeConcurrentlyContext
        ) -> ConsumeConcurrentlyStatus:
            for message in messages:
                print(message.body.decode(), flush=True)
                seen.release()
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

        await consumer.start()
        for _ in range(count):
            await seen.acquire()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])))

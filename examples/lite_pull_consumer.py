"""Consume at one's own pace: poll, work, poll again.

python -m examples.lite_pull_consumer 127.0.0.1:9876 [count]
"""

import asyncio
import sys

from examples.producer import TOPIC
from mqclient import ConsumeFromWhere, LitePullConsumer, LitePullSettings, MQClient

SETTINGS = LitePullSettings(
    consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET, auto_commit=False
)


async def main(namesrv: str, count: int) -> None:
    """Print messages until there were ``count``."""
    async with MQClient(namesrv) as client, LitePullConsumer(client, "lite", SETTINGS) as consumer:
        consumer.subscribe(TOPIC, "new")
        await consumer.start()
        while count > 0:
            batch = await consumer.poll()
            for message in batch:
                print(message.body.decode(), flush=True)
            # Only now is the batch done; without this line a restart would repeat it.
            await consumer.commit()
            count -= len(batch)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))

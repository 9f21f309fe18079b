"""Receive messages and acknowledge each of them; needs brokers that know POP (RocketMQ 5, or ours).

python -m examples.simple_consumer 127.0.0.1:9876 [count]
"""

import asyncio
import sys

from examples.producer import TOPIC
from mqclient import ConsumeFromWhere, MQClient, SimpleConsumer

FIRST = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET


async def main(namesrv: str, count: int) -> None:
    """Print messages until there were ``count``."""
    async with (
        MQClient(namesrv) as client,
        SimpleConsumer(client, "simple", consume_from_where=FIRST) as consumer,
    ):
        consumer.subscribe(TOPIC, "new")
        while count > 0:
            # Nobody else of the group gets these messages within the next half a minute.
            for message in await consumer.receive(16, invisible_ms=30_000):
                print(message.body.decode(), flush=True)
                # Without this line the message would come again after that time.
                await consumer.ack(message)
                count -= 1


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))

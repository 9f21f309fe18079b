"""A worker that consumes until SIGTERM, and ends when the messages in its hands are done.

    NAMESRV_ADDR=127.0.0.1:9876 python -m examples.worker

SIGTERM is what Kubernetes, systemd and `docker stop` send. The worker fetches nothing more, lets
the calls of its listener end (25 s at most), saves its offsets and leaves the group, so that
another member gets its queues at once.
"""

import asyncio
import os
import signal

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

SETTINGS = PushSettings(
    consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
    # Less than the 30 s after which Kubernetes kills a pod.
    await_termination_ms_when_shutdown=25_000,
)


async def work(
    messages: list[MessageExt], context: ConsumeConcurrentlyContext
) -> ConsumeConcurrentlyStatus:
    """Do what takes a while; an exception brings the messages again."""
    for message in messages:
        print("begin", message.body.decode(), flush=True)
        await asyncio.sleep(1)
        print("done", message.body.decode(), flush=True)
    return ConsumeConcurrentlyStatus.CONSUME_SUCCESS


async def main(namesrv: str) -> None:
    """Consume until the process gets SIGTERM or SIGINT."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with MQClient(namesrv) as client, PushConsumer(client, "workers", SETTINGS) as consumer:
        consumer.subscribe(TOPIC)
        consumer.register_message_listener(work)
        await consumer.start()
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(main(os.environ["NAMESRV_ADDR"]))

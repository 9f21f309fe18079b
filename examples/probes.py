"""A worker with probes for Kubernetes (probes.yaml).

    NAMESRV_ADDR=127.0.0.1:9876 PROBE_PORT=8080 python -m examples.probes

    /ready    200 while a name server and all brokers answer       else no traffic, no new rollout
    /live     200 while the consumer runs and brokers answer it    else Kubernetes restarts the pod
    /lag      messages that this member has not consumed yet

A restart of the pod does not heal an outage of the brokers, so /live only fails when the consumer
has stopped, or when no pull was answered for five minutes although the member has queues.
"""

import asyncio
import os
import signal
import time

from examples.producer import TOPIC
from mqclient import (
    ClientError,
    ConsumeConcurrentlyContext,
    ConsumeFromWhere,
    MessageExt,
    MQClient,
    PushConsumer,
    PushSettings,
)

SETTINGS = PushSettings(
    consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
    await_termination_ms_when_shutdown=25_000,
)
SILENCE_MS_MAX = 300_000


async def work(messages: list[MessageExt], context: ConsumeConcurrentlyContext) -> None:
    """Do the work; an exception brings the messages again."""


async def ready(client: MQClient) -> str:
    """Return how fast the servers answer; raise ClientError when one does not."""
    return " ".join(f"{address}:{ms}ms" for address, ms in (await client.ping()).items())


async def live(consumer: PushConsumer) -> str:
    """Return when a broker last answered; raise RuntimeError when the consumer is stuck."""
    if not consumer.is_running:
        raise RuntimeError("the consumer does not run")
    last_ms = consumer.last_poll_ms
    if last_ms is None or not consumer.assignment():
        return "no queue yet"
    silence_ms = time.time_ns() // 1_000_000 - last_ms
    if silence_ms > SILENCE_MS_MAX:
        raise RuntimeError(f"no pull was answered for {silence_ms} ms")
    return f"last answer {silence_ms} ms ago"


async def serve(client: MQClient, consumer: PushConsumer, port: int) -> asyncio.Server:
    """Answer probes over HTTP; any framework does as well."""

    async def lag() -> str:
        return str(sum(consumer.lag().values()))

    pages = {"/ready": lambda: ready(client), "/live": lambda: live(consumer), "/lag": lag}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, path, *_ = (await reader.readline()).decode().split()
        while (await reader.readline()).strip():
            continue
        try:
            status, text = "200 OK", await pages[path]()
        except KeyError:
            status, text = "404 Not Found", f"no page {path}"
        except (ClientError, RuntimeError) as error:
            status, text = "503 Service Unavailable", str(error)
        body = text.encode()
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    return await asyncio.start_server(answer, "0.0.0.0", port)


async def main(namesrv: str, port: int) -> None:
    """Consume until the process gets SIGTERM or SIGINT."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with MQClient(namesrv) as client, PushConsumer(client, "probed", SETTINGS) as consumer:
        consumer.subscribe(TOPIC)
        consumer.register_message_listener(work)
        await consumer.start()
        async with await serve(client, consumer, port) as server:
            print("port", server.sockets[0].getsockname()[1], flush=True)
            await stop.wait()


if __name__ == "__main__":
    asyncio.run(main(os.environ["NAMESRV_ADDR"], int(os.environ.get("PROBE_PORT", "8080"))))

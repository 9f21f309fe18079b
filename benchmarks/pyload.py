"""The load program on our client: the same loads, arguments and lines as ``java/src/Bench.java``.

    python -m benchmarks.pyload NAMESRV TOPIC BODY WARM_S RUN_S COUNT LOAD...

Rule: each measured window is bracketed by a line on standard output that waits for a line on
standard input, so that whoever started this reads CPU times at both ends.
"""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from benchmarks.bridgeload import report, say
from mqclient import (
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
    ConsumeFromWhere,
    Message,
    MessageExt,
    MQClient,
    Producer,
    PushConsumer,
    PushSettings,
)

OK = ConsumeConcurrentlyStatus.CONSUME_SUCCESS


class Options(NamedTuple):
    """What the command line says."""

    namesrv: str
    topic: str
    body: bytes
    warm_s: float
    run_s: float
    count: int


async def send(load: str, size: int, options: Options, producer: Producer) -> None:
    """Keep ``size`` sends on their way."""
    took_ns: list[int] = []
    stop = False

    async def sender() -> None:
        while not stop:
            begin = time.perf_counter_ns()
            await producer.send(Message(options.topic, options.body))
            took_ns.append(time.perf_counter_ns() - begin)

    senders = [asyncio.create_task(sender()) for _ in range(size)]
    await asyncio.sleep(options.warm_s)
    await asyncio.to_thread(say, at="begin", load=load)
    took_ns.clear()
    begin_s = time.perf_counter()
    await asyncio.sleep(options.run_s)
    measured, seconds = list(took_ns), time.perf_counter() - begin_s
    await asyncio.to_thread(report, load, measured, count=len(measured), seconds=seconds)
    stop = True
    await asyncio.gather(*senders)


async def push(load: str, options: Options) -> None:
    """Read what the sends before it left in the topic."""
    settings = PushSettings(
        consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
        consume_message_batch_max_size=32,
    )
    seen, first_s = 0, 0.0
    enough = asyncio.Event()
    async with (
        MQClient(options.namesrv) as client,
        PushConsumer(client, "py_push", settings) as consumer,
    ):
        consumer.subscribe(options.topic)

        @consumer.concurrently
        async def listen(
            messages: list[MessageExt], context: ConsumeConcurrentlyContext
        ) -> ConsumeConcurrentlyStatus:
            nonlocal seen, first_s
            first_s = first_s or time.perf_counter()
            seen += len(messages)
            if seen >= options.count:
                enough.set()
            return OK

        await asyncio.to_thread(say, at="begin", load=load)
        await consumer.start()
        await enough.wait()
        seconds = time.perf_counter() - first_s
        await asyncio.to_thread(report, load, [], count=seen, seconds=seconds)


async def listen(load: str, every_ms: int, options: Options, producer: Producer) -> None:
    """Send one message every so many ms, timed until the push listener has it."""
    topic = f"{options.topic}_py_listen"
    settings = PushSettings(consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
    took_ns: list[int] = []
    first = asyncio.Event()
    await producer.send(Message(topic, bytes(8)))

    async def beat(for_s: float) -> None:
        end_s = time.perf_counter() + for_s
        while time.perf_counter() < end_s:
            now = time.perf_counter_ns().to_bytes(8, "big")
            await producer.send(Message(topic, now.ljust(len(options.body), b"\0")))
            await asyncio.sleep(every_ms / 1000)

    async with (
        MQClient(options.namesrv) as client,
        PushConsumer(client, "py_listen", settings) as consumer,
    ):
        consumer.subscribe(topic)

        @consumer.concurrently
        async def hear(
            messages: list[MessageExt], context: ConsumeConcurrentlyContext
        ) -> ConsumeConcurrentlyStatus:
            now_ns = time.perf_counter_ns()
            took_ns.extend(now_ns - int.from_bytes(one.body[:8], "big") for one in messages)
            first.set()
            return OK

        await consumer.start()
        await first.wait()
        await beat(options.warm_s)
        took_ns.clear()
        await asyncio.to_thread(say, at="begin", load=load)
        begin_s = time.perf_counter()
        await beat(options.run_s)
        seconds = time.perf_counter() - begin_s
        await asyncio.sleep(0.2)
        measured = list(took_ns)
        await asyncio.to_thread(report, load, measured, count=len(measured), seconds=seconds)


async def main(options: Options, loads: list[str]) -> None:
    """Run the loads one after another."""
    async with MQClient(options.namesrv, timeout_s=10.0) as client:
        producer = Producer(client, "py_bench")
        for load in loads:
            kind, _, number = load.partition(":")
            size = int(number or 1)
            run: dict[str, Callable[[], Awaitable[None]]] = {
                "sync": lambda load=load, size=size: send(load, size, options, producer),  # type: ignore[misc]
                "async": lambda load=load, size=size: send(load, size, options, producer),  # type: ignore[misc]
                "push": lambda load=load: push(load, options),  # type: ignore[misc]
                "listen": lambda load=load, size=size: listen(load, size, options, producer),  # type: ignore[misc]
            }
            await run[kind]()


if __name__ == "__main__":
    namesrv, topic, body, warm, seconds, count, *names = sys.argv[1:]
    asyncio.run(
        main(
            Options(namesrv, topic, b"x" * int(body), float(warm), float(seconds), int(count)),
            names,
        )
    )

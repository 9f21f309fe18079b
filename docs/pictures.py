"""Draws docs/*.svg: what ``top``, ``lock list`` and ``rebalance plan`` look like.

    python -m docs.pictures

Servers of our own have a topic that is written and two members that read it in order, the program
is run in a terminal of a fixed size, and what stands on its screen is drawn by rich. The pictures
are looked at, not compared: rates and times differ from run to run.
"""

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import pexpect
import pyte
from rich.text import Text

from docs.screens import picture
from mqadmin.shell.server import EmbeddedServer
from mqclient import (
    ConsumeOrderlyContext,
    ConsumeOrderlyStatus,
    Message,
    MessageExt,
    MQClient,
    Producer,
    PushConsumer,
)
from mqclient.client.client_settings import ClientSettings

DIRECTORY = Path(__file__).resolve().parent
COLUMNS, LINES = 110, 22
LOOK_S = 12.0
PAUSE_S = 0.02
"""Between two messages."""
WARM_COUNT = 500
"""Messages that are sent before anybody looks: about ten seconds."""


def screen_of(namesrv: str, words: list[str]) -> list[str]:
    """Return the lines on the screen a few seconds after a command was started."""
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.ByteStream(screen)
    child = pexpect.spawn(
        sys.executable,
        ["-m", "mqadmin", *words, "-n", namesrv],
        env={**os.environ, "TERM": "xterm-256color"},
        dimensions=(LINES, COLUMNS),
    )
    until_s = time.monotonic() + LOOK_S
    while time.monotonic() < until_s and child.isalive():
        try:
            stream.feed(child.read_nonblocking(65536, timeout=0.2))
        except pexpect.TIMEOUT:
            continue
        except pexpect.EOF:
            break
    child.close(force=True)
    lines = [line.rstrip() for line in screen.display]
    while lines and not lines[-1]:
        lines.pop()
    return lines


@contextmanager
def busy() -> Iterator[str]:
    """Start servers with topics, and for each a producer and members that read."""
    with EmbeddedServer() as server:
        namesrv = server.addresses.namesrv
        lines = ["topic create orders -q 4", "topic create payments -q 2"]
        script = [sys.executable, "-m", "mqadmin", "shell", "-n", namesrv, "-c"]
        subprocess.run([*script, "\n".join(lines)], check=True, stdout=subprocess.DEVNULL)
        ready, done = threading.Event(), threading.Event()
        thread = threading.Thread(target=lambda: asyncio.run(traffic(namesrv, ready, done)))
        thread.start()
        try:
            ready.wait()
            yield namesrv
        finally:
            done.set()
            thread.join()


async def traffic(namesrv: str, ready: threading.Event, done: threading.Event) -> None:
    """Send and read until ``done``; ``ready`` once there is something to see."""
    async with AsyncExitStack() as stack:
        members = [await stack.enter_async_context(member(namesrv, name)) for name in "12"]
        client = await stack.enter_async_context(MQClient(namesrv))
        producer = await stack.enter_async_context(Producer(client, "shop"))
        count = 0
        while not done.is_set():
            count += 1
            topic = "payments" if count % 3 == 0 else "orders"
            await producer.send(Message(topic, b"%d" % count))
            await asyncio.sleep(PAUSE_S)
            # Two members that share four queues have found each other.
            if all(len(one.assignment()) > 0 for one in members) and count > WARM_COUNT:
                ready.set()


@asynccontextmanager
async def member(namesrv: str, name: str) -> AsyncIterator[PushConsumer]:
    """Join group billing, which reads orders one by one."""
    async with MQClient(namesrv, settings=ClientSettings(instance_name=f"app-{name}")) as client:
        consumer = PushConsumer(client, "billing")
        consumer.subscribe("orders")

        @consumer.orderly
        async def read(
            messages: Sequence[MessageExt], context: ConsumeOrderlyContext
        ) -> ConsumeOrderlyStatus:
            return ConsumeOrderlyStatus.SUCCESS

        async with consumer:
            await consumer.start()
            yield consumer


def main() -> int:
    """Draw every picture."""
    plan = ["rebalance", "plan", "billing", "orders", "--add", "192.0.2.2@app-3"]
    with busy() as namesrv:
        for name, words in (
            ("lock-list", ["lock", "list"]),
            ("rebalance-plan", plan),
            ("top", ["top"]),
        ):
            lines = map(Text, screen_of(namesrv, words))
            svg = picture(" ".join(words), lines, width=COLUMNS, title="mqadmin")
            (DIRECTORY / f"{name}.svg").write_text(svg)
    return 0


if __name__ == "__main__":
    sys.exit(main())

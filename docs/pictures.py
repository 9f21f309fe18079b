"""Draws docs/*.svg: what ``top``, ``lock list`` and ``rebalance plan`` look like.

    python -m docs.pictures

A name server and a broker of our own are filled a little, the program is run in a terminal of
a fixed size, and what stands on its screen is drawn by rich. The pictures are looked at, not
compared: rates and times differ from run to run.
"""

import asyncio
import io
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pexpect
import pyte
from rich.console import Console
from rich.text import Text

from mqadmin.shell.server import EmbeddedServer
from mqclient.instance import MQClient
from remoting.bodies import LockBatchRequestBody, MessageQueue
from remoting.codes import RequestCode

DIRECTORY = Path(__file__).resolve().parent
COLUMNS, LINES = 110, 22
LOOK_S = 6.0
FONT_FACE = re.compile(r"\s*@font-face \{[^}]*\}")


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


def draw(name: str, words: list[str], lines: list[str]) -> None:
    """Write one picture."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text(f"$ mqadmin {' '.join(words)}", style="bold green"))
    for line in lines:
        console.print(Text(line), overflow="crop", no_wrap=True)
    svg = console.export_svg(title="mqadmin")
    # A document fetches nothing from elsewhere: the reader's own fixed-width font will do.
    (DIRECTORY / f"{name}.svg").write_text(FONT_FACE.sub("", svg))


@contextmanager
def filled() -> Iterator[str]:
    """Start servers with a topic, messages, a group that is behind, and locks."""
    with EmbeddedServer() as server:
        at = server.addresses
        lines = ["topic create orders -q 4", "topic create payments -q 2"]
        lines += [f"message send orders 'order {n}' --key o-{n}" for n in range(12)]
        lines += ["offset reset billing orders --to earliest -y"]
        script = [sys.executable, "-m", "mqadmin", "shell", "-n", at.namesrv, "-c"]
        subprocess.run([*script, "\n".join(lines)], check=True, stdout=subprocess.DEVNULL)
        asyncio.run(lock(at.namesrv, at.broker))
        yield at.namesrv


async def lock(namesrv: str, broker: str) -> None:
    """Lock queues as two ordered consumers do."""
    async with MQClient(namesrv) as client:
        for number, name in enumerate(("10.0.0.7@app-1", "10.0.0.8@app-2")):
            queues = [
                MessageQueue(topic="orders", broker_name="broker-a", queue_id=2 * number + one)
                for one in range(2)
            ]
            body = LockBatchRequestBody(
                consumer_group="billing", client_id=name, mq_set=queues
            ).encode()
            await client.call(broker, RequestCode.LOCK_BATCH_MQ, what="locks", body=body)


def main() -> int:
    """Draw every picture."""
    plan = ["rebalance", "plan", "billing", "orders", "--add", "app-1,app-2,app-3"]
    with filled() as namesrv:
        for name, words in (
            ("lock-list", ["lock", "list"]),
            ("rebalance-plan", plan),
            ("top", ["top"]),
        ):
            draw(name, words, screen_of(namesrv, words))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What the demo watches: ``python -m mqadmin.demo.traffic NAMESRV NAME MS``, one process a name.

    shop            sends an order every MS milliseconds
    any other name  is a member of the group ``billing`` that needs MS for each order

Rule: a process ends when its standard input closes, so none outlives the demo.
"""

import sys
import threading
import time
from collections.abc import Sequence
from typing import Final

from mqclient import (
    BlockingClient,
    ClientSettings,
    ConsumeFromWhere,
    ConsumeOrderlyContext,
    ConsumeOrderlyStatus,
    Message,
    MessageExt,
    PushSettings,
)

TOPIC: Final = "orders"
GROUP: Final = "billing"
PRODUCER: Final = "shop"
SETTINGS: Final = PushSettings(consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)


def body_of(number: int) -> bytes:
    """Return the body of an order."""
    return b"order %d of the shop" % number


def send_orders(client: BlockingClient, pause_s: float, stop: threading.Event) -> None:
    """Send an order after each pause."""
    number = 0
    while not stop.wait(pause_s):
        number += 1
        client.send(Message(TOPIC, body_of(number), keys=[f"o-{number}"]))


def read_orders(client: BlockingClient, pause_s: float, stop: threading.Event) -> None:
    """Read orders in order, each with a pause."""

    def listen(
        messages: Sequence[MessageExt], context: ConsumeOrderlyContext
    ) -> ConsumeOrderlyStatus:
        time.sleep(pause_s * len(messages))
        return ConsumeOrderlyStatus.SUCCESS

    with client.push_consumer(GROUP, listen, {TOPIC: "*"}, orderly=True, settings=SETTINGS):
        stop.wait()


def main(namesrv: str, name: str, pause_ms: str) -> None:
    """Work until standard input ends."""
    stop = threading.Event()

    def wait_for_end() -> None:
        sys.stdin.read()
        stop.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    work = send_orders if name == PRODUCER else read_orders
    with BlockingClient(namesrv, client_settings=ClientSettings(instance_name=name)) as client:
        work(client, int(pause_ms) / 1000, stop)


if __name__ == "__main__":
    main(*sys.argv[1:])

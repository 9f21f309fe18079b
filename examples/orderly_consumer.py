"""Consume queue by queue in order, with a plain function that runs in a thread.

python -m examples.orderly_consumer 127.0.0.1:9876 [count]
"""

import sys
import threading

from examples.producer import TOPIC
from mqclient import (
    BlockingClient,
    ConsumeFromWhere,
    ConsumeOrderlyContext,
    ConsumeOrderlyStatus,
    MessageExt,
    PushSettings,
)

SETTINGS = PushSettings(consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)


def main(namesrv: str, count: int) -> None:
    """Print messages until there were ``count``."""
    seen = threading.Semaphore(0)

    def listen(messages: list[MessageExt], context: ConsumeOrderlyContext) -> ConsumeOrderlyStatus:
        for message in messages:
            print(message.queue_id, message.queue_offset, message.body.decode(), flush=True)
            seen.release()
        # SUSPEND_CURRENT_QUEUE_A_MOMENT tries the same messages again before any other.
        return ConsumeOrderlyStatus.SUCCESS

    with (
        BlockingClient(namesrv) as client,
        client.push_consumer("orderly", listen, {TOPIC: "state"}, orderly=True, settings=SETTINGS),
    ):
        for _ in range(count):
            seen.acquire()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

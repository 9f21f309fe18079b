"""Send values, and let a router call the handler of a topic and a tag with a typed body.

python -m examples.typed_handlers 127.0.0.1:9876

Dataclasses need nothing else. The models of pydantic (`pip install 'mqclient[pydantic]'`) and
structs of msgspec (`pip install 'mqclient[msgspec]'`) are used in the same way.
"""

import asyncio
import sys
from dataclasses import dataclass

from mqclient import (
    ConsumeFromWhere,
    MessageExt,
    MQClient,
    Producer,
    PushConsumer,
    PushSettings,
    Router,
)

TOPIC = "ExampleTyped"
SETTINGS = PushSettings(consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)


@dataclass(frozen=True)
class Order:
    """An order as it travels: as JSON."""

    number: int
    items: list[str]


@dataclass(frozen=True)
class Payment:
    """A payment of an order."""

    order: int
    cents: int


router = Router()
seen = asyncio.Semaphore(0)


@router.handler(TOPIC, "new")
async def order_came(order: Order) -> None:
    """Handle a new order; an exception brings the message again."""
    print("order", order.number, ", ".join(order.items), flush=True)
    seen.release()


@router.handler(TOPIC, "paid || refunded")
async def payment_came(payment: Payment, message: MessageExt) -> None:
    """Handle a payment; a parameter of type MessageExt gets the message itself."""
    print(message.tags, payment.order, payment.cents, flush=True)
    seen.release()


async def main(namesrv: str) -> None:
    """Send an order, its payment and its refund, and handle them."""
    async with (
        MQClient(namesrv) as client,
        Producer(client, "typed") as producer,
        PushConsumer(client, "typed", SETTINGS) as consumer,
    ):
        await producer.publish(Order(7, ["tea", "cups"]), TOPIC, tags="new", keys=["o-7"])
        await producer.publish(Payment(7, 1250), TOPIC, tags="paid", keys=["o-7"])
        await producer.publish(Payment(7, -1250), TOPIC, tags="refunded", keys=["o-7"])
        router.register(consumer)
        await consumer.start()
        for _ in range(3):
            await seen.acquire()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))

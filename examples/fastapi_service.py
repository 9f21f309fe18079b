"""A FastAPI service that sends what it is told, and consumes beside its requests.

    POST /orders/{id}   sends a message
    GET  /seen          the orders the consumer has seen

NAMESRV_ADDR=127.0.0.1:9876 uvicorn examples.fastapi_service:app      (pip install fastapi uvicorn)
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

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

TOPIC = "ExampleService"
SETTINGS = PushSettings(consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
seen: list[str] = []


async def listen(
    messages: list[MessageExt], context: ConsumeConcurrentlyContext
) -> ConsumeConcurrentlyStatus:
    """Remember the orders; runs in the service's own loop, so it must not block."""
    seen.extend(message.body.decode() for message in messages)
    return ConsumeConcurrentlyStatus.CONSUME_SUCCESS


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Connect with the service and take leave with it."""
    async with (
        MQClient(os.environ["NAMESRV_ADDR"]) as client,
        Producer(client, "service") as producer,
        PushConsumer(client, "service", SETTINGS) as consumer,
    ):
        app.state.producer = producer
        consumer.subscribe(TOPIC)
        consumer.register_message_listener(listen)
        await consumer.start()
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/orders/{order_id}")
async def order(order_id: str) -> dict[str, str]:
    """Send an order, answer once the broker has stored it."""
    sent = await app.state.producer.send(Message(TOPIC, order_id.encode(), keys=[order_id]))
    return {"status": sent.status, "id": sent.unique_key}


@app.get("/seen")
async def orders_seen() -> list[str]:
    """Return what was consumed."""
    return seen

"""The router: which handler gets a message, with which arguments, and what is refused."""

import logging
import threading
from dataclasses import dataclass

import pytest

from mqclient.client.instance import MQClient
from mqclient.consumer.consumer_settings import PushSettings
from mqclient.consumer.listener.listeners import ConsumeConcurrentlyContext
from mqclient.consumer.listener.listeners import ConsumeConcurrentlyStatus as Status
from mqclient.consumer.listener.router import NoHandler, Router
from mqclient.consumer.push_consumer import PushConsumer
from mqclient.errors import BadRequest
from mqclient.message import MessageExt
from storefmt.formats.message import decode_record
from tests.mqclient.consuming import QUEUE
from tests.mqclient.fake import record


@dataclass
class Order:
    number: int


def message_of(topic: str, body: bytes, tag: str | None = None) -> MessageExt:
    properties = f"TAGS\x01{tag}\x02" if tag else ""
    return MessageExt(decode_record(record(topic, body, properties=properties)), "broker-0")


async def call(router: Router, message: MessageExt) -> tuple[Status | None, int]:
    """Return what the router returns for a message, and the delay level that it chose."""
    context = ConsumeConcurrentlyContext(QUEUE)
    return await router([message], context), context.delay_level


async def test_the_handler_of_the_tag_gets_the_message_and_else_that_of_the_topic() -> None:
    router = Router()
    seen: list[str] = []

    @router.handler("orders", "new || paid")
    async def new(order: Order) -> None:
        seen.append(f"new {order.number}")

    @router.handler("orders")
    async def other(order: Order) -> None:
        seen.append(f"other {order.number}")

    for tag in ("new", "paid", "gone", None):
        assert await call(router, message_of("orders", b'{"number": 7}', tag)) == (None, 0)

    assert seen == ["new 7", "new 7", "other 7", "other 7"]
    assert router.subscriptions() == {"orders": "*"}


async def test_parameters_are_found_by_their_annotations() -> None:
    router = Router()
    seen: list[object] = []

    @router.handler("all")
    async def everything(
        context: ConsumeConcurrentlyContext, number: int, message: MessageExt
    ) -> Status:
        seen.extend([number, message.topic, context.queue])
        return Status.RECONSUME_LATER

    @router.handler("nothing")
    async def nothing() -> None:
        seen.append("nothing")

    class Callable:
        async def __call__(self, body: bytes) -> None:
            seen.append(body)

    router.handler("callable")(Callable())

    assert await call(router, message_of("all", b"7")) == (Status.RECONSUME_LATER, 0)
    await call(router, message_of("nothing", b"7"))
    await call(router, message_of("callable", b"7"))

    assert seen == [7, "all", QUEUE, "nothing", b"7"]


async def test_a_plain_handler_runs_in_a_thread() -> None:
    router = Router()
    threads: list[threading.Thread] = []

    @router.handler("T")
    def handle(message: MessageExt) -> None:
        threads.append(threading.current_thread())

    await call(router, message_of("T", b"x"))

    assert threads != [threading.main_thread()]


async def test_a_body_of_another_type_goes_to_the_dead_letters_at_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    router = Router()

    @router.handler("orders")
    async def handle(order: Order) -> None:
        raise AssertionError

    with caplog.at_level(logging.ERROR):
        result = await call(router, message_of("orders", b'{"number": "x"}'))

    assert result == (Status.RECONSUME_LATER, -1)
    assert "body.number is 'x', expected int" in caplog.text


async def test_an_error_of_a_handler_or_a_missing_one_is_an_error_of_the_listener() -> None:
    router = Router()

    @router.handler("orders", "new")
    async def handle(order: Order) -> None:
        raise ValueError("not now")

    with pytest.raises(ValueError, match="not now"):
        await call(router, message_of("orders", b'{"number": 1}', "new"))
    for message in (message_of("orders", b"", "paid"), message_of("other", b"")):
        with pytest.raises(NoHandler):
            await call(router, message)


async def test_another_deserializer_reads_the_bodies() -> None:
    router = Router(deserializer=lambda body, kind: (kind, body))
    seen: list[object] = []

    @router.handler("T")
    async def handle(value: Order) -> None:
        seen.append(value)

    await call(router, message_of("T", b"x"))

    assert seen == [(Order, b"x")]


def unannotated(order) -> None:  # type: ignore[no-untyped-def]
    """Have a parameter that says nothing."""


def two_bodies(order: Order, number: int) -> None:
    """Have two parameters for the body."""


def two_messages(one: MessageExt, other: MessageExt) -> None:
    """Have two parameters for the message."""


def unknown(order: "Nowhere") -> None:  # type: ignore[name-defined]  # noqa: F821
    """Have an annotation that cannot be read."""


def by_position(order: Order, /) -> None:
    """Have a parameter without a name."""


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (unannotated, "parameter order of handler unannotated needs an annotation"),
        (two_bodies, "order and number of handler two_bodies are both for the body"),
        (two_messages, "one and other of handler two_messages are both for the message"),
        (unknown, "annotation of handler unknown cannot be read"),
        (by_position, "needs an annotation and a name"),
    ],
)
def test_a_handler_that_could_not_be_called_is_refused(function: object, text: str) -> None:
    with pytest.raises(BadRequest, match=text):
        Router().handler("T")(function)  # type: ignore[type-var]


def test_a_tag_has_one_handler() -> None:
    router = Router()
    router.handler("T", "A || B")(two_bodies_ok)
    with pytest.raises(BadRequest, match="topic T, tag B has a handler already"):
        router.handler("T", "B || C")(two_bodies_ok)
    with pytest.raises(BadRequest, match="no tag"):
        router.handler("T", " || ")
    assert router.subscriptions() == {"T": "A || B"}


async def two_bodies_ok(order: Order) -> None:
    """Have one parameter for the body."""


def test_it_registers_with_consumers_of_single_messages() -> None:
    router = Router()
    consumer = PushConsumer(MQClient("127.0.0.1:1"), "G")
    with pytest.raises(BadRequest, match="no handler"):
        router.register(consumer)
    router.handler("T", "A")(two_bodies_ok)
    many = PushSettings(consume_message_batch_max_size=2)
    with pytest.raises(BadRequest, match="consume_message_batch_max_size is 2"):
        router.register(PushConsumer(MQClient("127.0.0.1:1"), "G", many))

    router.register(consumer)

    (data,) = (each.data for each in consumer._subscriptions.values())
    assert (data.topic, data.sub_string) == ("T", "A")

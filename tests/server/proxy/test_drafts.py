"""Plain sends: a draft of the kernel is what the decoded request becomes, whatever the bytes."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

from mqclient.client.instance import MQClient
from mqserver.proxy.cluster import Cluster
from mqserver.proxy.context import ProxyContext
from mqserver.proxy.drafts import ReadPlainSend, SendDraft, SendLimits, send_limits
from mqserver.proxy.grpc_status import ProxyRefused
from mqserver.proxy.protocol.codes import DigestType, Encoding, MessageType
from mqserver.proxy.protocol.definitions import Digest, Message, Resource, SystemProperties
from mqserver.proxy.protocol.protobuf import BadMessage
from mqserver.proxy.protocol.requests import SendMessageRequest
from mqserver.proxy.proxy_config import ProxyConfig
from mqserver.proxy.sending import ProducerMethods
from mqserver.proxy.service import Service
from remoting.errors import BadCall
from tests.twins import compiled, needs_kernel

SMALL = ProxyConfig(max_message_size=64, max_user_property_size=40, user_property_max_num=3)
ADDRESS = "127.0.0.1:5"
CONTEXT = ProxyContext("client", "JAVA", "5.2.0", ADDRESS, None, None)
PLAIN_SENDS = compiled("PlainSends")
pytestmark = needs_kernel("PlainSends")

TEXTS = (
    *["a", "TagA", "order-1", "b c"] * 6,
    "",
    " ",
    "a|b",
    "x" * 30,
    "\x01",
    "\x7f",
    "\u00e9",
    "KEYS",
    "__BORNHOST",
)
NUMBERS = (None, 0, 1, -1, 1_700_000_000_123, (1 << 63) - 1)


def methods_of(config: ProxyConfig) -> ProducerMethods:
    cluster = Cluster(MQClient("127.0.0.1:1", clock_ms=lambda: 1_700_000_000_000))
    method = Service(config, cluster, lambda: 0).methods["SendMessage"].answer
    owner: ProducerMethods = method.__self__  # type: ignore[attr-defined]
    return owner


async def drafted(config: ProxyConfig, data: bytes) -> tuple[SendDraft, int] | str:
    """Return the draft of the general way and the number of items, or why there is none."""
    try:
        request, item_count = SendMessageRequest.decode_counted(data)
        return await methods_of(config)._draft(request, CONTEXT), item_count
    except (BadMessage, ProxyRefused, BadCall) as error:
        return str(error)


def random_request(draw: random.Random) -> SendMessageRequest:
    """Return a request, plain or not."""

    def text() -> str:
        return draw.choice(TEXTS)

    def maybe(make: Callable[[], Any], usual: Any = None, *, often: float = 0.2) -> Any:
        return make() if draw.random() < often else usual

    system = SystemProperties(
        tag=maybe(text),
        keys=[text() for _ in range(maybe(lambda: draw.randrange(4), 0))],
        message_id=maybe(text, "0102FC00000001431A0B166F9400000000"),
        body_digest=maybe(lambda: Digest(type=DigestType.CRC32, checksum=text())),
        body_encoding=draw.choice(list(Encoding)),
        message_type=draw.choice([MessageType.NORMAL] * 20 + list(MessageType)),
        born_timestamp=draw.choice(NUMBERS),
        born_host=maybe(text, "host"),
        queue_id=draw.choice((0, 5, -1)),
        message_group=maybe(text),
        trace_context=maybe(text),
        delivery_timestamp=maybe(lambda: draw.choice(NUMBERS), often=0.05),
        delivery_attempt=maybe(lambda: 3, often=0.05),
        priority=maybe(lambda: 3, often=0.05),
    )
    message = Message(
        topic=Resource(name=maybe(text, "T"), resource_namespace=maybe(text, "", often=0.1)),
        user_properties={
            f"{text()}{number}" if draw.random() < 0.8 else text(): text()
            for number in range(maybe(lambda: draw.randrange(5), 0, often=0.5))
        },
        system_properties=system,
        body=draw.choice((b"body", b"body", b"body", b"", b"b" * 64, b"b" * 65)),
    )
    return SendMessageRequest(messages=[message] * draw.choice((*[1] * 9, 2)))


def test_a_draft_of_a_kernel_is_that_of_the_general_way() -> None:
    draw = random.Random(33)
    read = PLAIN_SENDS(send_limits(SMALL)).read

    async def compare() -> int:
        plain_count = 0
        for _ in range(1_500):
            data = bytearray(random_request(draw).encode())
            if draw.random() < 0.3 and data:
                data[draw.randrange(len(data))] = draw.randrange(256)
            elif draw.random() < 0.1:
                del data[draw.randrange(len(data) + 1) :]
            found = read(bytes(data))
            if found is not None:
                plain_count += 1
                assert found == await drafted(SMALL, bytes(data))
        return plain_count

    assert asyncio.run(compare()) > 100


def test_the_usual_sends_of_clients_are_plain() -> None:
    config = ProxyConfig()
    read = PLAIN_SENDS(send_limits(config)).read
    usual = SystemProperties(
        message_id="0102FC00000001431A0B166F9400000000",
        message_type=MessageType.NORMAL,
        body_encoding=Encoding.IDENTITY,
        born_timestamp=1_700_000_000_123,
        born_host="host",
        queue_id=3,
    )
    more = SystemProperties(
        message_id="0102FC00000001431A0B166F9400000001",
        message_type=MessageType.FIFO,
        body_encoding=Encoding.GZIP,
        born_timestamp=1_700_000_000_123,
        born_host="host",
        tag="TagA",
        keys=["order-1", "order-2"],
        message_group="group",
        trace_context="00-1-2-00",
    )
    for system, own in ((usual, {}), (more, {"colour": "red", "size": "9"})):
        message = Message(
            topic=Resource(name="T"), user_properties=own, system_properties=system, body=b"body"
        )
        data = SendMessageRequest(messages=[message]).encode()

        found = read(data)

        assert found is not None
        assert found == asyncio.run(drafted(config, data))


def test_a_topic_that_is_refused_is_left_to_the_general_way() -> None:
    read: ReadPlainSend = PLAIN_SENDS(SendLimits(0, True, 100, 10, 10)).read

    def request(topic: str) -> bytes:
        system = SystemProperties(message_id="id", born_host="h", born_timestamp=1)
        message = Message(topic=Resource(name=topic), system_properties=system, body=b"b")
        return SendMessageRequest(messages=[message]).encode()

    plain = [read(request(topic)) is not None for topic in ("T", "TBW102", "a b", "%RETRY%g", "T")]

    assert plain == [True, False, False, False, True]

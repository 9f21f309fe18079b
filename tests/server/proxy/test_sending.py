"""Sends of gRPC clients: the requests that brokers get, and the queues they go to."""

import pytest

from mqclient.client.instance import MQClient
from mqserver.proxy.cluster import Cluster
from mqserver.proxy.context import Credentials, ProxyContext
from mqserver.proxy.grpc_status import ok
from mqserver.proxy.protocol.codes import Code
from mqserver.proxy.protocol.requests import (
    SendMessageRequest,
    SendMessageResponse,
    SendResultEntry,
)
from mqserver.proxy.proxy_config import ProxyConfig
from mqserver.proxy.sending import consistent_hash, stored_response
from mqserver.proxy.service import Service
from remoting.codes import LanguageCode, RequestCode
from remoting.headers import SendMessageResponse as Stored
from storefmt.formats.javahash import string_hash
from tests.mqclient.fake import FakeServer, serving
from tests.server.proxy.client import message

CONTEXT = ProxyContext("client", "GOLANG", "5.0.0", "127.0.0.1:5", None, None)
SEND = RequestCode.SEND_MESSAGE_V2


def served(fake: FakeServer, client: MQClient) -> Service:
    """Return the methods in front of a broker that stores every message."""
    fake.say(
        SEND, header=Stored(msg_id="7F00000100002A9F0000000000000000", queue_id=0, queue_offset=5)
    )
    config = ProxyConfig(enable_topic_message_type_check=False)
    return Service(config, Cluster(client), lambda: 0)


async def send(service: Service, context: ProxyContext = CONTEXT) -> SendMessageResponse:
    request = SendMessageRequest(messages=[message("T", born_timestamp=7)])
    data = await service.answer("SendMessage", request, context)
    return SendMessageResponse.decode(data)


async def test_requests_on_a_connection_are_those_that_open_it_and_that_are_signed() -> None:
    signing = CONTEXT._replace(credentials=Credentials("key", "secret"))
    async with serving() as (fake, client):
        fake.route("T", queues=1)
        service = served(fake, client)
        answers = [await send(service, context) for context in (CONTEXT, CONTEXT, signing, signing)]
        opening, following, *signed = fake.asked_for(SEND)
        await service.sessions.close()

    assert [each.entries[0].offset for each in answers] == [5] * 4
    assert opening.language == LanguageCode.GO
    following.opaque = opening.opaque
    assert following == opening
    for each in signed:
        assert each.ext.pop("AccessKey") == "key"
        assert each.ext.pop("Signature")
        assert each.ext.pop("AccessFor").startswith(f"mqfor1;{RequestCode.SEND_MESSAGE_V2};")
        each.opaque = opening.opaque
        assert each == opening


async def test_sends_go_to_the_queues_of_the_newest_route() -> None:
    async with serving() as (fake, client):
        fake.route("T", queues=1)
        service = served(fake, client)
        before = await send(service)
        fake.route("T", queues=1, perm=4)
        known = await send(service)
        client.forget_route("T")
        after = await send(service)
        await service.sessions.close()

    codes = [each.status.code for each in (before, known, after) if each.status is not None]
    assert codes == [Code.OK, Code.OK, Code.FORBIDDEN]


@pytest.mark.parametrize("queue_offset", [0, 1, 127, 128, 1 << 40])
def test_the_response_to_a_usual_send_has_the_bytes_of_its_message(queue_offset: int) -> None:
    for message_id in ("ID", "I" * 200, "\u00e9"):
        entry = SendResultEntry(status=ok(), message_id=message_id, offset=queue_offset)
        told = SendMessageResponse(status=ok(), entries=[entry])

        assert stored_response(message_id, queue_offset) == told.encode()


@pytest.mark.parametrize(
    ("group", "queues", "bucket"),
    [
        ("grp", 4, 0), ("grp", 16, 0), ("order-1", 1, 0), ("order-1", 4, 3), ("order-1", 16, 3),
        ("中文", 4, 3), ("中文", 8, 3), ("", 16, 0), ("x", 1, 0), ("x", 4, 1), ("x", 8, 4),
        ("x", 16, 12),
    ],
)  # fmt: skip
def test_the_bucket_is_that_of_guava(group: str, queues: int, bucket: int) -> None:
    assert consistent_hash(string_hash(group), queues) == bucket

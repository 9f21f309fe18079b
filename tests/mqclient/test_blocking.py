"""The waiting face: results and errors come through, and closing ends the thread."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from mqclient.admin import Admin
from mqclient.blocking import BlockingClient
from mqclient.errors import BadRequest, NoRoute
from mqclient.message import Message
from remoting.bodies import TopicList
from remoting.codes import RequestCode
from remoting.headers import SendMessageResponse
from tests.mqclient.fake import FakeServer


@pytest.fixture
def fake() -> Iterator[FakeServer]:
    """Yield a server that runs in a loop of its own, as a real one does."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = FakeServer()
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result()
    yield server
    asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def test_calls_wait_for_their_results_and_errors(fake: FakeServer) -> None:
    fake.route("T")
    fake.say(
        RequestCode.SEND_MESSAGE_V2,
        header=SendMessageResponse(msg_id="id", queue_id=0, queue_offset=3),
    )
    fake.say(
        RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, body=TopicList(topic_list=["T"]).encode()
    )

    with BlockingClient(fake.address) as client:
        assert client.send(Message("T", b"x")).queue_offset == 3
        assert client.run(Admin(client.mq).topic_list()) == ["T"]
        with pytest.raises(NoRoute):
            client.send(Message("Missing", b"x"))

    assert [t for t in threading.enumerate() if t.name.startswith("mqclient-")] == []


def test_closed_client_says_so(fake: FakeServer) -> None:
    client = BlockingClient(fake.address)
    client.close()
    client.close()

    with pytest.raises(BadRequest, match="closed"):
        client.run(Admin(client.mq).topic_list())

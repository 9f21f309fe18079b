"""The blocking client returns results and raises errors, and its thread ends when it is closed."""

import asyncio
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from traceback import format_exception

import pytest

from mqclient.admin.admin import Admin
from mqclient.blocking.admin import BlockingAdmin
from mqclient.blocking.client import BlockingClient
from mqclient.client.client_settings import ClientSettings
from mqclient.client.instance import MQClient
from mqclient.consumer.consumer_settings import LitePullSettings, PushSettings
from mqclient.consumer.listener.listeners import ConcurrentListener, ConsumeConcurrentlyContext
from mqclient.consumer.listener.listeners import ConsumeConcurrentlyStatus as Status
from mqclient.errors import BadRequest, ClientError, NoRoute
from mqclient.message import Message, MessageExt
from mqclient.producer.producer import Producer
from mqclient.producer.transaction_producer import LocalTransactionState
from mqserver.pytest_plugin import RocketMQ
from remoting.bodies import ConsumeFromWhere, MessageModel, MessageQueue, TopicList
from remoting.codes import RequestCode
from tests.golden import REPOSITORY
from tests.mqclient.fake import STORED, FakeServer
from tests.waiting import wait


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
    fake.say(RequestCode.SEND_MESSAGE_V2, header=STORED)
    fake.say(
        RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, body=TopicList(topic_list=["T"]).encode()
    )

    with BlockingClient(fake.address) as client:
        assert client.send(Message("T", b"x")).queue_offset == 5
        assert BlockingAdmin(client).topic_list() == ["T"]
        with pytest.raises(NoRoute):
            client.send(Message("Missing", b"x"))

    assert [t for t in threading.enumerate() if t.name.startswith("mqclient-")] == []


def test_closed_client_says_so(fake: FakeServer) -> None:
    client = BlockingClient(fake.address)
    client.close()
    client.close()

    with pytest.raises(BadRequest, match="closed"):
        client.run(Admin(client.mq).topic_list())


def test_closing_waits_for_what_is_on_its_way(fake: FakeServer) -> None:
    fake.route("T")
    fake.say(RequestCode.SEND_MESSAGE_V2, header=STORED)
    with BlockingClient(fake.address, timeout_s=60) as client:
        sent = [client.producer.send_async(Message("T", b"x")) for _ in range(5)]
    assert [future.result(timeout=90).queue_offset for future in sent] == [5] * 5


def test_a_call_that_waits_when_the_client_closes_says_so(fake: FakeServer) -> None:
    fake.do(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, lambda request: None)
    client = BlockingClient(fake.address, timeout_s=600)
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            client.run(Admin(client.mq).topic_list())
        except BaseException as error:
            errors.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    wait(lambda: fake.asked)
    client.close()
    asking.join()
    assert isinstance(errors[0], ClientError)


def test_a_call_inside_of_the_own_loop_is_refused(fake: FakeServer) -> None:
    async def inside() -> None:
        client.send(Message("T", b"x"))

    with (
        BlockingClient(fake.address) as client,
        pytest.raises(BadRequest, match="inside of the loop") as refused,
    ):
        client.run(inside())
    assert "let the listener be a plain function" in "".join(format_exception(refused.value))


def test_an_interrupted_call_is_cancelled(
    fake: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, cancelled = threading.Event(), threading.Event()

    async def long() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    def interrupted(future: object) -> None:
        assert begun.wait(90)
        raise KeyboardInterrupt

    with BlockingClient(fake.address) as client:
        with monkeypatch.context() as patched:
            patched.setattr("concurrent.futures.Future.result", interrupted)
            with pytest.raises(KeyboardInterrupt):
                client.run(long())
        assert cancelled.wait(90)


FORKED = """
import os
from mqclient import BadRequest, BlockingClient, Message
client = BlockingClient("127.0.0.1:1")
if os.fork():
    raise SystemExit(os.waitstatus_to_exitcode(os.wait()[1]))
try:
    client.send(Message("T", b"x"))
except BadRequest as error:
    client.close()
    os._exit(7 if "fork" in str(error) and "gunicorn's post_fork" in error.hint else 1)
"""


def test_a_fork_is_told_that_the_client_stayed_behind() -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORKED]
    assert subprocess.run(command, cwd=REPOSITORY, timeout=90, check=False).returncode == 7


def test_a_client_whose_event_loop_has_ended_says_so(fake: FakeServer) -> None:
    fake.route("T")
    fake.say(RequestCode.SEND_MESSAGE_V2, header=STORED)
    client = MQClient(fake.address, timeout_s=60)
    producer = Producer(client)
    # The first connects, the second writes on the connection that it finds.
    sends = [producer.send(Message("T", b"x")) for _ in range(3)]

    async def twice() -> None:
        await sends[0]
        await sends[1]

    asyncio.run(twice())
    with pytest.raises(BadRequest, match="lives in one loop"):
        asyncio.run(sends[2])
    with pytest.raises(BadRequest, match="lives in one loop"):
        asyncio.run(client.route("T", fresh=True))


def putting(got: "queue.SimpleQueue[bytes]") -> ConcurrentListener:
    """Return a plain listener that gives on the body of each message."""

    def listen(messages: list[MessageExt], context: ConsumeConcurrentlyContext) -> Status:
        got.put(messages[0].body)
        return Status.CONSUME_SUCCESS

    return listen


def test_push_and_poll_and_transactions_without_awaiting(rocketmq: RocketMQ) -> None:
    from_first = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
    got: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    class Commits:
        def execute_local_transaction(self, message: Message, arg: object) -> LocalTransactionState:
            return LocalTransactionState[str(arg)]

        def check_local_transaction(self, message: MessageExt) -> LocalTransactionState:
            return LocalTransactionState.ROLLBACK_MESSAGE

    with BlockingClient(rocketmq.namesrv, timeout_s=60) as client:
        client.send(Message("BlockAll", b"one"))
        with client.transaction_producer("block-tx", Commits()) as producer:
            for arg in ("COMMIT_MESSAGE", "ROLLBACK_MESSAGE"):
                result = producer.send_message_in_transaction(
                    Message("BlockAll", arg.encode()), arg
                )
                assert result.state.name == arg
        settings = PushSettings(consume_from_where=from_first)
        with client.push_consumer("block-push", putting(got), {"BlockAll": "*"}, settings=settings):
            assert {got.get(timeout=60) for _ in range(2)} == {b"one", b"COMMIT_MESSAGE"}
        lite = LitePullSettings(consume_from_where=from_first)
        with client.lite_pull_consumer("block-lite", {"BlockAll": "*"}, lite) as consumer:
            polled: list[bytes] = []
            while len(polled) < 2:
                polled += [message.body for message in consumer.poll(1000)]
            consumer.commit()
            assert set(polled) == {b"one", b"COMMIT_MESSAGE"}
            consumer.seek(consumer.assignment()[0], 0)
        assert client.mq.members.consumers == {}


def test_a_broadcasting_member_goes_on_where_it_was(
    rocketmq: RocketMQ, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = PushSettings(
        message_model=MessageModel.BROADCASTING,
        consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
        await_termination_ms_when_shutdown=60_000,
    )

    place: list[MessageQueue] = []

    def life(name: str | None, body: bytes, count: int) -> set[bytes]:
        """Send a message to the one queue, return the first ones that come."""
        got: queue.SimpleQueue[bytes] = queue.SimpleQueue()

        names = ClientSettings(instance_name=name)
        with BlockingClient(rocketmq.namesrv, timeout_s=60, client_settings=names) as client:
            place.append(client.send(Message("BlockCast", body), queue=(place or [None])[0]).queue)
            topics = {"BlockCast": "*"}
            with client.push_consumer("block-cast", putting(got), topics, settings=settings):
                return {got.get(timeout=60) for _ in range(count)}

    assert (life(None, b"1", 1), life(None, b"2", 1)) == ({b"1"}, {b"2"})
    # Threads hand them out, in any order.
    assert life("other", b"3", 3) == {b"1", b"2", b"3"}


def test_a_request_waits_for_its_reply(rocketmq: RocketMQ) -> None:
    with (
        BlockingClient(rocketmq.namesrv, timeout_s=60) as client,
        BlockingClient(rocketmq.namesrv, timeout_s=60) as other,
    ):
        client.send(Message("BlockAsk", b"makes the topic"))

        def reply(messages: list[MessageExt], context: ConsumeConcurrentlyContext) -> Status:
            if "CORRELATION_ID" in messages[0].properties:
                other.producer.reply(messages[0], messages[0].body.upper())
            return Status.CONSUME_SUCCESS

        with other.push_consumer("block-reply", reply, {"BlockAsk": "*"}):
            answer = client.request(Message("BlockAsk", b"loud"), timeout_s=30)
            assert answer.body == b"LOUD"


def test_a_running_consumer_is_changed_from_a_thread_that_does_not_await(
    rocketmq: RocketMQ,
) -> None:
    got: queue.SimpleQueue[str] = queue.SimpleQueue()

    def listen(messages: list[MessageExt], context: ConsumeConcurrentlyContext) -> Status:
        # Listeners, too, run outside of the loop.
        consumer.update_core_pool_size(2)
        got.put(messages[0].topic)
        return Status.CONSUME_SUCCESS

    settings = PushSettings(consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
    with BlockingClient(rocketmq.namesrv, timeout_s=60) as client:
        for topic in ("BlockOne", "BlockTwo"):
            client.send(Message(topic, b"x"))
        with client.push_consumer(
            "block-change", listen, {"BlockOne": "*"}, settings=settings
        ) as consumer:
            assert got.get(timeout=60) == "BlockOne"
            consumer.subscribe("BlockTwo")
            assert got.get(timeout=60) == "BlockTwo"
            consumer.unsubscribe("BlockOne")
            wait(lambda: "BlockOne" not in {each.topic for each in consumer.assignment()})

"""Each blocking class has every public method of its async class, and the methods work."""

import inspect
import queue
import threading
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager

import pytest

from mqclient.admin.admin import Admin
from mqclient.blocking.admin import BlockingAdmin
from mqclient.blocking.client import (
    BlockingClient,
    BlockingLitePullConsumer,
    BlockingProducer,
    BlockingPullConsumer,
    BlockingPushConsumer,
    BlockingSimpleConsumer,
    BlockingTransactionProducer,
)
from mqclient.blocking.proxy import BlockingProxy
from mqclient.client.instance import MQClient
from mqclient.client.members import ConsumerMember
from mqclient.consumer.consumer_settings import LitePullSettings, PushSettings
from mqclient.consumer.listener.listeners import (
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
)
from mqclient.consumer.lite_pull_consumer import LitePullConsumer
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.consumer.push_consumer import PushConsumer
from mqclient.consumer.simple_consumer import SimpleConsumer
from mqclient.errors import BadRequest, NoRoute
from mqclient.message import Message, MessageExt
from mqclient.producer.producer import Producer
from mqclient.producer.producer_settings import ProducerSettings
from mqclient.producer.send_result import SendResult
from mqclient.producer.transaction_producer import TransactionProducer
from mqserver.pytest_plugin import RocketMQ
from remoting.bodies import ConsumeFromWhere, MessageModel, MessageQueue
from tests.waiting import wait

Own = AbstractAsyncContextManager[object, None]
FACES: list[tuple[type[BlockingProxy[Own]], type[Own]]] = [
    (BlockingProducer, Producer),
    (BlockingTransactionProducer, TransactionProducer),
    (BlockingPushConsumer, PushConsumer),
    (BlockingLitePullConsumer, LitePullConsumer),
    (BlockingPullConsumer, PullConsumer),
    (BlockingSimpleConsumer, SimpleConsumer),
    (BlockingAdmin, Admin),
]
OF_THE_CLIENT = {name for name in dir(ConsumerMember) if not name.startswith("_")} | {"deliver"}
"""What members and parts of the package ask of a producer or consumer, and no user does."""
FROM_FIRST = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")} - OF_THE_CLIENT


@pytest.mark.parametrize(("face", "kind"), FACES)
def test_each_public_method_is_there_and_takes_the_same(
    face: type[BlockingProxy[Own]], kind: type[Own]
) -> None:
    missing = [
        f"{name} = blocking_call({kind.__name__}.{name})" for name in public(kind) - set(dir(face))
    ]
    assert not missing, f"lines for {face.__module__}: {missing}"
    for name in public(kind):
        method = getattr(kind, name)
        if callable(method):
            assert inspect.signature(getattr(face, name)) == inspect.signature(method), name
            assert not inspect.iscoroutinefunction(getattr(face, name)), name


@pytest.mark.parametrize(("face", "kind"), FACES)
def test_each_is_made_in_the_same_way(face: type[BlockingProxy[Own]], kind: type[Own]) -> None:
    faces, kinds = (
        [
            (each.name, each.kind, each.default)
            for each in inspect.signature(made).parameters.values()
        ]
        for made in (face, kind)
    )
    assert faces == kinds


def test_the_client_takes_what_the_asynchronous_one_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    not_for_threads = {"on_request", "clock_ms", "direct"}
    names = set(inspect.signature(MQClient).parameters) - not_for_threads
    given: dict[str, object] = {}

    class Recorded(MQClient):
        def __init__(self, namesrv: str, **kwargs: object) -> None:
            given.update(kwargs)
            super().__init__(namesrv)

    values = {name: object() for name in names - {"namesrv"}}
    # There ``settings`` are those of its producer.
    of_client = {**values, "client_settings": values["settings"]}
    del of_client["settings"]
    monkeypatch.setattr("mqclient.blocking.client.MQClient", Recorded)
    with BlockingClient("127.0.0.1:1", **of_client):  # type: ignore[arg-type]
        assert given == values


def test_a_subclass_has_its_own_way() -> None:
    class Nothing:
        """No transaction is begun here."""

    with BlockingClient("127.0.0.1:1") as client:
        producer = BlockingTransactionProducer(client, "G", Nothing())  # type: ignore[arg-type]
        producer.shutdown()
        with pytest.raises(BadRequest, match="producer of group G was shut down"):
            producer.send_message_in_transaction(Message("T", b"x"))


def test_plain_methods_may_be_called_in_the_loop_and_waiting_ones_may_not() -> None:
    with BlockingClient("127.0.0.1:1") as client:
        consumer = BlockingLitePullConsumer(client, "G")

        async def listener() -> list[MessageQueue]:
            with pytest.raises(BadRequest, match="inside of the loop"):
                consumer.start()
            with pytest.raises(BadRequest, match="inside of the loop"):
                client.producer.send_async(Message("T", b"x"))
            consumer.subscribe("T")
            return consumer.assignment()

        assert client.run(listener()) == []


@pytest.mark.parametrize(("local_dir", "is_refused"), [("offsets", False), (None, True), (5, True)])
def test_a_directory_of_offsets_is_a_path_or_its_text(
    local_dir: object, *, is_refused: bool
) -> None:
    cast = PushSettings(message_model=MessageModel.BROADCASTING)
    with BlockingClient("127.0.0.1:1") as client:
        if is_refused:
            with pytest.raises(BadRequest, match=r"local_dir .* is not a path"):
                BlockingPushConsumer(client, "G", cast, local_dir=local_dir)  # type: ignore[arg-type]
        else:
            BlockingPushConsumer(client, "G", cast, local_dir=local_dir)  # type: ignore[arg-type]


def has_route(client: BlockingClient, topic: str) -> bool:
    try:
        return bool(client.run(client.mq.route(topic)))
    except NoRoute:
        return False


def test_a_simple_consumer_of_the_client_begins_where_it_is_asked_to(rocketmq: RocketMQ) -> None:
    with BlockingClient(rocketmq.namesrv, timeout_s=60) as client:
        client.send(Message("begins", b"old"))
        # The broker registers the topic that it has made a moment after its answer.
        wait(lambda: has_route(client, "begins"))
        with client.simple_consumer(
            "begins-first", {"begins": "*"}, consume_from_where=FROM_FIRST
        ) as consumer:
            (message,) = consumer.receive(1, invisible_ms=60_000)
            consumer.ack(message)
        with (
            pytest.raises(BadRequest, match="CONSUME_FROM_TIMESTAMP"),
            client.simple_consumer(
                "begins-then",
                {"begins": "*"},
                consume_from_where=ConsumeFromWhere.CONSUME_FROM_TIMESTAMP,
            ),
        ):
            pass

    assert message.body == b"old"


def test_a_producer_with_settings_sends_in_every_way(rocketmq: RocketMQ) -> None:
    settings = ProducerSettings(default_topic_queue_nums=3)
    with (
        BlockingClient(rocketmq.namesrv, timeout_s=60) as client,
        BlockingProducer(client, "face-producer", settings) as producer,
        BlockingAdmin(client) as admin,
    ):
        sent = [
            producer.send(Message("FaceSend", b"0"), sharding_key="k"),
            producer.send_batch([Message("FaceSend", b"1"), Message("FaceSend", b"2")]),
            *producer.send_batches([Message("FaceSend", b"3")]),
            producer.send(Message("FaceSend", b"4"), select=lambda queues, message: queues[-1]),
        ]
        future: Future[SendResult] = producer.send_async(Message("FaceSend", b"5"))
        assert future.result(timeout=60).queue.topic == "FaceSend"
        producer.send_oneway(Message("FaceSend", b"6"))
        wait(lambda: "FaceSend" in admin.topic_list())
        queues = producer.queues("FaceSend")
        assert len(queues) == 3
        assert sent[-1].queue == queues[-1]
        wait(lambda: sum(producer.max_offset(each) for each in queues) == 7)
        assert client.mq.members.producers.keys() == {"face-producer"}


def test_a_script_takes_queues_goes_back_in_them_and_pauses_them(rocketmq: RocketMQ) -> None:
    settings = LitePullSettings(auto_commit=False, consume_from_where=FROM_FIRST)
    with (
        BlockingClient(rocketmq.namesrv, timeout_s=60) as client,
        BlockingLitePullConsumer(client, "face-lite", settings) as consumer,
        BlockingPullConsumer(client, "face-lite") as reader,
        BlockingAdmin(client) as admin,
    ):
        where = client.send(Message("FaceLite", b"first")).queue
        client.send(Message("FaceLite", b"second"), queue=where)
        wait(lambda: "FaceLite" in admin.topic_list())
        consumer.assign([where])
        consumer.start()

        def polled(count: int) -> list[bytes]:
            bodies: list[bytes] = []
            while len(bodies) < count:
                bodies += [message.body for message in consumer.poll(1000)]
            return bodies

        assert polled(2) == [b"first", b"second"]
        consumer.seek(where, 0)
        assert polled(2) == [b"first", b"second"]
        consumer.pause([where])
        client.send(Message("FaceLite", b"third"), queue=where)
        assert consumer.poll(0) == []
        consumer.resume([where])
        assert polled(1) == [b"third"]
        consumer.commit({where: 2})
        assert (consumer.is_running, consumer.assignment()) == (True, [where])
        assert reader.committed(where) == 2
        assert [each.body for each in reader.pull(where, queue_offset=1).messages[:1]] == [
            b"second"
        ]


def test_a_consumer_is_made_started_and_stopped_by_hand(rocketmq: RocketMQ) -> None:
    got: queue.SimpleQueue[tuple[str, bool]] = queue.SimpleQueue()
    loop: list[threading.Thread] = []
    settings = PushSettings(consume_from_where=FROM_FIRST)
    with BlockingClient(rocketmq.namesrv, timeout_s=60) as client:
        client.send(Message("FacePush", b"x"))
        consumer = BlockingPushConsumer(client, "face-push", settings)

        @consumer.concurrently
        def listen(
            messages: list[MessageExt], context: ConsumeConcurrentlyContext
        ) -> ConsumeConcurrentlyStatus:
            consumer.suspend()
            client.send(Message("FacePushed", messages[0].body))
            consumer.resume()
            got.put((messages[0].topic, threading.current_thread() in loop))
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

        consumer.subscribe("FacePush")
        loop.append(client.call(threading.current_thread))
        consumer.start()
        assert got.get(timeout=90) == ("FacePush", False)
        consumer.shutdown()
        assert client.mq.members.consumers == {}
        with pytest.raises(BadRequest, match="consumer of group face-push was shut down"):
            consumer.subscribe("FacePush")


def test_blocks_and_iterations_are_those_of_the_async_classes(rocketmq: RocketMQ) -> None:
    settings = LitePullSettings(consume_from_where=FROM_FIRST)
    with BlockingClient(rocketmq.namesrv, timeout_s=60) as client:
        futures = [
            client.producer.send_soon(Message("FaceBlocks", b"%d" % number)) for number in range(6)
        ]
        assert {future.result(timeout=60).status for future in futures} == {"SEND_OK"}
        wait(lambda: BlockingAdmin(client).topic_list(), lambda names: "FaceBlocks" in names)

        with client.lite_pull_consumer("face-blocks", {"FaceBlocks": "*"}, settings) as lite:
            bodies = []
            for message in lite:
                bodies.append(message.body)
                if len(bodies) == 3:
                    break
            while len(bodies) < 6:
                with lite.batch() as messages:
                    bodies += [message.body for message in messages]
        assert sorted(bodies) == [b"%d" % number for number in range(6)]

        topics = {"FaceBlocks": "*"}
        with client.simple_consumer("face-simple", topics, consume_from_where=FROM_FIRST) as simple:
            popped: list[bytes] = []
            for message in simple:
                with simple.consuming(message, again_ms=1_000):
                    popped.append(message.body)
                if len(set(popped)) == 6:
                    break
        with pytest.raises(BadRequest, match="was shut down"), lite.batch():
            raise AssertionError

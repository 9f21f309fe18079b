"""The official clients of RocketMQ 5 through the real proxy of 5.4.0, and through our endpoint.

Each test runs one scenario with one client against one side. A client that lacks a feature has no
test of it: ``HAS`` is the list.

Rule: `make test-full` has every scenario of the Python client on our endpoint, and one of those of
Java, Go and Node. The others are part of `make soak`, and so is the client in Rust, which takes two
minutes to compile.
"""

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.errors import NoRoute
from storefmt.config.fastjson import Json
from storefmt.config.tables import SubscriptionGroup, TopicConfig
from tests.interop.kit.five_clients import FiveClient, Line, Refused
from tests.interop.kit.our_clients import run
from tests.interop.kit.proxy import Proxy
from tests.interop.kit.servers import Broker, JavaSide, Namesrv, OurSide
from tests.ports import free_ports
from tests.waiting import TIMEOUT_S, eventually

pytestmark = pytest.mark.java

EVERYTHING: Final = frozenset({"transactions", "push", "hide", "recall"})
HAS: Final[Mapping[str, frozenset[str]]] = {
    "python": EVERYTHING,
    "java": EVERYTHING,
    "go": EVERYTHING - {"push", "recall"},
    "node": EVERYTHING,
    "rust": EVERYTHING - {"push", "hide", "recall"},
}
"""What each client has, besides messages of every kind and a simple consumer."""

SETTINGS: Final[Mapping[str, str]] = {
    "transactionCheckInterval": "2000",
    "transactionTimeOut": "2000",
    "recallMessageEnable": "true",
}
SETTINGS_OF_REAL: Final[Mapping[str, str]] = {
    **SETTINGS,
    # 5.x notes for 3 s what was decided before it stores that, and asks again meanwhile.
    "transactionOpBatchInterval": "100",
}
INVISIBLE_S: Final = 10
"""The least invisible time that the real proxy gives."""
RETRY_AFTER_MS: Final = 1_000
QUEUES: Final = 2


class Endpoint(NamedTuple):
    """Where clients connect, and where topics and groups are made."""

    side: str
    grpc: str
    broker: str
    namesrv: str

    def topic(self, kind: str) -> str:
        """Return a new topic for messages of a kind: NORMAL, FIFO, DELAY or TRANSACTION."""
        name = f"Five_{kind}_{uuid.uuid4().hex[:6]}"
        config, attributes = TopicConfig(name, QUEUES, QUEUES), f"+message.type={kind}"

        async def make(client: MQClient) -> None:
            await Admin(client).create_topic(self.broker, config, attributes=attributes)

        run(self.namesrv, make)
        return name

    def group(self, *, in_order: bool = False, attempts: int = 17) -> str:
        """Return a new group, whose messages are delivered at most ``attempts`` times."""
        name = f"FiveGroup_{uuid.uuid4().hex[:6]}"
        extra: dict[str, Json] = {
            "consumeMessageOrderly": in_order,
            "groupRetryPolicy": {
                "type": "CUSTOMIZED",
                "customizedRetryPolicy": {"next": [RETRY_AFTER_MS]},
            },
        }
        group = SubscriptionGroup(name, retry_max_times=attempts - 1, extra=extra)
        run(self.namesrv, lambda client: Admin(client).create_group(self.broker, group))
        return name

    def count(self, topic: str, at_least: int) -> int:
        """Return how many messages a topic has, once there are as many as that."""

        async def count(admin: Admin) -> int:
            try:
                return sum(at.max_offset for at in (await admin.topic_stats(topic)).values())
            except NoRoute:
                # The name server hears of a topic that a broker has made itself a moment later.
                return 0

        return run(
            self.namesrv,
            lambda client: eventually(
                lambda: count(Admin(client)), lambda found: found >= at_least
            ),
        )


@pytest.fixture(scope="module")
def real(five: JavaSide, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """Yield the real proxy, with its broker and its name server."""
    store = tmp_path_factory.mktemp("five") / "store"
    with (
        Namesrv(five) as namesrv,
        Proxy(five, store=store, namesrv=namesrv.address, settings=SETTINGS_OF_REAL) as proxy,
    ):
        yield Endpoint("real", proxy.address, proxy.broker_address, namesrv.address)


@pytest.fixture(scope="module")
def ours(our_side: OurSide, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """Yield the endpoint in our broker, with our name server."""
    store, grpc = tmp_path_factory.mktemp("ours5") / "store", free_ports(1)
    settings = {**SETTINGS, "grpcServerPort": str(grpc)}
    with (
        Namesrv(our_side) as namesrv,
        Broker(our_side, store=store, namesrv=namesrv.address, settings=settings) as broker,
    ):
        yield Endpoint("ours", f"127.0.0.1:{grpc}", broker.address, namesrv.address)


@pytest.fixture(scope="module", params=[pytest.param("real", marks=pytest.mark.soak), "ours"])
def endpoint(request: pytest.FixtureRequest) -> Endpoint:
    """Return the real endpoint, then ours."""
    found: Endpoint = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="module")
def programs(
    endpoint: Endpoint, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], FiveClient]]:
    """Yield a function that returns the running program of a client."""
    running: dict[str, FiveClient] = {}

    def started(name: str) -> FiveClient:
        if name not in running or not running[name].is_running:
            scratch: Path = tmp_path_factory.mktemp(name)
            running[name] = FiveClient(name, endpoint.grpc, scratch)
        return running[name]

    yield started
    for program in running.values():
        program.kill()


@pytest.fixture
def client(
    request: pytest.FixtureRequest, programs: Callable[[str], FiveClient]
) -> Iterator[FiveClient]:
    """Yield the program of one client; it is started anew behind a test that failed in it."""
    found = programs(request.param)
    yield found
    try:
        found.close()
    except Exception:
        found.kill()
        raise


def having(feature: str = "", *, is_quick: bool = False) -> pytest.MarkDecorator:
    """Run a test with each client that has a feature; of a quick one only Rust is left to soak."""
    clients = []
    for name, features in HAS.items():
        is_short = name == "python" or (is_quick and name != "rust")
        marks = [] if is_short else [pytest.mark.soak]
        if not feature or feature in features:
            # Not the bare name: every test has the marker ``java``, which ``-k java`` takes, too.
            clients.append(pytest.param(name, id=f"{name}5", marks=marks))
    return pytest.mark.parametrize("client", clients, indirect=True)


def received(client: FiveClient, count: int, *, invisible_s: int = 60) -> list[Line]:
    """Return the next messages of a simple consumer, acknowledged, in the order they came."""
    got: list[Line] = []
    end_s = time.monotonic() + TIMEOUT_S
    while len(got) < count:
        assert time.monotonic() < end_s, f"{len(got)} messages of {count} came: {got}"
        for message in client.receive(invisible_s=invisible_s):
            client.ack(message)
            got.append(message)
    return got


def one(client: FiveClient, *, invisible_s: int) -> Line:
    """Return the next message of a simple consumer, not acknowledged."""
    end_s = time.monotonic() + TIMEOUT_S
    while time.monotonic() < end_s:
        messages = client.receive(1, invisible_s=invisible_s)
        if messages:
            (message,) = messages
            return message
    raise AssertionError("no message came")


def bodies(messages: list[Line]) -> list[str]:
    return [message["body"] for message in messages]


@having(is_quick=True)
def test_a_message_arrives_with_all_that_it_was_sent_with(
    client: FiveClient, endpoint: Endpoint
) -> None:
    topic, group = endpoint.topic("NORMAL"), endpoint.group()
    client.consume(group, topic)
    client.produce(topic)
    sent = client.send(
        topic, "Zürich 中文", tag="A", keys=["k1", "k2"], properties={"age": "30", "city": "中"}
    )

    (got,) = received(client, 1)

    assert (got["id"], got["body"], got["tag"], got["attempt"]) == (
        sent["id"],
        "Zürich 中文",
        "A",
        1,
    )
    assert (sorted(got["keys"]), got["group"]) == (["k1", "k2"], "")
    assert {"age": "30", "city": "中"}.items() <= got["properties"].items()


@having()
def test_messages_of_a_message_group_arrive_in_order(
    client: FiveClient, endpoint: Endpoint
) -> None:
    topic, group = endpoint.topic("FIFO"), endpoint.group(in_order=True)
    client.produce(topic)
    for number in range(10):
        client.send(topic, str(number), group=f"order-{number % 2}")
    client.consume(group, topic)

    got = received(client, 10)

    for half in range(2):
        of_group = [message for message in got if message["group"] == f"order-{half}"]
        assert bodies(of_group) == [str(number) for number in range(half, 10, 2)]


@having()
def test_a_delayed_message_arrives_at_its_time(client: FiveClient, endpoint: Endpoint) -> None:
    topic, group = endpoint.topic("DELAY"), endpoint.group()
    client.produce(topic)
    deliver_s = int(time.time()) + 4
    client.send(topic, "late", deliver_s=deliver_s)
    client.consume(group, topic)

    (got,) = received(client, 1)

    assert got["body"] == "late"
    assert time.time() >= deliver_s


@having("transactions")
def test_transactions_are_committed_rolled_back_and_asked_for(
    client: FiveClient, endpoint: Endpoint
) -> None:
    topic, group = endpoint.topic("TRANSACTION"), endpoint.group()
    client.produce(topic, check="commit")
    for end in ("commit", "rollback", "leave"):
        client.send(topic, end, end=end)
    client.consume(group, topic)

    got = received(client, 2)

    assert sorted(bodies(got)) == ["commit", "leave"]
    assert client.event("checked")["body"] == "leave"


@having("push")
def test_a_push_consumer_gets_every_message_and_again_what_it_refused(
    client: FiveClient, endpoint: Endpoint
) -> None:
    topic, group = endpoint.topic("NORMAL"), endpoint.group()
    client.produce(topic)
    for number in range(4):
        client.send(topic, str(number), tag="A")
    client.listen(group, topic, failures=1)

    got = [client.event("message") for _ in range(8)]

    attempts = {(message["body"], message["attempt"]) for message in got}
    assert attempts == {(str(number), attempt) for number in range(4) for attempt in (1, 2)}


@having()
def test_what_is_not_acknowledged_comes_again(client: FiveClient, endpoint: Endpoint) -> None:
    topic, group = endpoint.topic("NORMAL"), endpoint.group()
    client.produce(topic)
    client.consume(group, topic)
    client.send(topic, "acknowledged")
    client.ack(one(client, invisible_s=INVISIBLE_S))
    client.send(topic, "not acknowledged")

    first = one(client, invisible_s=INVISIBLE_S)
    second = one(client, invisible_s=INVISIBLE_S)

    assert bodies([first, second]) == ["not acknowledged"] * 2
    assert (first["attempt"], second["attempt"]) == (1, 2)
    assert first["id"] == second["id"]
    client.ack(second)


@having("hide")
def test_a_shorter_invisible_time_brings_a_message_back_earlier(
    client: FiveClient, endpoint: Endpoint
) -> None:
    topic, group = endpoint.topic("NORMAL"), endpoint.group()
    client.produce(topic)
    client.consume(group, topic)
    client.send(topic, "x")
    first = one(client, invisible_s=600)
    client.hide(first, INVISIBLE_S)

    second = one(client, invisible_s=600)

    assert (first["id"], first["attempt"]) == (second["id"], 1)
    assert second["attempt"] == 2
    client.ack(second)


@having("push")
def test_what_is_refused_too_often_becomes_a_dead_letter(
    client: FiveClient, endpoint: Endpoint
) -> None:
    topic, group = endpoint.topic("NORMAL"), endpoint.group(attempts=2)
    client.produce(topic)
    sent = client.send(topic, "x")
    client.listen(group, topic, failures=99)

    got = [client.event("message") for _ in range(2)]

    assert endpoint.count(f"%DLQ%{group}", 1) == 1
    assert [(message["id"], message["attempt"]) for message in got] == [
        (sent["id"], 1),
        (sent["id"], 2),
    ]


@having()
@pytest.mark.parametrize("expression", ["A || C", "age > 15"])
def test_a_consumer_gets_only_what_its_filter_takes(
    client: FiveClient, endpoint: Endpoint, expression: str
) -> None:
    topic, group = endpoint.topic("NORMAL"), endpoint.group()
    client.produce(topic)
    for tag, age in (("A", 20), ("B", 10), ("C", 30)):
        client.send(topic, tag, tag=tag, properties={"age": str(age)})
    client.consume(group, topic, expression, sql="age" in expression)

    got = received(client, 2)

    assert sorted(bodies(got)) == ["A", "C"]


@having("recall")
def test_a_recalled_message_does_not_arrive(client: FiveClient, endpoint: Endpoint) -> None:
    topic, group = endpoint.topic("DELAY"), endpoint.group()
    client.produce(topic)
    deliver_s = int(time.time()) + 6
    sent = client.send(topic, "recalled", deliver_s=deliver_s)
    client.send(topic, "kept", deliver_s=deliver_s + 2)

    recalled = client.ask("recall", topic=topic, handle=sent["handle"])

    client.consume(group, topic)
    assert recalled["id"] == sent["id"]
    assert bodies(received(client, 1)) == ["kept"]


@having()
def test_a_message_of_the_wrong_kind_is_refused(client: FiveClient, endpoint: Endpoint) -> None:
    topic = endpoint.topic("NORMAL")
    client.produce(topic)

    with pytest.raises(Refused, match=r"(?i)type"):
        client.send(topic, "x", group="G")

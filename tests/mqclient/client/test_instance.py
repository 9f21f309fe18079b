"""The client: the order of name servers, cached routes, errors and signatures."""

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.client_settings import ClientSettings
from mqclient.client.instance import MQClient, local_ip, parse_addresses
from mqclient.consumer.lite_pull_consumer import LitePullConsumer
from mqclient.consumer.push_consumer import PushConsumer
from mqclient.consumer.simple_consumer import SimpleConsumer
from mqclient.errors import BadAnswer, BadRequest, NoRoute, TimedOut, Unreachable
from mqclient.producer.producer import Producer
from mqclient.producer.producer_settings import ProducerSettings
from remoting.acl import is_signed
from remoting.bodies import MessageQueue, TopicRouteData
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.errors import RemotingError
from tests.mqclient.fake import NOW_MS, FakeServer, serving
from tests.waiting import eventually

DOWN = "127.0.0.1:1"


def test_addresses_are_split_and_get_a_port() -> None:
    assert parse_addresses(" a:1 ; b,c:3;") == ["a:1", "b:9876", "c:3"]
    for nothing in ("", " ; "):
        with pytest.raises(BadRequest, match="no name server is given"):
            MQClient(nothing)


def test_addresses_may_be_a_list() -> None:
    assert parse_addresses(["a:1", "b;c:3", "[::1]:9876"]) == ["a:1", "b:9876", "c:3", "[::1]:9876"]


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"namesrv": 9876}, "namesrv is 9876, expected a text or a list of texts"),
        ({"namesrv": [9876]}, r"namesrv is \[9876\], expected"),
        ({"namesrv": []}, "no name server is given"),
        ({"namesrv": "http://a:9876"}, "namesrv has 'http://a:9876', expected host:port"),
        ({"namesrv": "a:port"}, "namesrv has 'a:port', and 'port' is not a port"),
        ({"namesrv": "a:65536"}, "'65536' is not a port"),
        ({"timeout_s": 0}, "timeout_s is 0, expected a number of seconds above 0"),
        ({"timeout_s": "5"}, "timeout_s is '5'"),
        ({"settings": ProducerSettings()}, "settings is ProducerSettings.*expected ClientSettings"),
        ({"tls": True}, "tls is True, expected ClientTls"),
        ({"access_key": "only"}, "go together"),
    ],
)
def test_a_wrong_parameter_is_named(parameters: dict[str, object], text: str) -> None:
    with pytest.raises(BadRequest, match=text):
        MQClient(**{"namesrv": "a:1", **parameters})  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [Producer, PushConsumer, LitePullConsumer])
def test_other_settings_and_a_group_that_is_not_a_text_are_refused(
    kind: type[Producer | PushConsumer | LitePullConsumer],
) -> None:
    client = MQClient("a:1")
    with pytest.raises(BadRequest, match="settings is ClientSettings"):
        kind(client, "G", ClientSettings())  # type: ignore[arg-type]
    with pytest.raises(BadRequest, match="group is 7, expected a text"):
        kind(client, 7)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [SimpleConsumer, PushConsumer, LitePullConsumer])
def test_a_subscription_that_is_not_a_text_is_refused(
    kind: type[SimpleConsumer | PushConsumer | LitePullConsumer],
) -> None:
    consumer = kind(MQClient("a:1"), "G")
    with pytest.raises(BadRequest, match="topic is 7, expected a text"):
        consumer.subscribe(7)  # type: ignore[arg-type]
    with pytest.raises(BadRequest, match=r"expression is \['A'\], expected a text"):
        consumer.subscribe("T", ["A"])  # type: ignore[arg-type]


async def test_a_client_without_name_server_says_so_when_one_is_asked() -> None:
    async with MQClient(None) as client:
        admin = Admin(client)

        for ask in (admin.topic_list(), admin.kv_put("ns", "key", "value")):
            with pytest.raises(BadRequest, match="no name server is given"):
                await ask

    assert not admin.has_namesrv


def test_own_address_is_one() -> None:
    assert len(local_ip().split(".")) == 4


def test_clients_of_one_tick_of_the_clock_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.monotonic_ns", lambda: NOW_MS)

    assert len({MQClient(DOWN).client_id for _ in range(3)}) == 3


def test_one_key_without_the_other_is_refused() -> None:
    with pytest.raises(BadRequest, match="go together"):
        MQClient("a:1", access_key="ak")


async def test_route_is_asked_once_and_again_when_it_is_old_or_dropped() -> None:
    now_ms = NOW_MS
    async with FakeServer() as fake:
        fake.route("T")
        async with fake.client(clock_ms=lambda: now_ms) as client:
            first = await client.route("T")
            assert await client.route("T") is first
            client.forget_route("T")
            await client.route("T")
            await client.route("T", fresh=True)
            now_ms += 60_000
            await client.route("T")
    assert [command.ext["topic"] for command in fake.asked] == ["T"] * 4


async def test_known_route_outlives_name_servers_that_are_away_or_know_nothing() -> None:
    now_ms = NOW_MS
    async with FakeServer() as fake:
        fake.route("T")
        async with fake.client(clock_ms=lambda: now_ms, timeout_s=60) as client:
            known = await client.route("T")
            client.namesrv_addresses[:] = [DOWN]
            for _ in range(3):
                now_ms += 600_000
                assert await client.route("T") is known
                client.doubt_route("T")
                assert await client.route("T") is known
            assert await client.master_of(MessageQueue("T", "broker-0", 0)) == fake.address
            for topic, fresh in (("T", True), ("Other", False)):
                with pytest.raises(Unreachable):
                    await client.route(topic, fresh=fresh)
            client.namesrv_addresses[:] = [fake.address]
            fake.route()
            now_ms += 600_000
            assert await client.route("T") is known
            with pytest.raises(NoRoute):
                await client.route("T", fresh=True)
            assert await client.route("T") is known
            fake.route("T", brokers=2)

            async def newest() -> TopicRouteData:
                client.doubt_route("T")
                return await client.route("T")

            # Nobody waits long for a newer route, so it may be used by a later question.
            await eventually(newest, lambda route: len(route.broker_datas) == 2)


async def test_unknown_topic_has_no_route_and_unknown_broker_no_address(fake: FakeServer) -> None:
    fake.route("T")
    async with fake.client() as client:
        with pytest.raises(NoRoute) as topic:
            await client.route("Other")
        with pytest.raises(NoRoute) as broker:
            await client.master_of(MessageQueue("T", "elsewhere", 0))
        assert (topic.value.address, topic.value.remark) == (fake.address, "No topic route info")
        assert "elsewhere" in str(broker.value)
        assert await client.master_of(MessageQueue("T", "broker-0", 0)) == fake.address


async def test_next_name_server_is_asked_and_the_good_one_stays_first(fake: FakeServer) -> None:
    fake.route("T")
    async with MQClient(f"{DOWN};{fake.address}", timeout_s=60) as client:
        await client.route("T")
        assert client.namesrv_addresses == [fake.address, DOWN]


async def test_when_no_name_server_answers_all_are_named() -> None:
    async with (
        FakeServer() as fake,
        MQClient(f"{fake.address};{DOWN}", timeout_s=0.05) as client,
    ):
        with pytest.raises(Unreachable) as both:
            await client.route("T")
    assert DOWN in str(both.value)
    assert fake.address in str(both.value)


async def test_silence_and_hanging_up_are_told_apart(fake: FakeServer) -> None:
    fake.drop(2)
    fake.say(3)
    async with fake.client(timeout_s=0.05) as client:
        # With the connection made, only the answer can be late.
        await client.invoke(fake.address, Command.request(3), timeout_s=60)
        with pytest.raises(TimedOut):
            await client.invoke(fake.address, Command.request(1))
    async with fake.client() as client:
        with pytest.raises(Unreachable):
            await client.invoke(fake.address, Command.request(2))
        with pytest.raises(BadRequest):
            await client.invoke("no port", Command.request(1))
        with pytest.raises(Unreachable):
            await client.invoke_oneway(DOWN, Command.request(1, oneway=True))


async def test_body_that_is_no_route_is_named(fake: FakeServer) -> None:
    fake.say(RequestCode.GET_ROUTEINFO_BY_TOPIC, body=b"<html>")
    async with fake.client() as client:
        with pytest.raises(BadAnswer, match=fake.address):
            await client.route("T")


async def test_every_exchange_is_observed_and_addresses_are_mapped() -> None:
    seen: list[tuple[str, int, object]] = []

    def observe(
        address: str, request: Command, outcome: Command | RemotingError | None, elapsed_ms: float
    ) -> None:
        assert elapsed_ms >= 0
        seen.append((address, request.code, getattr(outcome, "code", None)))

    async with FakeServer() as fake:
        fake.say(7, 0)
        async with fake.client(
            on_exchange=observe, address_map={"10.0.0.1:10911": fake.address}
        ) as client:
            await client.call("10.0.0.1:10911", 7, what="x")
        address = fake.address

    assert seen == [(address, 7, 0)]


async def test_requests_are_signed_when_there_are_keys(fake: FakeServer) -> None:
    fake.route("T")
    async with fake.client(access_key="rocketmq2", secret_key="12345678") as client:
        await client.route("T")
    request = fake.asked[0]

    assert request.ext["AccessKey"] == "rocketmq2"
    assert is_signed(request, "12345678")


async def test_ping_asks_a_name_server_and_the_brokers_of_the_members() -> None:
    async with serving() as (fake, client):
        assert await client.ping() == {fake.address: 0}
        assert fake.asked_for(RequestCode.HEART_BEAT) == []
        fake.take_members()
        consumer = LitePullConsumer(client, "G")
        consumer.subscribe("T")
        await client.members.join_consumer(consumer)
        fake.asked.clear()

        assert await client.ping() == {fake.address: 0}

        assert len(fake.asked_for(RequestCode.HEART_BEAT)) == 1


async def test_ping_raises_the_error_of_a_server_that_does_not_answer() -> None:
    async with serving() as (fake, client):
        fake.say(RequestCode.HEART_BEAT)
        fake.drop(RequestCode.HEART_BEAT)
        consumer = LitePullConsumer(client, "G")
        consumer.subscribe("T")
        await client.members.join_consumer(consumer)
        with pytest.raises(Unreachable, match=fake.address):
            await client.ping()
    async with MQClient(DOWN, timeout_s=1) as client:
        with pytest.raises(Unreachable):
            await client.ping()

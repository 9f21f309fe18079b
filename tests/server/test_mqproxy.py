"""``mqproxy`` in front of a broker with users decides and answers as the broker's own endpoint."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqserver.mqproxy import endpoint_of
from mqserver.proxy.context import FAILED
from mqserver.proxy.protocol.codes import Code
from mqserver.proxy.protocol.requests import QueryRouteRequest, QueryRouteResponse
from mqserver.proxy.proxy_config import proxy_config
from mqserver.runtime.clock import SystemClock
from mqserver.runtime.typed_config import SettingsError, Value
from remoting.codes import RequestCode
from storefmt.errors import ConfigDamaged
from tests.server.broker.acl.test_call_rights import T, client_of, first_status, make, refused, told
from tests.server.broker.desk import create
from tests.server.proxy.client import Bench, bench, consumer, message, producer
from tests.waiting import eventually

INNER = '{"accessKey":"root","secretKey":"rootPw"}'
ON = {
    "authenticationEnabled": "true",
    "authorizationEnabled": "true",
    "innerClientAuthenticationCredentials": INNER,
}
BROKER = ON | {"initAuthenticationUser": '{"username":"root","password":"rootPw"}'}
ROUTE = QueryRouteRequest(topic=T)


def values(settings: dict[str, str]) -> Iterable[Value]:
    return [Value(key, text, "test") for key, text in settings.items()]


@asynccontextmanager
async def in_front_of(broker: Bench, **settings: str) -> AsyncIterator[Bench]:
    """Run mqproxy in front of a broker, and yield clients of it."""
    own = {"namesrvAddr": broker.at.namesrv, "grpcServerPort": "0", "bindAddress": "127.0.0.1"}
    endpoint = endpoint_of(proxy_config(values(ON | own | settings)), SystemClock())
    port = await endpoint.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield Bench(broker.at, channel, broker.admin)
    finally:
        await endpoint.stop()


async def status_of_route(desk: Bench, name: str) -> tuple[Code, str]:
    return first_status(await client_of(desk, name).ask("QueryRoute", ROUTE, QueryRouteResponse))


async def answers(desk: Bench) -> list[tuple[Code, str]]:
    """Return what users with different rules are answered."""
    alice, bob, carol = (client_of(desk, name) for name in ("alice", "bob", "carol"))
    async with bob.telemetry(consumer("G", "T")):
        calls = [
            await desk.client().ask("QueryRoute", ROUTE, QueryRouteResponse),
            await client_of(desk, "alice", "wrong").send(message("T")),
            await client_of(desk, "root", "alicePw").send(message("T")),
            await alice.send(message("T")),
            await alice.send(message("U")),
            await bob.send(message("T")),
            await carol.ask("QueryRoute", ROUTE, QueryRouteResponse),
            *(await alice.receive("T", "G"))[:1],
        ]
        got = await bob.receive("T", "G")
        handles = [
            part.message.system_properties.receipt_handle
            for part in got
            if part.message is not None
        ]
        calls.append(await bob.ack("T", "G", handles[0]))
        calls.append(await alice.ack("T", "G", handles[0]))
    streams = [await told(alice, consumer("G", "T")), await told(alice, producer("T", "U"))]
    return [*map(first_status, calls), *streams]


async def test_users_and_rules_of_the_broker_are_checked(tmp_path: Path) -> None:
    async with bench(tmp_path, *values(BROKER)) as broker:
        await make(broker, "alice", "Pub Topic:T")
        await make(broker, "bob", "Sub Topic:T", "Sub Group:G")
        await make(broker, "carol", "All * 10.0.0.0/8")
        async with MQClient(broker.at.namesrv, access_key="root", secret_key="rootPw") as root:
            code = RequestCode.UPDATE_AND_CREATE_TOPIC
            await root.call(broker.at.broker, code, create("T"), what="topic T")
        async with in_front_of(broker) as proxy:
            await eventually(
                lambda: status_of_route(proxy, "alice"), lambda said: said[0] is Code.OK
            )
            by_broker, by_proxy = await answers(broker), await answers(proxy)

    assert by_proxy == by_broker
    assert [code for code, _ in by_proxy].count(Code.OK) == 2
    assert by_proxy[:2] == [(Code.UNAUTHORIZED, FAILED)] * 2
    assert (Code.UNAUTHORIZED, refused("alice", "Group:G")) in by_proxy


async def test_a_change_at_the_broker_counts_soon(tmp_path: Path) -> None:
    async with bench(tmp_path, *values(BROKER)) as broker:
        await make(broker, "alice", "Pub Topic:T")
        async with in_front_of(broker, userCacheRefreshSecond="1") as proxy:
            await eventually(
                lambda: status_of_route(proxy, "alice"),
                lambda said: said[0] is Code.TOPIC_NOT_FOUND,
            )
            async with MQClient(broker.at.namesrv, access_key="root", secret_key="rootPw") as root:
                await Admin(root).delete_user(broker.at.broker, "alice")
            gone = await eventually(
                lambda: status_of_route(proxy, "alice"), lambda said: said[0] is Code.UNAUTHORIZED
            )

    assert gone == (Code.UNAUTHORIZED, FAILED)


async def test_everybody_is_refused_where_brokers_do_not_take_the_keys(tmp_path: Path) -> None:
    wrong = '{"accessKey":"root","secretKey":"other"}'
    async with (
        bench(tmp_path, *values(BROKER)) as broker,
        in_front_of(broker, innerClientAuthenticationCredentials=wrong) as proxy,
    ):
        said = await status_of_route(proxy, "root")

    assert said[0] is Code.INTERNAL_SERVER_ERROR
    assert said[1].startswith("users are not known yet")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"authorizationEnabled": "true"}, "anybody could name any user"),
        ({"authenticationEnabled": "true"}, "innerClientAuthenticationCredentials"),
        (ON | {"aclEnable": "true", "rocketmqHome": "/nowhere"}, "choose one kind of accounts"),
    ],
)
def test_settings_that_cannot_be_used_are_an_error_at_the_start(
    settings: dict[str, str], says: str
) -> None:
    with pytest.raises(SettingsError, match=says):
        proxy_config(values({"namesrvAddr": "127.0.0.1:9876"} | settings))


def test_keys_that_cannot_be_read_are_not_quoted() -> None:
    given = {
        "namesrvAddr": "h:1",
        "innerClientAuthenticationCredentials": '{"accessKey":"secretX"}',
    }
    config = proxy_config(values(ON | given))

    with pytest.raises(ConfigDamaged) as caught:
        endpoint_of(config, SystemClock())

    assert "secretX" not in str(caught.value)

"""Registration with name servers, ours as the other side."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mqserver.broker.deletions import delete_topic
from remoting.bodies import ClusterInfo, RegisterBrokerBody, TopicRouteData
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.headers import (
    AddWritePermOfBroker,
    GetRouteInfo,
    PutKVConfig,
    UnRegisterBroker,
    WipeWritePermOfBroker,
)
from tests.server.broker.desk import Desk, name_server, running
from tests.waiting import eventually, until


async def route(desk: Desk, namesrv: str, topic: str) -> Command:
    command = Command.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, GetRouteInfo(topic=topic))
    return await desk.client.invoke(namesrv, command)


async def broker_count(desk: Desk, namesrv: str) -> int:
    command = Command.request(RequestCode.GET_BROKER_CLUSTER_INFO)
    answer = await desk.client.invoke(namesrv, command)
    return len(ClusterInfo.decode(answer.body).broker_addr_table)


@asynccontextmanager
async def registered(root: Path, **settings: object) -> AsyncIterator[tuple[str, Desk]]:
    """Run a name server, and a broker that is registered there."""
    async with (
        name_server(root) as namesrv,
        running(root / "store", namesrv_addr=namesrv, **settings) as desk,
    ):
        yield namesrv, desk


@asynccontextmanager
async def registered_twice(root: Path, **settings: object) -> AsyncIterator[tuple[str, str, Desk]]:
    """Run two name servers, and a broker that is registered at both."""
    for name in ("a", "b"):
        (root / name).mkdir()
    async with (
        name_server(root / "a") as first,
        name_server(root / "b") as second,
        running(root / "store", namesrv_addr=f"{first};{second}", **settings) as desk,
    ):
        yield first, second, desk


@pytest.mark.parametrize("compressed", [False, True])
async def test_started_broker_is_known_to_every_name_server(
    tmp_path: Path, compressed: bool
) -> None:
    async with registered_twice(tmp_path, compressed_register=compressed) as (*namesrvs, desk):
        for namesrv in namesrvs:
            data = TopicRouteData.decode((await route(desk, namesrv, "TBW102")).body)
            assert data.broker_datas[0].broker_addrs == {0: desk.address}
            assert (data.broker_datas[0].cluster, data.queue_datas[0].perm) == ("TestCluster", 7)


async def test_auto_created_topic_is_told_without_waiting_for_the_next_round(
    tmp_path: Path,
) -> None:
    async with registered(tmp_path) as (namesrv, desk):
        await desk.send(topic="Fresh")
        while (answer := await route(desk, namesrv, "Fresh")).code != 0:
            await asyncio.sleep(0)
        assert TopicRouteData.decode(answer.body).queue_datas[0].write_queue_nums == 4


def registrations(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, set[str]]]:
    """Return a list that grows with each registration: the name server, and the topics."""
    told: list[tuple[str, set[str]]] = []
    client = desk.app._client
    invoke = client.invoke

    async def noted(address: str, command: Command, *, timeout_s: float) -> Command:
        if command.code == RequestCode.REGISTER_BROKER:
            body = RegisterBrokerBody.decode(command.body)
            told.append((address, set(body.topic_config_serialize_wrapper.topic_config_table)))
        return await invoke(address, command, timeout_s=timeout_s)

    monkeypatch.setattr(client, "invoke", noted)
    return told


async def test_creation_registers_the_new_topic_alone_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with registered(tmp_path) as (namesrv, desk):
        told = registrations(desk, monkeypatch)
        await desk.create_topic("First")
        await desk.create_topic("Second")
        assert (await route(desk, namesrv, "Second")).code == 0
        assert (await route(desk, namesrv, "TBW102")).code == 0
        broker = desk.app.broker
        delete_topic(broker, "First", now_ms=0, done=lambda why: None)
        await until(lambda: len(told) == 3)
        await desk.app.broker.registration.round(0)

    assert told[:3] == [(namesrv, {"First"}), (namesrv, {"Second"}), (namesrv, set())]
    assert {"Second", "TBW102"} <= told[3][1]
    assert len(told) == 4


async def test_name_server_that_forgot_the_broker_is_told_all_topics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the real broker tells would be taken for everything until the next change."""
    async with registered_twice(tmp_path) as (first, second, desk):
        told = registrations(desk, monkeypatch)
        config = desk.app._config
        forget = UnRegisterBroker(
            broker_name=config.broker_name,
            broker_addr=config.broker_addr,
            cluster_name=config.broker_cluster_name,
            broker_id=0,
        )
        await desk.client.invoke(first, Command.request(RequestCode.UNREGISTER_BROKER, forget))
        await desk.create_topic("Fresh")
        for namesrv in (first, second):
            for topic in ("Fresh", "TBW102"):
                assert (await route(desk, namesrv, topic)).code == 0

    topics = dict(told)
    assert {"Fresh", "TBW102"} <= topics[first]
    assert topics[second] == {"Fresh"}


async def test_change_of_the_permission_registers_all_topics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with registered(tmp_path) as (namesrv, desk):
        told = registrations(desk, monkeypatch)
        answer = await desk.ask(RequestCode.UPDATE_BROKER_CONFIG, body=b"brokerPermission=4")
        assert answer.code == 0
        await until(lambda: told)
        data = TopicRouteData.decode((await route(desk, namesrv, "TBW102")).body)

    assert "TBW102" in told[0][1]
    assert data.queue_datas[0].perm == 4


async def test_permission_that_is_set_again_registers_what_a_name_server_wiped(
    tmp_path: Path,
) -> None:
    async with registered(tmp_path) as (namesrv, desk):
        name = desk.app._config.broker_name
        for code, header in (
            (RequestCode.WIPE_WRITE_PERM_OF_BROKER, WipeWritePermOfBroker(broker_name=name)),
            (RequestCode.ADD_WRITE_PERM_OF_BROKER, AddWritePermOfBroker(broker_name=name)),
        ):
            await desk.client.invoke(namesrv, Command.request(code, header))

        async def perm() -> int:
            data = TopicRouteData.decode((await route(desk, namesrv, "TBW102")).body)
            return data.queue_datas[0].perm

        assert await perm() == 6
        await desk.ask(RequestCode.UPDATE_BROKER_CONFIG, body=b"brokerPermission=6")
        assert await eventually(perm, lambda found: found == 7) == 7


async def test_stopped_broker_is_gone_at_once(tmp_path: Path) -> None:
    async with name_server(tmp_path) as namesrv:
        async with running(tmp_path / "store", namesrv_addr=namesrv) as desk:
            before = await broker_count(desk, namesrv)
        async with running(tmp_path / "other") as desk:
            assert (before, await broker_count(desk, namesrv)) == (1, 0)


async def test_name_servers_say_which_topics_are_ordered(tmp_path: Path) -> None:
    async with registered(tmp_path) as (namesrv, desk):
        await desk.create_topic("Orders")
        put = PutKVConfig(namespace="ORDER_TOPIC_CONFIG", key="Orders", value="broker-a:1")
        await desk.client.invoke(namesrv, Command.request(RequestCode.PUT_KV_CONFIG, put))
        await desk.app.broker.registration.round(0)

        assert desk.app.broker.topics.get("Orders").order


async def test_round_without_force_tells_only_what_changed(tmp_path: Path) -> None:
    async with registered(tmp_path, force_register=False) as (_, desk):
        registration = desk.app.broker.registration
        unchanged = await registration._is_needed()
        desk.app.broker.topics._on_change = lambda: None
        desk.app.broker.topics.touch(5)
        assert (unchanged, await registration._is_needed()) == (False, True)


async def test_broker_serves_without_its_name_server(tmp_path: Path) -> None:
    async with running(tmp_path, namesrv_addr="127.0.0.1:1") as desk:
        assert (await desk.send()).code == 0

"""A filter server between a consumer and a broker: routes, uploads, pulls, permissions."""

import asyncio
import threading
import zlib
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from mqclient.client.instance import MQClient
from mqclient.consumer.pull.pull_request import PullResult, PullStatus
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.errors import BrokerRefused
from mqclient.message import Message
from mqclient.producer.producer import Producer
from mqserver.filterserver.app import FilterServerApp
from mqserver.filterserver.filterserver_config import FilterServerConfig
from mqserver.filterserver.module import FilterEngine, FilterModule
from mqserver.runtime.clock import SystemClock
from remoting.aio.client import RemotingClient
from remoting.bodies import MessageQueue
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.headers import RegisterMessageFilterClass as FilterClass
from tests.server.broker.acl.homes import ADMIN, OTHER, SECRETS, USER, signed, write_home
from tests.server.broker.desk import Desk, create, name_server, pull, running
from tests.server.filterserver import wat
from tests.waiting import eventually, until

QUEUE = MessageQueue("T", "broker-a", 0)


@dataclass
class Scene:
    """A broker, its filter server and a client of both."""

    desk: Desk
    app: FilterServerApp
    address: str
    client: MQClient
    consumer: PullConsumer


@asynccontextmanager
async def scene(root: Path, **settings: object) -> AsyncIterator[Scene]:
    async with (
        name_server(root) as namesrv,
        running(root / "store", namesrv_addr=namesrv) as desk,
        filter_server(desk.address, **settings) as (app, address),
        MQClient(namesrv, timeout_s=60) as client,
    ):
        await desk.create_topic()
        await until(lambda: desk.app.broker.filter_servers.addresses() == [address])
        await eventually(
            lambda: client.route("T", fresh=True), lambda route: route.filter_server_table
        )
        yield Scene(desk, app, address, client, PullConsumer(client, "G"))


@asynccontextmanager
async def filter_server(
    broker: str, **settings: object
) -> AsyncIterator[tuple[FilterServerApp, str]]:
    config = FilterServerConfig(
        connect_which_broker=broker,
        bind_address="127.0.0.1",
        filter_server_ip="127.0.0.1",
        **settings,  # type: ignore[arg-type]
    )
    app = FilterServerApp(config, SystemClock())
    port = await app.start()
    try:
        yield app, f"127.0.0.1:{port}"
    finally:
        await app.stop()


@pytest.fixture
def one(tmp_path: Path) -> AbstractAsyncContextManager[Scene]:
    """Return a scene with the usual settings."""
    return scene(tmp_path)


async def send(one: Scene, *bodies: bytes) -> None:
    for body in bodies:
        await Producer(one.client).send(Message("T", body), queue=QUEUE)


async def filtered(consumer: PullConsumer, queue_offset: int = 0) -> PullResult:
    """Pull what the filter of a group keeps."""
    return await consumer.pull(QUEUE, queue_offset=queue_offset, class_filter=True)


def bodies(answer: PullResult) -> list[bytes]:
    return [message.body for message in answer.messages]


def upload(source: bytes, *, crc: int | None = None) -> Command:
    header = FilterClass(
        consumer_group="G",
        topic="T",
        class_name="example",
        class_crc=zlib.crc32(source) & 0x7FFFFFFF if crc is None else crc,
    )
    return Command.request(RequestCode.REGISTER_MESSAGE_FILTER_CLASS, header, body=source)


async def test_consumer_gets_what_its_filter_keeps(one: Scene) -> None:
    await one.consumer.upload_filter("T", "starts-with-a", wat.module(wat.FIRST_IS_A))
    await send(one, b"a1", b"b1", b"a2", b"b2")
    found, at = [], 0
    for is_filtered in (True, False):
        answer = await one.consumer.pull(QUEUE, queue_offset=at, class_filter=is_filtered)
        found.append((bodies(answer), answer.next_offset))

    assert found == [([b"a1", b"a2"], 4), ([b"a1", b"b1", b"a2", b"b2"], 4)]


async def test_messages_that_are_all_left_out_move_the_offset_on(one: Scene) -> None:
    await one.consumer.upload_filter("T", "starts-with-a", wat.module(wat.FIRST_IS_A))
    await send(one, b"b1", b"b2")

    first = await filtered(one.consumer)
    end = await filtered(one.consumer, first.next_offset)

    assert (first.status, first.next_offset) == (PullStatus.NO_MATCHED_MSG, 2)
    assert (end.status, end.next_offset) == (PullStatus.NO_NEW_MSG, 2)


async def test_offset_outside_of_the_queue_is_told_as_by_the_broker(one: Scene) -> None:
    await one.consumer.upload_filter("T", "all", wat.module(wat.TAKES_ALL))
    await send(one, b"a1")

    answer = await filtered(one.consumer, 9)

    assert (answer.status, answer.next_offset) == (PullStatus.OFFSET_ILLEGAL, 1)


async def test_pull_waits_at_the_broker_and_is_woken(one: Scene) -> None:
    await one.consumer.upload_filter("T", "starts-with-a", wat.module(wat.FIRST_IS_A))
    waiting = asyncio.create_task(
        one.consumer.pull(QUEUE, queue_offset=0, class_filter=True, suspend_ms=30_000)
    )
    await until(lambda: len(one.desk.app.broker.puller.held))
    await send(one, b"a1")

    assert bodies(await waiting) == [b"a1"]


async def test_offset_that_comes_with_a_pull_is_committed_at_the_broker(one: Scene) -> None:
    await one.consumer.upload_filter("T", "all", wat.module(wat.TAKES_ALL))
    await send(one, b"a1", b"a2")
    header = pull(queue_offset=1, sys_flag=1 | 4 | 8, commit_offset=1)

    await one.desk.client.invoke(one.address, Command.request(RequestCode.PULL_MESSAGE, header))

    assert await one.consumer.committed(QUEUE) == 1


async def test_group_without_a_filter_is_told_to_upload_it(one: Scene) -> None:
    with pytest.raises(BrokerRefused, match="has no filter for topic T here"):
        await filtered(one.consumer)


async def test_last_upload_of_a_group_is_its_filter(one: Scene) -> None:
    for text in (wat.FIRST_IS_A, wat.TAKES_ALL):
        await one.consumer.upload_filter("T", "changing", wat.module(text))
    await send(one, b"b1")

    assert bodies(await filtered(one.consumer)) == [b"b1"]


async def test_filters_go_on_while_a_module_is_compiled(
    one: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    compile_now = FilterEngine.compile

    def compile_late(engine: FilterEngine, source: bytes) -> FilterModule:
        begun.set()
        go_on.wait()
        return compile_now(engine, source)

    await one.consumer.upload_filter("T", "starts-with-a", wat.module(wat.FIRST_IS_A))
    await send(one, b"a1", b"b1")
    monkeypatch.setattr(FilterEngine, "compile", compile_late)
    other = PullConsumer(one.client, "other")
    late = asyncio.create_task(other.upload_filter("T", "all", wat.module(wat.TAKES_ALL)))
    await until(begun.is_set)
    try:
        found = await filtered(one.consumer)
    finally:
        go_on.set()
    await late

    assert bodies(found) == [b"a1"]


@pytest.mark.parametrize("text", [wat.LOOP, wat.TRAP, wat.BOMB])
async def test_hostile_filter_loses_nothing_and_stops_nobody(tmp_path: Path, text: str) -> None:
    async with scene(tmp_path, filter_fuel=100000) as one:
        await one.consumer.upload_filter("T", "hostile", wat.module(text))
        other = PullConsumer(one.client, "other")
        await other.upload_filter("T", "starts-with-a", wat.module(wat.FIRST_IS_A))
        await send(one, b"a1", b"b1")
        hostile, good = await asyncio.gather(filtered(one.consumer), filtered(other))

    assert (bodies(hostile), bodies(good)) == ([b"a1", b"b1"], [b"a1"])


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (upload(b"no module"), "not a WebAssembly module"),
        (upload(wat.module(wat.TAKES_ALL), crc=7), "classCRC is 7"),
        (upload(bytes(2_000)), "2000 bytes, the limit is 1000"),
    ],
)
async def test_upload_that_cannot_be_a_filter_is_refused(
    tmp_path: Path, command: Command, reason: str
) -> None:
    async with scene(tmp_path, filter_module_size_max=1000) as one:
        answer = await one.desk.client.invoke(one.address, command)

    assert answer.code == 1
    assert reason in (answer.remark or "")


async def test_one_filter_too_many_drops_the_one_used_longest_ago(tmp_path: Path) -> None:
    async with scene(tmp_path, filter_count_max=2) as one:
        groups = [PullConsumer(one.client, f"G{number}") for number in range(3)]
        for consumer in groups[:2]:
            await consumer.upload_filter("T", "all", wat.module(wat.TAKES_ALL))
        await filtered(groups[0])
        await groups[2].upload_filter("T", "all", wat.module(wat.TAKES_ALL))
        found = []
        for consumer in groups:
            try:
                await filtered(consumer)
                found.append(True)
            except BrokerRefused:
                found.append(False)

    assert found == [True, False, True]


async def test_stopped_filter_server_leaves_the_routes(one: Scene) -> None:
    await one.app.stop()

    await until(lambda: not one.desk.app.broker.filter_servers.addresses())
    await eventually(
        lambda: one.client.route("T", fresh=True), lambda found: found.filter_server_table == {}
    )


async def test_unknown_request_is_refused(one: Scene) -> None:
    command = Command.request(RequestCode.GET_MAX_OFFSET)

    assert (await one.desk.client.invoke(one.address, command)).code == 3


async def test_consumer_that_goes_away_ends_its_waiting_pull(one: Scene) -> None:
    await one.consumer.upload_filter("T", "all", wat.module(wat.TAKES_ALL))
    client = RemotingClient()
    header = pull(sys_flag=2 | 4 | 8, suspend_timeout_millis=30_000)
    command = Command.request(RequestCode.PULL_MESSAGE, header)
    waiting = asyncio.create_task(client.invoke(one.address, command, timeout_s=30))
    await until(lambda: len(one.desk.app.broker.puller.held))
    await client.close()
    await asyncio.gather(waiting, return_exceptions=True)

    await until(lambda: one.app.pending_count == 0)


async def test_broker_with_accounts_decides_who_uploads_and_pulls(tmp_path: Path) -> None:
    home = write_home(tmp_path)
    keys = {"access_key": ADMIN, "secret_key": SECRETS[ADMIN]}
    async with (
        running(tmp_path / "store", acl_enable=True, rocketmq_home=home) as desk,
        filter_server(desk.address, **keys) as (_, address),
    ):
        made = signed(RequestCode.UPDATE_AND_CREATE_TOPIC, create("T"), by=ADMIN)
        codes = [(await desk.client.invoke(desk.address, made)).code]
        await until(desk.app.broker.filter_servers.addresses)
        source = wat.module(wat.TAKES_ALL)
        for key in (USER, OTHER, None):
            asked = signed(302, upload(source).header(FilterClass), body=source, by=key)
            codes.append((await desk.client.invoke(address, asked)).code)
            asked = signed(RequestCode.PULL_MESSAGE, pull(sys_flag=4 | 8), by=key)
            codes.append((await desk.client.invoke(address, asked)).code)
        assert codes == [0, 0, 19, 1, 1, 1, 1]


async def test_filter_server_without_an_admins_key_is_not_listed_by_a_broker_with_accounts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home = write_home(tmp_path)
    keys = {"access_key": USER, "secret_key": SECRETS[USER]}
    async with (
        running(tmp_path / "store", acl_enable=True, rocketmq_home=home) as desk,
        filter_server(desk.address, **keys),
    ):
        await until(lambda: "refused the registration" in caplog.text)
        assert desk.app.broker.filter_servers.addresses() == []
    assert "Need admin permission" in caplog.text

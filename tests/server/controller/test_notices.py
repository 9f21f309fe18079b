"""Brokers hear of a new master at once, and again while their heartbeats show an older epoch."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from mqserver.controller.broker_groups import BrokerGroups
from mqserver.controller.group_record import GroupRecord
from mqserver.controller.groups_file import GroupsFile
from mqserver.controller.notices import Notices
from remoting.aio.server import RemotingServer, ServerConn
from remoting.codes import LaterCode
from remoting.command import Command
from remoting.frame import RawFrame, decode_frame
from tests.server.controller.examples import LED, live_broker
from tests.server.controller.test_handlers import Caller, controller
from tests.server.doubles import FakeClock
from tests.waiting import until


@asynccontextmanager
async def broker_port() -> AsyncIterator[tuple[int, list[Command]]]:
    """Listen as a broker does; yield the port and the frames that came."""
    frames: list[Command] = []

    def on_frame(conn: ServerConn, raw: RawFrame) -> None:
        frames.append(decode_frame(raw))

    server = RemotingServer(on_frame=on_frame, on_close=lambda conn: None)
    port = await server.start("127.0.0.1", 0)
    try:
        yield port, frames
    finally:
        await server.stop()


async def register(caller: Caller, port: int) -> None:
    """Tell the controller that broker 1 listens at a port."""
    name = {"clusterName": "C", "brokerName": "g", "brokerId": "1"}
    address = f"127.0.0.1:{port}"
    registered = {**name, "brokerAddress": address}
    assert (await caller.ask(LaterCode.CONTROLLER_REGISTER_BROKER, registered)).code == 0
    # What a broker said before it registered counts no more.
    await caller.beat(1, brokerAddr=address)


async def test_a_notice_is_one_way_and_names_the_master(tmp_path: Path) -> None:
    async with broker_port() as (port, frames), controller(tmp_path) as (_, caller):
        await caller.join(1)
        await register(caller, port)
        await caller.elect(1)
        await until(lambda: bool(frames), what="a notice")

    notice = frames[0]
    assert notice.code == LaterCode.NOTIFY_BROKER_ROLE_CHANGED
    assert notice.is_oneway
    assert notice.ext == {
        "masterBrokerId": "1",
        "masterAddress": f"127.0.0.1:{port}",
        "masterEpoch": "1",
        "syncStateSetEpoch": "1",
    }
    assert notice.body == b'{"syncStateSet":[1],"syncStateSetEpoch":1}'


class RecordingClient:
    """Notes the addresses to which requests were sent."""

    def __init__(self) -> None:
        self.addresses: list[str] = []

    async def invoke_oneway(self, address: str, command: Command) -> None:
        assert command.is_oneway
        self.addresses.append(address)


async def test_a_notice_is_repeated_three_times_half_a_second_apart() -> None:
    client = RecordingClient()
    notices = Notices(client)  # type: ignore[arg-type]
    for steady_ms in (0, 499, 500, 999, 1_000, 1_500, 60_000):
        notices.repeat(LED, 2, steady_ms=steady_ms)
    await until(lambda: len(client.addresses) >= 3, what="three notices")
    await notices.stop()

    assert client.addresses == ["h:2"] * 3


async def test_a_notice_at_the_election_counts_and_a_new_epoch_begins_anew() -> None:
    client = RecordingClient()
    notices = Notices(client)  # type: ignore[arg-type]
    notices.send_all(LED, [1, 2], steady_ms=0)
    notices.repeat(LED, 2, steady_ms=100)
    notices.repeat(replace(LED, master_epoch=5), 2, steady_ms=100)
    await until(lambda: len(client.addresses) >= 3, what="three notices")
    await notices.stop()

    assert client.addresses == ["h:1", "h:2", "h:2"]


async def test_only_brokers_with_an_older_epoch_are_notified_again(tmp_path: Path) -> None:
    shown: list[tuple[int, int]] = []
    store = GroupsFile(tmp_path)
    await store.open()
    await store.swap("g", LED, revision=0)
    groups = BrokerGroups(
        store,
        FakeClock(),
        on_new_master=lambda record: None,
        on_old_epoch=lambda record, broker: shown.append((broker.key.broker_id, broker.epoch)),
        first_election_wait_ms=0,
    )
    groups.live.accept_heartbeat(live_broker(1, epoch=4))
    groups.live.accept_heartbeat(live_broker(2, epoch=3))

    async def may_be_dead(record: GroupRecord) -> bool:
        return True

    await groups.look_for_masters(may_be_dead)
    await store.close()

    assert shown == [(2, 3)]

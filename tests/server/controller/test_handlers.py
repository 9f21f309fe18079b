"""Frames as brokers and tools of 5.4.0 send them, and the answers (facts: captured frames)."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mqserver.controller.app import ControllerApp
from mqserver.controller.controller_config import ControllerConfig
from mqserver.runtime.clock import SystemClock
from remoting.aio.client import RemotingClient
from remoting.codes import LaterCode
from remoting.command import Command

HEARTBEAT = {
    "brokerId": "1", "electionPriority": "2147483647", "confirmOffset": "0",
    "heartbeatTimeoutMills": "10000", "clusterName": "C", "brokerAddr": "127.0.0.1:1",
    "epoch": "-1", "maxOffset": "0", "brokerName": "g",
}  # fmt: skip


class Caller:
    """A broker or a tool that talks to one controller."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.client = RemotingClient()

    async def ask(self, code: int, ext: dict[str, str] | None = None, body: bytes = b"") -> Command:
        request = Command(code=code, ext=dict(ext or {}), body=body, ext_written=ext is not None)
        return await self.client.invoke(self.address, request, timeout_s=60)

    async def join(self, broker_id: int, **heartbeat: str) -> None:
        """Take an id, register, and send one heartbeat."""
        name = {"clusterName": "C", "brokerName": "g"}
        check_code = f"127.0.0.1:{broker_id};1795845620712"
        applied = {**name, "appliedBrokerId": str(broker_id), "registerCheckCode": check_code}
        assert (await self.ask(LaterCode.CONTROLLER_APPLY_BROKER_ID, applied)).code == 0
        address = f"127.0.0.1:{broker_id}"
        registered = {**name, "brokerId": str(broker_id), "brokerAddress": address}
        assert (await self.ask(LaterCode.CONTROLLER_REGISTER_BROKER, registered)).code == 0
        await self.beat(broker_id, **heartbeat)

    async def beat(self, broker_id: int, **values: str) -> Command:
        """Send a heartbeat and return the answer."""
        address = f"127.0.0.1:{broker_id}"
        ext = {**HEARTBEAT, "brokerId": str(broker_id), "brokerAddr": address, **values}
        return await self.ask(LaterCode.BROKER_HEARTBEAT, ext)

    async def elect(self, broker_id: int, *, designated: str = "false") -> Command:
        ext = {
            "brokerId": str(broker_id), "clusterName": "C", "brokerName": "g",
            "designateElect": designated, "invokeTime": "1795845620740",
        }  # fmt: skip
        return await self.ask(LaterCode.CONTROLLER_ELECT_MASTER, ext)


@asynccontextmanager
async def controller(root: Path, **settings: object) -> AsyncIterator[tuple[ControllerApp, Caller]]:
    values: dict = {"first_election_wait_ms": 0, **settings}
    config = ControllerConfig(
        controller_listen_port=0,
        bind_address="127.0.0.1",
        controller_store_path=str(root),
        **values,
    )
    app = ControllerApp(config, SystemClock())
    caller = Caller(f"127.0.0.1:{await app.start()}")
    try:
        yield app, caller
    finally:
        await caller.client.close()
        await app.stop()


async def test_the_frames_of_a_first_start_are_answered_as_captured(tmp_path: Path) -> None:
    async with controller(tmp_path) as (_, broker):
        leads = await broker.ask(LaterCode.CONTROLLER_GET_METADATA_INFO)
        name = {"clusterName": "C", "brokerName": "g"}
        next_id = await broker.ask(LaterCode.CONTROLLER_GET_NEXT_BROKER_ID, name)
        await broker.join(1)
        elected = await broker.elect(1)
        info = await broker.ask(LaterCode.CONTROLLER_GET_REPLICA_INFO, {"brokerName": "g"})

    assert leads.ext["controllerLeaderAddress"] == broker.address
    assert leads.ext["isLeader"] == "true"
    assert leads.ext["peers"] == f"{broker.address};"
    assert next_id.ext == {"nextBrokerId": "1", **name}
    assert elected.ext == {
        "masterBrokerId": "1", "masterAddress": "127.0.0.1:1", "syncStateSetEpoch": "1",
        "masterEpoch": "1",
    }  # fmt: skip
    assert elected.body == (
        b'{"brokerMemberGroup":{"brokerAddrs":{1:"127.0.0.1:1"},"brokerName":"g","cluster":"C"},'
        b'"syncStateSet":[1]}'
    )
    assert info.ext == {
        "masterBrokerId": "1", "masterAddress": "127.0.0.1:1", "masterEpoch": "1",
    }  # fmt: skip
    assert info.body == b'{"syncStateSet":[1],"syncStateSetEpoch":1}'


async def test_the_in_sync_set_is_changed_as_captured(tmp_path: Path) -> None:
    async with controller(tmp_path) as (_, broker):
        await broker.join(1)
        await broker.elect(1)
        await broker.join(2)
        changed = await broker.ask(
            LaterCode.CONTROLLER_ALTER_SYNC_STATE_SET,
            {"masterBrokerId": "1", "invokeTime": "1", "brokerName": "g", "masterEpoch": "1"},
            b'{"syncStateSet":[1,2],"syncStateSetEpoch":1}',
        )
        table = await broker.ask(LaterCode.CONTROLLER_GET_SYNC_STATE_DATA, None, b'["g","none"]')

    assert changed.ext == {"newSyncStateSetEpoch": "2"}
    assert changed.body == b'{"syncStateSet":[1,2],"syncStateSetEpoch":2}'
    identity = '{"alive":true,"brokerAddress":"127.0.0.1:%d","brokerId":%d,"brokerName":"g"}'
    # What the last heartbeats said is ours; Java's tool ignores it.
    plain = re.sub(r',"(confirmOffset|epoch|maxOffset|silentMs)":-?[0-9]+', "", table.body.decode())
    assert plain == (
        '{"replicasInfoTable":{"g":{"inSyncReplicas":['
        + ",".join(identity % (n, n) for n in (1, 2))
        + '],"masterAddress":"127.0.0.1:1","masterBrokerId":1,"masterEpoch":1,'
        '"notInSyncReplicas":[],"syncStateSetEpoch":2}}}'
    )


async def test_a_broker_without_heartbeats_is_replaced_and_notified(tmp_path: Path) -> None:
    async with controller(tmp_path, scan_not_active_broker_interval=10) as (app, broker):
        await broker.join(1, heartbeatTimeoutMills="300")
        await broker.elect(1)
        await broker.join(2)
        await broker.ask(
            LaterCode.CONTROLLER_ALTER_SYNC_STATE_SET,
            {"masterBrokerId": "1", "brokerName": "g", "masterEpoch": "1"},
            b'{"syncStateSet":[1,2],"syncStateSetEpoch":1}',
        )
        info = await until_epoch(broker, 2)
        record = await app.groups.read("g")

    assert info.ext["masterBrokerId"] == "2"
    assert record is not None
    assert record.in_sync_set == {2}


async def until_epoch(caller: Caller, epoch: int) -> Command:
    """Ask until the master has an epoch, with a heartbeat of broker 2 each time."""
    while True:
        info = await caller.ask(LaterCode.CONTROLLER_GET_REPLICA_INFO, {"brokerName": "g"})
        if info.ext.get("masterEpoch") == str(epoch):
            return info
        await caller.beat(2)
        await asyncio.sleep(0.02)


async def test_a_restarted_controller_keeps_a_master_that_it_has_not_heard_yet(
    tmp_path: Path,
) -> None:
    listening = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    async with controller(tmp_path) as (_, broker):
        await broker.join(1)
        await broker.elect(1)
    async with controller(tmp_path, scan_not_active_broker_interval=10) as (app, broker):
        name = {"clusterName": "C", "brokerName": "g"}
        refused = await app.groups.read("g")
        assert refused is not None
        await broker.ask(
            LaterCode.CONTROLLER_REGISTER_BROKER,
            {**name, "brokerId": "1", "brokerAddress": f"127.0.0.1:{port}"},
        )
        await broker.beat(1)
        elected = await broker.elect(1)
    async with controller(tmp_path, scan_not_active_broker_interval=10) as (app, _):
        await asyncio.sleep(0.2)
        kept = await app.groups.read("g")
    listening.close()

    assert kept is not None
    assert kept.master_id == 1
    assert str(kept.master_epoch) == elected.ext["masterEpoch"]


@pytest.mark.parametrize(
    ("code", "ext", "body", "refusal"),
    [
        (LaterCode.BROKER_HEARTBEAT, {**HEARTBEAT, "brokerName": ""}, b"", 2005),
        (LaterCode.BROKER_HEARTBEAT, {**HEARTBEAT, "brokerName": "x" * 300}, b"", 2005),
        (LaterCode.CONTROLLER_GET_REPLICA_INFO, {"brokerName": "none"}, b"", 2008),
        (LaterCode.CONTROLLER_GET_SYNC_STATE_DATA, None, b'{"a":1}', 2005),
        (LaterCode.CONTROLLER_GET_SYNC_STATE_DATA, None, b"[" * 9_000, 2005),
        (
            LaterCode.CLEAN_BROKER_DATA,
            {"brokerName": "g", "brokerControllerIdsToClean": "1;x"}, b"", 2009,
        ),
        (LaterCode.UPDATE_CONTROLLER_CONFIG, None, b"configBlackList=a", 16),
        (LaterCode.UPDATE_CONTROLLER_CONFIG, None, b"controllerStore=file", 16),
        (LaterCode.UPDATE_CONTROLLER_CONFIG, None, b"scanNotActiveBrokerInterval=1", 1),
        (LaterCode.CONTROLLER_REGISTER_BROKER, {"brokerName": "g"}, b"", 1),
        (10, {}, b"", 3),
    ],
)  # fmt: skip
async def test_bad_requests_are_refused_with_a_code(
    tmp_path: Path, code: int, ext: dict[str, str] | None, body: bytes, refusal: int
) -> None:
    async with controller(tmp_path) as (_, caller):
        answer = await caller.ask(code, ext, body)

    assert answer.code == refusal


async def test_settings_are_listed_and_changed(tmp_path: Path) -> None:
    async with controller(tmp_path) as (app, tool):
        changed = await tool.ask(
            LaterCode.UPDATE_CONTROLLER_CONFIG, None, b"notifyBrokerRoleChanged=false\n"
        )
        listed = await tool.ask(LaterCode.GET_CONTROLLER_CONFIG)

    assert changed.code == 0
    assert app.config.notify_broker_role_changed is False
    assert b"notifyBrokerRoleChanged=false" in listed.body
    assert b"controllerType=DLedger" in listed.body


async def test_tools_hear_what_each_broker_said_last_dead_or_alive(tmp_path: Path) -> None:
    async with controller(tmp_path, scan_not_active_broker_interval=10) as (app, broker):
        await broker.join(1, maxOffset="900", confirmOffset="700", epoch="1")
        await broker.elect(1)
        await broker.client.close()
        record = await app.groups.read("g")
        assert record is not None
        while app.groups.alive(record):
            await asyncio.sleep(0)
        (last,) = app.groups.describe(record).in_sync_replicas

    assert (last.alive, last.epoch, last.max_offset, last.confirm_offset) == (False, 1, 900, 700)
    assert last.silent_ms is not None

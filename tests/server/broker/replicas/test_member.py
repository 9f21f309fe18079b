"""Brokers of ours in a group with a controller of ours, over real sockets."""

import asyncio
from pathlib import Path

import pytest

from mqserver.broker.app import BrokerApp
from mqserver.broker.ha.epoch import EpochFile
from mqserver.broker.replicas.member import ReplicaMember
from mqserver.broker.replicas.roles import Role
from mqserver.runtime.clock import SystemClock
from remoting.aio.client import RemotingClient
from remoting.bodies.controller import EpochEntryCache
from remoting.codes import ExtensionCode, LaterCode, RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import (
    DemoteMaster,
    ExchangeHaInfo,
    GetRouteInfo,
    PromoteSlave,
)
from storefmt.errors import ConfigDamaged
from tests.server.broker.desk import TOPIC, Desk, broker_settings
from tests.server.broker.replicas.groups import Group, Node, group_of
from tests.waiting import until


def others(group: Group, master: Node) -> list[Node]:
    return [node for node in group.nodes if node is not master]


async def sent(desk: Desk, *bodies: bytes) -> None:
    for body in bodies:
        answer = await desk.send(body)
        assert answer.code == 0, answer


async def equal(group: Group) -> None:
    """Wait until every broker has the same log on its disk."""

    def are_equal() -> bool:
        stores = [node.desk.app.broker.store for node in group.nodes if node.role is not None]
        ends = {(store.written_offset, store.flushed_offset) for store in stores}
        return len(stores) == len(group.nodes) and len(ends) == 1

    await until(are_equal, what="every broker has the same log")


def log_of(node: Node) -> bytes:
    store = node.desk.app.broker.store
    return store.raw.read(0, store.written_offset)


@pytest.mark.parametrize("sync", [False, True], ids=["ASYNC_FLUSH", "SYNC_FLUSH"])
async def test_a_message_is_answered_when_every_replica_has_it(tmp_path: Path, sync: bool) -> None:
    async with group_of(tmp_path, 3, sync=sync) as group:
        master = await group.whole()
        await master.desk.create_topic()
        await sent(master.desk, b"one", b"two", b"three")

        assert await master.desk.bodies() == [b"one", b"two", b"three"]
        for slave in others(group, master):
            assert slave.desk.app.broker.store.flushed_offset == master.end
            store = slave.desk.app.broker.store
            await until(lambda store=store: store.max_offset(TOPIC, 0) == 3)
            await slave.member.round(0)
            assert await slave.desk.bodies() == [b"one", b"two", b"three"]
            assert log_of(slave) == log_of(master)


async def test_what_a_replica_lacks_is_neither_answered_nor_read(tmp_path: Path) -> None:
    async with group_of(tmp_path, 2) as group:
        master = await group.whole()
        (slave,) = others(group, master)
        await master.desk.create_topic()
        await sent(master.desk, b"one")
        receiver = slave.member.receiver
        assert receiver is not None
        assert receiver._stream is not None
        receiver._stream.pause()
        end = master.end

        sending = asyncio.ensure_future(master.desk.send(b"two"))
        await until(lambda: master.end > end)

        assert master.desk.app.broker.store.max_offset(TOPIC, 0) == 1
        assert not sending.done()
        receiver._stream.resume()
        assert (await sending).code == 0
        assert await master.desk.bodies() == [b"one", b"two"]


async def test_a_master_that_stops_is_replaced_and_comes_back_as_a_slave(tmp_path: Path) -> None:
    async with group_of(tmp_path, 2) as group:
        first = await group.whole()
        await first.desk.create_topic()
        await sent(first.desk, b"one")
        await first.stop()
        second = await group.master(besides=first)
        await sent(second.desk, b"two")

        await first.start()
        assert await group.whole() is second
        await sent(second.desk, b"three")

        assert await second.desk.bodies() == [b"one", b"two", b"three"]
        assert first.role is Role.FOLLOWING
        await equal(group)
        assert log_of(first) == log_of(second)
        assert first.member.epochs == second.member.epochs
        assert [entry.epoch for entry in first.member.epochs] == [1, 2]


async def test_an_operator_names_another_master_and_the_old_one_follows(tmp_path: Path) -> None:
    async with group_of(tmp_path, 2) as group:
        first = await group.whole()
        (second,) = others(group, first)
        await first.desk.create_topic()
        await sent(first.desk, b"one")

        await group.elect(second)

        assert await group.master(besides=first) is second
        await sent(second.desk, b"two")
        assert await group.whole() is second
        assert (first.start_count, second.start_count) == (2, 1)
        refused = await first.desk.send(b"three")
        assert refused.code == ResponseCode.SERVICE_NOT_AVAILABLE
        await equal(group)
        assert log_of(first) == log_of(second)


async def test_name_servers_list_the_master_of_the_group(tmp_path: Path) -> None:
    async with group_of(tmp_path, 2) as group:
        first = await group.whole()
        (second,) = others(group, first)
        await first.desk.create_topic()
        await sent(first.desk, b"one")

        async def route() -> str:
            header = GetRouteInfo(topic=TOPIC)
            command = Command.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
            answer = await first.client.invoke(group.namesrv, command, timeout_s=60)
            return answer.body.decode()

        async def names(node: Node) -> None:
            text = f'0:"{node.address}"'
            while text not in (await route()).replace('"0":', "0:"):
                await asyncio.sleep(0.01)

        await names(first)
        await equal(group)
        await group.elect(second)
        async with asyncio.timeout(60):
            await names(second)
        await group.whole()
        assert f'"{first.address}"' in await route()


async def test_a_promotion_from_before_the_group_does_not_outrank_its_master(
    tmp_path: Path,
) -> None:
    first_store = tmp_path / "store-1"
    first_store.mkdir()
    EpochFile.read(first_store).replace(epoch=1_700_000_000_000, heard=1_700_000_000_000)
    async with group_of(tmp_path, 1) as group:
        first = await group.whole()
        await first.desk.create_topic()
        second = await group.add()
        assert await group.whole() is first
        await until(lambda: second.desk.app.broker.topics.get(TOPIC), what="topics are copied")

        await group.elect(second)

        assert await group.master(besides=first) is second
        assert await group.whole() is second
        header = GetRouteInfo(topic=TOPIC)
        command = Command.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
        async with asyncio.timeout(60):
            while True:
                answer = await first.client.invoke(group.namesrv, command, timeout_s=60)
                if f'0:"{second.address}"' in answer.body.decode().replace('"0":', "0:"):
                    break
                await asyncio.sleep(0.01)
        await second.desk.create_topic("Later")
        await first.member.round(0)
        assert first.desk.app.broker.topics.get("Later") is not None


async def test_roles_change_by_the_controller_alone(tmp_path: Path) -> None:
    async with group_of(tmp_path, 2) as group:
        master = await group.whole()
        (slave,) = others(group, master)

        promoted = await slave.desk.ask(ExtensionCode.PROMOTE_SLAVE, PromoteSlave(force=True))
        demoted = await master.desk.ask(
            ExtensionCode.DEMOTE_MASTER, DemoteMaster(broker_id=3, force=True)
        )

        for answer in (promoted, demoted):
            assert answer.code == ResponseCode.SYSTEM_ERROR
            assert "mqadmin controller elect" in (answer.remark or "")
        assert (master.role, slave.role) == (Role.LEADING, Role.FOLLOWING)


async def test_tools_are_told_epochs_role_and_where_slaves_connect(tmp_path: Path) -> None:
    async with group_of(tmp_path, 2) as group:
        master = await group.whole()
        (slave,) = others(group, master)
        await master.desk.create_topic()
        await sent(master.desk, b"one")

        cache = EpochEntryCache.decode(
            (await master.desk.ask(LaterCode.GET_BROKER_EPOCH_CACHE)).body
        )
        by_master, by_slave = [
            (await node.desk.ask(LaterCode.EXCHANGE_BROKER_HA_INFO, ExchangeHaInfo())).header(
                ExchangeHaInfo
            )
            for node in (master, slave)
        ]
        numbers = master.member.numbers()

    assert [(entry.epoch, entry.start_offset) for entry in cache.epoch_list] == [(1, 0)]
    assert (cache.broker_id, cache.max_offset) == (0, int(numbers["confirmOffset"]))
    assert by_master.master_address == master.address
    assert by_master.master_epoch == 1
    assert by_slave == ExchangeHaInfo()
    assert numbers["groupRole"] == "LEADING"
    assert numbers["inSyncSet"] == "1,2"
    assert numbers["controllerLeader"] == group.caller.address


async def test_a_notice_of_a_stranger_changes_nothing(tmp_path: Path) -> None:
    async with group_of(tmp_path, 2) as group:
        master = await group.whole()
        notice = Command.request(LaterCode.NOTIFY_BROKER_ROLE_CHANGED, body=b'{"syncStateSet":[9]}')
        notice.ext = {
            "masterBrokerId": "9", "masterAddress": "127.0.0.1:1", "masterEpoch": "99",
            "syncStateSetEpoch": "99",
        }  # fmt: skip

        for node in group.nodes:
            answer = await node.client.invoke(node.address, notice, timeout_s=60)
            assert answer.code == 0

        await master.desk.create_topic()
        await sent(master.desk, b"one")
        assert master.member.machine.heard == 1


async def test_a_broker_without_a_role_is_not_listed_and_takes_nothing(tmp_path: Path) -> None:
    async with group_of(tmp_path, 0) as group:
        node = await group.add(controller_addr="127.0.0.1:1")

        answer = await node.desk.send(b"one")

        assert answer.code == ResponseCode.SERVICE_NOT_AVAILABLE
        assert node.role is Role.NAMELESS
        assert node.member.is_unregistered


async def test_the_store_of_another_group_ends_the_start(tmp_path: Path) -> None:
    async with group_of(tmp_path, 1) as group:
        node = group.nodes[0]
        await group.master()
        await node.stop()
        node.config.broker_name = "other"

        with pytest.raises(ConfigDamaged, match="belongs to broker 'broker-a'"):
            await node.start()


async def test_a_broker_without_a_group_has_no_epochs(tmp_path: Path) -> None:
    app, client = BrokerApp(broker_settings(tmp_path), SystemClock()), RemotingClient()
    desk = Desk(app, client, f"127.0.0.1:{await app.start()}")

    answer = await desk.ask(LaterCode.GET_BROKER_EPOCH_CACHE)
    await client.close()
    await app.stop()

    assert not isinstance(app.broker.ha, ReplicaMember)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "enableControllerMode" in (answer.remark or "")


async def test_an_epoch_that_is_not_saved_is_never_led_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with group_of(tmp_path, 2) as group:
        first = await group.whole()
        (second,) = others(group, first)
        tries: list[int] = []

        def refused(epoch: int) -> None:
            tries.append(epoch)
            raise OSError("disk full")

        with monkeypatch.context() as patched:
            patched.setattr(second.member._files, "save_heard", refused)
            await group.elect(second)
            await until(lambda: tries, what="the epoch is to be saved")
            assert second.role is not Role.LEADING

        leader = await group.master()
        assert leader.member.machine.epoch > tries[0]
        assert await group.whole() is leader


async def test_a_new_epoch_of_the_same_master_begins_when_its_log_is_safe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with group_of(tmp_path, 2) as group:
        first = await group.whole()
        member, looks, is_safe = first.member, [0], False
        epoch = member.machine.epoch + 1

        def safe_end(_: ReplicaMember) -> int:
            looks[0] += 1
            return first.desk.app.broker.store.raw.end if is_safe else -1

        with monkeypatch.context() as patched:
            patched.setattr(ReplicaMember, "_safe_end", property(safe_end))
            patched.setattr(member.machine, "role", Role.PROMOTING)
            ready = asyncio.ensure_future(member._make_ready(epoch))
            await until(lambda: looks[0] > 2, what="the end of the log is looked at again")
            assert [entry.epoch for entry in member.epochs] == [epoch - 1]

            is_safe = True
            await ready

        assert member.epochs[-1].epoch == epoch

"""What brokers of ours say of their connections, in a group and as a pair (requests 907, 908)."""

from pathlib import Path

import pytest

from mqserver.broker.config import BrokerRole
from remoting.bodies.ha import HARuntimeInfo
from remoting.codes import LaterCode, ResponseCode
from remoting.headers import ResetMasterFlushOffset
from tests.server.broker.desk import Desk
from tests.server.broker.ha.pairs import equal_ends, pair_in
from tests.server.broker.replicas.groups import group_of
from tests.waiting import until


async def status_of(desk: Desk) -> HARuntimeInfo:
    answer = await desk.ask(LaterCode.GET_BROKER_HA_STATUS)
    assert answer.code == ResponseCode.SUCCESS
    return HARuntimeInfo.decode(answer.body)


async def test_a_master_of_a_group_counts_the_slaves_of_its_set(tmp_path: Path) -> None:
    async with group_of(tmp_path, 3) as group:
        master = await group.whole()
        await master.desk.create_topic()
        slave = next(node for node in group.nodes if node is not master)
        await until(lambda: slave.member.receiver is not None)
        of_master, of_slave = await status_of(master.desk), await status_of(slave.desk)
        receiver = slave.member.receiver
        assert receiver is not None
        ha_address = receiver.master

    assert of_master.master
    assert of_master.in_sync_slave_nums == 2
    assert [(one.in_sync, one.diff) for one in of_master.ha_connection_info] == [(True, 0)] * 2
    assert not of_slave.master
    assert of_slave.ha_client_runtime_info is not None
    assert of_slave.ha_client_runtime_info.master_addr == ha_address
    assert of_slave.ha_client_runtime_info.activated
    assert of_slave.ha_client_runtime_info.last_read_timestamp > 0


@pytest.mark.parametrize(("behind_max", "in_sync"), [(1, 0), (256 << 20, 1)])
async def test_a_slave_of_a_pair_is_in_sync_while_it_is_near(
    tmp_path: Path, behind_max: int, in_sync: int
) -> None:
    async with pair_in(tmp_path) as pair:
        master = await pair.start("m", BrokerRole.ASYNC_MASTER, ha_slave_fallbehind_max=behind_max)
        slave = await pair.start("s", BrokerRole.SLAVE)
        await master.send(b"0")
        await equal_ends(master, slave)
        await until(lambda: master.app.broker.ha.links.acked_offset > 0)  # type: ignore[attr-defined]
        link = master.app.broker.ha.links.links[0]  # type: ignore[attr-defined]
        link.acked_offset -= 2
        info = await status_of(master)

    assert (info.in_sync_slave_nums, info.ha_connection_info[0].diff) == (in_sync, 2)


async def test_a_slave_reports_the_flush_offset_that_it_was_told(tmp_path: Path) -> None:
    header = ResetMasterFlushOffset(master_flush_offset=4_096)
    async with pair_in(tmp_path) as pair:
        master = await pair.start("m", BrokerRole.ASYNC_MASTER)
        slave = await pair.start("s", BrokerRole.SLAVE)
        answers = [
            await broker.ask(LaterCode.RESET_MASTER_FLUSH_OFFSET, header)
            for broker in (master, slave)
        ]
        infos = [await status_of(broker) for broker in (master, slave)]

    assert [answer.code for answer in answers] == [ResponseCode.SUCCESS] * 2
    clients = [info.ha_client_runtime_info for info in infos]
    assert [client and client.master_flush_offset for client in clients] == [0, 4_096]

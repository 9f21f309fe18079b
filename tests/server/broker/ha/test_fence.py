"""Two masters of one name: how one hears of the other, and what it does then."""

import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mqserver.broker.config import BrokerRole
from mqserver.broker.ha.epoch import EpochFile, Standing
from mqserver.broker.ha.receiving import tell_epoch
from mqserver.broker.ha.replication import Replication
from mqserver.namesrv.routes import RouteTable
from remoting.bodies import ClusterInfo
from remoting.codes import ExtensionCode, RequestCode
from remoting.command import Command
from remoting.headers import DemoteMaster, HaEpoch, PromoteSlave
from storefmt.offline.views.storedir import StoreDir
from tests.ports import free_ports
from tests.server.broker.desk import Desk, end_transaction
from tests.server.broker.ha.pairs import Pair, equal_ends, pair_in, state_of
from tests.waiting import eventually, until

ASYNC, SYNC, SLAVE = BrokerRole.ASYNC_MASTER, BrokerRole.SYNC_MASTER, BrokerRole.SLAVE
NEVER_MS = 3_600_000
FUTURE = time.time_ns() // 1_000_000 + 3_600_000
"""An epoch that no promotion of these tests reaches, and that is believable."""


def standing(desk: Desk) -> Standing:
    return desk.app._replication.fence.standing


async def route(pair: Pair) -> dict[int, str]:
    """Return the addresses of the pair that the name server tells."""
    command = Command.request(RequestCode.GET_BROKER_CLUSTER_INFO)
    answer = await pair.client.invoke(pair.namesrv, command, timeout_s=60)
    data = ClusterInfo.decode(answer.body).broker_addr_table.get("broker-a")
    return {} if data is None else data.broker_addrs


def deaf_to_epochs(patch: pytest.MonkeyPatch) -> None:
    """Let name servers treat epochs as Java's do: nobody looks at them, nobody tells them."""
    register = RouteTable.register

    def deaf(self: RouteTable, *words: object, **options: object) -> object:
        return register(self, *words, **{**options, "epoch": HaEpoch()})  # type: ignore[arg-type]

    patch.setattr(RouteTable, "register", deaf)


@asynccontextmanager
async def replaced(
    root: Path, *, role: BrokerRole = ASYNC
) -> AsyncIterator[tuple[Pair, Desk, int]]:
    """Yield a pair whose master ``m`` is down, the promoted slave ``s``, and the port of ``m``."""
    port = free_ports(4) + 2
    async with pair_in(root) as pair:
        master = await pair.start("m", role, listen_port=port)
        slave = await pair.start("s", SLAVE)
        for number in range(5):
            assert (await master.send(b"%d" % number)).code in (0, 11)
        await equal_ends(master, slave)
        await pair.stop("m")
        await until(lambda: state_of(slave) == "CONNECTING", what="the master is gone")
        answer = await pair.promote("s")
        assert answer.code == 0, answer.remark
        yield pair, slave, port


async def until_route(pair: Pair, master: Desk) -> None:
    """Return when the name server tells one master, this one."""
    await eventually(lambda: route(pair), lambda found: found.get(0) == master.address)


async def assert_fenced(old: Desk) -> None:
    """Assert that a master takes nothing, says why, and serves no slave."""
    await until(lambda: standing(old) is Standing.FENCED, what="it hears of the promotion")
    for changes in ({}, {"properties": "DELAY\x011"}, {"properties": "TRAN_MSG\x01true"}):
        answer = await old.send(b"no", **changes)
        assert answer.code == 14
        assert "is no longer the master of broker-a" in (answer.remark or "")
    assert "broker demote" in old.app.broker.ha.numbers()["haFence"]
    assert old.app._replication._server is None


async def test_old_master_learns_from_the_name_server_and_stays_out_of_the_route(
    tmp_path: Path,
) -> None:
    async with replaced(tmp_path) as (pair, new, port):
        old = await pair.start("m", ASYNC, listen_port=port)

        await assert_fenced(old)
        assert await route(pair) == {0: new.address}
        assert (await new.send(b"5")).code == 0


async def test_old_master_learns_from_the_brokers_that_its_settings_name(tmp_path: Path) -> None:
    async with replaced(tmp_path) as (pair, new, _):
        old = await pair.start("m", ASYNC, namesrv_addr=None, broker_addresses=new.address)

        # Before it took the first message, not some time later.
        assert standing(old) is Standing.FENCED
        await assert_fenced(old)


async def test_old_master_beside_a_java_name_server_learns_from_brokers_in_its_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deaf_to_epochs(monkeypatch)
    async with replaced(tmp_path) as (pair, new, port):
        old = await pair.start("m", ASYNC, listen_port=port, broker_addresses=new.address)

        assert standing(old) is Standing.FENCED
        assert await route(pair) == {0: new.address}
        await assert_fenced(old)


async def test_old_master_is_fenced_at_once_while_the_new_one_is_away(tmp_path: Path) -> None:
    async with replaced(tmp_path) as (pair, _, port):
        await pair.stop("s")

        old = await pair.start("m", ASYNC, listen_port=port)

        assert standing(old) is Standing.FENCED
        await assert_fenced(old)
        assert await route(pair) == {}


async def test_old_master_beside_a_java_name_server_leads_until_the_new_one_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deaf_to_epochs(monkeypatch)
    async with replaced(tmp_path) as (pair, _, port):
        await pair.stop("s")
        old = await pair.start("m", ASYNC, listen_port=port)
        assert (await old.send(b"of the old master alone")).code == 0

        new = await pair.start("s", SLAVE)

        await assert_fenced(old)
        await until_route(pair, new)
        assert (await new.send(b"of the new master")).code == 0


async def test_old_master_learns_from_the_promoted_broker_which_remembers_it(
    tmp_path: Path,
) -> None:
    async with replaced(tmp_path) as (pair, _, port):
        old = await pair.start("m", ASYNC, listen_port=port, namesrv_addr=None)

        await assert_fenced(old)
        assert old.address in pair.running["s"].app.broker.ha.numbers().values()


async def test_old_master_learns_from_a_slave_that_connects(pair: Pair, tmp_path: Path) -> None:
    old = await pair.start("m", ASYNC, register_name_server_period_ms=NEVER_MS)
    (tmp_path / "t").mkdir()
    EpochFile.read(tmp_path / "t").replace(epoch=FUTURE)
    await old.send(b"0")

    slave = await pair.start("t", SLAVE)

    await assert_fenced(old)
    assert old.app.broker.ha.numbers()["haEpochHeard"] == str(FUTURE)
    assert slave.app.broker.store.written_offset == 0


async def test_master_that_runs_is_fenced_when_its_network_is_back(tmp_path: Path) -> None:
    async with replaced(tmp_path) as (pair, _, port):
        # It is cut off from all, and takes what its clients on that side send.
        old = await pair.start("m", ASYNC, listen_port=port, register_name_server_period_ms=200,
                               namesrv_addr=None, slave_addresses="")  # fmt: skip
        old.app.broker.config.namesrv_addr = pair.namesrv

        await assert_fenced(old)
        assert await route(pair) == {0: pair.running["s"].address}


async def test_stranger_cannot_fence_a_master(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Replication, "_may_connect", lambda self, ip, local_ip: False)
    master = await pair.start("m", ASYNC)

    await tell_epoch(f"127.0.0.1:{master.app.broker.config.ha_listen_port}", FUTURE)

    assert standing(master) is Standing.LEADS
    assert (await master.send(b"yes")).code == 0


async def test_fenced_master_stays_so_over_a_restart_that_asks_nobody(tmp_path: Path) -> None:
    async with replaced(tmp_path) as (pair, _, port):
        await assert_fenced(await pair.start("m", ASYNC, listen_port=port))
        old = await pair.restart("m", ASYNC, namesrv_addr=None)

        await assert_fenced(old)


async def test_fenced_master_ends_no_transaction_and_delivers_nothing(pair: Pair) -> None:
    master = await pair.start("m", ASYNC)
    await master.create_topic()
    half = await master.send(b"half", properties="TRAN_MSG\x01true\x02PGROUP\x01PG")
    await master.send(b"late", properties="DELAY\x011")
    end = master.app.broker.store.written_offset
    master.app._replication.fence.hear(FUTURE, "a test")

    header = end_transaction(0, 0, msg_id=half.ext["msgId"])
    answer = await master.ask(RequestCode.END_TRANSACTION, header)
    master.app.broker.delay.deliver_due(FUTURE)

    assert answer.code != 0
    assert master.app.broker.store.written_offset == end


async def test_master_without_anybody_to_ask_leads(pair: Pair, tmp_path: Path) -> None:
    master = await pair.start(
        "m", ASYNC, namesrv_addr="127.0.0.1:1", broker_addresses="127.0.0.1:1"
    )

    assert standing(master) is Standing.LEADS
    assert (await master.send(b"yes")).code == 0
    assert not (tmp_path / "m" / "epoch.json").exists()


async def test_broker_of_another_name_says_nothing_about_this_one(tmp_path: Path) -> None:
    async with replaced(tmp_path) as (pair, new, _):
        other = await pair.start("o", ASYNC, broker_name="broker-b", broker_addresses=new.address)

        assert standing(other) is Standing.LEADS


@pytest.mark.parametrize("role", [ASYNC, SYNC])
async def test_promotion_keeps_the_role_that_the_master_had(
    tmp_path: Path, role: BrokerRole
) -> None:
    async with replaced(tmp_path, role=role) as (_, new, _):
        assert new.app.broker.config.broker_role is role
        # Nobody follows it yet.
        assert (await new.send(b"5")).code == (11 if role is SYNC else 0)


async def test_role_that_nobody_told_has_to_be_said(pair: Pair) -> None:
    slave = await pair.start("s", SLAVE)

    refused = await pair.promote("s", force=True)
    header = PromoteSlave(role="SYNC_MASTER", force=True)
    done = await slave.ask(ExtensionCode.PROMOTE_SLAVE, header)

    assert (refused.code, "pass --role" in (refused.remark or "")) == (1, True)
    assert (done.code, slave.app.broker.config.broker_role) == (0, SYNC)


async def demote(desk: Desk, **options: bool) -> Command:
    return await desk.ask(ExtensionCode.DEMOTE_MASTER, DemoteMaster(broker_id=1, **options))


async def test_master_that_leads_is_demoted_by_force_only(pair: Pair) -> None:
    master = await pair.start("m", ASYNC)

    refused = await demote(master)
    done = await demote(master, force=True)

    assert (refused.code, "promote a slave first" in (refused.remark or "")) == (1, True)
    assert (done.code, "; restart it" in (done.remark or "")) == (0, True)


async def test_demoted_master_follows_and_has_its_role_again_when_it_is_promoted(
    tmp_path: Path,
) -> None:
    async with replaced(tmp_path, role=SYNC) as (pair, new, port):
        for number in range(3):
            await new.send(b"new %d" % number)
        old = await pair.start("m", SYNC, listen_port=port)
        assert (await demote(old)).code == 0
        await pair.stop("m")

        # Its configuration still says SYNC_MASTER.
        old = await pair.start("m", SYNC, listen_port=port)

        await equal_ends(new, old)
        assert (await new.send(b"both")).code == 0
        assert (await route(pair)) == {0: new.address, 1: old.address}
        epochs = [desk.app.broker.ha.numbers()["haEpoch"] for desk in (old, new)]
        assert epochs[0] == epochs[1] != "0"
        await equal_ends(new, old)
        await pair.stop("s")
        await until(lambda: state_of(old) == "CONNECTING", what="the master is gone")
        assert (await pair.promote("m")).code == 0
        assert old.app.broker.config.broker_role is SYNC
        assert int(old.app.broker.ha.numbers()["haEpoch"]) > int(epochs[1])


async def test_divergent_tail_is_cut_by_an_order_only_and_kept_as_a_copy(tmp_path: Path) -> None:
    async with replaced(tmp_path) as (pair, new, port):
        end = new.app.broker.store.written_offset
        for number in range(3):
            await new.send(b"new %d" % number)
        # Nobody reaches it: its log goes on with messages that nobody else has.
        await pair.stop("s")
        old = await pair.start("m", ASYNC, namesrv_addr=None)
        for body in (b"only here", b"and this"):
            assert (await old.send(body)).code == 0
        await pair.stop("m")
        new = await pair.start("s", SLAVE)
        old = await pair.start("m", ASYNC, listen_port=port)
        await assert_fenced(old)
        await demote(old)
        old = await pair.restart("m", ASYNC, listen_port=port)
        await until(lambda: state_of(old) == "DIVERGED", what="the difference is found")
        assert "demote --cut-tail" in old.app.broker.ha.numbers()["haDivergence"]
        assert (await demote(old)).code == 1

        assert (await demote(old, cut_tail=True)).code == 0
        old = await pair.restart("m", ASYNC, listen_port=port)

        await equal_ends(new, old)
        (tail,) = (tmp_path / "m" / "tails").iterdir()
        assert tail.name == f"{end:020d}"
        assert bodies_of(tail) == [b"only here", b"and this"]
        assert json.loads((tmp_path / "m" / "ha.json").read_text()) == {"demoted": 1}


async def test_order_to_cut_waits_until_it_is_known_where(tmp_path: Path) -> None:
    async with replaced(tmp_path) as (pair, new, port):
        await new.send(b"new")
        old = await pair.start("m", ASYNC, namesrv_addr=None, listen_port=0)
        await old.send(b"only here")
        old = await pair.restart("m", ASYNC, listen_port=port)
        await assert_fenced(old)
        assert (await demote(old, cut_tail=True)).code == 0
        old = await pair.restart("m", ASYNC, listen_port=port, namesrv_addr=None)
        restarts: list[bool] = []
        old.app._replication._restart = lambda: restarts.append(True)
        old.app.broker.config.namesrv_addr = pair.namesrv
        await until(lambda: restarts, what="it wants to start anew")
        old = await pair.restart("m", ASYNC, listen_port=port)

        await equal_ends(new, old)
        (tail,) = (tmp_path / "m" / "tails").iterdir()
        assert bodies_of(tail) == [b"only here"]


def bodies_of(directory: Path) -> list[bytes]:
    """Return the bodies of all messages in a directory of a store."""
    with StoreDir.open(directory) as store:
        return [body for item in store.records() if (body := getattr(item, "body", None))]


async def test_fenced_master_leads_again_when_a_person_insists_and_fences_the_other(
    tmp_path: Path,
) -> None:
    async with replaced(tmp_path) as (pair, new, port):
        old = await pair.start("m", ASYNC, listen_port=port)
        await assert_fenced(old)

        refused, done = await pair.promote("m"), await pair.promote("m", force=True)

        assert (refused.code, done.code) == (1, 0)
        assert (await old.send(b"again")).code == 0
        await assert_fenced(new)
        await until(lambda: standing(old) is Standing.LEADS, what="it leads")
        assert (await route(pair))[0] == old.address


async def test_tables_of_the_new_master_win_over_later_changes_of_the_old_one(
    tmp_path: Path,
) -> None:
    async with replaced(tmp_path) as (pair, new, port):
        await new.create_topic("of-the-new")
        old = await pair.start("m", ASYNC, namesrv_addr=None)
        await old.create_topic("of-the-old")
        old = await pair.restart("m", ASYNC, listen_port=port)
        await assert_fenced(old)
        await demote(old)
        old = await pair.restart("m", ASYNC, listen_port=port)

        await equal_ends(new, old)
        has: Callable[[str], object] = old.app.broker.topics.get
        await until(lambda: has("of-the-new"), what="the new master's topics")
        assert has("of-the-old") is None

"""Masters and slaves as ``mqadmin`` shows them, and a slave that becomes the master."""

import asyncio
from pathlib import Path

import pytest

from mqadmin.cluster.brokers import ServerNode
from mqadmin.cluster.server_tables import BrokerCounts
from mqadmin.commands import ha
from mqserver.broker.config import BrokerRole
from remoting.codes import RequestCode
from tests.mqadmin.conftest import Run, cells
from tests.server.broker.ha.pairs import Pair, equal_ends, pair_in, state_of
from tests.waiting import eventually, until


async def mqadmin(run: Run, pair: Pair, *words: str) -> tuple[int, list[dict[str, object]], str]:
    """Run one command in a thread; returns exit code, rows and what went to standard error."""
    done = await asyncio.to_thread(run, *words, "-n", pair.namesrv, "-o", "json")
    return done.exit_code, done.rows if done.out else [], done.err


async def shown(run: Run, pair: Pair) -> list[tuple[object, object]]:
    """Return number and role of each broker that ``ha status`` finds."""
    _, rows, _ = await mqadmin(run, pair, "ha", "status")
    return cells(rows, "broker_id", "role")


async def test_status_tells_lag_and_state_and_promotion_makes_a_master(
    tmp_path: Path, run: Run
) -> None:
    async with pair_in(tmp_path) as pair:
        master = await pair.start("m", BrokerRole.ASYNC_MASTER)
        slave = await pair.start("s", BrokerRole.SLAVE)
        await master.send(b"0")
        await equal_ends(master, slave)

        code, rows, _ = await mqadmin(run, pair, "ha", "status")
        assert code == 0
        assert cells(rows, "role", "lag", "state", "slaves") == [
            ("ASYNC_MASTER", None, "", 1),
            ("SLAVE", 0, "RECEIVING", None),
        ]
        code, java, _ = await mqadmin(run, pair, "haStatus", "-b", master.address, "-i", "1")
        assert [row["address"] for row in java] == [master.address, slave.address]

        code, rows, _ = await mqadmin(run, pair, "broker", "promote", "broker-a", "-y")
        assert (code, rows[0]["result"]) == (1, "refused")
        assert "its master is alive" in rows[0]["remark"]
        code, _, err = await mqadmin(run, pair, "broker", "promote", "nobody", "-y")
        assert (code, "slave 'nobody' not found" in err) == (3, True)

        await pair.stop("m")
        await until(lambda: state_of(slave) == "CONNECTING", what="the master is gone")
        code, rows, _ = await mqadmin(run, pair, "ha", "status")
        assert (code, cells(rows, "role", "state")) == (0, [("SLAVE", "CONNECTING")])
        code, _, err = await mqadmin(run, pair, "topic", "create", "T")
        assert (code, "no master is registered, only slaves: broker-a" in err) == (3, True)
        code, rows, _ = await mqadmin(run, pair, "broker", "promote", "broker-a", "--dry-run")
        assert rows[0]["result"] == "would change"
        code, rows, _ = await mqadmin(run, pair, "broker", "promote", slave.address, "-y")
        assert (code, rows[0]["result"]) == (0, "changed")
        assert (await slave.send(b"1")).code == 0
        # The broker registers its new number after it has answered.
        await eventually(lambda: shown(run, pair), lambda rows: rows == [(0, "ASYNC_MASTER")])
        assert (await slave.ask(RequestCode.GET_BROKER_CONFIG)).code == 0


async def test_a_broker_that_says_no_epochs_has_no_end_of_log(tmp_path: Path, run: Run) -> None:
    async with pair_in(tmp_path) as pair:
        master = await pair.start("m", BrokerRole.ASYNC_MASTER)
        refused = await mqadmin(run, pair, "ha", "epochs")
        silent = await mqadmin(run, pair, "ha", "epochs", "-b", "127.0.0.1:1")

    code, rows, _ = refused
    assert (code, cells(rows, "address", "log_end", "epochs")) == (1, [(master.address, None, [])])
    assert rows[0]["remark"]
    code, rows, _ = silent
    assert (code, cells(rows, "address", "log_end", "epochs")) == (4, [("127.0.0.1:1", None, [])])


async def test_demotion_is_tried_confirmed_and_refused_to_a_master_that_leads(
    tmp_path: Path, run: Run
) -> None:
    async with pair_in(tmp_path) as pair:
        master = await pair.start("m", BrokerRole.ASYNC_MASTER)
        await pair.start("s", BrokerRole.SLAVE)
        words = ("broker", "demote", master.address)

        code, _, err = await mqadmin(run, pair, *words, "--broker-id", "0")
        assert (code, "--broker-id: 0 is below 1" in err) == (2, True)
        code, rows, _ = await mqadmin(run, pair, *words, "--dry-run")
        # The slave has 1.
        assert (rows[0]["broker_id"], rows[0]["result"]) == (2, "would change")
        code, rows, _ = await mqadmin(run, pair, *words, "-y")
        assert (code, rows[0]["result"]) == (1, "refused")
        assert "promote a slave first" in rows[0]["remark"]
        code, rows, _ = await mqadmin(run, pair, *words, "--force", "-y")
        assert (code, rows[0]["result"]) == (0, "changed")
        await pair.stop("m")
        master = await pair.start("m", BrokerRole.ASYNC_MASTER)
        assert master.app.broker.config.broker_id == 2


async def test_slave_that_is_behind_shows_in_top_in_status_and_in_its_directory(
    tmp_path: Path, run: Run
) -> None:
    stores = [str(tmp_path / name) for name in ("m", "s")]

    async with pair_in(tmp_path) as pair:
        master = await pair.start("m", BrokerRole.ASYNC_MASTER)
        slave = await pair.start("s", BrokerRole.SLAVE)
        await master.send(b"0")
        await equal_ends(master, slave)
        await diff_says(run, pair, stores, [("log", 0, 0)])

        await pair.stop("s")
        had = master.app.broker.store.written_offset
        for number in range(3):
            await master.send(b"%d" % number)
        # Nobody listens there: it stays behind.
        slave = await pair.start("s", BrokerRole.SLAVE, ha_master_address="127.0.0.1:1")
        lag = master.app.broker.store.written_offset - had
        await until(lambda: "1" in slave.app.broker.ha.numbers()["haProblem"], what="no master")

        code, rows, _ = await mqadmin(run, pair, "top", "--once", "--interval", "0.05")
        brokers = {row["name"]: row["slave_lag"] for row in rows if row["kind"] == "broker"}
        assert (code, brokers) == (0, {"broker-a": None, "broker-a:1": lag})
        code, rows, _ = await mqadmin(run, pair, "ha", "status")
        assert cells(rows, "lag", "state") == [(None, ""), (lag, "CONNECTING")]
        assert "127.0.0.1" in rows[1]["remark"]
        await diff_says(run, pair, stores, [("log", lag, 0), ("queue", 3, 0)])


async def diff_says(
    run: Run, pair: Pair, stores: list[str], wanted: list[tuple[str, int, int]]
) -> None:
    """Return when ``store diff`` says so of two live stores: their queues follow their logs."""

    def is_wanted(said: tuple[int, list[dict[str, object]], str]) -> bool:
        return cells(said[1], "kind", "only_a", "only_b") == wanted

    code, rows, _ = await eventually(
        lambda: mqadmin(run, pair, "store", "diff", *stores), is_wanted
    )
    assert all(row["same"] for row in rows if row["kind"] == "log")
    assert code == int(wanted != [("log", 0, 0)])


@pytest.mark.parametrize(
    ("numbers", "epoch"),
    [
        ({"haEpoch": "0", "masterEpoch": "7"}, 7),
        ({"haEpoch": "1795845620712", "masterEpoch": "0"}, 0),
        ({"haEpoch": "1795845620712"}, 1_795_845_620_712),
        ({}, None),
    ],
    ids=["group", "a group without a master yet", "pair", "Java"],
)
def test_the_epoch_is_that_of_the_group_if_there_is_one(
    numbers: dict[str, str], epoch: int | None
) -> None:
    node = ServerNode("C", "g", 0, "127.0.0.1:1")

    assert ha._row(node, BrokerCounts(numbers), None, None).epoch == epoch

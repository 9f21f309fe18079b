"""``controller …``: groups as our controller knows them, and changes of them."""

import asyncio
from pathlib import Path

import pytest

from mqserver.broker.config import BrokerRole
from remoting.codes import LaterCode
from tests.mqadmin.conftest import Result, Run, cells
from tests.server.broker.ha.pairs import pair_in
from tests.server.controller.test_handlers import Caller, controller


async def ask(run: Run, caller: Caller, *words: str) -> Result:
    """Run a line at the controller; no name server is needed for these."""
    line = ("controller", *words, "--controller", caller.address, "-n", "127.0.0.1:1", "-o", "json")
    return await asyncio.to_thread(run, *line)


async def make_pair(caller: Caller) -> None:
    """Make group g of brokers 1 (master) and 2, both in sync."""
    await caller.join(1)
    await caller.elect(1)
    await caller.join(2)
    changed = await caller.ask(
        LaterCode.CONTROLLER_ALTER_SYNC_STATE_SET,
        {"masterBrokerId": "1", "brokerName": "g", "masterEpoch": "1"},
        b'{"syncStateSet":[1,2],"syncStateSetEpoch":1}',
    )
    assert changed.code == 0


async def test_status_shows_master_and_in_sync_set(tmp_path: Path, run: Run) -> None:
    async with controller(tmp_path) as (_, caller):
        await make_pair(caller)
        await caller.join(3)
        shown = await ask(run, caller, "status", "g")
        unknown = await ask(run, caller, "status", "none")

    assert shown.exit_code == 0
    assert cells(shown.rows, "broker_id", "state", "is_alive", "master_epoch") == [
        (1, "MASTER", True, 1),
        (2, "IN_SYNC", True, 1),
        (3, "BEHIND", True, 1),
    ]
    assert unknown.exit_code == 3
    assert "enableControllerMode=true" in unknown.err


async def test_another_broker_of_the_set_is_elected(tmp_path: Path, run: Run) -> None:
    async with controller(tmp_path) as (app, caller):
        await make_pair(caller)
        planned = await ask(run, caller, "elect", "g", "2", "--dry-run")
        elected = await ask(run, caller, "elect", "g", "2", "-y")
        again = await ask(run, caller, "elect", "g", "2", "-y")
        record = await app.groups.read("g")

    assert planned.rows[0]["result"] == "would change"
    assert cells(elected.rows, "old_master_id", "master_id", "master_epoch", "result") == [
        (1, 2, 2, "changed")
    ]
    assert again.exit_code == 1
    assert "still alive" in again.rows[0]["remark"]
    assert record is not None
    assert record.master_id == 2


async def test_a_broker_outside_the_set_needs_unclean(tmp_path: Path, run: Run) -> None:
    async with controller(tmp_path) as (_, caller):
        await make_pair(caller)
        await caller.join(3)
        refused = await ask(run, caller, "elect", "g", "3", "-y")
        unknown = await ask(run, caller, "elect", "g", "9", "-y")
        unclean = await ask(run, caller, "elect", "g", "3", "--unclean", "-y")

    assert refused.exit_code == 1
    assert "acknowledged messages would be lost" in refused.err
    assert unknown.exit_code == 3
    assert "its brokers are 1, 2, 3" in unknown.err
    assert unclean.rows[0]["master_id"] == 3


async def test_an_unclean_election_says_what_it_would_lose(tmp_path: Path, run: Run) -> None:
    async with controller(tmp_path) as (app, caller):
        await make_pair(caller)
        await caller.beat(1, epoch="1", maxOffset="9000", confirmOffset="8000")
        await caller.beat(2, epoch="1", maxOffset="8500", confirmOffset="8000")
        await caller.join(3, epoch="1", maxOffset="7000")
        planned = await ask(run, caller, "elect", "g", "3", "--unclean", "--dry-run")
        in_sync = await ask(run, caller, "elect", "g", "2", "--unclean", "--dry-run", "--explain")
        record = await app.groups.read("g")

    columns = ("result", "lost_size_most", "lost_size_least", "lost_count")
    assert cells(planned.rows, *columns) == [("would change", 2000, 1000, None)]
    assert planned.rows[0]["remark"] == (
        "it lacks up to 2000 bytes, 1000 bytes of them surely acknowledged"
    )
    assert "broker 1 (127.0.0.1:1) does not answer; its log ended at 9000" in planned.err
    assert cells(in_sync.rows, *columns) == [("would change", None, None, None)]
    assert "CONTROLLER_GET_SYNC_STATE_DATA (1006)" in in_sync.err
    assert record is not None
    assert record.master_id == 1


async def test_brokers_are_forgotten(tmp_path: Path, run: Run) -> None:
    async with controller(tmp_path) as (app, caller):
        await make_pair(caller)
        living = await ask(run, caller, "clean", "g", "2", "-y")
        forced = await ask(run, caller, "clean", "g", "2", "--living", "-y")
        record = await app.groups.read("g")

    assert living.exit_code == 1
    assert "still alive" in living.rows[0]["remark"]
    assert forced.rows[0]["result"] == "changed"
    assert record is not None
    assert list(record.replicas) == [1]


async def test_settings_are_read_changed_and_undone(tmp_path: Path, run: Run) -> None:
    async with controller(tmp_path) as (app, caller):
        key = "notifyBrokerRoleChanged"
        before = await ask(run, caller, "config", "get", key)
        changed = await ask(run, caller, "config", "set", key, "false", "-y")
        is_changed = app.config.notify_broker_role_changed is False
        undone = await asyncio.to_thread(run, "undo", "-y", "-n", "127.0.0.1:1", "-o", "json")

    assert before.rows[0]["value"] == "true"
    assert changed.rows[0]["result"] == "changed"
    assert is_changed
    assert undone.exit_code == 0, undone.err
    assert app.config.notify_broker_role_changed is True


async def test_the_leader_is_named_and_silence_is_shown(tmp_path: Path, run: Run) -> None:
    async with controller(tmp_path) as (_, caller):
        both = f"{caller.address};127.0.0.1:1"
        line = ("controller", "leader", "-a", both, "-n", "127.0.0.1:1", "-o", "json")
        shown = await asyncio.to_thread(run, *line)

    assert shown.exit_code == 5
    assert cells(shown.rows, "is_leader", "leader_address") == [
        (True, caller.address),
        (None, None),
    ]
    assert "127.0.0.1:1" in shown.rows[1]["remark"]


@pytest.mark.parametrize("words", [("status", "g"), ("leader",)])
async def test_without_a_controller_the_option_is_named(
    tmp_path: Path, run: Run, words: tuple[str, ...]
) -> None:
    async with pair_in(tmp_path) as pair:
        await pair.start("m", BrokerRole.ASYNC_MASTER)
        done = await asyncio.to_thread(run, "controller", *words, "-n", pair.namesrv)

    assert done.exit_code == 3
    assert "no broker of this cluster knows a controller" in done.err
    assert "--controller HOST:PORT" in done.err


@pytest.mark.parametrize("given", ["", " ; "])
async def test_an_empty_list_of_controllers_is_an_error(run: Run, given: str) -> None:
    words = ("controller", "config", "set", "notifyBrokerRoleChanged", "true", "-y")
    done = await asyncio.to_thread(run, *words, "-a", given, "-n", "127.0.0.1:1")

    assert done.exit_code == 3
    assert "no controller given" in done.err

"""A master that returns takes over what clients committed to its slaves meanwhile."""

import asyncio

import pytest

from mqserver.broker.clients.consumer_offsets import NO_OFFSET
from mqserver.broker.config import BrokerRole
from mqserver.broker.ha import returning
from mqserver.broker.ha.returning import ReturningMaster, SlaveProgress
from mqserver.broker.ha.slave_synchronize import MasterCalls
from remoting.codes import RequestCode
from remoting.headers import GetAllConsumerOffset
from storefmt.config.tables import ConsumerOffsets, DelayOffsets
from tests.server.broker.desk import TOPIC, Desk
from tests.server.broker.ha.pairs import Pair, equal_ends, state_of
from tests.waiting import until

MASTER, SLAVE = BrokerRole.ASYNC_MASTER, BrokerRole.SLAVE
GROUP = "readers"


def offset_at(desk: Desk, group: str = GROUP) -> int:
    return desk.app.broker.offsets.get(group, TOPIC, queue_id=0)


async def copied(pair: Pair) -> Desk:
    """Return a slave that has five messages of its master, and the offset 1 of a group."""
    master = await pair.start("m", MASTER)
    slave = await pair.start("s", SLAVE, slave_read_enable=True)
    for number in range(5):
        await master.send(b"%d" % number)
    await master.commit(1, group=GROUP)
    await equal_ends(master, slave)
    assert slave.app._replication is not None
    await slave.app._replication.round(1)
    await until(lambda: offset_at(slave) == 1, what="the offset of the master")
    return slave


async def without_master(pair: Pair) -> Desk:
    slave = await copied(pair)
    await pair.stop("m")
    await until(lambda: state_of(slave) == "CONNECTING", what="lost")
    return slave


async def test_offset_that_was_committed_to_the_slave_is_there_before_a_client_can_ask(
    pair: Pair,
) -> None:
    slave = await without_master(pair)
    await slave.commit(4, group=GROUP)
    await slave.commit(3, group="new")

    master = await pair.start("m", MASTER)

    assert (offset_at(master), offset_at(master, "new")) == (4, 3)


async def test_reset_that_the_slave_has_copied_or_not_is_not_undone(pair: Pair) -> None:
    slave = await copied(pair)
    master = pair.running["m"]
    await master.commit(0, group=GROUP)

    master = await pair.restart("m", MASTER)

    assert (offset_at(slave), offset_at(master)) == (1, 0)


async def test_master_that_lost_its_offsets_gets_all_of_the_slave(pair: Pair) -> None:
    await without_master(pair)
    for path in (pair.root / "m" / "config").glob("consumerOffset.json*"):
        path.unlink()

    assert offset_at(await pair.start("m", MASTER)) == 1


async def test_offset_beyond_the_end_of_a_queue_is_cut_to_its_end(pair: Pair) -> None:
    slave = await without_master(pair)
    await slave.commit(900, group=GROUP)
    await slave.commit(3, group=GROUP, topic="unknown")

    master = await pair.start("m", MASTER)

    assert offset_at(master) == 5
    assert master.app.broker.offsets.get(GROUP, "unknown", queue_id=0) == NO_OFFSET


async def test_slave_that_has_more_of_the_log_is_not_believed(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    slave = await without_master(pair)
    await slave.commit(4, group=GROUP)
    end = slave.app.broker.store.written_offset
    slave.app.broker.store.raw.append(bytes(8))
    slave.app.broker.store.write(1)

    master = await pair.start("m", MASTER)

    assert offset_at(master) == 1
    assert f"its log ends at {end + 8}, and this one at {end}" in caplog.text


async def test_promoted_slave_is_not_asked_for_offsets(pair: Pair) -> None:
    slave = await without_master(pair)
    assert (await pair.promote("s")).code == 0
    await slave.commit(4, group=GROUP)

    master = await pair.start("m", MASTER)

    assert offset_at(master) == 1
    assert master.app.broker.sender.refusal


async def test_address_that_may_not_be_a_slave_is_not_asked(
    pair: Pair, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    slave = await without_master(pair)
    await slave.commit(4, group=GROUP)
    monkeypatch.setattr("mqserver.broker.ha.replication.Replication._may_connect", lambda *_: False)

    stranger = await pair.start("m", MASTER)

    assert offset_at(stranger) == 1
    assert f"did not ask slave {slave.address}" in caplog.text
    named = await pair.restart("m", MASTER, broker_addresses=slave.address)
    assert offset_at(named) == 4


async def test_master_goes_on_when_a_slave_does_not_answer(
    pair: Pair, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    slave = await without_master(pair)
    await slave.commit(4, group=GROUP)
    monkeypatch.setattr(returning, "ASK_S", 0.05)

    async def say_nothing(*_: object, is_registered: bool) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(ReturningMaster, "_ask", say_nothing)
    master = await pair.start("m", MASTER)

    assert offset_at(master) == 1
    assert f"slave {slave.address}: no answer within 0.05 s" in caplog.text


async def test_slave_returns_only_what_its_master_did_not_report(pair: Pair) -> None:
    slave = await without_master(pair)
    await slave.commit(3, group="new")
    asked = GetAllConsumerOffset(ha_beyond_master=True)

    code = RequestCode.GET_ALL_CONSUMER_OFFSET
    beyond = ConsumerOffsets.decode((await slave.ask(code, asked)).body)
    everything = ConsumerOffsets.decode((await slave.ask(code)).body)

    assert beyond.by_queue() == {(TOPIC, "new"): {0: 3}}
    assert everything.by_queue() == {(TOPIC, "new"): {0: 3}, (TOPIC, GROUP): {0: 1}}


JAVA, OURS = {"commitLogMaxOffset": "0"}, {"haBrokerName": "broker-a", "haEpoch": "5"}
SLAVES = {
    "Java's that is registered as a slave": (JAVA, True, True),
    "Java's of an unknown role": (JAVA, False, False),
    "ours": ({**OURS, "haRole": "SLAVE"}, False, True),
    "a master": ({**OURS, "haRole": "ASYNC_MASTER"}, True, False),
    "one of another name": ({**OURS, "haRole": "SLAVE", "haBrokerName": "other"}, True, False),
    "one that follows a later master": ({**OURS, "haRole": "SLAVE", "haEpoch": "6"}, True, False),
}


def master_of(desk: Desk) -> ReturningMaster:
    return ReturningMaster(
        desk.app.broker,
        client=desk.client,
        calls=lambda address: MasterCalls(desk.client, address),
        may_ask=lambda address: True,
        challenge=desk.app.broker.ha.fence.ask,
        epoch=5,
    )


@pytest.mark.parametrize(
    ("numbers", "is_registered", "is_slave"), SLAVES.values(), ids=SLAVES.keys()
)
async def test_only_slaves_of_this_name_and_epoch_are_believed(
    desk: Desk, numbers: dict[str, str], is_registered: bool, is_slave: bool
) -> None:
    master = master_of(desk)

    assert master._is_slave(numbers, is_registered=is_registered) is is_slave


DELAYS = {
    "the file is lost": ({}, DelayOffsets({1: 7}), {1: 7}),
    "the slave is ahead and says from where": ({1: 5}, DelayOffsets({1: 7}, log_offset=0), {1: 7}),
    "a Java slave is ahead": ({1: 5}, DelayOffsets({1: 7}), {1: 5}),
    "ahead in one level alone": ({1: 5, 2: 9}, DelayOffsets({1: 7}, log_offset=0), {1: 5, 2: 9}),
    "the slave is behind": ({1: 5}, DelayOffsets({1: 4}, log_offset=0), {1: 5}),
}


@pytest.mark.parametrize(("own", "reported", "then"), DELAYS.values(), ids=DELAYS.keys())
async def test_delay_offsets_are_taken_where_the_log_does_not_show_them(
    desk: Desk, own: dict[int, int], reported: DelayOffsets, then: dict[int, int]
) -> None:
    delay = desk.app.broker.delay
    await until(lambda: delay.is_caught_up)
    delay.adopt(DelayOffsets(own))

    master_of(desk)._take_over(SlaveProgress("127.0.0.1:1", ConsumerOffsets(), reported))

    assert delay.offsets().offsets == then

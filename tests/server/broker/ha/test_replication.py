"""Masters and slaves of ours: what they acknowledge, serve and refuse, and how roles change."""

import asyncio
from pathlib import Path

import pytest

from mqclient.client.instance import MQClient
from mqclient.consumer.pull_consumer import PullConsumer
from mqserver.broker.clients.consumer_offsets import NO_OFFSET
from mqserver.broker.config import BrokerRole, SlaveStart
from mqserver.broker.ha.receiving import SlaveState
from mqserver.runtime.periodic import Services
from remoting.bodies import MessageQueue
from remoting.codes import RequestCode
from storefmt.config.tables import TopicConfig
from tests.server.broker.desk import TOPIC, Desk
from tests.server.broker.ha.pairs import Pair, equal_ends, pair_in, state_of
from tests.server.doubles import FakeClock
from tests.waiting import TIMEOUT_S, until

ASYNC, SYNC, SLAVE = BrokerRole.ASYNC_MASTER, BrokerRole.SYNC_MASTER, BrokerRole.SLAVE


async def filled(pair: Pair, *, count: int = 5, role: BrokerRole = ASYNC) -> tuple[Desk, Desk]:
    """Return a master and a slave, ``m`` and ``s``, that have the same messages."""
    master = await pair.start("m", role)
    slave = await pair.start("s", SLAVE)
    for number in range(count):
        assert (await master.send(b"%d" % number)).code in (0, 11)
    await equal_ends(master, slave)
    return master, slave


async def with_topics(pair: Pair) -> Desk:
    """Return the slave of a pair that has messages, once it has the topics of its master."""
    _, slave = await filled(pair)
    await until(lambda: slave.app.broker.topics.get(TOPIC) is not None, what="topics")
    return slave


async def test_slave_copies_the_log_and_serves_it_and_stores_nothing(pair: Pair) -> None:
    slave = await with_topics(pair)
    slave.app.broker.config.slave_read_enable = True
    refused = await slave.send(b"no")

    assert await slave.bodies() == [b"0", b"1", b"2", b"3", b"4"]
    assert refused.code == 14
    assert "messages are put to the slave" in (refused.remark or "")
    assert (await slave.ask(RequestCode.END_TRANSACTION)).code == 11


async def test_slave_that_may_not_be_read_sends_its_readers_to_the_master(pair: Pair) -> None:
    slave = await with_topics(pair)
    answer = await slave.pull()
    assert (answer.code, answer.body) == (20, b"")
    assert answer.ext["suggestWhichBrokerId"] == "0"
    slave.app.broker.config.slave_read_enable = True
    beyond = await slave.pull(queue_offset=500)
    # What a slave does not have yet is not said to be gone.
    assert (beyond.code, beyond.ext["nextBeginOffset"]) == (20, "500")


async def test_consumers_go_on_at_the_slave_when_the_master_is_gone(pair: Pair) -> None:
    slave = await with_topics(pair)
    slave.app.broker.config.slave_read_enable = True
    await pair.stop("m")
    async with MQClient(pair.namesrv, timeout_s=30) as client:
        consumer = PullConsumer(client, "readers")
        pulled = await consumer.pull(MessageQueue(TOPIC, "broker-a", 0), queue_offset=0)
    assert [message.body for message in pulled.messages] == [b"0", b"1", b"2", b"3", b"4"]


async def test_synchronous_master_answers_when_the_slave_has_it(pair: Pair) -> None:
    master = await pair.start("m", SYNC)
    assert (await master.send()).code == 11
    slave = await pair.start("s", SLAVE)
    await until(lambda: state_of(slave) == "RECEIVING", what="a slave")
    await equal_ends(master, slave)
    for _ in range(3):
        assert (await master.send()).code == 0
        assert slave.app.broker.store.flushed_offset == master.app.broker.store.written_offset
    # WAIT=false asks for no slave.
    assert (await master.send(properties="WAIT\x01false")).code == 0
    await pair.stop("s")
    # Until its end has come through, it counts as a slave that may yet answer.
    await until(lambda: "haSlave_0" not in master.app.broker.ha.numbers(), what="no slave")
    assert (await master.send()).code == 11
    assert (await master.send(properties="WAIT\x01false")).code == 0


async def test_message_that_no_slave_acknowledges_in_time_is_stored_and_answered_12(
    pair: Pair,
) -> None:
    master = await pair.start("m", SYNC, slave_timeout_ms=60_000)
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", master.app.broker.config.ha_listen_port
    )
    writer.write(bytes(8))
    await until(lambda: "haSlave_0" in master.app.broker.ha.numbers(), what="a slave")
    late = asyncio.create_task(master.send())
    ha_numbers = master.app.broker.ha.numbers
    begin = ha_numbers()["haAnsweredOffset"]
    store = master.app.broker.store
    await until(lambda: store.written_offset > int(begin), what="a message that waits")
    # A slave that lacks it is not stale: nobody was told that it is stored.
    assert ha_numbers()["haAnsweredOffset"] == begin
    master.app._replication.expire(master.app.broker.clock.now_ms() + 60_000)
    assert (await late).code == 12
    assert ha_numbers()["haAnsweredOffset"] == str(store.written_offset)
    # What was never sent is no acknowledgement: the connection ends.
    writer.write((1 << 40).to_bytes(8, "big"))
    while await reader.read(4096):
        pass
    assert (await master.send()).code == 11
    writer.close()


async def test_slave_that_is_too_far_behind_is_not_waited_for(pair: Pair) -> None:
    master = await pair.start("m", SYNC, ha_slave_fallbehind_max=1_000)
    slave = await pair.start("s", SLAVE)
    await until(lambda: state_of(slave) == "RECEIVING", what="a slave")
    await equal_ends(master, slave)
    await until(lambda: master.app._replication.links.has_near(0), what="the master knows it")
    assert (await master.send(b"near")).code == 0
    assert (await master.send(bytes(1_000))).code == 11


async def test_stranger_is_not_let_in_as_a_slave(pair: Pair) -> None:
    master = await pair.start("m", ASYNC)
    replication = master.app._replication
    assert replication._may_connect("127.0.0.1", "127.0.0.1")
    assert replication._may_connect("10.0.0.1", "10.0.0.1")
    assert not replication._may_connect("10.0.0.2", "10.0.0.1")
    master.app.broker.config.slave_addresses = "10.0.0.*"
    assert replication._may_connect("10.0.0.2", "10.0.0.1")


async def test_slave_copies_tables_and_positions_and_goes_on_from_them(pair: Pair) -> None:
    master, slave = await filled(pair)
    await master.create_topic("other")
    await master.commit(3, group="G")
    await slave.app._replication.round(1)
    broker = slave.app.broker
    assert broker.offsets.get("G", TOPIC, queue_id=0) == 3
    assert broker.topics.get("other") == TopicConfig("other", 1, 1)
    assert broker.topics.version == master.app.broker.topics.version


async def test_slave_copies_what_changed_after_one_second_and_then_every_ten(
    tmp_path: Path,
) -> None:
    waits: list[float] = []
    seen: list[int] = []

    async with pair_in(tmp_path) as pair:
        await filled(pair)
        master, broker = pair.running["m"], pair.running["s"].app.broker
        replication = pair.running["s"].app._replication
        assert replication is not None
        done = asyncio.Event()

        async def sleep(seconds: float) -> None:
            task = asyncio.current_task()
            if task is not None and task.get_name() == "tables of the master":
                waits.append(seconds)
                seen.append(broker.offsets.get("G", TOPIC, queue_id=0))
                await master.commit(len(seen), group="G")
                if len(seen) < 4:
                    return
                done.set()
            await asyncio.Event().wait()

        services = Services(FakeClock(1), sleep=sleep)
        replication.schedule(services)
        services.start()
        await asyncio.wait_for(done.wait(), TIMEOUT_S)
        await services.stop()
    assert waits == [1, 10, 10, 10]
    assert seen == [NO_OFFSET, 1, 2, 3]


async def test_slave_has_light_queues_and_goes_on_in_them(tmp_path: Path) -> None:
    light, reader = "%LMQ%phone", "%LMQ%reader"
    copied = f"INNER_MULTI_DISPATCH\x01{light}"

    async with pair_in(tmp_path, light=True) as pair:
        master, slave = await filled(pair)
        for _ in range(2):
            assert (await master.send(b"copied", properties=copied)).code == 0
        await master.commit(1, group=reader, topic=light)
        await equal_ends(master, slave)
        replication, broker = slave.app._replication, slave.app.broker
        await replication.round(1)
        await until(lambda: broker.store.max_offset(light, 0) == 2, what="light queues")
        assert broker.offsets.get(reader, light, queue_id=0) == 1
        # It counts what it copies as its master counts what is put.
        assert broker.store.put_count == master.app.broker.store.put_count == 7

        await pair.stop("m")
        await until(lambda: state_of(slave) == "CONNECTING", what="lost")
        assert (await pair.promote("s")).code == 0
        await slave.send(b"more", properties=copied)
        found = await slave.messages(topic=light)
        assert [record.body for record in found] == [b"copied", b"copied", b"more"]
        assert found[-1].properties["INNER_MULTI_QUEUE_OFFSET"] == "2"


@pytest.mark.parametrize("start", list(SlaveStart))
async def test_empty_slave_begins_where_it_is_told(pair: Pair, start: SlaveStart) -> None:
    master = await pair.start("m", ASYNC)
    for _ in range(30):
        await master.send(bytes(100_000))
    slave = await pair.start("s", SLAVE, slave_starts_at=start)
    await equal_ends(master, slave)
    store = slave.app.broker.store
    if start is SlaveStart.FIRST_FILE:
        assert store.min_log_offset == 0
        assert (store.min_offset(TOPIC, 0), store.max_offset(TOPIC, 0)) == (0, 30)
        assert store.raw.read(0, 200_000) == master.app.broker.store.raw.read(0, 200_000)
    else:
        assert store.min_log_offset == 2 << 20
        assert 0 < store.min_offset(TOPIC, 0) < store.max_offset(TOPIC, 0) == 30


async def test_slave_that_wants_everything_of_an_empty_master_gets_what_comes(pair: Pair) -> None:
    master = await pair.start("m", SYNC)
    slave = await pair.start("s", SLAVE, slave_starts_at=SlaveStart.FIRST_FILE)
    await until(lambda: state_of(slave) == "RECEIVING", what="a slave")
    await until(lambda: "haSlave_0" in master.app.broker.ha.numbers(), what="its master")
    assert (await master.send()).code == 0
    await equal_ends(master, slave)


async def test_slave_becomes_the_master_by_order_and_stays_it(pair: Pair) -> None:
    await filled(pair)
    alive = await pair.promote("s")
    assert (alive.code, "its master is alive" in (alive.remark or "")) == (1, True)
    await pair.stop("m")
    await until(lambda: state_of(pair.running["s"]) == "CONNECTING", what="lost")
    done = await pair.promote("s")
    assert (done.code, "; its master was last heard" in (done.remark or "")) == (0, True)
    slave = pair.running["s"]
    assert (await slave.send(b"5")).code == 0
    assert (await slave.bodies())[-2:] == [b"4", b"5"]
    assert "is ASYNC_MASTER" in ((await pair.promote("s")).remark or "")
    await pair.stop("s")
    # Its configuration still says SLAVE.
    slave = await pair.start("s", SLAVE)
    assert (await slave.send(b"6")).code == 0
    # The old master follows the new one, and gets what it lacks.
    await equal_ends(slave, await pair.start("m", SLAVE))


async def test_stale_slave_is_promoted_only_by_force(pair: Pair) -> None:
    await filled(pair)
    await pair.stop("s")
    await pair.stop("m")
    await pair.start("s", SLAVE)
    refused = await pair.promote("s")
    assert (refused.code, "what it lacks is unknown" in (refused.remark or "")) == (1, True)
    pair.running["s"].app._replication.sync.answered_end = 10_000_000
    assert "bytes of its master's log" in ((await pair.promote("s")).remark or "")
    assert (await pair.promote("s", force=True)).code == 0


async def test_log_that_parts_takes_and_serves_nothing_until_it_is_cut(
    pair: Pair, tmp_path: Path
) -> None:
    await filled(pair)
    end = pair.running["s"].app.broker.store.written_offset
    await pair.stop("m")
    await until(lambda: state_of(pair.running["s"]) == "CONNECTING", what="lost")
    await pair.promote("s")
    for number in range(3):
        await pair.running["s"].send(b"new %d" % number)
    await pair.stop("s")
    # The old master goes on with other messages, and only then becomes a slave.
    old = await pair.start("m", ASYNC, namesrv_addr=None)
    await old.send(b"nobody has this")
    await old.send(b"nor this")
    await pair.stop("m")
    new = await pair.start("s", SLAVE)
    old = await pair.start("m", SLAVE, slave_read_enable=True)
    await until(lambda: state_of(old) == "DIVERGED", what="the difference is found")
    receiver = old.app.broker.ha.receiver
    assert receiver is not None
    await until(lambda: receiver.state is SlaveState.DIVERGED, what="it looked")
    receiver.set_master(receiver.master)
    assert receiver.state is SlaveState.CONNECTING
    # It looks again, and says what it knows meanwhile.
    assert state_of(old) == "DIVERGED"
    assert f"the logs diverge at {end}" in old.app.broker.ha.numbers()["haDivergence"]
    served = await old.pull()
    assert served.code == 14
    assert "the log of this slave differs from its master's" in (served.remark or "")
    old = await pair.restart("m", SLAVE, slave_resync=True, slave_read_enable=True)
    await equal_ends(new, old)
    assert not (tmp_path / "m" / "ha.json").exists()
    assert await old.bodies() == [b"0", b"1", b"2", b"3", b"4", b"new 0", b"new 1", b"new 2"]

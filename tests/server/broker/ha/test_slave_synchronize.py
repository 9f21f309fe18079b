"""What a slave adopts of its master's tables and offsets, and when."""

import asyncio

import pytest

from mqserver.broker.clients.consumer_offsets import NO_OFFSET
from mqserver.broker.ha.slave_synchronize import (
    MasterCalls,
    MasterProgress,
    SlaveSync,
    adopted_offset,
    delays_in,
)
from mqserver.broker.state import Broker
from remoting.aio.client import RemotingClient
from remoting.command import Command
from storefmt.config.tables import (
    ConsumerOffsets,
    DataVersion,
    DelayOffsets,
    GroupTable,
    SubscriptionGroup,
    TopicConfig,
    TopicTable,
)
from tests.server.broker.desk import Desk
from tests.waiting import until

POSITIONS = {
    "nothing is known here": (NO_OFFSET, 5, None, 5),
    "the master went on": (5, 9, 5, 9),
    "the slave has newer ones of its own": (9, 5, None, 9),
    "the master stands still": (9, 5, 5, 9),
    "the master goes on behind the slave": (9, 6, 5, 9),
    "the master was reset": (9, 4, 8, 4),
    "the master was reset to the beginning": (9, 0, 9, 0),
    "no position": (9, -1, 9, 9),
    "no position of nobody": (NO_OFFSET, -1, None, NO_OFFSET),
}


@pytest.mark.parametrize(
    ("known", "told", "seen", "wanted"), POSITIONS.values(), ids=POSITIONS.keys()
)
def test_older_position_never_replaces_a_newer_one_but_a_reset_does(
    known: int, told: int, seen: int | None, wanted: int
) -> None:
    assert adopted_offset(known, reported=told, seen=seen) == wanted


class Master(MasterCalls):
    """Says what it is told to say."""

    def __init__(self, *, version: DataVersion, position: int = 0, log_end: int = 0) -> None:
        super().__init__(RemotingClient(), "127.0.0.1:1")
        self._version = version
        self._position = position
        self._log_end = log_end

    async def topics(self) -> TopicTable:
        return TopicTable(topics={"T": TopicConfig("T", 3, 3)}, data_version=self._version)

    async def groups(self) -> GroupTable:
        group = SubscriptionGroup("G", retry_max_times=3)
        return GroupTable(groups={"G": group}, data_version=self._version)

    async def progress(self) -> MasterProgress:
        offsets = ConsumerOffsets(offsets={("T", "G"): {0: self._position}})
        delays = DelayOffsets(offsets={1: self._position})
        return MasterProgress(offsets, delays, self._log_end, self._log_end)


def sync_of(broker: Broker) -> SlaveSync:
    return SlaveSync(
        topics=broker.topics, groups=broker.groups, offsets=broker.offsets, delay=broker.delay
    )


@pytest.mark.parametrize("age_ms", [-60_000, 0, 60_000])
async def test_tables_of_the_master_replace_those_of_a_slave_whatever_their_versions(
    desk: Desk, age_ms: int
) -> None:
    broker = desk.app.broker
    sync = sync_of(broker)
    # This broker was a master for a while, and its tables changed here.
    await desk.create_topic("own")
    broker.groups.put(SubscriptionGroup("own"), now_ms=broker.clock.now_ms())
    own = broker.topics.version
    version = DataVersion(timestamp_ms=own.timestamp_ms + age_ms, counter=own.counter)

    gone = sync.adopt(await Master(version=version).tables())

    assert "own" in gone
    assert broker.topics.table().topics == {"T": TopicConfig("T", 3, 3)}
    assert broker.groups.names() == ["G"]
    assert broker.topics.version == broker.groups.version == version


async def test_offset_that_the_master_deleted_with_its_group_is_deleted(desk: Desk) -> None:
    broker, version = desk.app.broker, DataVersion(timestamp_ms=1, counter=1)
    sync = sync_of(broker)
    tables = await Master(version=version, position=7).tables()
    sync.adopt(tables)
    sync.settle(0)
    nothing = tables.progress._replace(offsets=ConsumerOffsets())

    sync.adopt(tables._replace(progress=nothing))
    sync.settle(0)
    lost_by_the_master = broker.offsets.get("G", "T", queue_id=0)
    sync.adopt(tables)
    sync.settle(0)
    sync.adopt(tables._replace(groups=GroupTable(), progress=nothing))
    sync.settle(0)

    assert lost_by_the_master == 7
    assert broker.offsets.get("G", "T", queue_id=0) == NO_OFFSET


async def test_slave_tells_only_what_its_master_did_not_report(desk: Desk) -> None:
    broker, version = desk.app.broker, DataVersion(timestamp_ms=1, counter=1)
    sync = sync_of(broker)
    sync.adopt(await Master(version=version, position=7).tables())
    sync.settle(0)

    reported = sync.beyond_master().by_queue()
    broker.offsets.commit("G", "T", queue_id=0, queue_offset=9)
    broker.offsets.commit("new", "T", queue_id=1, queue_offset=0)

    assert reported == {}
    assert sync.beyond_master().by_queue() == {("T", "G"): {0: 9}, ("T", "new"): {1: 0}}


REFUSED = {
    "Java's, which knows no epoch": (None, "", 5, ""),
    "the same epoch": (5, "", 5, ""),
    "a higher one": (6, "", 5, ""),
    "the old master": (4, "", 5, "it has epoch 4, and this slave follows epoch 5"),
    "a fenced one": (5, "it was replaced", 5, "it was replaced"),
}


@pytest.mark.parametrize(("epoch", "problem", "own", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_nothing_is_adopted_of_a_master_that_was_replaced(
    epoch: int | None, problem: str, own: int, why: str
) -> None:
    progress = MasterProgress(ConsumerOffsets(), DelayOffsets(), 0, 0, epoch=epoch, problem=problem)

    assert progress.refusal(own) == why


async def test_positions_are_taken_when_the_log_has_what_they_stand_for(desk: Desk) -> None:
    broker, version = desk.app.broker, DataVersion(timestamp_ms=1, counter=1)
    sync = sync_of(broker)

    def known() -> tuple[int, int | None]:
        position = broker.offsets.get("G", "T", queue_id=0)
        return position, broker.delay.offsets().offsets.get(1)

    async def settled(position: int, *, log_end: int = 5_000) -> None:
        sync.adopt(await Master(version=version, position=position, log_end=5_000).tables())
        sync.settle(log_end)

    await settled(7, log_end=4_999)
    assert known() == (NO_OFFSET, None)
    sync.settle(5_000)
    assert known() == (7, 7)
    # A delay level never goes back, and a position only where the master's does.
    await settled(7)
    broker.offsets.commit("G", "T", queue_id=0, queue_offset=9)
    await settled(8)
    assert known() == (9, 8)
    await settled(2)
    assert known() == (2, 8)


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"topicConfigTable":5}', b"[" * 100_000])
def test_a_master_with_a_bad_body_is_an_error_of_that_round(body: bytes) -> None:
    class Client:
        async def invoke(self, address: str, command: Command, *, timeout_s: float) -> Command:
            return command.response(body=body)

    calls = MasterCalls(Client(), "10.0.0.1:10911")  # type: ignore[arg-type]
    for ask in (calls.topics, calls.groups, calls.progress, calls.numbers):
        if body.startswith(b'{"') and ask != calls.topics:
            continue
        with pytest.raises(OSError, match=r"master 10\.0\.0\.1:10911: GET_"):
            asyncio.run(ask())


async def test_master_tells_its_delay_levels_and_where_later_deliveries_lie_of_one_moment(
    desk: Desk,
) -> None:
    delay = desk.app.broker.delay
    await until(lambda: delay.is_caught_up)
    delay.adopt(DelayOffsets({1: 7, 2: 9}))
    told = await MasterCalls(desk.client, desk.address).progress()

    assert told.delays.offsets == {1: 7, 2: 9}
    assert told.delays.log_offset == desk.app.broker.store.written_offset


@pytest.mark.parametrize(
    ("table", "delays"),
    [
        ({"scheduleMessageOffset_1": "7,9"}, None),
        ({"scheduleMessageOffset_1": "7,9", "haDeliveredLogOffset": "55"}, ({1: 7}, 55)),
        ({"haDeliveredLogOffset": "0"}, ({}, 0)),
    ],
)
def test_numbers_of_a_real_master_say_nothing_of_its_deliveries(
    table: dict[str, str], delays: tuple[dict[int, int], int] | None
) -> None:
    found = delays_in(table)

    assert (found and (found.offsets, found.log_offset)) == delays


def test_numbers_that_are_none_are_refused() -> None:
    with pytest.raises(OSError, match="invalid delay levels"):
        delays_in({"haDeliveredLogOffset": "x"})


async def test_a_lower_offset_of_another_master_is_no_reset(desk: Desk) -> None:
    broker, version = desk.app.broker, DataVersion(timestamp_ms=1, counter=1)
    sync = sync_of(broker)

    async def known_after(position: int) -> int:
        sync.adopt(await Master(version=version, position=position).tables())
        sync.settle(0)
        return broker.offsets.get("G", "T", queue_id=0)

    assert await known_after(50) == 50
    sync.follow_another()
    assert await known_after(40) == 50
    assert await known_after(30) == 30


async def test_nothing_is_adopted_while_the_log_may_not_be_the_masters(desk: Desk) -> None:
    broker, version = desk.app.broker, DataVersion(timestamp_ms=1, counter=1)
    sync = sync_of(broker)
    sync.may_settle = lambda: False

    sync.adopt(await Master(version=version, position=7, log_end=5_000).tables())
    sync.settle(9_000)
    before = broker.offsets.get("G", "T", queue_id=0)
    sync.may_settle = lambda: True
    sync.settle(9_000)

    assert before == NO_OFFSET
    assert broker.offsets.get("G", "T", queue_id=0) == 7
